"""Run a function in a fresh process: fresh modules, another hash seed, other global random state.

What a function computes from its arguments alone is the same there. What it computes from an identity, a hash, a
counter in a module or a global generator is probably not.

A Python takes a second to start and to import the lab, so one is kept that forks for each call; each call finds the
state that the imports left. It starts at the first call and runs none of the caller's code. What a call leaves running
ends with it, at the latest when this process ends. A system that cannot fork starts a Python for each call.
"""

from __future__ import annotations

import io
import os
import pickle
import random
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from attacklab.model.errors import LabError, LabFault, TargetError, in_one_line
from attacklab.processes.sending import CannotBeSent, answered, name_of, read_answer, sent, unsendable
from attacklab.processes.worker import Died, Late, Worker

Result = TypeVar("Result")

SECONDS = 60.0
"""The default timeout of a call, in seconds."""

PRELOADED: list[str] = []
"""Modules that the process which forks imports, besides those of this package that are loaded here when it starts."""

_SEED = 0x5EED
"""The seed of the global generators in the other process."""


class NoAnswer(TargetError):
    """A call in another process ended that process, or took too long.

    Attributes:
        how: how the process ended, in words; empty where the call took too long.
    """

    how = ""


class TookTooLong(NoAnswer):
    """A call in another process did not end in time."""


def run_in_fresh_process(function: Callable[..., Result], *arguments: Any, seconds: float = SECONDS) -> Result:
    """Call `function(*arguments)` in another process.

    What it prints, to either stream, goes to standard error. Its standard input is empty. One call runs at a time;
    threads wait for each other.

    Args:
        function: what to call.
        *arguments: what to call it with.
        seconds: the timeout.

    Returns:
        A copy of what the call returned.

    Raises:
        LabError: the call raised it; it is of the same type, with the same message.
        CannotBeSent: something cannot be pickled, or cannot be loaded there.
        TookTooLong: the call took longer than `seconds`.
        NoAnswer: the call ended the process.
        LabFault: the call raised anything else; the traceback is in a note (`__notes__`).
    """
    name = name_of(function)
    payload, classes = sent(function, arguments)
    ask = _ask if hasattr(os, "fork") else _in_a_new_process
    answer = ask(pickle.dumps((sys.path, str(Path.cwd()))) + payload, seconds)
    if isinstance(answer, Late):
        raise TookTooLong(f"{name} did not end within {seconds:g} s in another process; give it more time")
    if isinstance(answer, Died):
        error = NoAnswer(f"{name} ended its process ({answer.how}) in another process; let it return or raise")
        error.how = answer.how
        raise error
    try:
        kind, value, trace = read_answer(answer, classes)
    except Exception as error:  # whatever the classes of the result do when they are made
        raise CannotBeSent(f"what {name} returned in another process cannot be read: {in_one_line(error)}") from error
    if kind == "returned":
        return value  # type: ignore[no-any-return]
    if kind == "unsendable":
        raise CannotBeSent(value)
    raised = value if isinstance(value, LabError) else LabFault(f"{name} raised in another process: {value}")
    raised.add_note(f"In another process:\n{trace}")
    raise raised


_asking = threading.Lock()
_worker: Worker | None = None


def _ask(request: bytes, seconds: float) -> bytes | Died | Late:
    global _worker
    with _asking:
        if _worker is None or _worker.owner != os.getpid():
            _worker = _started()
        answer: bytes | Died | Late = Late()
        try:
            answer = _worker.ask(request, seconds)
        finally:  # it was late, or Ctrl-C came: it may still be at work
            if isinstance(answer, Late) or not _worker.is_running:
                _close()
        return answer


def close() -> None:
    """End the process that is kept; the next call starts one."""
    with _asking:
        _close()


def _close() -> None:
    global _worker
    if _worker is not None:
        _worker.close()
        _worker = None


def _started() -> Worker:
    loaded = [name for name in sys.modules if name.startswith("attacklab.") and not name.endswith("__main__")]
    return Worker(f"{__name__}:answer", forks=True, imports=(*PRELOADED, *loaded), env=_environment())


def _environment() -> dict[str, str]:
    """Another hash seed than this process has; one thread, since a process with several had better not fork."""
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **threads, "PYTHONHASHSEED": seed}


def _in_a_new_process(request: bytes, seconds: float) -> bytes | Died | Late:
    """A call in a Python started for it; it returns what `Worker.ask` does."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import answer_once; answer_once()"
    try:
        done = subprocess.run(  # noqa: S603 - it is this Python
            [sys.executable, "-c", code],
            input=request,
            stdout=subprocess.PIPE,
            env=_environment(),
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Late()
    return Died(f"exited with status {done.returncode}") if done.returncode else done.stdout


def _forget() -> None:
    """In a fork of this process: leave the lock and the worker to the process that has them."""
    global _asking, _worker
    _asking, _worker = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def answer(request: bytes) -> bytes:
    """Make a call, in the process that was forked for it."""
    random.seed(_SEED)
    np.random.seed(_SEED)
    file = io.BytesIO(request)
    try:
        sys.path[:], directory = pickle.load(file)  # noqa: S301 - this process's own parent wrote it
        os.chdir(directory)
        function, arguments, classes = pickle.load(file)  # noqa: S301 - as above
    except Exception as error:  # whatever somebody's module does when it is imported
        message = f"a function cannot be loaded in another process: {in_one_line(error)}"
        return pickle.dumps(("unsendable", message, ""))
    try:
        outcome: tuple[str, Any, str] = ("returned", function(*arguments), "")
    except LabError as error:
        outcome = ("raised", error, _traceback(error))
    except BaseException as error:  # a call may not end this process
        outcome = ("raised", in_one_line(error), _traceback(error))
    try:
        return answered(outcome, classes)
    except Exception as error:  # whatever the __reduce__ of somebody's class raises
        if outcome[0] == "raised":
            return pickle.dumps(("raised", in_one_line(outcome[1]), outcome[2]))
        return pickle.dumps(("unsendable", unsendable(f"what {name_of(function)} returned", error), ""))


def answer_once() -> None:
    """Answer the call on standard input, on standard output: where there is no fork."""
    answers = os.dup(1)
    os.dup2(2, 1)
    reply = answer(sys.stdin.buffer.read())
    with os.fdopen(answers, "wb") as file:
        file.write(reply)


def _traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))
