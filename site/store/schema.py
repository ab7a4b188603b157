"""The site's tables, one metadata in four rooms: what readers see, the owner, money and control, and what was said.

Public pages never read a table of the last two rooms: they hold a handle that knows the first one only.
"""

from pathlib import Path

from core.store import Schema

from . import content, control, desk, ledger
from .metadata import metadata

__all__ = ["SCHEMA", "content", "control", "desk", "ledger", "metadata"]

SCHEMA = Schema(metadata, Path(__file__).parent / "revisions")
