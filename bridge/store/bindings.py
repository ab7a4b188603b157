"""The bridge's copy of who may talk with the persona."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, bindparam, select
from sqlalchemy import text as sql

from core.clock import Instant
from core.control.messages import Binding
from core.ids import Account, BindingId, ChatId, SenderId

from .schema import bindings

Role = Literal["owner", "guest"]


@dataclass(frozen=True)
class Bound:
    id: BindingId
    role: Role
    name: str


FIND = select(bindings.c.id, bindings.c.role, bindings.c.name).where(
    bindings.c.account == sql(":account"),
    bindings.c.chat == sql(":chat"),
    bindings.c.sender == sql(":sender"),
    bindings.c.revoked_at_ms.is_(None),
)
KEEP = sql(
    "INSERT INTO bindings (id, account, chat, sender, role, name, revoked_at_ms, updated_at_ms) "
    "VALUES (:id, :account, :chat, :sender, :role, :name, NULL, :now) "
    "ON CONFLICT (id) DO UPDATE SET role = :role, name = :name, revoked_at_ms = NULL, updated_at_ms = :now"
)
REVOKE_OTHERS = sql(
    "UPDATE bindings SET revoked_at_ms = :now WHERE revoked_at_ms IS NULL AND id NOT IN :kept"
).bindparams(bindparam("kept", expanding=True))
REVOKE = sql("UPDATE bindings SET revoked_at_ms = :now WHERE id = :id AND revoked_at_ms IS NULL")
ALL = select(bindings).where(bindings.c.revoked_at_ms.is_(None)).order_by(bindings.c.id)


def find_binding(conn: Connection, account: Account, chat: ChatId, sender: SenderId) -> Bound | None:
    """An empty list admits nobody: only an exact row does."""
    row = conn.execute(FIND, {"account": account, "chat": chat, "sender": sender}).one_or_none()
    return None if row is None else Bound(BindingId(row.id), row.role, row.name)


def keep_binding(conn: Connection, binding: Binding, now: Instant) -> None:
    conn.execute(KEEP, {**binding.model_dump(), "now": now})


def replace_bindings(conn: Connection, current: Iterable[Binding], now: Instant) -> None:
    """Takes over the site's list: what is not on it any more is revoked here too."""
    kept = list(current)
    for binding in kept:
        keep_binding(conn, binding, now)
    conn.execute(REVOKE_OTHERS, {"now": now, "kept": [binding.id for binding in kept]})


def revoke_binding(conn: Connection, binding: str, now: Instant) -> None:
    conn.execute(REVOKE, {"id": binding, "now": now})


def list_bindings(conn: Connection) -> list[Binding]:
    return [
        Binding(id=row.id, account=row.account, chat=row.chat, sender=row.sender, role=row.role, name=row.name)
        for row in conn.execute(ALL)
    ]
