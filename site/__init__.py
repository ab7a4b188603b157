"""The website: articles, search, assistant, the owner's desk and the control API. Imported as `website`."""

if __name__ == "site":
    raise ImportError(
        "the folder site/ is imported as `website`: Python already has a module called site. "
        "Write `from website.app import create_app`, and run `python -m website`."
    )
