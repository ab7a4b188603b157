"""What every program shares: settings, store, text, documents, model client, budget rules, clock, errors.

Core imports nothing of ours and no web framework. Importing a module does no I/O.
"""
