"""The anomaly guard, passkeys, recovery codes and preview links."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "challenges",
        sa.Column("challenge", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint("purpose IN ('register', 'sign_in')", name=op.f("ck_challenges_purpose")),
        sa.PrimaryKeyConstraint("challenge", name=op.f("pk_challenges")),
        comment="A random number a passkey must sign, once, within minutes.",
        sqlite_strict=True,
    )
    op.create_table(
        "guards",
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("tripped_on", sa.Text(), nullable=True),
        sa.Column("cleared_on", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("pool", name=op.f("pk_guards")),
        comment="The anomaly guard of a pool: the local day it stopped paid work, and the day the owner last allowed.",
        sqlite_strict=True,
    )
    op.create_table(
        "passkeys",
        sa.Column("credential_id", sa.Text(), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("sign_count", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("added_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("used_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.PrimaryKeyConstraint("credential_id", name=op.f("pk_passkeys")),
        comment="A passkey of the owner: credential id and public key in base64url.",
        sqlite_strict=True,
    )
    op.create_table(
        "recovery_codes",
        sa.Column("code_hash", sa.Text(), nullable=False),
        sa.Column("made_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("used_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.PrimaryKeyConstraint("code_hash", name=op.f("pk_recovery_codes")),
        comment="A code that signs the owner in once when password and passkeys are lost; only its hash is kept.",
        sqlite_strict=True,
    )
    op.create_table(
        "preview_links",
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("article_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("made_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["article_id"], ["articles.id"], name=op.f("fk_preview_links_article_id")),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_preview_links")),
        comment="An address that shows one draft to whoever holds it, for a while.",
        sqlite_strict=True,
    )
