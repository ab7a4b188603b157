"""The bridge's tables. The comment on each says what one row means; nothing here knows a channel or the model.

Three promises are held by the database itself and not only by the code above it: an update is accepted once
(`events`), a conversation has one active turn (`turns`), and a turn has one attempt that may have cost money (`attempts`).
"""

from pathlib import Path

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, UniqueConstraint
from sqlalchemy import text as sql

from core.store import Schema
from core.store.columns import (
    Int64,
    flag,
    key,
    new_metadata,
    number,
    one_of,
    only_row,
    refers,
    refers_key,
    row_id,
    table,
    text,
)

metadata = new_metadata()


cursors = table(
    metadata,
    "cursors",
    key("account"),
    text("value"),
    text("fingerprint"),
    number("updated_at_ms"),
    comment="How far an account has been read. `fingerprint` is of the credential: with another one the cursor is void.",
)

events = table(
    metadata,
    "events",
    row_id(),
    text("trace", unique=True),
    text("account"),
    text("event_key"),
    text("kind"),
    text("chat"),
    text("sender"),
    text("body", null=True),
    text("body_hash"),
    text("twin_key", null=True),
    text("outcome"),
    text("reason", null=True),
    number("platform_at_ms", null=True),
    number("received_at_ms"),
    UniqueConstraint("account", "event_key"),
    Index("ix_events_twin", "account", "twin_key"),
    one_of("kind", "message", "edit", "deletion", "other"),
    one_of("outcome", "accepted", "stranger", "poison", "ignored", "twin"),
    comment="One update of a platform, kept for ever. The raw body only for known senders; a stranger leaves an envelope.",
)

conflicts = table(
    metadata,
    "conflicts",
    row_id(),
    refers("event_id", "events.id"),
    text("body", null=True),
    text("body_hash"),
    number("received_at_ms"),
    number("resolved_at_ms", null=True),
    UniqueConstraint("event_id", "body_hash"),
    comment="The same update seen again with another content. Never a turn; the owner looks at it.",
)

bindings = table(
    metadata,
    "bindings",
    key("id"),
    text("account"),
    text("chat"),
    text("sender"),
    text("role"),
    text("name"),
    number("revoked_at_ms", null=True),
    number("updated_at_ms"),
    one_of("role", "owner", "guest"),
    comment="The bridge's copy of who may talk where. The site decides; a grant brings it.",
)

strangers = table(
    metadata,
    "strangers",
    key("account"),
    key("sender"),
    number("first_seen_at_ms"),
    number("noticed_at_ms", null=True),
    number("attempts", default=0),
    number("locked_until_ms", null=True),
    comment="A sender nobody paired: whether they had their one notice, and their tries at a code.",
)

conversations = table(
    metadata,
    "conversations",
    row_id(),
    text("account"),
    text("chat"),
    text("role"),
    number("private_since_ms", null=True),
    flag("paused"),
    text("reply_token", null=True),
    number("inbound_at_ms", null=True),
    number("sent_since_inbound", default=0),
    number("opened_at_ms"),
    UniqueConstraint("account", "chat"),
    one_of("role", "owner", "guest"),
    comment="One chat of one account. `private_since_ms`: what follows is answered but neither synced nor digested.",
)

messages = table(
    metadata,
    "messages",
    row_id(),
    text("trace", unique=True),
    refers("conversation_id", "conversations.id"),
    text("speaker"),
    text("name", null=True),
    text("text"),
    number("said_at_ms"),
    number("received_at_ms"),
    refers("event_id", "events.id", null=True),
    refers("turn_id", "turns.id", null=True),
    refers("reply_id", "replies.id", null=True),
    text("receipt", null=True),
    text("imported_key", null=True),
    flag("private"),
    number("version", default=1),
    number("session", default=0),
    number("change"),
    number("deleted_at_ms", null=True),
    UniqueConstraint("event_id"),
    UniqueConstraint("reply_id"),
    UniqueConstraint("conversation_id", "imported_key"),
    Index("ix_messages_order", "conversation_id", "said_at_ms", "id"),
    Index("ix_messages_change", "change"),
    Index("ix_messages_turn", "turn_id"),
    one_of("speaker", "person", "persona", "other"),
    comment="What was said in a conversation and heard: the person's words, the persona's delivered ones, imported ones. "
    "`change` grows with every insert, edit and deletion: the index follows it.",
)

message_versions = table(
    metadata,
    "message_versions",
    row_id(),
    refers("message_id", "messages.id"),
    number("version"),
    text("text"),
    number("edited_at_ms"),
    UniqueConstraint("message_id", "version"),
    comment="An earlier wording of an edited message.",
)

turns = table(
    metadata,
    "turns",
    row_id(),
    text("trace", unique=True),
    refers("conversation_id", "conversations.id"),
    text("phase"),
    text("reason", null=True),
    number("opened_at_ms"),
    number("answer_after_ms"),
    number("tries", default=0),
    number("updated_at_ms"),
    one_of(
        "phase", "ready", "composing", "calling", "replied", "done", "refused", "waiting_grant", "failed", "unknown"
    ),
    Index(
        "uq_turns_active",
        "conversation_id",
        unique=True,
        sqlite_where=sql("phase IN ('composing', 'calling')"),
        postgresql_where=sql("phase IN ('composing', 'calling')"),
    ),
    Index("ix_turns_phase", "phase", "answer_after_ms"),
    comment="One or more messages of a conversation that are answered together, once.",
)

leases = table(
    metadata,
    "leases",
    key("id"),
    number("granted_micros"),
    number("granted_calls"),
    number("output_tokens"),
    number("held_micros", default=0),
    number("spent_micros", default=0),
    number("overrun_micros", default=0),
    number("used_calls", default=0),
    number("tokens", default=0),
    flag("frozen"),
    number("expires_at_ms"),
    text("state"),
    number("updated_at_ms"),
    one_of("state", "open", "closed", "reported"),
    CheckConstraint("held_micros >= 0 AND spent_micros >= 0", name="not_negative"),
    CheckConstraint("held_micros + spent_micros <= granted_micros", name="within_the_grant"),
    CheckConstraint("used_calls <= granted_calls", name="within_the_calls"),
    comment="Money and calls the site lent to this bridge for a few minutes. `reported`: the site has its closing figures.",
)

attempts = table(
    metadata,
    "attempts",
    key("id"),
    refers("turn_id", "turns.id"),
    number("tries"),
    refers_key("lease_id", "leases.id"),
    text("provider"),
    text("model"),
    number("reserved_micros"),
    text("state"),
    text("outcome", null=True),
    text("detail", null=True),
    number("input_tokens", null=True),
    number("output_tokens", null=True),
    number("cost_micros", null=True),
    flag("asked_again"),
    flag("incomplete"),
    number("dispatched_at_ms"),
    number("ended_at_ms", null=True),
    UniqueConstraint("turn_id", "tries"),
    one_of("state", "dispatched", "settled", "released", "unknown"),
    Index(
        "uq_attempts_charged",
        "turn_id",
        unique=True,
        sqlite_where=sql("state <> 'released' AND asked_again = 0"),
        postgresql_where=sql("state <> 'released' AND asked_again = 0"),
    ),
    comment="One call of the model, written before its first byte leaves. Only a released one certainly cost nothing.",
)

lease_entries = table(
    metadata,
    "lease_entries",
    row_id(),
    refers_key("lease_id", "leases.id"),
    refers_key("attempt_id", "attempts.id"),
    text("kind"),
    number("amount_micros"),
    number("held_micros"),
    number("spent_micros"),
    number("at_ms"),
    UniqueConstraint("attempt_id", "kind"),
    one_of("kind", "reserve", "settle", "release", "unknown", "overrun", "adjust"),
    comment="An immutable line of the ledger inside a lease: what the event names, and what it changes in held and spent.",
)

replies = table(
    metadata,
    "replies",
    row_id(),
    text("trace", unique=True),
    refers("conversation_id", "conversations.id"),
    refers("turn_id", "turns.id", null=True),
    refers("event_id", "events.id", null=True),
    text("kind"),
    text("text"),
    text("model", null=True),
    text("finish", null=True),
    number("created_at_ms"),
    one_of("kind", "reply", "notice", "command"),
    Index(
        "uq_replies_turn",
        "turn_id",
        unique=True,
        sqlite_where=sql("kind = 'reply'"),
        postgresql_where=sql("kind = 'reply'"),
    ),
    comment="What is to be said: the persona's answer to a turn, a line of the house, or the answer to a command.",
)

parts = table(
    metadata,
    "parts",
    row_id(),
    refers("reply_id", "replies.id"),
    number("number"),
    text("text"),
    text("state"),
    text("transaction_id", unique=True),
    text("platform_id", null=True),
    text("detail", null=True),
    number("tries", default=0),
    number("not_before_ms", default=0),
    number("sending_at_ms", null=True),
    number("updated_at_ms"),
    UniqueConstraint("reply_id", "number"),
    Index("ix_parts_state", "state", "not_before_ms"),
    one_of("state", "intent", "sending", "sent", "accepted", "failed", "unknown", "deferred", "expired", "held"),
    comment="A piece of a reply as one message of the platform. `sent` has the platform's id; `unknown` is left only by proof or owner.",
)

transitions = table(
    metadata,
    "transitions",
    row_id(),
    text("object"),
    text("object_id"),
    text("before", null=True),
    text("after"),
    text("actor"),
    text("reason", null=True),
    number("at_ms"),
    Index("ix_transitions_object", "object", "object_id"),
    one_of("object", "turn", "attempt", "part", "lease"),
    one_of("actor", "bridge", "owner", "platform"),
    comment="A step of a turn, an attempt, a part or a lease: from what, to what, by whom, why. Never text.",
)

context_records = table(
    metadata,
    "context_records",
    Column("turn_id", Int64, ForeignKey("turns.id"), primary_key=True, autoincrement=False),
    text("body"),
    number("written_at_ms"),
    comment="Why the persona said it: what went into the request of a turn, what stayed out, scores and bytes. JSON.",
)

preferences = table(
    metadata,
    "preferences",
    row_id(),
    refers("conversation_id", "conversations.id"),
    refers("message_id", "messages.id"),
    text("kind"),
    text("topic"),
    text("quote"),
    number("said_at_ms"),
    number("superseded_at_ms", null=True),
    number("deleted_at_ms", null=True),
    Index("ix_preferences_topic", "conversation_id", "topic"),
    UniqueConstraint("message_id", "kind", "topic"),
    comment="An explicit statement of the person, as their own words. The newest one of a topic that is not deleted holds.",
)

sync_records = table(
    metadata,
    "sync_records",
    row_id(),
    text("kind"),
    text("record_key"),
    text("body"),
    number("created_at_ms"),
    number("synced_at_ms", null=True),
    text("refused", null=True),
    UniqueConstraint("kind", "record_key"),
    Index("ix_sync_records_waiting", "synced_at_ms", "id"),
    comment="Something the site should know, written in the transaction that made it true. Sent until the site has it.",
)

grants = table(
    metadata,
    "grants",
    *only_row(),
    text("body"),
    number("obtained_at_ms"),
    number("expires_at_ms"),
    comment="The newest grant of the site: bindings, voice, pauses. One row.",
)

instructions = table(
    metadata,
    "instructions",
    key("id"),
    text("kind"),
    text("body"),
    number("received_at_ms"),
    number("done_at_ms", null=True),
    text("result", null=True),
    number("reported_at_ms", null=True),
    comment="What the site asked this bridge to do: done once, reported until heard.",
)

breakers = table(
    metadata,
    "breakers",
    key("subject"),
    text("phase"),
    number("failures"),
    number("until_ms", null=True),
    number("updated_at_ms"),
    one_of("phase", "closed", "open", "trial"),
    comment="Failures in a row of a conversation or a provider. An open one stops paid work until `until_ms`, or until the owner clears it.",
)

switches = table(
    metadata,
    "switches",
    key("name"),
    text("value"),
    number("changed_at_ms"),
    comment="What the owner switched in a running bridge, such as a pause of the outbox.",
)

counters = table(
    metadata,
    "counters",
    key("name"),
    number("value"),
    comment="Numbers that only grow, such as the newest change of `messages`.",
)

SCHEMA = Schema(metadata, Path(__file__).parent / "revisions")
