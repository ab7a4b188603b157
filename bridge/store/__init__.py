"""The bridge's store: `schema.py` has the tables, and each other module the queries of one table.

Every function takes a connection inside a transaction of `core.store` and returns plain data.
"""
