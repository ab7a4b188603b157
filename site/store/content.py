"""Articles and the journal. The working draft and the published text are different rows."""

from sqlalchemy import Column, ForeignKey, Index, UniqueConstraint

from core.store.columns import Int64, key, number, one_of, refers, row_id, table, text

from .metadata import metadata


def _article(name: str = "article_id") -> Column[int]:
    return Column(name, Int64, ForeignKey("articles.id"), primary_key=True, autoincrement=False)


articles = table(
    metadata,
    "articles",
    row_id(),
    text("kind"),
    text("slug", unique=True),
    text("language"),
    text("visibility"),
    number("created_at_ms"),
    number("publish_at_ms", null=True),
    one_of("kind", "post", "note", "project"),
    one_of("visibility", "draft", "published", "unpublished", "private"),
    comment="One article, whatever its state. Only `published` ones have a row in `publications`.",
)

drafts = table(
    metadata,
    "drafts",
    _article(),
    number("version"),
    text("title"),
    text("summary"),
    text("tags"),
    text("dated"),
    text("document"),
    number("updated_at_ms"),
    comment="The working text of an article: FlowDocument JSON, tags as a JSON list. Every write names the version it began from.",
)

revisions = table(
    metadata,
    "revisions",
    row_id(),
    refers("article_id", "articles.id"),
    number("version"),
    text("title"),
    text("summary"),
    text("tags"),
    text("dated"),
    text("document"),
    number("saved_at_ms"),
    UniqueConstraint("article_id", "version"),
    comment="The draft as it was at one version.",
)

publications = table(
    metadata,
    "publications",
    _article(),
    text("kind"),
    text("slug", unique=True),
    text("language"),
    number("version"),
    text("title"),
    text("summary"),
    text("tags"),
    text("dated"),
    text("document"),
    text("html"),
    text("plain"),
    number("published_at_ms"),
    number("updated_at_ms"),
    number("edition"),
    Index("ix_publications_list", "kind", "dated"),
    comment="What readers see of an article: rendered once, when it was published. `edition` is the publication number of the site.",
)

publication_tags = table(
    metadata,
    "publication_tags",
    Column("article_id", Int64, ForeignKey("publications.article_id", ondelete="CASCADE"), primary_key=True),
    key("tag"),
    Index("ix_publication_tags_tag", "tag"),
    comment="One tag of one published article.",
)

old_slugs = table(
    metadata,
    "old_slugs",
    key("slug"),
    refers("article_id", "articles.id"),
    number("left_at_ms"),
    comment="An address an article once had; it leads to the present one.",
)

journal = table(
    metadata,
    "journal",
    row_id(),
    text("slug", unique=True),
    text("day"),
    text("language"),
    text("title"),
    text("document"),
    text("html"),
    text("text_hash"),
    refers("digest_id", "digests.id"),
    number("published_at_ms"),
    number("updated_at_ms"),
    number("withdrawn_at_ms", null=True),
    Index("ix_journal_day", "day"),
    comment="A reviewed digest that the owner published: the approved text and nothing of its sources.",
)

media = table(
    metadata,
    "media",
    key("name"),
    text("original"),
    text("type"),
    number("bytes"),
    number("width", null=True),
    number("height", null=True),
    number("added_at_ms"),
    comment="A picture or file; `name` is its content hash and ending, the bytes lie in data_dir/media.",
)

editions = table(
    metadata,
    "editions",
    row_id(),
    number("at_ms"),
    text("reason"),
    comment="A moment at which something public changed; the newest id names what caches and the search index show.",
)
