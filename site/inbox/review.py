"""The owner's decisions on a draft of the inbox: edit, publish, discard, and how each is undone.

What becomes public is bound to an approval row that holds the hash of exactly that language, title and body. The
document and its HTML are rendered before the transaction; the transaction checks that they are of the approved text.
"""

import hashlib
import json
from dataclasses import dataclass

from sqlalchemy import Connection

from core.clock import Instant
from core.document import dump_document, from_markdown, to_html
from core.errors import BadInput

from ..content.publish import with_first_level
from ..store import digests, journal, sources
from ..store.digests import DigestDraft
from ..store.editions import begin_edition

MAX_TITLE, MAX_BODY = 300, 100_000


@dataclass(frozen=True)
class Text:
    """What is approved and becomes public."""

    language: str
    title: str
    body: str

    @property
    def hash(self) -> str:
        """Of the three as a JSON list, so that no words can move from one to the other under the same hash."""
        parts = json.dumps([self.language, self.title, self.body], ensure_ascii=False)
        return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Rendered:
    text: Text
    document: str
    html: str


class EditConflict(BadInput):
    """Somebody saved in between. `current` is the draft as it is now."""

    def __init__(self, current: DigestDraft, based_on: int) -> None:
        super().__init__(
            f"draft {current.id} is at version {current.version}, this change was made on version {based_on}: compare "
            "both texts, then save again on the newer one"
        )
        self.current = current


def text_of(draft: DigestDraft) -> Text:
    return Text(draft.language, draft.title, draft.body)


def render(text: Text) -> Rendered:
    """Takes milliseconds a kilobyte: call it on a thread. Errors: DocumentError."""
    document = from_markdown(text.body)
    return Rendered(text, dump_document(document), to_html(with_first_level(document)))


def find(conn: Connection, digest: int) -> DigestDraft:
    found = digests.one(conn, digest)
    if found is None:
        raise BadInput(f"there is no draft number {digest} in the inbox")
    return found


def save(conn: Connection, digest: int, based_on: int, title: str, body: str, now: Instant) -> DigestDraft:
    """A new wording by the owner. Errors: EditConflict for an old version, BadInput for an empty or too long text.

    A published one is edited too: its page keeps the approved words until the new ones are approved.
    """
    title = " ".join(title.split())
    if not title or not body.strip():
        raise BadInput("a draft needs a title and a text: discard it if there is nothing to keep")
    if len(title) > MAX_TITLE or len(body) > MAX_BODY:
        raise BadInput(f"at most {MAX_TITLE} characters of title and {MAX_BODY} of text are kept")
    before = find(conn, digest)
    if before.state in ("discarded", "failed"):
        raise BadInput(f"draft {digest} is {before.state}: take it back before you edit it")
    if before.version == based_on and (before.title, before.body) == (title, body):
        return before
    if not digests.reword(conn, digest, based_on, title, body, "owner", now):
        raise EditConflict(before, based_on)
    return find(conn, digest)


def publish(conn: Connection, digest: int, based_on: int, shown: Rendered, now: Instant) -> str:
    """Approves exactly `shown` and makes it a journal entry; gives its slug. Errors: EditConflict, BadInput."""
    draft = find(conn, digest)
    if draft.version != based_on or text_of(draft).hash != shown.text.hash:
        raise EditConflict(draft, based_on)
    if not digests.move(conn, digest, ("waiting", "unpublished", "published"), "published", None, now):
        raise BadInput(f"draft {digest} is {draft.state}: take it back before you publish it")
    digests.approve(conn, digest, shown.text.hash, now)
    slug = journal.put(
        conn,
        journal.NewEntry(digest, draft.day, draft.language, draft.title, shown.document, shown.html, shown.text.hash),
        now,
    )
    begin_edition(conn, f"journal {slug}", now)
    return slug


def unpublish(conn: Connection, digest: int, now: Instant) -> None:
    """Takes the entry off the public pages; the draft and its history stay."""
    if not digests.move(conn, digest, ("published",), "unpublished", None, now):
        raise BadInput(f"draft {digest} is not published: there is nothing to take back")
    journal.withdraw(conn, digest, now)
    begin_edition(conn, f"journal without {digest}", now)


def discard(conn: Connection, digest: int, reason: str, now: Instant) -> None:
    if not digests.move(conn, digest, ("waiting", "unpublished"), "discarded", reason.strip()[:1000] or None, now):
        raise BadInput(f"draft {digest} is {find(conn, digest).state}: only what waits can be discarded")


def take_back(conn: Connection, digest: int, now: Instant) -> None:
    """Undoes a discard."""
    if not find(conn, digest).body:
        raise BadInput(f"draft {digest} was emptied because something in it was forgotten: it stays away")
    if not digests.move(conn, digest, ("discarded",), "waiting", None, now):
        raise BadInput(f"draft {digest} is not discarded: there is nothing to take back")


def forget_source(conn: Connection, source: str, now: Instant) -> None:
    """Drafts made from something that is forgotten are emptied; what else was said waits for the next digest.

    A published entry stays as the owner approved it, and the memory page lists it.
    """
    for draft in digests.made_from(conn, source):
        if draft.state == "published" or (draft.state == "discarded" and not draft.body):
            continue
        digests.move(conn, draft.id, (draft.state,), "discarded", "something it was made from was forgotten", now)
        digests.empty(conn, draft.id)
        sources.mark_processed(conn, draft.claim, None)
