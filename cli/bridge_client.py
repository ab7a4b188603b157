"""The running bridge, asked over its loopback HTTP with this account's token."""

from collections.abc import Mapping

import httpx

from core.errors import BadInput, ControlUnreachable, PenfriendError
from core.local_token import read_token
from core.settings import Settings

TIMEOUT_S = 10.0

Facts = dict[str, object]


def ask_bridge(settings: Settings, method: str, path: str, body: Mapping[str, object] | None = None) -> Facts:
    """The JSON answer. Errors: ControlUnreachable when no bridge runs here, BadInput for what it refuses."""
    headers = {"Authorization": f"Bearer {read_token(settings.secrets_dir)}"}
    try:
        with httpx.Client(base_url=settings.bridge_url, trust_env=False, timeout=TIMEOUT_S) as http:
            response = http.request(method, path, json=None if body is None else dict(body), headers=headers)
            answer = response.json()
    except (httpx.HTTPError, ValueError) as problem:
        raise ControlUnreachable(
            f"no bridge answers at {settings.bridge_url} ({type(problem).__name__}): start it with `penfriend up`"
        ) from problem
    if response.is_success and isinstance(answer, dict):
        return answer
    detail = str(answer.get("detail", response.status_code)) if isinstance(answer, dict) else str(response.status_code)
    if response.status_code in (400, 404):
        raise BadInput(detail)
    raise PenfriendError(f"the bridge answered {response.status_code}: {detail}")
