"""Run a function in a fresh process: fresh modules, another hash seed, other global random state.

What a function computes from its arguments alone is the same there. What it computes from an identity, a hash, a
counter in a module or a global generator is probably not.

A Python takes a second to start and to import the lab, so one is kept for each hash seed, and forks for each call;
each call finds the state that the imports left. It starts at the first call and runs none of the caller's code. What a
call leaves running ends with it, at the latest when this process ends.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from attacklab.model.errors import LabError, LabFault, TargetError, in_one_line
from attacklab.processes.group import ProcessGroup, signal_name
from attacklab.processes.sending import CannotBeSent, name_of, received, sent, unsendable

SECONDS = 60.0
"""The default timeout of a call, in seconds."""

PRELOADED: list[str] = []
"""Modules that the process which forks imports, besides those of this package that are loaded here when it starts."""

LOOK_SECONDS = 1.0
"""How often a process that does not answer is checked: a process that it started may keep its pipe open."""

STARTING_SECONDS = 120.0
"""How long a Python may take to start and to import, on a busy machine."""

HASH_SEEDS = (1, 592, 19, 286, 1610)
"""Hash seeds of the other processes; the first is that of a single call. A set of two short strings has both orders
under some two of them, but for 1 pair in 16. They were chosen so that of 115 common words all but 1 pair in 100 do."""

_SEED = 0x5EED
"""The seed of the global generators in the other process."""

_PROGRAM = "import sys; sys.path[:] = sys.argv[2:]; from attacklab.processes.fresh import serve; serve(sys.argv[1])"


class NoAnswer(TargetError):
    """A call in another process ended that process, in a way such as `exited with status 3`, or took too long."""

    def __init__(self, name: str, how: str) -> None:
        super().__init__(name, how)
        self.name, self.how = name, how

    def __str__(self) -> str:
        return f"{self.name} ended its process ({self.how}) in another process; let it return or raise"


class TookTooLong(NoAnswer):
    """A call in another process did not end in time."""

    def __str__(self) -> str:
        return f"{self.name} {self.how} in another process; give it more time"


def run_in_fresh_processes(
    calls: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]], *, seconds: float = SECONDS
) -> list[Any]:
    """Make some calls at the same time, each in a process with another hash seed: the first of `HASH_SEEDS`.

    What they print, to either stream, goes to standard error. Their standard input is empty. Threads of this process
    wait for each other.

    Args:
        calls: functions, and what to call them with.
        seconds: the timeout of all of them.

    Returns:
        Copies of what the calls returned.

    Raises:
        LabError: a call raised it; it is of the same type, with the same message.
        CannotBeSent: something cannot be pickled, or cannot be loaded there.
        TookTooLong: a call took longer than `seconds`.
        NoAnswer: a call ended its process.
        LabFault: a call raised anything else; the traceback is in a note (`__notes__`).
    """
    payloads = [sent(*call) for call in calls]
    requests = [pickle.dumps((sys.path, str(Path.cwd()), payload)) for payload in payloads]
    names = [name_of(function) for function, _ in calls]
    return list(map(_result, names, _in_forks(names, requests, seconds)))


def _result(name: str, reply: bytes) -> Any:
    how, answer = pickle.loads(reply)  # noqa: S301 - our own process wrote it
    if how == "died":
        raise NoAnswer(name, answer)
    if how == "raised":
        raise answer
    try:
        return received(answer)[0]
    except Exception as error:  # whatever the classes of the result do when they are made
        raise CannotBeSent(f"what {name} returned in another process cannot be read: {in_one_line(error)}") from error


class _Forker:
    """A running process that makes each call in a fork. Close it where `is_usable` is false after a call."""

    def __init__(self, hash_seed: int) -> None:
        requests, self._requests = Pipe(duplex=False)
        self._answers, answers = Pipe(duplex=False)
        loaded = [module for module in sys.modules if module.startswith("attacklab.")]
        imports = (*PRELOADED, *(module for module in loaded if not module.endswith("__main__")))
        flags = ["-O"] * sys.flags.optimize
        with requests, answers:
            self._group = ProcessGroup(
                [sys.executable, *flags, "-c", _PROGRAM, ",".join(imports), *sys.path],
                stdin=requests.fileno(),
                stdout=answers.fileno(),
                env=_environment(hash_seed),
            )
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

    def ask(self, name: str, request: bytes) -> None:
        """Begin the call that a request holds; errors call it by the name."""
        self._is_asked = True
        try:
            if not self._is_ready and self._reply(STARTING_SECONDS) is None:
                raise NoAnswer(name, f"did not start within {STARTING_SECONDS:g} s")
            self._is_ready = True
            self._requests.send_bytes(request)
        except (EOFError, OSError):
            raise NoAnswer(name, _told(self._group.status())) from None

    def answer(self, name: str, began: float, seconds: float) -> bytes:
        """The answer to the call that was begun, if it comes in time."""
        try:
            reply = self._reply(began + seconds - time.monotonic())
        except (EOFError, OSError):
            raise NoAnswer(name, _told(self._group.status())) from None
        if reply is None:
            raise TookTooLong(name, f"did not end within {seconds:g} s")
        self._is_asked = False
        return reply

    def _reply(self, seconds: float) -> bytes | None:
        """The next message; None if there is none in time."""
        deadline = time.monotonic() + seconds
        while not self._answers.poll(max(0.0, min(LOOK_SECONDS, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                return None
            if self._group.process.poll() is not None and not self._answers.poll():
                raise EOFError
        return self._answers.recv_bytes()


def _told(status: int | None) -> str:
    if status is None:
        return "closed its connection"
    return f"exited with status {status}" if status >= 0 else f"was killed by {signal_name(-status)}"


_asking = threading.Lock()
_forkers: dict[int, _Forker] = {}


def _in_forks(names: Sequence[str], requests: Sequence[bytes], seconds: float) -> list[bytes]:
    with _asking:
        try:
            for seed in HASH_SEEDS[: len(names)]:  # all start before one is waited for
                if seed not in _forkers:
                    _forkers[seed] = _Forker(seed)
            asked = [(name, _forkers[seed]) for name, seed in zip(names, HASH_SEEDS, strict=False)]
            for (name, forker), request in zip(asked, requests, strict=True):
                forker.ask(name, request)
            began = time.monotonic()
            return [forker.answer(name, began, seconds) for name, forker in asked]
        finally:  # one may have been late, or Ctrl-C came, and it is still at work
            for seed in [seed for seed, forker in _forkers.items() if not forker.is_usable]:
                _forkers.pop(seed).close()


def close() -> None:
    """End the processes that are kept; the next call starts one."""
    with _asking:
        while _forkers:
            _forkers.popitem()[1].close()


def _environment(hash_seed: int) -> dict[str, str]:
    """One thread, since a process with several had better not fork."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **threads, "PYTHONHASHSEED": str(hash_seed)}


def _forget() -> None:
    """In a fork of this process: leave the lock and the processes that are kept to the one that has them."""
    global _asking, _forkers
    _asking, _forkers = threading.Lock(), {}


if hasattr(os, "register_at_fork"):  # Windows has none, and no process groups either
    os.register_at_fork(after_in_child=_forget)


# In the other process


def serve(imports: str) -> None:
    """Make the calls that arrive on standard input, each in a fork, until there are no more."""
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
            answers.send_bytes(_made_in_a_fork(requests.recv_bytes()))


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
        reply = _made(request)
        if os.getpid() == pid:  # and not a copy of this process that the call made
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):  # the call may have closed or replaced it
                    stream.flush()
            writes.send_bytes(reply)
            status = 0
    finally:
        os._exit(status)


def _made(request: bytes) -> bytes:
    """Make a call, and say what came of it."""
    try:
        return pickle.dumps(("returned", _called(*pickle.loads(request))))  # noqa: S301 - our own parent wrote it
    except BaseException as error:  # a call may not end this process
        copy: Exception = LabFault(in_one_line(error))
        with contextlib.suppress(Exception):  # whatever somebody's class does
            same = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
            copy = same if isinstance(same, LabError) else copy
        copy.add_note(f"In another process:\n{''.join(traceback.format_exception(error))}")
        return pickle.dumps(("raised", copy))


def _called(path: list[str], directory: str, payload: bytes) -> bytes:
    """Make the call that was sent, and pickle what it returns."""
    random.seed(_SEED)
    np.random.seed(_SEED)
    sys.path[:] = path
    os.chdir(directory)
    try:
        function, arguments = pickle.loads(payload)  # noqa: S301 - this process's own parent wrote it
    except Exception as error:  # whatever somebody's module does when it is imported
        message = f"a function cannot be loaded in another process: {in_one_line(error)}"
        raise CannotBeSent(message) from error
    try:
        result = function(*arguments)
    except LabError:
        raise
    except BaseException as error:  # a call may not end this process
        raise LabFault(f"{name_of(function)} raised in another process: {in_one_line(error)}") from error
    try:
        return sent(result)
    except CannotBeSent as error:
        raise CannotBeSent(unsendable(f"what {name_of(function)} returned", error.__cause__ or error)) from error
