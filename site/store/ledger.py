"""Money: pools by local day, their immutable entries, leases lent to a bridge, and usage."""

from sqlalchemy import CheckConstraint, Index, UniqueConstraint

from core.store.columns import flag, key, number, one_of, row_id, table, text

from .metadata import metadata

pool_days = table(
    metadata,
    "pool_days",
    key("pool"),
    key("day"),
    number("cap_micros", null=True),
    number("held_micros", default=0),
    number("spent_micros", default=0),
    number("unknown_micros", default=0),
    number("overrun_micros", default=0),
    number("tokens", default=0),
    number("requests", default=0),
    flag("frozen"),
    one_of("pool", "chat", "readers", "digest"),
    CheckConstraint("held_micros >= 0 AND spent_micros >= 0", name="not_negative"),
    CheckConstraint("cap_micros IS NULL OR held_micros + spent_micros <= cap_micros", name="within_the_cap"),
    comment="A pool on one local day: a checked projection of `entries`. `spent` includes what is unknown.",
)

reservations = table(
    metadata,
    "reservations",
    key("id"),
    text("pool"),
    text("day"),
    text("purpose"),
    number("reserved_micros"),
    number("reserved_tokens"),
    text("state"),
    number("made_at_ms"),
    number("ended_at_ms", null=True),
    number("expires_at_ms", null=True),
    Index("ix_reservations_live", "pool", "state"),
    one_of("pool", "chat", "readers", "digest"),
    one_of("purpose", "lease", "answer", "digest"),
    one_of("state", "held", "settled", "released", "unknown"),
    comment="Money set aside before a call (or for a lease). It is settled once; a deadline never releases it.",
)

entries = table(
    metadata,
    "entries",
    row_id(),
    text("pool"),
    text("day"),
    text("reservation_id"),
    text("kind"),
    number("amount_micros"),
    text("note", null=True),
    number("at_ms"),
    Index("ix_entries_day", "pool", "day"),
    Index("ix_entries_reservation", "reservation_id"),
    one_of("kind", "reserve", "settle", "release", "unknown", "overrun", "adjust"),
    comment="An immutable line of the ledger.",
)

leases = table(
    metadata,
    "leases",
    key("id"),
    text("installation"),
    text("reservation_id", unique=True),
    number("granted_micros"),
    number("granted_calls"),
    number("output_tokens"),
    number("issued_at_ms"),
    number("expires_at_ms"),
    text("state"),
    number("reported_at_ms", null=True),
    one_of("state", "open", "reported", "written_off"),
    comment="Money and calls lent to a bridge. Held until its closing report, or until the owner writes it off.",
)

usage = table(
    metadata,
    "usage",
    key("id"),
    text("pool"),
    text("day"),
    text("provider"),
    text("model"),
    text("category"),
    text("outcome"),
    number("input_tokens", null=True),
    number("output_tokens", null=True),
    number("cost_micros"),
    flag("incomplete"),
    number("at_ms"),
    Index("ix_usage_day", "pool", "day"),
    comment="One paid call, told by the program that made it; never its text. `incomplete`: the provider named no tokens.",
)

usage_notes = table(
    metadata,
    "usage_notes",
    row_id(),
    text("pool"),
    text("detail"),
    number("at_ms"),
    UniqueConstraint("pool", "detail", "at_ms"),
    comment="Bookkeeping failed although an answer existed: the usage page says that its figures may be incomplete.",
)

guards = table(
    metadata,
    "guards",
    key("pool"),
    text("tripped_on", null=True),
    text("cleared_on", null=True),
    comment="The anomaly guard of a pool: the local day it stopped paid work, and the day the owner last allowed.",
)
