"""`python -m website`: one uvicorn process over one store."""

import sys
from dataclasses import replace

import uvicorn

from core.errors import PenfriendError
from core.logs import log_as_json
from core.parent import stop_with_parent
from core.settings_files import load_settings

from .app import create_app, open_parts
from .parts import Parts

DRAIN_S = 5


def main() -> int:
    log_as_json()
    try:
        settings = load_settings()
        parts = open_parts(settings)
    except PenfriendError as problem:
        print(f"penfriend site: {problem}", file=sys.stderr)
        return problem.exit_code
    with parts.store:
        serve(parts)
    return 0


def serve(parts: Parts) -> None:
    """Serves until SIGTERM, SIGINT, or the end of the supervisor that started it."""
    server: uvicorn.Server
    app = create_app(replace(parts, leaving=lambda: server.should_exit))
    config = uvicorn.Config(
        app,
        host=parts.settings.site.host,
        port=parts.settings.site.port,
        lifespan="on",
        server_header=False,
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=DRAIN_S,
    )
    server = uvicorn.Server(config)

    def leave() -> None:
        server.should_exit = True

    stop_with_parent(leave)
    server.run()


if __name__ == "__main__":
    sys.exit(main())
