"""A plan that is confirmed is the plan that was shown. The seal is a keyed hash over its exact text; the key lives as
long as the process, so a restart voids every plan, and each seal opens once."""

import hashlib
import hmac
import json
from collections import OrderedDict
from collections.abc import Collection

from core.ids import RandomBytes

from .catalog import Who
from .validate import PlanRefused, check_plan

REMEMBERED = 1_000


class Seals:
    """`seal` what is shown; `confirm` what comes back. Confirming is the record made before anything is tried."""

    def __init__(self, random_bytes: RandomBytes) -> None:
        self._key = random_bytes(32)
        self._random_bytes = random_bytes
        self._open: OrderedDict[str, tuple[Who, frozenset[str]]] = OrderedDict()

    def seal(self, plan: object, who: Who, articles: Collection[str]) -> str:
        """Raises PlanRefused for a plan that may not be shown."""
        check_plan(plan, who, articles)
        number = self._random_bytes(12).hex()
        sealed = f"{number}.{self._hash(number, plan)}"
        self._open[sealed] = (who, frozenset(articles))
        while len(self._open) > REMEMBERED:
            self._open.popitem(last=False)
        return sealed

    def confirm(self, plan: object, sealed: str, who: Who) -> None:
        """Raises PlanRefused for another plan, a used or foreign seal, or an action that is not for `who` any more."""
        shown_to = self._open.get(sealed)
        number = sealed.partition(".")[0]
        if shown_to is None or not hmac.compare_digest(sealed, f"{number}.{self._hash(number, plan)}"):
            raise PlanRefused("this is not a plan that was shown and is still open")
        check_plan(plan, who, shown_to[1])
        del self._open[sealed]

    def _hash(self, number: str, plan: object) -> str:
        text = json.dumps([number, plan], sort_keys=True, ensure_ascii=True)
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()
