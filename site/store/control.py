"""What bridge and digest tell the site, what the site asks of them, and the private inbox."""

from sqlalchemy import Index, UniqueConstraint
from sqlalchemy import text as sql

from core.store.columns import flag, key, number, one_of, refers, refers_key, row_id, table, text

from .metadata import metadata

control_requests = table(
    metadata,
    "control_requests",
    key("id"),
    number("at_ms"),
    Index("ix_control_requests_at", "at_ms"),
    comment="The id of a signed request that was accepted; a second one with it is a replay.",
)

pairings = table(
    metadata,
    "pairings",
    key("id"),
    text("account"),
    text("chat"),
    text("sender"),
    text("role"),
    text("name"),
    number("made_at_ms"),
    number("revoked_at_ms", null=True),
    Index(
        "uq_pairings_live",
        "account",
        "chat",
        "sender",
        unique=True,
        sqlite_where=sql("revoked_at_ms IS NULL"),
        postgresql_where=sql("revoked_at_ms IS NULL"),
    ),
    one_of("role", "owner", "guest"),
    comment="A binding: who may talk with the persona, where, and as what. The bridge gets a copy with each grant.",
)

pairing_codes = table(
    metadata,
    "pairing_codes",
    key("code_hash"),
    text("role"),
    text("account", null=True),
    text("chat", null=True),
    number("made_at_ms"),
    number("expires_at_ms"),
    number("used_at_ms", null=True),
    one_of("role", "owner", "guest"),
    comment="A code that pairs one sender, once, for ten minutes; only its hash is kept.",
)

sources = table(
    metadata,
    "sources",
    key("id"),
    text("turn"),
    text("conversation"),
    text("account"),
    text("role"),
    text("speaker"),
    text("text"),
    number("said_at_ms"),
    flag("heard"),
    number("version", default=1),
    number("received_at_ms"),
    number("forgotten_at_ms", null=True),
    number("processed_at_ms", null=True),
    Index("ix_sources_waiting", "processed_at_ms", "said_at_ms"),
    Index("ix_sources_turn", "turn"),
    one_of("role", "owner", "guest"),
    one_of("speaker", "person", "persona"),
    comment="A message or a reply that a bridge told of: private, and what a digest is made from. `heard`: a reply reached the person.",
)

synced = table(
    metadata,
    "synced",
    key("kind"),
    key("record_key"),
    text("body"),
    number("received_at_ms"),
    one_of("kind", "part_state", "turn_context", "preference", "conflict", "channel_health", "pairing_seen", "sign_in"),
    comment="Any other record a bridge told of, the newest body for its key.",
)

instructions = table(
    metadata,
    "instructions",
    key("id"),
    text("kind"),
    text("body"),
    number("made_at_ms"),
    number("taken_at_ms", null=True),
    number("done_at_ms", null=True),
    text("result", null=True),
    one_of(
        "kind",
        "forget",
        "edit_preference",
        "resolve_part",
        "revoke",
        "pairing_code",
        "sign_in",
        "pause",
        "resume",
        "clear_breaker",
    ),
    comment="Something the owner wants a bridge to do.",
)

slots = table(
    metadata,
    "slots",
    key("slot"),
    text("state"),
    number("claimed_at_ms"),
    number("ended_at_ms", null=True),
    text("note", null=True),
    one_of("state", "claimed", "done", "empty", "failed", "told"),
    comment="A scheduled moment of the digest, by local day and time; whoever inserts it runs it.",
)

claims = table(
    metadata,
    "claims",
    key("id"),
    text("slot", null=True),
    number("batch"),
    text("reservation_id", null=True),
    text("state"),
    number("claimed_at_ms"),
    number("ended_at_ms", null=True),
    text("reason", null=True),
    UniqueConstraint("slot", "batch"),
    one_of("state", "claimed", "drafted", "released", "failed", "unknown"),
    comment="Sources a digest worker is summarising. Shown while it lives; the owner may release a stuck one.",
)

claim_sources = table(
    metadata,
    "claim_sources",
    row_id(),
    refers_key("claim_id", "claims.id"),
    refers_key("source_id", "sources.id"),
    number("live", default=1),
    Index(
        "uq_claim_sources_live",
        "source_id",
        unique=True,
        sqlite_where=sql("live = 1"),
        postgresql_where=sql("live = 1"),
    ),
    UniqueConstraint("claim_id", "source_id"),
    comment="A source inside a claim; it is in at most one live claim.",
)

digests = table(
    metadata,
    "digests",
    row_id(),
    refers_key("claim_id", "claims.id"),
    text("state"),
    text("language"),
    text("day"),
    text("title"),
    text("body"),
    text("facts"),
    number("version", default=1),
    text("note", null=True),
    number("made_at_ms"),
    number("updated_at_ms"),
    UniqueConstraint("claim_id"),
    Index("ix_digests_state", "state"),
    one_of("state", "waiting", "rewriting", "published", "unpublished", "discarded", "failed"),
    comment="A draft in the private inbox: Markdown, and its facts with the ids of their sources as JSON.",
)

digest_versions = table(
    metadata,
    "digest_versions",
    row_id(),
    refers("digest_id", "digests.id"),
    number("version"),
    text("title"),
    text("body"),
    text("author"),
    number("saved_at_ms"),
    UniqueConstraint("digest_id", "version"),
    one_of("author", "persona", "owner"),
    comment="A wording of a digest draft.",
)

approvals = table(
    metadata,
    "approvals",
    row_id(),
    refers("digest_id", "digests.id"),
    text("text_hash"),
    number("approved_at_ms"),
    UniqueConstraint("digest_id", "text_hash"),
    comment="The owner said yes to this exact text: SHA-256 of language, title and body. Nothing else may become public.",
)
