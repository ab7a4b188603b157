"""Design errors, seeded one at a time into the running code. The harness must catch every one: one that cannot fail is
worthless. Each is a mistake somebody could make; none is left in the code, the process that carries it ends.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection
from sqlalchemy import text as sql

from bridge import answer, deliver, ending, gateway, intake, reception, recover, sync
from bridge.channels.contract import SendOutcome, Sent
from bridge.store import attempts, events, replies, turns
from bridge.turn import NEXT_PART, AttemptEvent, PartEvent, PartState, TurnEvent, TurnPhase
from core import budget
from core.clock import Instant
from core.model.outcomes import Signal
from core.store import engine, transaction
from tests.fakes.messenger import Platform

from .scenarios import LONG, MANY, ONE, Scenario
from .world import Script

Anything = Any  # a mutant stands in for functions of every shape

UNANSWERED = Scenario("an unanswered send", ONE.steps, Script(sends=("delivered_unanswered",)))
NO_ANSWER = Scenario("an unanswered call", ONE.steps, Script(calls=(Signal.NO_ANSWER,)))
HOLE = Scenario("a part in doubt", LONG.steps, replace(LONG.script, sends=("lost_unanswered",)))
REFUSING = Scenario("a provider that always refuses", ONE.steps, Script(calls=(Signal.RATE_LIMITED,) * 9))


@dataclass(frozen=True)
class Mutant:
    """`seed` makes the mistake; `where` are the scenarios, or names of probes, that should see it."""

    name: str
    seed: Callable[[], None]
    where: Sequence[Scenario | str]
    how: str = "image"


def _put(module: Anything, name: str, mistaken: Anything) -> None:
    setattr(module, name, mistaken)


def _of(module: Anything, name: str) -> Anything:
    return getattr(module, name)


def _replaced(module: Anything, name: str, made: Callable[[Anything], Anything]) -> None:
    setattr(module, name, made(getattr(module, name)))


def blind_resend() -> None:
    def recover_and_resend(conn: Connection, *args: Anything) -> Anything:
        conn.execute(sql("UPDATE parts SET state = 'intent' WHERE state = 'sending'"))
        return original(conn, *args)

    original = recover.recover
    _put(gateway, "recover", recover_and_resend)


def no_sending_mark() -> None:
    for event_ in (
        PartEvent.CONFIRMED,
        PartEvent.TAKEN,
        PartEvent.REFUSED,
        PartEvent.NOT_SENT,
        PartEvent.OUTCOME_UNKNOWN,
    ):
        NEXT_PART[PartState.INTENT, event_] = NEXT_PART[PartState.SENDING, event_]
    _replaced(
        deliver,
        "move_part",
        lambda move: (
            lambda conn, part, what, *args, **more: (
                PartState.INTENT if what is PartEvent.BEGUN else move(conn, part, what, *args, **more)
            )
        ),
    )


def release_unknown() -> None:
    def end(conn: Connection, attempt: Anything, how: Anything, now: Instant, **more: Anything) -> None:
        if how.event is AttemptEvent.LOST:
            how = attempts.Ending(AttemptEvent.RELEASED, how.outcome, "", proof=budget.Proof.NOT_SENT)
        original(conn, attempt, how, now, **more)

    original = _of(ending, "end_attempt")
    _put(ending, "end_attempt", end)


def retry_model() -> None:
    def lose(
        conn: Connection,
        parts: Anything,
        turn: Anything,
        attempt: Anything,
        detail: str,
        now: Instant,
        **more: Anything,
    ) -> None:
        original(conn, parts, turn, attempt, detail, now, **more)
        if turns.get_turn(conn, turn).phase is TurnPhase.UNKNOWN:
            attempts.allow_again(conn, turn)
            turns.move_turn(conn, turn, TurnEvent.ASKED_AGAIN, now)

    original = _of(ending, "lose_attempt")
    _put(ending, "lose_attempt", lose)
    _put(answer, "lose_attempt", lose)
    _put(recover, "lose_attempt", lose)


def confirm_before_keeping() -> None:
    async def take_in(self: Anything, channel: Platform, batch: Anything) -> Anything:
        await channel.poll(batch.cursor)
        return await original(self, channel, batch)

    original = reception.Reception.take_in
    _put(reception.Reception, "take_in", take_in)


def split_reply() -> None:
    """The reply in a transaction of its own, after the settlement."""

    async def answer_in_two(parts: Anything, turn: Anything) -> Anything:
        kept: list[tuple[Anything, ...]] = []
        _put(ending, "add_answer", lambda _conn, *args: kept.append(args))
        result = await original(parts, turn)
        for args in kept:
            await parts.store.write(reply, *args)
        return result

    original, reply = answer.answer_turn, _of(ending, "add_answer")
    _put(gateway, "answer_turn", answer_in_two)


def sent_before_the_platform_says_so() -> None:
    async def send(parts: Anything, channel: Anything, waiting: Anything) -> None:
        outgoing = await parts.store.write(deliver._begin, waiting, parts.clock())
        claimed = SendOutcome(Sent.SENT, platform_id="claimed")
        await parts.store.write(deliver.keep_outcome, parts, waiting.part.id, claimed, parts.clock())
        await channel.send(outgoing)

    _put(deliver, "_send", send)


def timeout_is_failed() -> None:
    deliver.EVENTS[Sent.UNKNOWN] = PartEvent.REFUSED


def no_dedupe() -> None:
    """Neither the look nor the unique key: every delivery gets a key of its own."""
    add = events.add_event
    seen: Counter[str] = Counter()

    def add_under_a_new_key(conn: Connection, new: Anything) -> Anything:
        seen[new.event_key] += 1
        again = seen[new.event_key] > 1
        return add(conn, replace(new, event_key=f"{new.event_key}~{seen[new.event_key]}") if again else new)

    _put(intake, "find_event", lambda *_args: None)
    _put(intake, "add_event", add_under_a_new_key)


def release_on_cancel() -> None:
    _replaced(
        answer,
        "keep_cancelled",
        lambda keep: lambda conn, parts, attempt, _sent, now: keep(conn, parts, attempt, False, now),
    )


def cursor_before_events() -> None:
    async def take_in(self: Anything, channel: Platform, batch: Anything) -> Anything:
        rules, now = self._rules(channel), self.clock()
        await self.store.write(_of(intake, "keep_cursor"), rules.account, rules.fingerprint, batch.cursor, now)
        return await original(self, channel, batch)

    original = reception.Reception.take_in
    _put(reception.Reception, "take_in", take_in)


def never_gives_up() -> None:
    ending.may_try_again = lambda outcome, past: outcome.retry.value != "never"


def marked_before_told() -> None:
    async def sync_blindly(self: Anything) -> bool:
        waiting = await self.store.read(_of(sync, "waiting_records"))
        await self.store.write(sync._mark, [(record, None) for record in waiting], self.clock())
        return (
            await original(self)
            if not waiting
            else bool(await self._in_halves([one for one in waiting if one.kind != sync.USAGE], self._send_records))
            and bool(await self._in_halves([one for one in waiting if one.kind == sync.USAGE], self._send_usage))
        )

    original = sync.Syncing.sync_waiting
    _put(sync.Syncing, "sync_waiting", sync_blindly)


def unknown_ends_by_time() -> None:
    def expire(conn: Connection, *args: Anything) -> Anything:
        rows = conn.execute(sql("SELECT id FROM parts WHERE state = 'unknown'")).all()
        now = args[-1]
        for row in rows:
            conn.execute(sql("UPDATE parts SET state = 'failed' WHERE id = :id"), {"id": row.id})
            _of(replies, "note_step")(conn, "part", row.id, "unknown", "failed", now)
        return original(conn, *args)

    original = deliver.expire_old
    _put(deliver, "expire_old", expire)
    _put(recover, "expire_old", expire)


def strangers_words_are_kept() -> None:
    _replaced(
        intake,
        "_add",
        lambda add: (
            lambda taking, update, outcome, reason=None, *, keep_body=True: add(taking, update, outcome, reason)
        ),
    )


def silence_after_failure() -> None:
    _put(ending, "tell", lambda *_args, **_facts: None)


def hole_in_a_reply() -> None:
    """What follows a part in doubt is not held, but given up."""
    _put(deliver, "_hold_the_rest", lambda *_args: None)
    replies.WAITING = sql(replies.WAITING.text.replace("AND earlier.state NOT IN ('sent', 'accepted')", "AND 1 = 0"))


def deferred_begin() -> None:
    def init(self: Anything, made: Anything) -> None:
        original(self, made)
        self._begin_text = "BEGIN"

    original = transaction.Transactions.__init__
    _put(transaction.Transactions, "__init__", init)


def synchronous_normal() -> None:
    def prepare(driver: Anything, path: Anything, *, read_only: bool) -> None:
        original(driver, path, read_only=read_only)
        driver.execute("PRAGMA synchronous=NORMAL")

    original = engine.prepare_sqlite
    _put(engine, "prepare_sqlite", prepare)


def no_rollback_after_a_failed_commit() -> None:
    _put(transaction.Transactions, "_undo", lambda self: None)


def retry_after_a_failed_sync() -> None:
    _put(transaction, "broken_by", lambda error: None)


def side_effect_in_a_body() -> None:
    seen: list[Anything] = []

    def accept(taking: Anything, update: Anything, bound: Anything) -> None:
        original(taking, update, bound)
        seen.append(update)
        taking.admitted.accepted = len(seen)

    original = intake._accept
    _put(intake, "_accept", accept)


MUTANTS: tuple[Mutant, ...] = (
    Mutant("send again what was being sent", blind_resend, (ONE,)),
    Mutant("no mark before the send", no_sending_mark, (ONE,)),
    Mutant("give back what is unknown", release_unknown, (NO_ANSWER, ONE)),
    Mutant("call again after unknown", retry_model, (NO_ANSWER, ONE)),
    Mutant("confirm before keeping", confirm_before_keeping, (ONE,)),
    Mutant("reply apart from its settlement", split_reply, (ONE,)),
    Mutant("sent before the platform says so", sent_before_the_platform_says_so, (ONE,)),
    Mutant("a time-out is a failure", timeout_is_failed, (UNANSWERED, ONE)),
    Mutant("no unique key for updates", no_dedupe, (MANY,)),
    Mutant("give back on cancellation", release_on_cancel, (ONE,), how="cancel"),
    Mutant("the cursor before the updates", cursor_before_events, (ONE,)),
    Mutant("tries without a bound", never_gives_up, (REFUSING,)),
    Mutant("marked before the site has it", marked_before_told, (ONE,)),
    Mutant("unknown ends by itself", unknown_ends_by_time, (UNANSWERED, ONE)),
    Mutant("a stranger's words are kept", strangers_words_are_kept, (MANY,)),
    Mutant("silence after a failure", silence_after_failure, (NO_ANSWER,)),
    Mutant("a hole in a reply", hole_in_a_reply, (HOLE,)),
    Mutant("deferred BEGIN", deferred_begin, ("another writer",)),
    Mutant("synchronous=NORMAL", synchronous_normal, ("power cut",)),
    Mutant("no ROLLBACK after a failed COMMIT", no_rollback_after_a_failed_commit, ("failed COMMIT",)),
    Mutant("go on after a failed sync", retry_after_a_failed_sync, ("failed sync",)),
    Mutant("a side effect in a body that runs twice", side_effect_in_a_body, ("bodies run twice",)),
)
