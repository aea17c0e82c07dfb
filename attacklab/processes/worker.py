"""A Python that answers calls, one at a time, in a process group of its own.

Where each call is made in a fork, every call finds the state that the imports left, and may end its process. What a
call prints goes to standard error; its standard input is empty.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from attacklab.model.errors import LabFault, Refused, TargetError, in_one_line
from attacklab.processes.group import ProcessGroup, signal_name

LOOK_SECONDS = 1.0
"""How often a process that does not answer is checked: a process that it started may keep its pipe open."""

STARTING_SECONDS = 120.0
"""How long a Python may take to start and to import, on a busy machine."""

_PROGRAM = "import sys; sys.path[:] = sys.argv[3:]; from attacklab.processes.worker import serve; serve(*sys.argv[1:3])"


class NoAnswer(TargetError):
    """A call in another process ended that process, or took too long.

    Args:
        name: what was called.
        how: how the process ended, in words, such as `exited with status 3`.
    """

    def __init__(self, name: str, how: str) -> None:
        super().__init__(name, how)
        self.name, self.how = name, how

    def __str__(self) -> str:
        return f"{self.name} ended its process ({self.how}) in another process; let it return or raise"


class TookTooLong(NoAnswer):
    """A call in another process did not end in time."""

    def __str__(self) -> str:
        return f"{self.name} {self.how} in another process; give it more time"


class Worker:
    """A running process; one that is no longer usable after a call must be closed.

    Args:
        forks: whether each call is made in a fork.
        imports: modules that are imported first; one that cannot be is left out.
        env: the environment; by default that of this process.

    Attributes:
        pid: the id of the process, and of its group.
    """

    def __init__(
        self, *, forks: bool = False, imports: tuple[str, ...] = (), env: Mapping[str, str] | None = None
    ) -> None:
        requests, self._requests = Pipe(duplex=False)
        self._answers, answers = Pipe(duplex=False)
        flags = ["-O"] * sys.flags.optimize
        with requests, answers:
            self._group = ProcessGroup(
                [sys.executable, *flags, "-c", _PROGRAM, "forks" if forks else "", ",".join(imports), *sys.path],
                stdin=requests.fileno(),
                stdout=answers.fileno(),
                env=env,
            )
        self.pid = self._group.process.pid
        self._is_ready, self._is_asked = False, False

    @property
    def is_usable(self) -> bool:
        """Whether it can be called again: it answered, and was not killed by what a fork of it did."""
        return not self._is_asked and self._group.process.poll() is None

    def close(self) -> None:
        """End the process with all that it has started."""
        self._group.close()
        self._requests.close()
        self._answers.close()

    def call(self, name: str, function: Callable[..., Any], *arguments: Any, seconds: float | None = None) -> Any:
        """Call `function(*arguments)` in the process; both must be picklable, and so must the result.

        Args:
            name: what errors call it.
            function: what to call.
            *arguments: what to call it with.
            seconds: the timeout; None for none.

        Raises:
            TookTooLong: the call took longer than `seconds`.
            NoAnswer: the call ended the process.
            Exception: what the call raised, or the nearest of its kind that can be pickled; the traceback is in a note.
        """
        self._is_asked = True
        try:
            if not self._is_ready and self._reply(STARTING_SECONDS) is None:
                raise NoAnswer(name, f"did not start within {STARTING_SECONDS:g} s")
            self._is_ready = True
            self._requests.send_bytes(pickle.dumps((function, arguments)))
            reply = self._reply(seconds)
        except (EOFError, OSError):
            raise NoAnswer(name, _told(self._group.status())) from None
        if reply is None:
            raise TookTooLong(name, f"did not end within {seconds:g} s")
        self._is_asked = False
        return outcome_of(reply, name)

    def _reply(self, seconds: float | None) -> bytes | None:
        """The next message; None if there is none in time."""
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        while not self._answers.poll(max(0.0, min(LOOK_SECONDS, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                return None
            if self._group.process.poll() is not None and not self._answers.poll():
                raise EOFError
        return self._answers.recv_bytes()


def outcome_of(reply: bytes, name: str) -> Any:
    """What a call returned, by the reply that `made` gave; raises what it raised."""
    how, value = pickle.loads(reply)  # noqa: S301 - our own process wrote it
    if how == "died":
        raise NoAnswer(name, value)
    if how == "raised":
        raise value
    return value


def _told(status: int | None) -> str:
    if status is None:
        return "closed its connection"
    return f"exited with status {status}" if status >= 0 else f"was killed by {signal_name(-status)}"


# In the other process


def serve(forks: str, imports: str) -> None:
    """Answer the calls that arrive on standard input until there are no more."""
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
            answers.send_bytes(_made_in_a_fork(request) if forks else made(request))


def made(request: bytes) -> bytes:
    """Make a call, and say what came of it."""
    try:
        function, arguments = pickle.loads(request)  # noqa: S301 - this process's own parent wrote it
        return pickle.dumps(("returned", function(*arguments)))
    except BaseException as error:  # a call may not end this process
        return pickle.dumps(("raised", _portable(error)))


def _portable(error: BaseException) -> Exception:
    kinds = (kind for kind in (Refused, TargetError, LabFault) if isinstance(error, kind))
    other = RuntimeError if isinstance(error, Exception) else TargetError  # an exit, or a panic
    copy: Exception = next(kinds, other)(in_one_line(error))
    with contextlib.suppress(Exception):  # whatever somebody's class does
        same = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        copy = same if isinstance(same, Exception) else copy
    copy.add_note(f"In another process:\n{''.join(traceback.format_exception(error))}")
    return copy


def _made_in_a_fork(request: bytes) -> bytes:
    reads, writes = Pipe(duplex=False)
    child = os.fork()
    if not child:
        reads.close()
        _answer_and_exit(request, writes)
    writes.close()
    with reads:
        try:
            reply = reads.recv_bytes()
        except EOFError:
            reply = b""
    _, status = os.waitpid(child, 0)
    return reply or pickle.dumps(("died", _told(os.waitstatus_to_exitcode(status))))


def _answer_and_exit(request: bytes, writes: Connection) -> NoReturn:
    status, pid = 1, os.getpid()
    try:
        reply = made(request)
        if os.getpid() == pid:  # and not a copy of this process that the call made
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):  # the call may have closed or replaced it
                    stream.flush()
            writes.send_bytes(reply)
            status = 0
    finally:
        os._exit(status)
