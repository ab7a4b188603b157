"""The owner: becoming one, signing in, and what protects every private page.

    origin.py      did this request come from one of our own pages?            (pure)
    attempts.py    how often a password may be tried                           (pure, and its transaction)
    passwords.py   argon2id, on a thread of its own
    sessions.py    strict server-side sessions and their cookie
    door.py        what stands before every owner page: session, origin, token
    claim_link.py  the one-time link that makes somebody the owner
    pairing.py     who may talk with the persona
    pages.py       templates and the language of the desk
    words.py       the desk's Chinese

The password, the sessions and the forms are the owner's alone; nothing here is looked at on a public page.
"""
