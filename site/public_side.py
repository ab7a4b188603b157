"""Builds what public routes are given: pages, the read handle, the index, and the way to a model."""

from dataclasses import dataclass, replace

from core.model.provider import open_model
from core.model.roles import model_of

from .assets import Assets
from .ledger.readers import ReaderBudget
from .pages import Pages
from .parts import Parts
from .plan.seal import Seals
from .public_kb.asking import Asking
from .public_kb.knowledge import Knowledge
from .public_kb.reader_model import ReaderModel
from .rate import RateLimit
from .routes.ask import A_MINUTE_MS, ASKS_A_MINUTE
from .routes.assistant import Streams
from .store.editions import EditionWatch
from .store.publications import PublicReader


@dataclass(frozen=True)
class PublicSide:
    """Each field is a dependency of its name; `close` ends what was opened."""

    assets: Assets
    pages: Pages
    reader: PublicReader
    knowledge: Knowledge
    reader_model: ReaderModel
    asking: Asking
    ask_limit: RateLimit
    seals: Seals
    streams: Streams
    editions: EditionWatch

    async def close(self) -> None:
        await self.reader_model.aclose()
        self.knowledge.close()
        self.editions.close()


def build_public_side(parts: Parts) -> PublicSide:
    settings, assets, reader = parts.settings, Assets(), PublicReader(parts.store)
    budget = ReaderBudget(parts.store, settings, parts.clock, parts.random_bytes)
    config = model_of(settings, "reader")
    config = replace(config, max_output_tokens=min(config.max_output_tokens, budget.output_tokens))
    knowledge = Knowledge(reader, settings.data_dir / "index" / "site")
    model = ReaderModel(settings, config, open_model(config, clock=parts.clock), budget, parts.clock)
    return PublicSide(
        assets=assets,
        pages=Pages(settings, assets),
        reader=reader,
        knowledge=knowledge,
        reader_model=model,
        asking=Asking(settings, knowledge, model),
        ask_limit=RateLimit(ASKS_A_MINUTE, A_MINUTE_MS),
        seals=Seals(parts.random_bytes),
        streams=Streams(),
        editions=EditionWatch(parts.store),
    )
