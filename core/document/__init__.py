"""FlowDocument, the one body format: Markdown in and out, HTML, plain words, article files.

Nothing here reads a file, a clock or the network. Reading and rendering take milliseconds a kilobyte: programs with an
event loop call them in a thread.
"""

from .front_matter import ArticleFile, ArticleMeta, parse_article, write_article
from .html import Contents, headings, to_html
from .model import FlowDocument, dump_document, load_document
from .naming import new_document
from .plain import PlainBlock, plain_blocks, to_plain
from .reading import from_markdown
from .writing import to_markdown

__all__ = [
    "ArticleFile",
    "ArticleMeta",
    "Contents",
    "FlowDocument",
    "PlainBlock",
    "dump_document",
    "from_markdown",
    "headings",
    "load_document",
    "new_document",
    "parse_article",
    "plain_blocks",
    "to_html",
    "to_markdown",
    "to_plain",
    "write_article",
]
