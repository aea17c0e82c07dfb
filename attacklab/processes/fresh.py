"""Run a function in a fresh process: fresh modules, another hash seed, other global random state.

What a function computes from its arguments alone is the same there. What it computes from an identity, a hash, a
counter in a module or a global generator is probably not.

A Python takes a second to start and to import the lab, so one is kept for each hash seed, and forks for each call;
each call finds the state that the imports left. What a call leaves running ends when this process ends.

What can be imported there is sent by its name, and the rest by value: closures, lambdas, what `__main__` defines, and
all of a module that was loaded from a file outside of `sys.path`.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import pickle
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NoReturn

import cloudpickle
import numpy as np

from attacklab.model.errors import LabError, LabFault, TargetError, in_one_line
from attacklab.processes.codec import private_streams
from attacklab.processes.programs import NoAnswer, Program, ending

PRELOADED: list[str] = []
"""Modules that the forking process imports, in addition to the modules of this package that are loaded here."""

HASH_SEEDS = (1, 592, 19, 286, 1610)
"""Hash seeds of the other processes; a single call gets the first. A set of two short strings is iterated in both
orders under these seeds, except for 1 pair in 16. The seeds were chosen so that for 115 common words it is 1 in 100."""

_SEED = 0x5EED  # of the global generators in the other process
_PROGRAM = "import sys; sys.path[:] = sys.argv[2:]; from attacklab.processes.fresh import serve; serve(sys.argv[1])"

_ENVIRONMENT = ("OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")  # threads and forks do not mix
_kept: dict[int, Program] = {}
"""The processes that fork, by their hash seeds."""


def run_in_fresh_processes(calls: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]], *, seconds: float) -> list[Any]:
    """Make calls (a function, its arguments) at the same time, each in a process with another seed of `HASH_SEEDS`.

    What they print is lost, and their standard input is empty. All calls must end within `seconds`.
    Return copies of their results, in the order of the calls.

    Raises:
        LabError: a call raised it; it is of the same type, with the same message.
        CannotBeSent: something cannot be pickled.
        TooLate: a call did not end within `seconds`.
        NoAnswer: a call ended its process.
        LabFault: a call raised anything else; the traceback is in a note (`__notes__`).
    """
    requests = [
        {"path": sys.path, "folder": str(Path.cwd()), "call": sent("the sampler", *call).hex()} for call in calls
    ]
    # Kept again once all have answered: whatever interrupts this, even while it closes them, leaves none at work.
    programs = {seed: _kept.pop(seed) if seed in _kept else _forking(seed) for seed in HASH_SEEDS[: len(calls)]}
    try:
        for program in programs.values():  # all start before one is waited for
            program.start()
        for program, request in zip(programs.values(), requests, strict=True):
            program.send(json.dumps(request).encode() + b"\n")
        deadline = time.monotonic() + seconds
        answers = [program.object_in(program.line(deadline - time.monotonic())) for program in programs.values()]
    except BaseException:  # the others are still at work
        for program in programs.values():
            program.close()
        raise
    _kept.update(programs)
    return list(map(_result, answers))


def _result(answer: dict[str, str]) -> Any:
    if "ended" in answer:
        raise NoAnswer(answer["ended"])
    try:
        value = pickle.loads(bytes.fromhex(answer.get("value") or answer["raised"]))  # noqa: S301 - we wrote it
    except Exception as error:  # whatever the classes of the result do when they are made
        raise CannotBeSent(f"a result of another process cannot be read: {in_one_line(error)}") from error
    if "raised" in answer:
        raise value
    return value[0]


def _forking(seed: int) -> Program:
    """Return a program, not started yet, that makes each call in a fork, with `seed` as its hash seed."""
    loaded = [module for module in sys.modules if module.startswith("attacklab.") and not module.endswith("__main__")]
    environment = ["env", *_ENVIRONMENT, f"PYTHONHASHSEED={seed}"]
    python = [sys.executable, *["-O"] * sys.flags.optimize, "-c", _PROGRAM, ",".join((*PRELOADED, *loaded)), *sys.path]
    return Program([*environment, *python], greets=True)


def close() -> None:
    """End the processes that are kept; the next call starts new ones."""
    while _kept:
        _kept.popitem()[1].close()


def serve(imports: str) -> None:
    """Run in the other process: import modules (split at commas), then read calls and make each one in a fork."""
    requests, answer = private_streams()
    for needed in filter(None, imports.split(",")):
        with contextlib.suppress(Exception):
            importlib.import_module(needed)
    answer({})
    for line in requests:
        child = os.fork()
        if not child:
            _answer_and_exit(line, answer)
        _, status = os.waitpid(child, 0)
        if status:
            answer({"ended": ending(os.waitstatus_to_exitcode(status))})


def _answer_and_exit(line: bytes, answer: Callable[[Any], object]) -> NoReturn:
    status, pid = 1, os.getpid()
    try:
        made = _made(line)
        if os.getpid() == pid:  # and not a copy of this process that the call made
            answer(made)
            status = 0
    finally:
        os._exit(status)


def _made(line: bytes) -> dict[str, str]:
    """Make a call that was sent (pickled, in hex); return its value or its exception, pickled, in hex."""
    try:
        request = json.loads(line)
        random.seed(_SEED)
        np.random.seed(_SEED)
        sys.path[:] = request["path"]
        os.chdir(request["folder"])
        function, arguments = pickle.loads(bytes.fromhex(request["call"]))  # noqa: S301 - our own parent wrote it
        return {"value": sent("what the sampler gave", function(*arguments)).hex()}
    except BaseException as error:  # a call may not end this process
        copy = error if isinstance(error, LabError) else LabFault(f"a call in another process: {in_one_line(error)}")
        copy.add_note(f"In another process:\n{''.join(traceback.format_exception(error))}")
        return {"raised": pickle.dumps(copy).hex()}


# What is sent


class CannotBeSent(TargetError):
    """A function, an argument or a result cannot be sent to another process."""


_GENERATORS = ((random, "_inst"), (np.random.mtrand, "_rand"))
"""The global generators. A function such as `random.random` is a method of one, and would be sent with its state."""

_setting = threading.Lock()
"""Held while pickling: which modules are pickled by value is a global setting of cloudpickle."""


def sent(name: str, *things: Any) -> bytes:
    """Pickle some things for another process; `pickle.loads` reads them there as a tuple.

    Raises:
        CannotBeSent: one of the things cannot be pickled; the message calls them `name`.
    """
    file = io.BytesIO()
    with _setting:
        pickler = _Pickler(file)
        try:
            pickler.dump(things)
        except Exception as error:  # whatever the __reduce__ of somebody's class raises
            raise CannotBeSent(f"{name} cannot be sent to another process: {in_one_line(error)}") from error
        finally:
            for module in pickler.registered:
                cloudpickle.unregister_pickle_by_value(module)
    return file.getvalue()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc] # it has no types
    """Pickles by value what the other process could not import."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.registered: list[ModuleType] = []
        self._known = {"__main__", *cloudpickle.list_registry_pickle_by_value()}

    def reducer_override(self, thing: Any) -> Any:
        for module, name in _GENERATORS:
            if thing is getattr(module, name):
                return getattr, (module, name)
        if isinstance(thing, type | FunctionType | ModuleType):
            home = thing.__name__ if isinstance(thing, ModuleType) else thing.__module__
            if home in sys.modules and home not in self._known:
                self._known.add(home)
                if not _is_found(home):
                    cloudpickle.register_pickle_by_value(sys.modules[home])
                    self.registered.append(sys.modules[home])
        return super().reducer_override(thing)


def _is_found(name: str) -> bool:
    """Whether an import of this name in a new process finds the module that this process has."""
    parent, _, _ = name.rpartition(".")
    if parent and not (parent in sys.modules and _is_found(parent)):
        return False
    path = sys.modules[parent].__path__ if parent else None
    spec = getattr(sys.modules[name], "__spec__", None)
    located = next(filter(None, (finder.find_spec(name, path) for finder in sys.meta_path)), None)
    return located is not None and spec is not None and located.origin == spec.origin
