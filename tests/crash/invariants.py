"""The promises of the bridge, checked from outside: from what the fakes wrote down and from the two stores, nothing else."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.fakes.journal import Entry, Journal

from .scenarios import Scenario

Row = tuple[object, ...]
MOST_TRIES = 3


@dataclass(frozen=True)
class Evidence:
    """What a world left behind."""

    folder: Path
    scenario: Scenario

    def rows(self, query: str, store: str = "bridge") -> list[Row]:
        return list(self._stores[store].execute(query))

    @cached_property
    def _stores(self) -> dict[str, sqlite3.Connection]:
        return {name: sqlite3.connect(self.folder / f"{name}.db") for name in ("bridge", "site")}

    def close(self) -> None:
        for conn in self._stores.values():
            conn.close()

    @cached_property
    def updates(self) -> list[Entry]:
        return Journal(self.folder / "fake-bot-updates.log").read()

    @cached_property
    def confirmed(self) -> int:
        return max((int(str(one["after"])) for one in Journal(self.folder / "fake-bot-polls.log").read()), default=0)

    @cached_property
    def sends(self) -> list[Entry]:
        return Journal(self.folder / "fake-bot-sends.log").read()

    @cached_property
    def calls(self) -> list[Entry]:
        return Journal(self.folder / "model.log").read()


def violations(left: Evidence) -> list[str]:
    """A sentence for each promise that was broken; the first word is its number."""
    with closing(left):
        return [f"{name} {what}" for name, check in CHECKS.items() for what in check(left)]


def _nothing_is_lost(left: Evidence) -> Iterator[str]:
    kept = {row[0] for row in left.rows("SELECT event_key FROM events")}
    for update in left.updates[: left.confirmed]:
        if update["event_key"] not in kept:
            yield f"update {update['event_key']} was confirmed and is lost"


def _each_update_is_one_event(left: Evidence) -> Iterator[str]:
    keys = Counter(str(row[0]) for row in left.rows("SELECT event_key FROM events"))
    yield from (f"update {key} is {number} events" for key, number in keys.items() if number > 1)
    pushed = {str(update["event_key"]) for update in left.updates}
    yield from (f"event {key} is none that the platform sent" for key in keys if key not in pushed)
    messages = left.rows("SELECT e.event_key FROM messages m JOIN events e ON e.id = m.event_id")
    if len(messages) != len(set(messages)):
        yield "an update is two messages"
    first: dict[object, object] = {}
    changed = set()
    for update in left.updates[: left.confirmed]:
        text = update.get("text")
        if first.setdefault(update["event_key"], text) != text and update.get("sender") != "eve":
            changed.add((update["event_key"], text))
    conflicts = left.rows("SELECT id FROM conflicts")
    if len(conflicts) != len(changed):
        yield f"{len(changed)} changed repeats are {len(conflicts)} conflicts"


def _one_call_that_may_cost(left: Evidence) -> Iterator[str]:
    most = 2 if "retry_unknown" in str(left.scenario.script.settings) else 1
    charged: Counter[str] = Counter()
    for call in left.calls:
        if call["maybe_charged"]:
            charged.update(set(str(call["question"]).split("\n")))
    yield from (f"{line!r} was paid for {number} times" for line, number in charged.items() if number > most)
    asked = Counter(line for call in left.calls for line in set(str(call["question"]).split("\n")))
    yield from (f"{line!r} was asked {number} times" for line, number in asked.items() if number > MOST_TRIES)


def _money_is_true(left: Evidence) -> Iterator[str]:
    # A provider that charges over the reserve is only known by its answer, and that may be lost with the process.
    real = sum(min(int(str(call["charged_micros"])), int(str(call["reserve_micros"]))) for call in left.calls)
    leases = left.rows("SELECT id, granted_micros, held_micros, spent_micros, overrun_micros, used_calls FROM leases")
    booked = sum(int(str(held)) + int(str(spent)) + int(str(over)) for _, _, held, spent, over, _ in leases)
    if real > booked:
        yield f"{real} micros were charged and {booked} are in the ledger"
    for lease, granted, held, spent, _, used in leases:
        folded = left.rows(
            f"SELECT COALESCE(sum(held_micros), 0), COALESCE(sum(spent_micros), 0), count(DISTINCT attempt_id) "
            f"FROM lease_entries WHERE lease_id = '{lease}'"
        )[0]
        if (held, spent, used) != folded:
            yield f"lease {lease} says {(held, spent, used)}, its entries {folded}"
        if int(str(held)) + int(str(spent)) > int(str(granted)):
            yield f"lease {lease} is overdrawn"
    attempts = left.rows("SELECT count(*) FROM attempts WHERE state = 'released'")[0][0]
    free = sum(not call["maybe_charged"] for call in left.calls)
    stopped = left.rows("SELECT count(*) FROM attempts WHERE outcome = 'stopped'")[0][0]
    if int(str(attempts)) - int(str(stopped)) > free:
        yield f"{attempts} calls were given back and only {free} were free"
    yield from _site_agrees(left)


def _site_agrees(left: Evidence) -> Iterator[str]:
    told = left.rows("SELECT id, spent_micros + overrun_micros FROM leases WHERE state = 'reported'")
    for lease, spent in told:
        closed = left.rows(
            f"SELECT COALESCE(sum(amount_micros), 0) FROM entries WHERE reservation_id = '{lease}' "
            "AND kind NOT IN ('reserve', 'release')",
            "site",
        )[0][0]
        if closed != spent:
            yield f"the site has {closed} for lease {lease}, the bridge {spent}"


def _delivered_at_most_once(left: Evidence) -> Iterator[str]:
    arrived = [send for send in left.sends if send["delivered"]]
    for key in ("transaction", "text"):
        counted = Counter((str(send["chat"]), str(send[key])) for send in arrived if _is_reply(left, send))
        yield from (f"{what!r} reached a person {number} times" for what, number in counted.items() if number > 1)


def _is_reply(left: Evidence, send: Entry) -> bool:
    """Texts of replies are told apart by the question in them; fixed lines are alike by nature."""
    return str(send["text"]).startswith("answer to")


def _states_are_true(left: Evidence) -> Iterator[str]:
    fates: dict[str, list[Entry]] = {}
    for send in left.sends:
        fates.setdefault(str(send["transaction"]), []).append(send)
    for transaction, state, platform_id in left.rows("SELECT transaction_id, state, platform_id FROM parts"):
        tries = fates.get(str(transaction), [])
        arrived = [one for one in tries if one["delivered"]]
        ids = {f"platform-{one['number']}" for one in tries if one["fate"] == "sent"}
        if state == "sent" and platform_id not in ids:
            yield f"{transaction} is sent without the platform's word"
        if state == "accepted" and not arrived:
            yield f"{transaction} is accepted and never arrived"
        if state in ("failed", "intent", "held", "deferred", "expired") and arrived:
            yield f"{transaction} is {state} and arrived"
    holes = left.rows(
        "SELECT later.transaction_id FROM parts later JOIN parts p ON p.reply_id = later.reply_id AND p.number < later.number "
        "WHERE later.tries > 0 AND p.state NOT IN ('sent', 'accepted')"
    )
    yield from (f"{row[0]} went out behind a part that nobody heard" for row in holes)
    heard = left.rows(
        "SELECT count(*) FROM messages m WHERE m.speaker = 'persona' AND NOT EXISTS (SELECT 1 FROM parts p "
        "WHERE p.reply_id = m.reply_id AND p.state IN ('sent', 'accepted'))"
    )
    if heard != [(0,)]:
        yield "memory holds a reply that nobody heard"


def _all_or_nothing(left: Evidence) -> Iterator[str]:
    if left.rows("SELECT r.id FROM replies r WHERE NOT EXISTS (SELECT 1 FROM parts p WHERE p.reply_id = r.id)"):
        yield "a reply has no parts"
    if left.rows(
        "SELECT id FROM turns t WHERE phase IN ('replied', 'done', 'failed', 'unknown') AND NOT EXISTS "
        "(SELECT 1 FROM replies r WHERE r.turn_id = t.id)"
    ):
        yield "a turn has ended without a word"
    if left.rows(
        "SELECT a.id FROM attempts a WHERE a.state = 'settled' AND NOT EXISTS "
        "(SELECT 1 FROM replies r WHERE r.turn_id = a.turn_id)"
    ):
        yield "a settled call has no reply"


def _at_rest(left: Evidence) -> Iterator[str]:
    for table, column, states in (
        ("turns", "phase", "'ready', 'composing', 'calling', 'waiting_grant', 'replied'"),
        ("attempts", "state", "'dispatched'"),
        ("parts", "state", "'intent', 'sending'"),
    ):
        for row in left.rows(f"SELECT id, {column} FROM {table} WHERE {column} IN ({states})"):
            deferred = left.rows("SELECT 1 FROM parts WHERE state = 'deferred'")
            if not (row[1] == "replied" and deferred):
                yield f"{table} {row[0]} is still {row[1]}"
    held = left.rows("SELECT id FROM leases WHERE held_micros > 0")
    if held:
        yield f"lease {held[0][0]} still holds money"
    if left.confirmed < len({*range(len(left.updates))}) and len(left.rows("SELECT id FROM events")) == 0:
        yield "nothing was taken in"


def _the_site_has_it(left: Evidence) -> Iterator[str]:
    sources = {row[0]: row[1:] for row in left.rows("SELECT id, text, heard FROM sources", "site")}
    for trace, text, speaker in left.rows(
        "SELECT trace, text, speaker FROM messages WHERE private = 0 AND deleted_at_ms IS NULL"
    ):
        if sources.get(trace) != (text, 1):
            yield f"{speaker} {text!r} is {sources.get(trace)} at the site"
    states = {(row[0], row[1]) for row in left.rows("SELECT kind, record_key FROM synced", "site")}
    usage = {row[0] for row in left.rows("SELECT id FROM usage", "site")}
    for kind, key, refused, synced in left.rows("SELECT kind, record_key, refused, synced_at_ms FROM sync_records"):
        there = key in sources if kind == "said" else key in usage if kind == "usage" else (kind, key) in states
        if synced is None:
            yield f"{kind} {key} still waits"
        elif refused is None and not there:
            yield f"{kind} {key} is marked and the site does not have it"
    current = {
        row[0]: row[1] for row in left.rows("SELECT record_key, body FROM synced WHERE kind = 'part_state'", "site")
    }
    for trace, number, state in left.rows(
        "SELECT r.trace, p.number, p.state FROM parts p JOIN replies r ON r.id = p.reply_id"
    ):
        if json.loads(str(current.get(f"{trace}/{number}", "{}"))).get("state") != state:
            yield f"the site does not know that part {trace}/{number} is {state}"


def _unknown_is_kept(left: Evidence) -> Iterator[str]:
    for kind, number, after, actor, reason in left.rows(
        "SELECT object, object_id, after, actor, reason FROM transitions WHERE before = 'unknown'"
    ):
        allowed = actor != "bridge" or (kind == "turn" and reason == "retry_unknown")
        if not allowed:
            yield f"{kind} {number} left unknown for {after} by itself"


def _nobody_is_left_without_a_word(left: Evidence) -> Iterator[str]:
    silent = left.rows(
        "SELECT m.text FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.speaker = 'person' "
        "AND m.deleted_at_ms IS NULL AND NOT EXISTS (SELECT 1 FROM replies r JOIN parts p ON p.reply_id = r.id "
        "WHERE r.turn_id = t.id AND p.state IN ('sent', 'accepted', 'unknown', 'failed', 'deferred'))"
    )
    yield from (f"{row[0]!r} was met with silence" for row in silent)
    accepted = left.rows(
        "SELECT e.event_key FROM events e WHERE e.outcome = 'accepted' AND e.kind IN ('message', 'other') AND NOT EXISTS "
        "(SELECT 1 FROM messages m WHERE m.event_id = e.id) AND NOT EXISTS (SELECT 1 FROM replies r WHERE r.event_id = e.id)"
    )
    yield from (f"update {row[0]} was accepted and nothing came of it" for row in accepted)


def _a_stranger_leaves_an_envelope(left: Evidence) -> Iterator[str]:
    if left.rows("SELECT id FROM events WHERE outcome = 'stranger' AND body IS NOT NULL"):
        yield "the words of a stranger were kept"


def _is_sound(left: Evidence) -> Iterator[str]:
    for store in ("bridge", "site"):
        if left.rows("PRAGMA quick_check", store) != [("ok",)] or left.rows("PRAGMA foreign_key_check", store):
            yield f"the {store} store is damaged"


FROM_STORES = (_is_sound, _all_or_nothing, _at_rest, _the_site_has_it, _unknown_is_kept, _nobody_is_left_without_a_word)
"""Those that need no log of a fake: for runs of real processes."""

CHECKS = {
    "I0": _is_sound,
    "I1": _nothing_is_lost,
    "I2": _each_update_is_one_event,
    "I3": _one_call_that_may_cost,
    "I4": _money_is_true,
    "I5": _delivered_at_most_once,
    "I6": _states_are_true,
    "I7": _all_or_nothing,
    "I8": _at_rest,
    "I9": _the_site_has_it,
    "I10": _unknown_is_kept,
    "I14": _a_stranger_leaves_an_envelope,
    "I13": _nobody_is_left_without_a_word,
}
