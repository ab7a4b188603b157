"""The digest worker: claims what was said, summarises it, and puts a draft into the owner's private inbox."""
