"""The one way in which a language model is asked.

    config.py       which model, at which address, with which limits and prices
    request.py      the exact bytes of a request, measured before money is reserved
    price.py        tokens to micro-units, what to reserve, what to settle
    outcomes.py     what may happen to a request, what it may have cost, and whether it may be tried again
    refusal.py      what a refusal says: its codes, and when to come back (pure)
    reply.py        what came back: JSON and event streams read into one `Reply` (pure)
    contract.py     the seam: `ModelClient`, `ModelResult`, `Attempt`
    client.py       that seam over HTTP, for any OpenAI-compatible address
    offline.py      that seam without a network: it only quotes
    provider.py     `open_model`: which of the two a configuration means
    system_text.py  the builder of the system text; its words are in system_words.py

Nothing here repeats a request. Whether there may be another is advice in an `Outcome`; the caller decides.
"""
