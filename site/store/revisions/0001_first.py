"""The first tables of the site's store."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "articles",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("visibility", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("publish_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.CheckConstraint("kind IN ('post', 'note', 'project')", name=op.f("ck_articles_kind")),
        sa.CheckConstraint(
            "visibility IN ('draft', 'published', 'unpublished', 'private')", name=op.f("ck_articles_visibility")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_articles")),
        sa.UniqueConstraint("slug", name=op.f("uq_articles_slug")),
        comment="One article, whatever its state. Only `published` ones have a row in `publications`.",
        sqlite_strict=True,
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("previous_hash", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
        sa.UniqueConstraint("hash", name=op.f("uq_audit_hash")),
        comment="Something the owner or a program did here; each line carries the hash of the one before.",
        sqlite_strict=True,
    )
    op.create_table(
        "claim_links",
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("used_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.CheckConstraint("purpose IN ('claim', 'reset')", name=op.f("ck_claim_links_purpose")),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_claim_links")),
        comment="A one-time link that makes somebody the owner; only the hash of its token is kept.",
        sqlite_strict=True,
    )
    op.create_table(
        "claims",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("slot", sa.Text(), nullable=True),
        sa.Column("batch", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("reservation_id", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("claimed_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("ended_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "state IN ('claimed', 'drafted', 'released', 'failed', 'unknown')", name=op.f("ck_claims_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_claims")),
        sa.UniqueConstraint("slot", "batch", name=op.f("uq_claims_slot_batch")),
        comment="Sources a digest worker is summarising. Shown while it lives; the owner may release a stuck one.",
        sqlite_strict=True,
    )
    op.create_table(
        "control_requests",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_control_requests")),
        comment="The id of a signed request that was accepted; a second one with it is a replay.",
        sqlite_strict=True,
    )
    op.create_index("ix_control_requests_at", "control_requests", ["at_ms"], unique=False)
    op.create_table(
        "editions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_editions")),
        comment="A moment at which something public changed; the newest id names what caches and the search index show.",
        sqlite_strict=True,
    )
    op.create_table(
        "entries",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("reservation_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("amount_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint(
            "kind IN ('reserve', 'settle', 'release', 'unknown', 'overrun', 'adjust')", name=op.f("ck_entries_kind")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entries")),
        comment="An immutable line of the ledger.",
        sqlite_strict=True,
    )
    op.create_index("ix_entries_day", "entries", ["pool", "day"], unique=False)
    op.create_index("ix_entries_reservation", "entries", ["reservation_id"], unique=False)
    op.create_table(
        "instructions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("made_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("taken_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("done_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "kind IN ('forget', 'edit_preference', 'resolve_part', 'revoke', 'pairing_code', 'sign_in', 'pause', 'resume', 'clear_breaker')",
            name=op.f("ck_instructions_kind"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_instructions")),
        comment="Something the owner wants a bridge to do.",
        sqlite_strict=True,
    )
    op.create_table(
        "leases",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("installation", sa.Text(), nullable=False),
        sa.Column("reservation_id", sa.Text(), nullable=False),
        sa.Column("granted_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("granted_calls", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("output_tokens", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("issued_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reported_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.CheckConstraint("state IN ('open', 'reported', 'written_off')", name=op.f("ck_leases_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_leases")),
        sa.UniqueConstraint("reservation_id", name=op.f("uq_leases_reservation_id")),
        comment="Money and calls lent to a bridge. Held until its closing report, or until the owner writes it off.",
        sqlite_strict=True,
    )
    op.create_table(
        "media",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("original", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("width", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("height", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("added_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_media")),
        comment="A picture or file; `name` is its content hash and ending, the bytes lie in data_dir/media.",
        sqlite_strict=True,
    )
    op.create_table(
        "owners",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("password_changed_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_owners_only_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_owners")),
        comment="The owner. One row at most.",
        sqlite_strict=True,
    )
    op.create_table(
        "pairing_codes",
        sa.Column("code_hash", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=True),
        sa.Column("chat", sa.Text(), nullable=True),
        sa.Column("made_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("used_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.CheckConstraint("role IN ('owner', 'guest')", name=op.f("ck_pairing_codes_role")),
        sa.PrimaryKeyConstraint("code_hash", name=op.f("pk_pairing_codes")),
        comment="A code that pairs one sender, once, for ten minutes; only its hash is kept.",
        sqlite_strict=True,
    )
    op.create_table(
        "pairings",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("chat", sa.Text(), nullable=False),
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("made_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("revoked_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.CheckConstraint("role IN ('owner', 'guest')", name=op.f("ck_pairings_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pairings")),
        comment="A binding: who may talk with the persona, where, and as what. The bridge gets a copy with each grant.",
        sqlite_strict=True,
    )
    op.create_index(
        "uq_pairings_live",
        "pairings",
        ["account", "chat", "sender"],
        unique=True,
        sqlite_where=sa.text("revoked_at_ms IS NULL"),
        postgresql_where=sa.text("revoked_at_ms IS NULL"),
    )
    op.create_table(
        "pool_days",
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("cap_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column(
            "held_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False
        ),
        sa.Column(
            "spent_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False
        ),
        sa.Column(
            "unknown_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False
        ),
        sa.Column(
            "overrun_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False
        ),
        sa.Column("tokens", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False),
        sa.Column("requests", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False),
        sa.Column("frozen", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False),
        sa.CheckConstraint("pool IN ('chat', 'readers', 'digest')", name=op.f("ck_pool_days_pool")),
        sa.CheckConstraint(
            "cap_micros IS NULL OR held_micros + spent_micros <= cap_micros", name=op.f("ck_pool_days_within_the_cap")
        ),
        sa.CheckConstraint("held_micros >= 0 AND spent_micros >= 0", name=op.f("ck_pool_days_not_negative")),
        sa.PrimaryKeyConstraint("pool", "day", name=op.f("pk_pool_days")),
        comment="A pool on one local day: a checked projection of `entries`. `spent` includes what is unknown.",
        sqlite_strict=True,
    )
    op.create_table(
        "reservations",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("reserved_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("reserved_tokens", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("made_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("ended_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("expires_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.CheckConstraint("pool IN ('chat', 'readers', 'digest')", name=op.f("ck_reservations_pool")),
        sa.CheckConstraint("purpose IN ('lease', 'answer', 'digest')", name=op.f("ck_reservations_purpose")),
        sa.CheckConstraint("state IN ('held', 'settled', 'released', 'unknown')", name=op.f("ck_reservations_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reservations")),
        comment="Money set aside before a call (or for a lease). It is settled once; a deadline never releases it.",
        sqlite_strict=True,
    )
    op.create_index("ix_reservations_live", "reservations", ["pool", "state"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("id_hash", sa.Text(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("seen_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("id_hash", name=op.f("pk_sessions")),
        comment="A signed-in browser; only the hash of its cookie is kept.",
        sqlite_strict=True,
    )
    op.create_table(
        "sign_in_attempts",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("succeeded", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_attempts")),
        comment="A try at the owner's password, for the limits on them.",
        sqlite_strict=True,
    )
    op.create_table(
        "slots",
        sa.Column("slot", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("claimed_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("ended_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.CheckConstraint("state IN ('claimed', 'done', 'empty', 'failed', 'told')", name=op.f("ck_slots_state")),
        sa.PrimaryKeyConstraint("slot", name=op.f("pk_slots")),
        comment="A scheduled moment of the digest, by local day and time; whoever inserts it runs it.",
        sqlite_strict=True,
    )
    op.create_table(
        "sources",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("speaker", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("said_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("heard", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False),
        sa.Column("version", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="1", nullable=False),
        sa.Column("received_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("forgotten_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("processed_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.CheckConstraint("role IN ('owner', 'guest')", name=op.f("ck_sources_role")),
        sa.CheckConstraint("speaker IN ('person', 'persona')", name=op.f("ck_sources_speaker")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sources")),
        comment="A message or a reply that a bridge told of: private, and what a digest is made from. `heard`: a reply reached the person.",
        sqlite_strict=True,
    )
    op.create_index("ix_sources_turn", "sources", ["turn"], unique=False)
    op.create_index("ix_sources_waiting", "sources", ["processed_at_ms", "said_at_ms"], unique=False)
    op.create_table(
        "synced",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("record_key", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("received_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint(
            "kind IN ('part_state', 'turn_context', 'preference', 'conflict', 'channel_health', 'pairing_seen', 'sign_in')",
            name=op.f("ck_synced_kind"),
        ),
        sa.PrimaryKeyConstraint("kind", "record_key", name=op.f("pk_synced")),
        comment="Any other record a bridge told of, the newest body for its key.",
        sqlite_strict=True,
    )
    op.create_table(
        "usage",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("output_tokens", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("cost_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "incomplete", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False
        ),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_usage")),
        comment="One paid call, told by the program that made it; never its text. `incomplete`: the provider named no tokens.",
        sqlite_strict=True,
    )
    op.create_index("ix_usage_day", "usage", ["pool", "day"], unique=False)
    op.create_table(
        "usage_notes",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_usage_notes")),
        sa.UniqueConstraint("pool", "detail", "at_ms", name=op.f("uq_usage_notes_pool_detail_at_ms")),
        comment="Bookkeeping failed although an answer existed: the usage page says that its figures may be incomplete.",
        sqlite_strict=True,
    )
    op.create_table(
        "voices",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("saved_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_voices")),
        comment="A version of the persona's private voice; the newest one holds.",
        sqlite_strict=True,
    )
    op.create_table(
        "claim_sources",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("claim_id", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("live", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="1", nullable=False),
        sa.ForeignKeyConstraint(["claim_id"], ["claims.id"], name=op.f("fk_claim_sources_claim_id")),
        sa.ForeignKeyConstraint(["source_id"], ["sources.id"], name=op.f("fk_claim_sources_source_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_claim_sources")),
        sa.UniqueConstraint("claim_id", "source_id", name=op.f("uq_claim_sources_claim_id_source_id")),
        comment="A source inside a claim; it is in at most one live claim.",
        sqlite_strict=True,
    )
    op.create_index(
        "uq_claim_sources_live",
        "claim_sources",
        ["source_id"],
        unique=True,
        sqlite_where=sa.text("live = 1"),
        postgresql_where=sa.text("live = 1"),
    )
    op.create_table(
        "digests",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("claim_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="1", nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("made_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint(
            "state IN ('waiting', 'rewriting', 'published', 'unpublished', 'discarded', 'failed')",
            name=op.f("ck_digests_state"),
        ),
        sa.ForeignKeyConstraint(["claim_id"], ["claims.id"], name=op.f("fk_digests_claim_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_digests")),
        sa.UniqueConstraint("claim_id", name=op.f("uq_digests_claim_id")),
        comment="A draft in the private inbox: Markdown, and its facts with the ids of their sources as JSON.",
        sqlite_strict=True,
    )
    op.create_index("ix_digests_state", "digests", ["state"], unique=False)
    op.create_table(
        "drafts",
        sa.Column(
            "article_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("version", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("dated", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["article_id"], ["articles.id"], name=op.f("fk_drafts_article_id")),
        sa.PrimaryKeyConstraint("article_id", name=op.f("pk_drafts")),
        comment="The working text of an article: FlowDocument JSON, tags as a JSON list. Every write names the version it began from.",
        sqlite_strict=True,
    )
    op.create_table(
        "old_slugs",
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("article_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("left_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["article_id"], ["articles.id"], name=op.f("fk_old_slugs_article_id")),
        sa.PrimaryKeyConstraint("slug", name=op.f("pk_old_slugs")),
        comment="An address an article once had; it leads to the present one.",
        sqlite_strict=True,
    )
    op.create_table(
        "publications",
        sa.Column(
            "article_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("dated", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("html", sa.Text(), nullable=False),
        sa.Column("plain", sa.Text(), nullable=False),
        sa.Column("published_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("edition", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["article_id"], ["articles.id"], name=op.f("fk_publications_article_id")),
        sa.PrimaryKeyConstraint("article_id", name=op.f("pk_publications")),
        sa.UniqueConstraint("slug", name=op.f("uq_publications_slug")),
        comment="What readers see of an article: rendered once, when it was published. `edition` is the publication number of the site.",
        sqlite_strict=True,
    )
    op.create_index("ix_publications_list", "publications", ["kind", "dated"], unique=False)
    op.create_table(
        "revisions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("article_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("version", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("dated", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("saved_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["article_id"], ["articles.id"], name=op.f("fk_revisions_article_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_revisions")),
        sa.UniqueConstraint("article_id", "version", name=op.f("uq_revisions_article_id_version")),
        comment="The draft as it was at one version.",
        sqlite_strict=True,
    )
    op.create_table(
        "approvals",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("digest_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("text_hash", sa.Text(), nullable=False),
        sa.Column("approved_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["digest_id"], ["digests.id"], name=op.f("fk_approvals_digest_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approvals")),
        sa.UniqueConstraint("digest_id", "text_hash", name=op.f("uq_approvals_digest_id_text_hash")),
        comment="The owner said yes to this exact text: SHA-256 of language, title and body. Nothing else may become public.",
        sqlite_strict=True,
    )
    op.create_table(
        "digest_versions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("digest_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("version", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("saved_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint("author IN ('persona', 'owner')", name=op.f("ck_digest_versions_author")),
        sa.ForeignKeyConstraint(["digest_id"], ["digests.id"], name=op.f("fk_digest_versions_digest_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_digest_versions")),
        sa.UniqueConstraint("digest_id", "version", name=op.f("uq_digest_versions_digest_id_version")),
        comment="A wording of a digest draft.",
        sqlite_strict=True,
    )
    op.create_table(
        "journal",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("html", sa.Text(), nullable=False),
        sa.Column("text_hash", sa.Text(), nullable=False),
        sa.Column("digest_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("published_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("withdrawn_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.ForeignKeyConstraint(["digest_id"], ["digests.id"], name=op.f("fk_journal_digest_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_journal")),
        sa.UniqueConstraint("slug", name=op.f("uq_journal_slug")),
        comment="A reviewed digest that the owner published: the approved text and nothing of its sources.",
        sqlite_strict=True,
    )
    op.create_index("ix_journal_day", "journal", ["day"], unique=False)
    op.create_table(
        "publication_tags",
        sa.Column("article_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["article_id"], ["publications.article_id"], name=op.f("fk_publication_tags_article_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("article_id", "tag", name=op.f("pk_publication_tags")),
        comment="One tag of one published article.",
        sqlite_strict=True,
    )
    op.create_index("ix_publication_tags_tag", "publication_tags", ["tag"], unique=False)
