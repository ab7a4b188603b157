"""Stops a program when the one that started it is gone: `kill -9` of a supervisor leaves its children running."""

import os
import threading
import time
from collections.abc import Callable

SUPERVISOR = "PENFRIEND_SUPERVISOR_PID"
LOOK_EVERY_S = 1.0


def stop_with_parent(stop: Callable[[], object]) -> None:
    """Calls `stop` once, from a thread, when the process named by the environment has ended."""
    pid = os.environ.get(SUPERVISOR, "")
    if pid.isdecimal():
        threading.Thread(target=_watch, args=(int(pid), stop), name="supervisor-watch", daemon=True).start()


def _watch(pid: int, stop: Callable[[], object]) -> None:
    while _alive(pid):
        time.sleep(LOOK_EVERY_S)
    stop()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
