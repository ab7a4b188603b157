"""`python -m website`: one uvicorn process over one store."""

import sys

import uvicorn

from core.errors import PenfriendError
from core.settings_files import load_settings

from .app import create_app, open_parts

DRAIN_S = 5


def main() -> int:
    try:
        settings = load_settings()
        parts = open_parts(settings)
    except PenfriendError as problem:
        print(f"penfriend site: {problem}", file=sys.stderr)
        return problem.exit_code
    with parts.store:
        config = uvicorn.Config(
            create_app(parts),
            host=settings.site.host,
            port=settings.site.port,
            lifespan="on",
            server_header=False,
            access_log=False,
            timeout_graceful_shutdown=DRAIN_S,
        )
        uvicorn.Server(config).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
