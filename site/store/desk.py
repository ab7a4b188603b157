"""The owner: sign-in, sessions, the voice, the audit chain."""

from core.store.columns import key, number, one_of, only_row, refers, row_id, table, text

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

passkeys = table(
    metadata,
    "passkeys",
    key("credential_id"),
    text("public_key"),
    number("sign_count"),
    text("name"),
    number("added_at_ms"),
    number("used_at_ms", null=True),
    comment="A passkey of the owner: credential id and public key in base64url.",
)

recovery_codes = table(
    metadata,
    "recovery_codes",
    key("code_hash"),
    number("made_at_ms"),
    number("used_at_ms", null=True),
    comment="A code that signs the owner in once when password and passkeys are lost; only its hash is kept.",
)

challenges = table(
    metadata,
    "challenges",
    key("challenge"),
    text("purpose"),
    number("expires_at_ms"),
    one_of("purpose", "register", "sign_in"),
    comment="A random number a passkey must sign, once, within minutes.",
)

preview_links = table(
    metadata,
    "preview_links",
    key("token_hash"),
    refers("article_id", "articles.id"),
    number("made_at_ms"),
    number("expires_at_ms"),
    comment="An address that shows one draft to whoever holds it, for a while.",
)
