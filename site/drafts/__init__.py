"""The owner's articles: what a form says, and what is done with it. The pages are `routes/owner_drafts.py`.

form.py      the fields of the editor: read, judged, and made of an article    (pure, rendering apart)
changes.py   create, save, publish, take back, restore: one transaction each
"""
