"""Hands a draft, or a claim without one, to the site. Both are idempotent there, so this may be repeated.

What the model wrote has been paid for, so a site that restarts is waited for; then the claim stays out, is shown as
such, and the owner can release it.
"""

import asyncio
from collections.abc import Sequence

from core.control.client import ControlClient
from core.control.messages import Claim, Draft, Release
from core.errors import ControlRefused, ControlUnreachable

PAUSES_S = (1.0, 2.0, 4.0)


async def submit(
    control: ControlClient, claim: Claim, made: Draft | Release, pauses_s: Sequence[float] = PAUSES_S
) -> int | None:
    """The inbox number of a draft. Errors: ControlUnreachable after the last pause, ControlRefused."""
    for pause in pauses_s:
        try:
            return await _submit(control, claim, made)
        except ControlUnreachable:
            pass
        except ControlRefused as refused:
            if refused.status < 500:
                raise
        await asyncio.sleep(pause)
    return await _submit(control, claim, made)


async def _submit(control: ControlClient, claim: Claim, made: Draft | Release) -> int | None:
    if isinstance(made, Draft):
        return (await control.draft(claim, made)).digest
    await control.release(claim, made)
    return None
