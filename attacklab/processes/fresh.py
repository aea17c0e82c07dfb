"""Run a function in a fresh process: fresh modules, another hash seed, other global random state.

What a function computes from its arguments alone is the same there. What it computes from an identity, a hash, a
counter in a module or a global generator is probably not.

A Python takes a second to start and to import the lab, so one is kept that forks for each call; each call finds the
state that the imports left. It starts at the first call and runs none of the caller's code. What a call leaves running
ends with it, at the latest when this process ends. A system that cannot fork starts a Python for each call.
"""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from attacklab.model.errors import LabError, LabFault, in_one_line
from attacklab.processes.sending import CannotBeSent, answered, name_of, read_answer, sent, unsendable
from attacklab.processes.worker import NoAnswer, TookTooLong, Worker, made, outcome_of

__all__ = ["NoAnswer", "TookTooLong", "close", "run_in_fresh_process"]

Result = TypeVar("Result")

SECONDS = 60.0
"""The default timeout of a call, in seconds."""

PRELOADED: list[str] = []
"""Modules that the process which forks imports, besides those of this package that are loaded here when it starts."""

_SEED = 0x5EED
"""The seed of the global generators in the other process."""


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
    call = _in_a_fork if hasattr(os, "fork") else _in_a_new_process
    answer = call(name, (sys.path, str(Path.cwd()), payload), seconds)
    try:
        return read_answer(answer, classes)  # type: ignore[no-any-return]
    except Exception as error:  # whatever the classes of the result do when they are made
        raise CannotBeSent(f"what {name} returned in another process cannot be read: {in_one_line(error)}") from error


_asking = threading.Lock()
_worker: Worker | None = None


def _in_a_fork(name: str, arguments: tuple[Any, ...], seconds: float) -> bytes:
    global _worker
    with _asking:
        if _worker is None:
            loaded = [module for module in sys.modules if module.startswith("attacklab.")]
            imports = (*PRELOADED, *(module for module in loaded if not module.endswith("__main__")))
            _worker = Worker(forks=True, imports=imports, env=_environment())
        try:
            answer: bytes = _worker.call(name, _called, *arguments, seconds=seconds)
            return answer
        finally:  # it may have been late, or Ctrl-C came, and it is still at work
            if not _worker.is_usable:
                _close()


def close() -> None:
    """End the process that is kept; the next call starts one."""
    with _asking:
        _close()


def _close() -> None:
    global _worker
    if _worker is not None:
        _worker.close()
        _worker = None


def _environment() -> dict[str, str]:
    """Another hash seed than this process has; one thread, since a process with several had better not fork."""
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **threads, "PYTHONHASHSEED": seed}


def _in_a_new_process(name: str, arguments: tuple[Any, ...], seconds: float) -> bytes:
    """A call in a Python started for it."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import answer_once; answer_once()"
    command, request = [sys.executable, "-c", code], pickle.dumps((_called, arguments))
    try:
        done = subprocess.run(  # noqa: S603 - it is this Python
            command, input=request, stdout=subprocess.PIPE, env=_environment(), timeout=seconds, check=True
        )
    except subprocess.TimeoutExpired:
        raise TookTooLong(name, f"did not end within {seconds:g} s") from None
    except subprocess.CalledProcessError as error:
        raise NoAnswer(name, f"exited with status {error.returncode}") from None
    answer: bytes = outcome_of(done.stdout, name)
    return answer


def _forget() -> None:
    """In a fork of this process: leave the lock and the worker to the process that has them."""
    global _asking, _worker
    _asking, _worker = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# In the other process


def _called(path: list[str], directory: str, payload: bytes) -> bytes:
    """Make the call that was sent, and pickle what it returns."""
    random.seed(_SEED)
    np.random.seed(_SEED)
    sys.path[:] = path
    os.chdir(directory)
    try:
        function, arguments, classes = pickle.loads(payload)  # noqa: S301 - this process's own parent wrote it
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
        return answered(result, classes)
    except Exception as error:  # whatever the __reduce__ of somebody's class raises
        raise CannotBeSent(unsendable(f"what {name_of(function)} returned", error)) from error


def answer_once() -> None:
    """Make the call on standard input, and answer on standard output: where there is no fork."""
    answers = os.dup(1)
    os.dup2(2, 1)
    reply = made(sys.stdin.buffer.read())
    with os.fdopen(answers, "wb") as file:
        file.write(reply)
