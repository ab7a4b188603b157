"""What the assistant may do on the page: a closed catalog, plans of at most four of its actions, and their check.

    catalog.py   every action there is; exported as JSON for the browser and for the home page's terminal
    validate.py  a plan checked against the catalog, the same rules the browser checks again (pure)
    propose.py   a request in plain words becomes a plan, if it is nothing but commands (pure)
    seal.py      a confirmed plan is the plan that was shown: bound by a hash, once, void after a restart

Publishing, deleting and running code are not in the catalog.
"""
