"""How the bridge stands, as plain data for the command line, the site and health checks. Never text of a chat."""

from sqlalchemy import Connection

from core.budget import Breaker
from core.clock import Instant

from .gateway import Gateway
from .store.breakers import stopped_breakers
from .store.events import open_conflicts
from .store.grants import find_grant
from .store.leases import open_leases
from .store.messages import count_messages
from .store.replies import Part, count_parts
from .store.sync_records import sync_backlog
from .store.turns import count_turns

Plain = dict[str, object]


async def status_of(gateway: Gateway) -> Plain:
    counts = await gateway.store.read(_counts, gateway.clock())
    problems = dict(gateway.problems)
    if gateway.memory.failure:
        problems["memory"] = str(gateway.memory.failure)
    if gateway.store.broken:
        problems["store"] = str(gateway.store.broken)
    return {
        **counts,
        "channels": [{"account": channel.account, **vars(channel.health())} for channel in gateway.channels],
        "dropped": dict(gateway.counted),
        "problems": problems,
        "refusal": None if gateway.grants.refusal is None else gateway.grants.refusal.model_dump(),
    }


def _counts(conn: Connection, now: Instant) -> Plain:
    grant, lease = find_grant(conn), next(iter(open_leases(conn, now)), None)
    return {
        "messages": count_messages(conn),
        "turns": count_turns(conn),
        "parts": count_parts(conn),
        "sync_backlog": sync_backlog(conn),
        "conflicts": open_conflicts(conn),
        "breakers": [breaker_row(subject, breaker) for subject, breaker in stopped_breakers(conn).items()],
        "grant_until_ms": None if grant is None else grant.expires_at_ms,
        "lease": None
        if lease is None
        else {
            "id": lease.id,
            "granted_micros": lease.rules.granted_micros,
            "held_micros": lease.rules.held,
            "spent_micros": lease.rules.spent,
            "calls_left": lease.rules.calls - lease.rules.calls_used,
            "expires_at_ms": lease.rules.expires_at,
        },
    }


def breaker_row(subject: str, breaker: Breaker) -> Plain:
    """`until_ms` is None where only the owner clears it."""
    return {"subject": subject, "phase": breaker.phase, "failures": breaker.failures, "until_ms": breaker.until}


def part_row(part: Part) -> Plain:
    return {
        "part": part.id,
        "reply": part.reply,
        "number": part.number,
        "state": part.state,
        "detail": part.detail,
        "tries": part.tries,
        "updated_at_ms": part.updated_at,
        "text": part.text,
    }
