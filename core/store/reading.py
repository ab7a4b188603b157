"""Short reads: the same kind of body as a write, on a connection that cannot write, one snapshot for each body."""

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from sqlalchemy import Connection, Engine

from core.errors import StoreBroken, StoreError, StoreUnavailable

from .faults import read_fault
from .guard import forbid_commit, name_of, refuse_cursor
from .transaction import driver_of, transaction_state

Args = TypeVarTuple("Args")
T = TypeVar("T")


class Reader:
    """`on_damage` is told when a read finds the file damaged, so that writing stops too."""

    def __init__(self, engine: Engine, on_damage: Callable[[StoreBroken], None]) -> None:
        self._engine = engine
        self._on_damage = on_damage
        self._begin = "BEGIN" if engine.dialect.name == "sqlite" else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        forbid_commit(engine)

    def read(self, fn: Callable[[Connection, *Args], T], *args: *Args) -> T:
        """Errors: StoreBroken, StoreUnavailable, and whatever the body raised."""
        try:
            with self._engine.connect() as conn:
                return self._on_snapshot(conn, fn, *args)
        except Exception as error:
            if fault := self._fault(error):
                raise fault from error
            raise

    def close(self) -> None:
        self._engine.dispose()

    def _on_snapshot(self, conn: Connection, fn: Callable[[Connection, *Args], T], *args: *Args) -> T:
        driver = driver_of(conn)
        driver.execute(self._begin)
        try:
            value = fn(conn, *args)
        finally:
            ended = transaction_state(driver) == "none"
            if not ended:
                driver.execute("ROLLBACK")
        if ended:
            raise RuntimeError(f"{name_of(fn)} ended its own snapshot: what it read may not belong together")
        refuse_cursor(fn, value)
        return value

    def _fault(self, error: Exception) -> StoreError | None:
        fault = read_fault(error)
        if isinstance(fault, StoreBroken):
            self._on_damage(fault)
        elif isinstance(fault, StoreUnavailable):
            self._engine.dispose()  # the idle connections died with it; the next read makes a new one
        return fault
