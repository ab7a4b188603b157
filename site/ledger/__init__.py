"""The site's ledger: the rules of `core.budget` over the tables of `store/ledger.py`.

    rules.py      the settings of a pool as limits and micro-units
    book.py       reserve, settle, release, unknown: what every pool has in common, one transaction each
    grants.py     leases lent to a bridge, their closing reports, usage told by it
    readers.py    what the assistant asks before it calls a model
    overview.py   the figures of the money page
    models_used.py  which model serves which use          (pure)
    chart.py      its pictures                                (pure)

Every function here is the body of one transaction, `readers.ReaderBudget` apart.
"""
