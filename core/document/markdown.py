"""Markdown both ways, for callers who need no more than that."""

from .reading import from_markdown
from .syntax import MAX_CHARACTERS
from .writing import to_markdown

__all__ = ["MAX_CHARACTERS", "from_markdown", "to_markdown"]
