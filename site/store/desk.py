"""The owner: sign-in, sessions, the voice, the audit chain."""

from core.store.columns import key, number, one_of, only_row, row_id, table, text

from .metadata import metadata

owners = table(
    metadata,
    "owners",
    *only_row(),
    text("password_hash"),
    number("created_at_ms"),
    number("password_changed_at_ms"),
    comment="The owner. One row at most.",
)

claim_links = table(
    metadata,
    "claim_links",
    key("token_hash"),
    text("purpose"),
    number("created_at_ms"),
    number("expires_at_ms", null=True),
    number("used_at_ms", null=True),
    one_of("purpose", "claim", "reset"),
    comment="A one-time link that makes somebody the owner; only the hash of its token is kept.",
)

sessions = table(
    metadata,
    "sessions",
    key("id_hash"),
    text("data"),
    text("agent"),
    text("address"),
    number("created_at_ms"),
    number("seen_at_ms"),
    number("expires_at_ms"),
    comment="A signed-in browser; only the hash of its cookie is kept.",
)

sign_in_attempts = table(
    metadata,
    "sign_in_attempts",
    row_id(),
    text("address"),
    number("at_ms"),
    number("succeeded"),
    comment="A try at the owner's password, for the limits on them.",
)

voices = table(
    metadata,
    "voices",
    row_id(),
    text("text"),
    number("saved_at_ms"),
    comment="A version of the persona's private voice; the newest one holds.",
)

audit = table(
    metadata,
    "audit",
    row_id(),
    number("at_ms"),
    text("actor"),
    text("address"),
    text("action"),
    text("object"),
    text("detail"),
    text("previous_hash"),
    text("hash", unique=True),
    comment="Something the owner or a program did here; each line carries the hash of the one before.",
)
