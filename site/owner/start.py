"""What the desk does when the site starts: keys for bridge and digest, the owner's console, the owner's claim link."""

import logging

from core.control.keys import ensure_keys

from ..parts import Parts
from . import claim_link
from .pairing import new_ids, pair_console_owner

log = logging.getLogger(__name__)


async def prepare(parts: Parts) -> None:
    """Each of these is there once and for all after the first start; later ones find it and do nothing."""
    ensure_keys(parts.settings.secrets_dir, parts.clock(), parts.random_bytes)
    await parts.store.write(pair_console_owner, new_ids(parts.clock(), parts.random_bytes))
    if await claim_link.offer(parts.store, parts.settings, parts.clock, parts.random_bytes) is not None:
        log.warning("this site has no owner yet: open the link in %s", claim_link.link_file(parts.settings))
