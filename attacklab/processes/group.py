"""A command that leaves no process behind, however it or this process ends.

The command leads a process group of its own, which is killed as a whole. If this process is itself killed, a guard in
that group kills the group: it waits for the end of a pipe that this process holds open, and it is there before the
command starts. This contains faults. It is not a sandbox for hostile code, which could leave its group.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from typing import IO

from attacklab.model.errors import UsageError

_LAUNCHER = """
((read -r _ </dev/fd/"$1"; kill -s KILL -- -$$) >/dev/null 2>&1 &)
ulimit -c 0
shift
exec "$@"
"""
"""Starts the guard, which keeps no stream of the command open; keeps core files away; becomes the command."""

ENDING_SECONDS = 0.5
"""How long a process that closed its output may take to end."""


class ProcessGroup:
    """A running command, with streams as for `subprocess.Popen`; no shell reads it.

    The id of `process` is also that of the group, and `owner` is the id of the process that started it, as a fork of
    that one must not use it. `close` kills the group, waits for the command and closes its pipes; it is also called
    when this object is freed.

    Raises:
        UsageError: this system has no process groups.
        OSError: the system did not start the process.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdin: int | IO[bytes],
        stdout: int | IO[bytes],
        stderr: int | IO[bytes] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        require_process_groups()
        guarded, held_open = os.pipe()
        try:
            self.process = subprocess.Popen(  # noqa: S603 - running it is the purpose
                ["/bin/sh", "-c", _LAUNCHER, "sh", str(guarded), *command],
                bufsize=0,
                pass_fds=(guarded,),
                start_new_session=True,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=env,
            )
        except BaseException:
            os.close(held_open)
            raise
        finally:
            os.close(guarded)
        self.owner = os.getpid()
        self.close = weakref.finalize(self, _end, self.process, held_open, self.owner)

    def status(self) -> int | None:
        """The exit status of a command that has closed its output; None if it goes on without one."""
        try:
            return self.process.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            return None


def require_process_groups() -> None:
    """Refuse a system without process groups, on which nothing here works.

    Raises:
        UsageError: it has none.
    """
    if sys.platform == "win32":
        raise UsageError("targets in another process need a POSIX system, not Windows; use Linux, macOS or WSL")


def signal_name(number: int) -> str:
    """The name of a signal, or its number if it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _end(process: subprocess.Popen[bytes], held_open: int, owner: int) -> None:
    if os.getpid() == owner:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # the command killed its group, guard included
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    else:
        process.returncode = 0  # or else its destructor waits for a process that is not ours
    os.close(held_open)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
