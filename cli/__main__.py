"""`python -m cli` is `penfriend`."""

from .main import main

main()
