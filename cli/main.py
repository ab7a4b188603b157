"""`penfriend`: every command, one file a group. Errors of ours become one sentence and their exit code.

Exit codes: 0 done, 2 a setting or an input is wrong, 3 the store, 4 the site or the bridge cannot be reached,
5 a document, 1 anything else that failed.
"""

import sys

import typer

from core.errors import PenfriendError

from . import chat, content, doctor, memory, outbox, owner, pack, pair, programs, status, up

app = typer.Typer(
    name="penfriend",
    help="A self-hosted persona: chat, blog, digest.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for group in (up, programs, chat, status, doctor, pack):
    group.register(app)
app.add_typer(outbox.app, name="outbox")
app.add_typer(owner.app, name="owner")
app.add_typer(pair.app, name="pair")
app.add_typer(content.app, name="content")
app.add_typer(memory.app, name="memory")


def main() -> None:
    try:
        app()
    except PenfriendError as problem:
        print(f"penfriend: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)


if __name__ == "__main__":
    main()
