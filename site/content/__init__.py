"""Articles in and out: import a folder of Markdown, publish and withdraw, export again, search from the command line.

importing.py   a folder of Markdown files becomes articles
pictures.py    pictures of a file, copied under the hash of what they hold
sizes.py       width and height of a picture from its first bytes (pure)
publish.py     what becomes public, in one transaction with its edition
export.py      the same folder again
searching.py   questions in JSON lines, hits in JSON lines
"""

from .export import export_folder
from .importing import Imported, import_folder
from .publish import publish_article, rendered, withdraw_article
from .searching import search_lines

__all__ = [
    "Imported",
    "export_folder",
    "import_folder",
    "publish_article",
    "rendered",
    "search_lines",
    "withdraw_article",
]
