"""What becomes public and what stops being so. Rendered once, outside the transaction; every change begins an edition."""

from dataclasses import dataclass

from sqlalchemy import Connection

from core.clock import Instant
from core.document import FlowDocument, load_document, to_html, to_plain
from core.document.model import Block, Heading, walk, with_each_block
from core.errors import BadInput

from ..store.articles import Draft, DraftConflict, Visibility, draft_of, set_visibility
from ..store.editions import begin_edition
from ..store.publications import put_publication, withdraw_publication


@dataclass(frozen=True)
class Rendered:
    html: str
    plain: str


def rendered(document: str) -> Rendered:
    """The two forms readers get of a FlowDocument's JSON. Takes milliseconds a kilobyte: call it off the event loop."""
    parsed = load_document(document)
    return Rendered(to_html(with_first_level(parsed)), to_plain(parsed))


def with_first_level(document: FlowDocument) -> FlowDocument:
    """The document with its highest heading at level 1, for the outline under the page's title must not have a gap.

    Authors of Markdown keep `#` for the title, which here stands in the front matter, and begin with `##`.
    """
    levels = [block.level for block, _ in walk(document.blocks) if isinstance(block, Heading)]
    up = min(levels, default=1) - 1

    def raised(block: Block) -> Block:
        return block.model_copy(update={"level": block.level - up}) if isinstance(block, Heading) else block

    return document.model_copy(update={"blocks": with_each_block(document.blocks, raised)}) if up else document


def publish_article(conn: Connection, article_id: int, version: int, text: Rendered, now: Instant) -> int:
    """Makes one version of a draft what readers see, and gives the new edition.

    Errors: DraftConflict when the draft has moved on since `text` was rendered from it.
    """
    draft = _existing(conn, article_id)
    if draft.version != version:
        raise DraftConflict(draft, version)
    edition = begin_edition(conn, f"published {draft.article.slug}", now)
    set_visibility(conn, article_id, "published")
    put_publication(conn, draft, text.html, text.plain, edition, now)
    return edition


def withdraw_article(conn: Connection, article_id: int, to: Visibility, now: Instant) -> int:
    """Takes an article from the public at once; the draft and its history stay."""
    if to == "published":
        raise BadInput("an article is withdrawn to draft, unpublished or private: use publish_article to publish it")
    draft = _existing(conn, article_id)
    withdraw_publication(conn, article_id)
    set_visibility(conn, article_id, to)
    return begin_edition(conn, f"withdrew {draft.article.slug}", now)


def _existing(conn: Connection, article_id: int) -> Draft:
    draft = draft_of(conn, article_id)
    if draft is None:
        raise BadInput(f"there is no article number {article_id}: it was deleted, or the number is wrong")
    return draft
