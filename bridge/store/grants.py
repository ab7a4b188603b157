"""The newest grant of the site: who may talk, the voice, and until when."""

from sqlalchemy import Connection, select
from sqlalchemy import text as sql

from core.clock import Instant
from core.control.messages import Grant

from .schema import grants

KEEP = sql(
    "INSERT INTO grants (id, body, obtained_at_ms, expires_at_ms) VALUES (1, :body, :now, :expires) "
    "ON CONFLICT (id) DO UPDATE SET body = :body, obtained_at_ms = :now, expires_at_ms = :expires"
)
GET = select(grants.c.body)


def keep_grant(conn: Connection, grant: Grant, now: Instant) -> None:
    conn.execute(KEEP, {"body": grant.model_dump_json(), "now": now, "expires": grant.expires_at_ms})


def find_grant(conn: Connection) -> Grant | None:
    body = conn.execute(GET).scalar_one_or_none()
    return None if body is None else Grant.model_validate_json(body)
