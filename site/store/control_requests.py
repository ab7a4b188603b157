"""Ids of signed requests that were accepted. A second request with one of them is a replay."""

from sqlalchemy import Connection, bindparam, delete
from sqlalchemy import text as sql

from core.clock import Instant
from core.errors import SignatureRefused

from .control import control_requests

KEPT_MS = 60 * 60 * 1000  # a request is refused by its time after 5 minutes; ids are kept far longer than that

_ADD = sql("INSERT INTO control_requests (id, at_ms) VALUES (:id, :at_ms) ON CONFLICT DO NOTHING")
_DROP_OLD = delete(control_requests).where(control_requests.c.at_ms < bindparam("before"))


def use_once(conn: Connection, request_id: str, now: Instant) -> None:
    """SignatureRefused with status 409 when the id was used before."""
    if conn.execute(_ADD, {"id": request_id, "at_ms": now}).rowcount != 1:
        raise SignatureRefused(f"request {request_id!r} came before: sign a new id for every request", status=409)
    conn.execute(_DROP_OLD, {"before": now - KEPT_MS})
