"""A Python that answers calls, one at a time, in a process group of its own.

The other side is a function of this package from bytes to bytes. Where it is run in a fork for each call, every call
finds the state that the imports left, and may end its process. What a call prints goes to standard error; its standard
input is empty.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import NoReturn

from attacklab.processes.group import ProcessGroup, signal_name

LOOK_SECONDS = 1.0
"""How often a process that does not answer is checked: a process that it started may keep its pipe open."""

STARTING_SECONDS = 120.0
"""How long a Python may take to start and to import, on a busy machine."""

_PROGRAM = "import sys; sys.path[:] = sys.argv[4:]; from attacklab.processes.worker import serve; serve(*sys.argv[1:4])"

_ANSWER, _DEATH = b"+", b"-"
"""The first byte of a reply: an answer follows, or how a fork died."""


@dataclass(frozen=True, slots=True)
class Died:
    """The process of a call ended without an answer.

    Attributes:
        how: in words, such as `exited with status 3`.
    """

    how: str


@dataclass(frozen=True, slots=True)
class Late:
    """A call did not end in time."""


class Worker:
    """A running process; one that died, was late or was interrupted must be closed.

    Args:
        answer: the function of this package that answers, as `module:name`.
        forks: whether each call is made in a fork.
        imports: modules that are imported first; one that cannot be is left out.
        env: the environment; by default that of this process.

    Attributes:
        pid: the id of the process, and of its group.
        owner: the id of the process that started it; a fork of that process must not use it.
    """

    def __init__(
        self, answer: str, *, forks: bool = False, imports: tuple[str, ...] = (), env: Mapping[str, str] | None = None
    ) -> None:
        requests, self._requests = Pipe(duplex=False)
        self._answers, answers = Pipe(duplex=False)
        flags = ["-O"] * sys.flags.optimize
        settings = [answer, "forks" if forks else "", ",".join(imports)]
        with requests, answers:
            self._group = ProcessGroup(
                [sys.executable, *flags, "-c", _PROGRAM, *settings, *sys.path],
                stdin=requests.fileno(),
                stdout=answers.fileno(),
                env=env,
            )
        self.pid, self.owner = self._group.process.pid, self._group.owner
        self._ready = False

    @property
    def is_running(self) -> bool:
        """Whether the process goes on; one that a fork of a call has killed does not."""
        return self._group.process.poll() is None

    def close(self) -> None:
        """End the process with all that it has started."""
        self._group.close()
        self._requests.close()
        self._answers.close()

    def ask(self, request: bytes, seconds: float | None = None) -> bytes | Died | Late:
        """Have one call answered.

        Args:
            request: what the function over there is given.
            seconds: the timeout; None for none.
        """
        try:
            if not self._ready and self._reply(STARTING_SECONDS) is None:
                return Died(f"did not start within {STARTING_SECONDS:g} s")
            self._ready = True
            self._requests.send_bytes(request)
            reply = self._reply(seconds)
        except (EOFError, OSError):
            return Died(_told(self._group.status()))
        if reply is None:
            return Late()
        return reply[1:] if reply.startswith(_ANSWER) else Died(reply[1:].decode())

    def _reply(self, seconds: float | None) -> bytes | None:
        """The next message; None if there is none in time."""
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        while not self._answers.poll(max(0.0, min(LOOK_SECONDS, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                return None
            if not self.is_running and not self._answers.poll():
                raise EOFError
        return self._answers.recv_bytes()


def _told(status: int | None) -> str:
    if status is None:
        return "closed its connection"
    return f"exited with status {status}" if status >= 0 else f"was killed by {signal_name(-status)}"


# In the other process


def serve(answer: str, forks: str, imports: str) -> None:
    """Answer the calls that arrive on standard input until there are no more."""
    module, _, name = answer.partition(":")
    function: Callable[[bytes], bytes] = getattr(importlib.import_module(module), name)
    requests, answers = Connection(os.dup(0), writable=False), Connection(os.dup(1), readable=False)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - nothing else of `Path` is needed
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    for needed in filter(None, imports.split(",")):
        with contextlib.suppress(Exception):
            importlib.import_module(needed)
    with contextlib.suppress(EOFError, BrokenPipeError):  # nobody is asking any more
        answers.send_bytes(b"ready")
        while True:
            request = requests.recv_bytes()
            answers.send_bytes(_in_a_fork(function, request) if forks else _ANSWER + function(request))


def _in_a_fork(function: Callable[[bytes], bytes], request: bytes) -> bytes:
    reads, writes = Pipe(duplex=False)
    child = os.fork()
    if not child:
        reads.close()
        _answer_and_exit(function, request, writes)
    writes.close()
    with reads:
        try:
            reply = reads.recv_bytes()
        except EOFError:
            reply = b""
    _, status = os.waitpid(child, 0)
    return reply or _DEATH + _told(os.waitstatus_to_exitcode(status)).encode()


def _answer_and_exit(function: Callable[[bytes], bytes], request: bytes, writes: Connection) -> NoReturn:
    status, pid = 1, os.getpid()
    try:
        answer = function(request)
        if os.getpid() == pid:  # and not a copy of this process that the call made
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):  # the call may have closed or replaced it
                    stream.flush()
            writes.send_bytes(_ANSWER + answer)
            status = 0
    finally:
        os._exit(status)
