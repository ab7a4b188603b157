"""The site's addresses, one file a topic. Each file offers `HANDLERS`; `app.py` lists the files."""
