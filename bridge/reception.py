"""Takes in what a poll brought, and answers strangers: the part of the gateway that stands at the door."""

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from core.clock import Clock
from core.control.client import ControlClient
from core.control.messages import PairingClaim
from core.errors import ControlError
from core.settings import Settings
from core.store import Store
from core.store.engine import is_sqlite, sqlite_path

from .answering import Mint
from .channels.contract import Batch, Channel, Outgoing, Update
from .intake import Admitted, IntakeRules, admit
from .notices import line
from .pairing import Knock
from .store.bindings import keep_binding
from .store.strangers import forget_stranger


@dataclass
class Reception:
    """`counted` holds how often each thing happened to an update; `note` is told what the owner should see."""

    settings: Settings
    store: Store
    control: ControlClient
    clock: Clock
    mint: Mint
    note: Callable[[str, Exception], None]
    on_paired: Callable[[], None]
    counted: Counter[str] = field(default_factory=Counter)

    async def take_in(self, channel: Channel, batch: Batch) -> Admitted:
        """Returns after the commit; only then may the channel be polled on. Errors: StoreError."""
        admitted = await self.store.write(admit, self._rules(channel), batch, self.clock(), self.mint)
        self.counted["accepted"] += admitted.accepted
        self.counted.update(admitted.counted)
        return admitted

    async def answer_knock(self, channel: Channel, update: Update, knock: Knock) -> None:
        """A stranger's one notice, or the site's word on a code. Best effort: nothing was promised to a stranger."""
        language = self.settings.persona.language
        text = line(knock.notice, language) if knock.notice else ""
        if knock.code:
            text = await self._ask_the_site(channel, update, knock.code)
        if text:
            transaction = f"pf-{self.mint(self.clock())}"
            await channel.send(Outgoing(update.chat, text, transaction, update.reply_token, update.event_key))

    def full(self) -> str | None:
        """Why nothing more is taken in. Old talk is never dropped to make room."""
        if self.store.broken:
            return str(self.store.broken)
        bridge, folder = self.settings.bridge, self.settings.data_dir
        free = shutil.disk_usage(folder).free
        if free < bridge.min_free_bytes:
            return f"intake stopped: {free} bytes free in {folder}, at least {bridge.min_free_bytes} are kept"
        size = _store_bytes(self.store.url)
        if size > bridge.max_store_bytes:
            return f"intake stopped: the store has {size} bytes, bridge.max_store_bytes is {bridge.max_store_bytes}"
        return None

    def _rules(self, channel: Channel) -> IntakeRules:
        bridge, persona = self.settings.bridge, self.settings.persona
        return IntakeRules(
            account=channel.account,
            fingerprint=channel.fingerprint,
            twins=channel.capabilities.twins,
            merge_window_ms=bridge.merge_window_ms,
            max_message_bytes=bridge.max_message_bytes,
            language=persona.language,
            zone=persona.timezone,
        )

    async def _ask_the_site(self, channel: Channel, update: Update, code: str) -> str:
        language = self.settings.persona.language
        claim = PairingClaim(
            code=code,
            account=channel.account,
            chat=update.chat,
            sender=update.sender,
            name=update.sender_name[:80],
            group=update.group,
        )
        try:
            answer = await self.control.pair(claim)
        except ControlError as problem:
            self.note("pairing", problem)
            return line("pairing_later", language)
        if answer.binding is None:
            return line("pairing_refused", language)
        await self.store.write(keep_binding, answer.binding, self.clock())
        await self.store.write(forget_stranger, channel.account, update.sender)
        self.on_paired()
        return line("paired", language, name=answer.binding.name or update.sender_name or "")


def _store_bytes(url: str) -> int:
    """With its log; of a database server nothing, which has limits of its own."""
    if not is_sqlite(url):
        return 0
    path = sqlite_path(url)
    return sum(file.stat().st_size for file in (path, Path(f"{path}-wal")) if file.exists())
