"""Whether processes have ended."""

import time
from collections.abc import Callable
from pathlib import Path


def wait_until(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether something holds within some seconds."""
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    return holds()


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends(*pids: int) -> bool:
    """Whether all these processes end within 10 s."""
    return wait_until(lambda: not any(map(is_alive, pids)))
