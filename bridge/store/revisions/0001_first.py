"""The first tables of the bridge's store."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "bindings",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("chat", sa.Text(), nullable=False),
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("revoked_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("updated_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint("role IN ('owner', 'guest')", name=op.f("ck_bindings_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bindings")),
        comment="The bridge's copy of who may talk where. The site decides; a grant brings it.",
        sqlite_strict=True,
    )
    op.create_table(
        "breakers",
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("failures", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False),
        sa.Column("opened_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("updated_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_breakers")),
        comment="Failures in a row of a conversation or a provider; an open one stops paid work until it cools or the owner clears it.",
        sqlite_strict=True,
    )
    op.create_table(
        "conversations",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("chat", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("private_since_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("paused", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False),
        sa.Column("reply_token", sa.Text(), nullable=True),
        sa.Column("inbound_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column(
            "sent_since_inbound",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            server_default="0",
            nullable=False,
        ),
        sa.Column("opened_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint("role IN ('owner', 'guest')", name=op.f("ck_conversations_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversations")),
        sa.UniqueConstraint("account", "chat", name=op.f("uq_conversations_account_chat")),
        comment="One chat of one account. `private_since_ms`: what follows is answered but neither synced nor digested.",
        sqlite_strict=True,
    )
    op.create_table(
        "counters",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_counters")),
        comment="Numbers that only grow, such as the newest change of `messages`.",
        sqlite_strict=True,
    )
    op.create_table(
        "cursors",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("account", name=op.f("pk_cursors")),
        comment="How far an account has been read. `fingerprint` is of the credential: with another one the cursor is void.",
        sqlite_strict=True,
    )
    op.create_table(
        "events",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("trace", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("event_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("chat", sa.Text(), nullable=False),
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("body_hash", sa.Text(), nullable=False),
        sa.Column("twin_key", sa.Text(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("platform_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("received_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint("kind IN ('message', 'edit', 'deletion', 'other')", name=op.f("ck_events_kind")),
        sa.CheckConstraint(
            "outcome IN ('accepted', 'stranger', 'poison', 'ignored', 'twin')", name=op.f("ck_events_outcome")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sa.UniqueConstraint("account", "event_key", name=op.f("uq_events_account_event_key")),
        sa.UniqueConstraint("trace", name=op.f("uq_events_trace")),
        comment="One update of a platform, kept for ever. The raw body only for known senders; a stranger leaves an envelope.",
        sqlite_strict=True,
    )
    op.create_index("ix_events_twin", "events", ["account", "twin_key"], unique=False)
    op.create_table(
        "grants",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("obtained_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_grants_only_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grants")),
        comment="The newest grant of the site: bindings, voice, pauses. One row.",
        sqlite_strict=True,
    )
    op.create_table(
        "instructions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("received_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("done_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("reported_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_instructions")),
        comment="What the site asked this bridge to do: done once, reported until heard.",
        sqlite_strict=True,
    )
    op.create_table(
        "leases",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("granted_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("granted_calls", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("output_tokens", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "held_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False
        ),
        sa.Column(
            "spent_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False
        ),
        sa.Column(
            "overrun_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False
        ),
        sa.Column(
            "used_calls", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False
        ),
        sa.Column("tokens", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False),
        sa.Column("frozen", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint("state IN ('open', 'closed', 'reported')", name=op.f("ck_leases_state")),
        sa.CheckConstraint("held_micros + spent_micros <= granted_micros", name=op.f("ck_leases_within_the_grant")),
        sa.CheckConstraint("held_micros >= 0 AND spent_micros >= 0", name=op.f("ck_leases_not_negative")),
        sa.CheckConstraint("used_calls <= granted_calls", name=op.f("ck_leases_within_the_calls")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_leases")),
        comment="Money and calls the site lent to this bridge for a few minutes. `reported`: the site has its closing figures.",
        sqlite_strict=True,
    )
    op.create_table(
        "strangers",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("first_seen_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("noticed_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("attempts", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False),
        sa.Column("locked_until_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.PrimaryKeyConstraint("account", "sender", name=op.f("pk_strangers")),
        comment="A sender nobody paired: whether they had their one notice, and their tries at a code.",
        sqlite_strict=True,
    )
    op.create_table(
        "switches",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("changed_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_switches")),
        comment="What the owner switched in a running bridge, such as a pause of the outbox.",
        sqlite_strict=True,
    )
    op.create_table(
        "sync_records",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("record_key", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("synced_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("refused", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sync_records")),
        sa.UniqueConstraint("kind", "record_key", name=op.f("uq_sync_records_kind_record_key")),
        comment="Something the site should know, written in the transaction that made it true. Sent until the site has it.",
        sqlite_strict=True,
    )
    op.create_index("ix_sync_records_waiting", "sync_records", ["synced_at_ms", "id"], unique=False)
    op.create_table(
        "transitions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("object_id", sa.Text(), nullable=False),
        sa.Column("before", sa.Text(), nullable=True),
        sa.Column("after", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint("actor IN ('bridge', 'owner', 'platform')", name=op.f("ck_transitions_actor")),
        sa.CheckConstraint("object IN ('turn', 'attempt', 'part', 'lease')", name=op.f("ck_transitions_object")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_transitions")),
        comment="A step of a turn, an attempt, a part or a lease: from what, to what, by whom, why. Never text.",
        sqlite_strict=True,
    )
    op.create_index("ix_transitions_object", "transitions", ["object", "object_id"], unique=False)
    op.create_table(
        "conflicts",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("event_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("body_hash", sa.Text(), nullable=False),
        sa.Column("received_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("resolved_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.ForeignKeyConstraint(["event_id"], ["events.id"], name=op.f("fk_conflicts_event_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conflicts")),
        sa.UniqueConstraint("event_id", "body_hash", name=op.f("uq_conflicts_event_id_body_hash")),
        comment="The same update seen again with another content. Never a turn; the owner looks at it.",
        sqlite_strict=True,
    )
    op.create_table(
        "turns",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("trace", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("opened_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("answer_after_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tries", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint(
            "phase IN ('ready', 'composing', 'calling', 'replied', 'done', 'refused', 'waiting_grant', 'failed', 'unknown')",
            name=op.f("ck_turns_phase"),
        ),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"], name=op.f("fk_turns_conversation_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turns")),
        sa.UniqueConstraint("trace", name=op.f("uq_turns_trace")),
        comment="One or more messages of a conversation that are answered together, once.",
        sqlite_strict=True,
    )
    op.create_index("ix_turns_phase", "turns", ["phase", "answer_after_ms"], unique=False)
    op.create_index(
        "uq_turns_active",
        "turns",
        ["conversation_id"],
        unique=True,
        sqlite_where=sa.text("phase IN ('composing', 'calling')"),
        postgresql_where=sa.text("phase IN ('composing', 'calling')"),
    )
    op.create_index(
        "uq_turns_open",
        "turns",
        ["conversation_id"],
        unique=True,
        sqlite_where=sa.text("phase IN ('ready', 'waiting_grant')"),
        postgresql_where=sa.text("phase IN ('ready', 'waiting_grant')"),
    )
    op.create_table(
        "attempts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tries", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("reserved_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("input_tokens", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("output_tokens", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("cost_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column(
            "asked_again", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False
        ),
        sa.Column(
            "incomplete", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False
        ),
        sa.Column("dispatched_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("ended_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.CheckConstraint("state IN ('dispatched', 'settled', 'released', 'unknown')", name=op.f("ck_attempts_state")),
        sa.ForeignKeyConstraint(["lease_id"], ["leases.id"], name=op.f("fk_attempts_lease_id")),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name=op.f("fk_attempts_turn_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
        sa.UniqueConstraint("turn_id", "tries", name=op.f("uq_attempts_turn_id_tries")),
        comment="One call of the model, written before its first byte leaves. Only a released one certainly cost nothing.",
        sqlite_strict=True,
    )
    op.create_index(
        "uq_attempts_charged",
        "attempts",
        ["turn_id"],
        unique=True,
        sqlite_where=sa.text("state <> 'released' AND asked_again = 0"),
        postgresql_where=sa.text("state <> 'released' AND asked_again = 0"),
    )
    op.create_table(
        "context_records",
        sa.Column("turn_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("written_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name=op.f("fk_context_records_turn_id")),
        sa.PrimaryKeyConstraint("turn_id", name=op.f("pk_context_records")),
        comment="Why the persona said it: what went into the request of a turn, what stayed out, scores and bytes. JSON.",
        sqlite_strict=True,
    )
    op.create_table(
        "replies",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("trace", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("turn_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("event_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("finish", sa.Text(), nullable=True),
        sa.Column("created_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint("kind IN ('reply', 'notice', 'command')", name=op.f("ck_replies_kind")),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"], name=op.f("fk_replies_conversation_id")),
        sa.ForeignKeyConstraint(["event_id"], ["events.id"], name=op.f("fk_replies_event_id")),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name=op.f("fk_replies_turn_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_replies")),
        sa.UniqueConstraint("trace", name=op.f("uq_replies_trace")),
        comment="What is to be said: the persona's answer to a turn, a line of the house, or the answer to a command.",
        sqlite_strict=True,
    )
    op.create_index(
        "uq_replies_turn",
        "replies",
        ["turn_id"],
        unique=True,
        sqlite_where=sa.text("kind = 'reply'"),
        postgresql_where=sa.text("kind = 'reply'"),
    )
    op.create_table(
        "lease_entries",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("attempt_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("amount_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("held_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("spent_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint(
            "kind IN ('reserve', 'settle', 'release', 'unknown', 'overrun', 'adjust')",
            name=op.f("ck_lease_entries_kind"),
        ),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_lease_entries_attempt_id")),
        sa.ForeignKeyConstraint(["lease_id"], ["leases.id"], name=op.f("fk_lease_entries_lease_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lease_entries")),
        sa.UniqueConstraint("attempt_id", "kind", name=op.f("uq_lease_entries_attempt_id_kind")),
        comment="An immutable line of the ledger inside a lease: what the event names, and what it changes in held and spent.",
        sqlite_strict=True,
    )
    op.create_table(
        "messages",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("trace", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("speaker", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("said_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("received_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("event_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("turn_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("reply_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("receipt", sa.Text(), nullable=True),
        sa.Column("imported_key", sa.Text(), nullable=True),
        sa.Column("private", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False),
        sa.Column("version", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="1", nullable=False),
        sa.Column("session", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False),
        sa.Column("change", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("deleted_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.CheckConstraint("speaker IN ('person', 'persona', 'other')", name=op.f("ck_messages_speaker")),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"], name=op.f("fk_messages_conversation_id")),
        sa.ForeignKeyConstraint(["event_id"], ["events.id"], name=op.f("fk_messages_event_id")),
        sa.ForeignKeyConstraint(["reply_id"], ["replies.id"], name=op.f("fk_messages_reply_id")),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name=op.f("fk_messages_turn_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
        sa.UniqueConstraint("conversation_id", "imported_key", name=op.f("uq_messages_conversation_id_imported_key")),
        sa.UniqueConstraint("event_id", name=op.f("uq_messages_event_id")),
        sa.UniqueConstraint("reply_id", name=op.f("uq_messages_reply_id")),
        sa.UniqueConstraint("trace", name=op.f("uq_messages_trace")),
        comment="What was said in a conversation and heard: the person's words, the persona's delivered ones, imported ones. `change` grows with every insert, edit and deletion: the index follows it.",
        sqlite_strict=True,
    )
    op.create_index("ix_messages_change", "messages", ["change"], unique=False)
    op.create_index("ix_messages_order", "messages", ["conversation_id", "said_at_ms", "id"], unique=False)
    op.create_index("ix_messages_turn", "messages", ["turn_id"], unique=False)
    op.create_table(
        "parts",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("reply_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("transaction_id", sa.Text(), nullable=False),
        sa.Column("platform_id", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("tries", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False),
        sa.Column(
            "not_before_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), server_default="0", nullable=False
        ),
        sa.Column("sending_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("updated_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint(
            "state IN ('intent', 'sending', 'sent', 'accepted', 'failed', 'unknown', 'deferred', 'expired', 'held')",
            name=op.f("ck_parts_state"),
        ),
        sa.ForeignKeyConstraint(["reply_id"], ["replies.id"], name=op.f("fk_parts_reply_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_parts")),
        sa.UniqueConstraint("reply_id", "number", name=op.f("uq_parts_reply_id_number")),
        sa.UniqueConstraint("transaction_id", name=op.f("uq_parts_transaction_id")),
        comment="A piece of a reply as one message of the platform. `sent` has the platform's id; `unknown` is left only by proof or owner.",
        sqlite_strict=True,
    )
    op.create_index("ix_parts_state", "parts", ["state", "not_before_ms"], unique=False)
    op.create_table(
        "message_versions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("message_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("version", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("edited_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["message_id"], ["messages.id"], name=op.f("fk_message_versions_message_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_message_versions")),
        sa.UniqueConstraint("message_id", "version", name=op.f("uq_message_versions_message_id_version")),
        comment="An earlier wording of an edited message.",
        sqlite_strict=True,
    )
    op.create_table(
        "preferences",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("conversation_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("message_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("quote", sa.Text(), nullable=False),
        sa.Column("said_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("superseded_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("deleted_at_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"], name=op.f("fk_preferences_conversation_id")),
        sa.ForeignKeyConstraint(["message_id"], ["messages.id"], name=op.f("fk_preferences_message_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_preferences")),
        sa.UniqueConstraint("message_id", "kind", "topic", name=op.f("uq_preferences_message_id_kind_topic")),
        comment="An explicit statement of the person, as their own words. The newest one of a topic that is not deleted holds.",
        sqlite_strict=True,
    )
    op.create_index("ix_preferences_topic", "preferences", ["conversation_id", "topic"], unique=False)
