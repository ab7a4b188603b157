"""The owner's password: argon2id with OWASP's floor (19 MiB, 2 passes), on one thread, so that guesses queue up.

A page that hashes on the event loop would stop every reader for 40 ms a guess.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from core.errors import BadInput

MIN_LENGTH, MAX_LENGTH = 10, 1024

_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_THREAD = ThreadPoolExecutor(1, "password")
# What a try is compared with while there is no owner, so that both answers take as long.
_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


def check_new(password: str) -> None:
    """BadInput for a password that is too short, or longer than anybody types."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise BadInput(f"a password has {MIN_LENGTH} to {MAX_LENGTH} characters, this one has {len(password)}")


async def hashed(password: str) -> str:
    check_new(password)
    return await asyncio.get_running_loop().run_in_executor(_THREAD, _HASHER.hash, password)


async def matches(password: str, kept: str | None) -> bool:
    """Whether it is the owner's. It takes as long when there is no owner."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, _matches, password[: MAX_LENGTH + 1], kept)


def _matches(password: str, kept: str | None) -> bool:
    try:
        return _HASHER.verify(kept or _NOBODY, password) and kept is not None
    except (VerificationError, InvalidHashError):
        return False
