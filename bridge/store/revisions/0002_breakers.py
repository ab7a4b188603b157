"""Breakers know their phase; a turn that comes back to `ready` may stand beside one that was opened meanwhile."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("uq_turns_open", "turns")
    op.drop_table("breakers")  # nothing has written to it yet
    op.create_table(
        "breakers",
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("failures", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("until_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("updated_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint("phase IN ('closed', 'open', 'trial')", name=op.f("ck_breakers_phase")),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_breakers")),
        comment="Failures in a row of a conversation or a provider. An open one stops paid work until `until_ms`, or until the owner clears it.",
        sqlite_strict=True,
    )
