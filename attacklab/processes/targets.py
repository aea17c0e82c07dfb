"""Targets that run in another process: a Python one in a child interpreter, or any program that speaks the protocol.

Whatever such a target does to its process (crash, hang, switch the floating-point mode) stays there and is reported as
the target's failure; the next request starts a new process. Each request carries a seed drawn from the generator that
the referee passes to the release, so findings are reproducible. docs/reference/protocol.md describes the lines.
"""

from __future__ import annotations

import hashlib
import json
import math
import shlex
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from attacklab.libraries import adapter_file, library, near_library
from attacklab.loading.targets import claim_parameters, described_target, made_target, place_and_name
from attacklab.model.claims import Claim
from attacklab.model.errors import TargetError, UsageError
from attacklab.model.releases import as_outputs
from attacklab.model.targets import Kind, Outputs, Target
from attacklab.processes.codec import listed, read, written
from attacklab.processes.programs import DEFAULT_SECONDS, NoAnswer, Program, TooLate

__all__ = ["external", "isolated"]

CHILD = str(Path(__file__).with_name("child.py"))  # runs a Python target, also where this package is not installed


class ReleaseError(Exception):
    """The release in the other process raised an exception, or the program answered that it failed.

    It stands for the exception that a release in this process would raise: an adversary may see it, and the process
    keeps running. So, unlike `NoAnswer`, it is an answer, and not one of this package's own errors.
    """


class ProcessRelease(Program):
    """A release whose outputs come from a child process.

    Once a call for n outputs has timed out, calls for n or more fail at once. The release may be called from several
    threads, pickled, and used after a fork: each process then has its own child. If `kind` is None, the child is
    `child.py`, whose first line describes its target.
    """

    draws_elsewhere = True  # from the generator that it is given it draws a seed

    def __init__(self, command: Sequence[str], seconds: float, kind: Kind | None) -> None:
        super().__init__(command, seconds, greets=kind is None)
        self._kind = kind
        self._lock = threading.Lock()
        self._too_many = math.inf

    def __reduce__(self) -> tuple[Any, ...]:
        return ProcessRelease, (self._command, self._seconds, self._kind)

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> Outputs:
        """Ask the process for one output per trial, with a seed drawn from `rng`.

        Raises:
            NoAnswer: the process failed; the message says how.
            ReleaseError: the release failed; the process keeps running.
            TargetError: the input cannot be sent with every bit kept.
        """
        request = request_of(self._kind, input_, trials, int(rng.integers(1 << 63)))
        with self._lock:
            if trials >= self._too_many:
                raise TooLate(f"time limit: no answer within {self._seconds:.3g} s; it was not asked again")
            try:
                return outputs_of(self.ask(request), trials)
            except ReleaseError:
                raise
            except BaseException as error:  # also Ctrl-C: a late answer must not be taken for the next one
                self._too_many = trials if isinstance(error, TooLate) else self._too_many
                self.close()
                raise


def request_of(kind: Kind | None, input_: Any, trials: int, seed: int) -> dict[str, Any]:
    """Return the request for `trials` outputs, as plain JSON values. If `kind` is None, it is a request to `child.py`.

    Raises:
        TargetError: the input holds something that JSON cannot carry with every bit kept.
    """
    try:
        if kind is None:
            return {"input": written(input_), "trials": trials, "seed": seed}
        request = {"kind": str(kind), "input": written(listed(input_)), "trials": trials, "seed": seed}
    except TypeError as error:
        raise TargetError(f"an input cannot be sent to another process: {error}") from error
    is_typed = isinstance(input_, np.ndarray | np.generic) and input_.dtype.kind != "O"
    return {**request, "dtype": str(input_.dtype)} if is_typed else request


def outputs_of(answer: Mapping[str, Any], trials: int) -> Outputs:
    """Return the outputs in an answer, one per trial.

    Raises:
        NoAnswer: the answer does not fit this request, or says that the process failed; the message says how.
        ReleaseError: the answer says that the release failed.
    """
    if "failure" in answer:
        raise NoAnswer(_failure_text(answer))
    if "error" in answer:
        raise ReleaseError(_failure_text(answer))
    if answer.keys() not in ({"outputs"}, {"values"}):
        raise NoAnswer(f"garbage: an answer must hold outputs or values, not {', '.join(answer)[:80] or 'nothing'}")
    ((word, held),) = answer.items()
    values: list[Any] = []
    try:
        values.extend(map(read, held) if isinstance(held, list) else ())
        outputs = as_outputs(values) if isinstance(held, list) else read(held)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        raise NoAnswer(" ".join(f"garbage: the output of trial {len(values)} {error}".split())) from None
    if not isinstance(outputs, np.ndarray) or not outputs.ndim:
        raise NoAnswer(f"garbage: {word} must be a list, or an array with one row a trial")
    if len(outputs) != trials:
        raise NoAnswer(f"wrong number of outputs: {len(outputs)} outputs for {trials} trials")
    if word == "outputs" and {int, float} <= set(map(type, values)):
        raise NoAnswer("garbage: outputs mix integers and floats; write all as floats")
    return outputs


def _failure_text(answer: Mapping[str, Any]) -> str:
    return " ".join(": ".join(str(answer[key]) for key in ("failure", "error") if key in answer).split())


def isolated(
    spec: str,
    *,
    kind: Kind | None = None,
    claim: Claim | None = None,
    python: str = sys.executable,
    seconds: float = DEFAULT_SECONDS,
    **parameters: Any,
) -> Target:
    """Return a Python target that runs in a child interpreter, `python`, which needs numpy and what the target imports.

    One call may take up to `seconds`. The other arguments are as for `load_target`.

    Raises:
        UsageError: a parameter is out of range, the target cannot be loaded, or this system cannot isolate it.
    """
    place, name = place_and_name(spec)
    _require_files(place, name, python)
    arguments = {key: getattr(value, "value", value) for key, value in parameters.items() if value is not None}
    if kind is None:
        arguments |= claim_parameters(claim)
    adapter = adapter_file(place)
    loaded = f"{adapter}:{name}" if adapter else spec
    settings = json.dumps({"bare": kind is not None, "parameters": written(arguments)})
    release = ProcessRelease((python, CHILD, loaded, settings), seconds, kind=None)
    try:
        described = _greeted(release, python)
    except NoAnswer as error:
        raise UsageError(str(error).replace(loaded, spec) + _hint(place, python)) from error
    if kind is not None:
        target = made_target(kind, release, **{"claim": claim, "name": name, **arguments})
    else:
        target = described_target({**read(described["target"]), "release": release}, spec, name)
    return replace(target, name=spec if adapter else target.name, version=described["version"])


def _require_files(place: str, name: str, python: str) -> None:
    """Raise UsageError if the target's file, the interpreter or the library's mechanism does not exist."""
    if place.endswith(".py") and not Path(place).is_file():
        raise UsageError(f"there is no file {place}; check the path")
    if shutil.which(python) is None:
        raise UsageError(f"there is no program {python!r}; give the path of a Python interpreter")
    if adapter_file(place) and name not in library(place).mechanisms:
        raise UsageError(f"{place} has no {name!r}; there are {', '.join(library(place).mechanisms)}")


def _greeted(release: ProcessRelease, python: str) -> Mapping[str, Any]:
    """Return the child's greeting, which describes its target; raise `NoAnswer` if the child could not load it."""
    described = release.object_in(release.greeting())
    if "error" in described:
        raise release.failed(_failure_text(described))
    if "version" not in described:
        raise release.failed(f"{python} did not start; is it a Python with numpy installed?")
    return described


def _hint(place: str, python: str) -> str:
    """Return the end of a message that says what to do if a target cannot be loaded; it may be empty."""
    if not adapter_file(place):
        return near_library(place)
    is_missing = python == sys.executable and library(place).installed is None
    return ", or see which environments have it: attacklab list" if is_missing else ""


def external(command: Sequence[str], *, kind: Kind, seconds: float = DEFAULT_SECONDS, **parameters: Any) -> Target:
    """Return a target whose release is a program in any language that speaks the protocol, docs/reference/protocol.md.

    The command is the program and its arguments; no shell reads it. The other arguments are as for `isolated`.

    Raises:
        UsageError: there is no such program, a parameter is out of range, or this system cannot isolate it.
    """
    release = ProcessRelease(command, seconds, kind)
    name = " ".join(shlex.join(command).split())
    if not command or shutil.which(command[0]) is None:
        raise UsageError(f"there is no program {name!r}, or it is not executable; check its path and mode")
    return replace(made_target(kind, release, **{"name": name, **parameters}), version=_digest(command))


def _digest(command: Sequence[str]) -> str:
    """Return one digest of all files that a command names: the program, and any script that it runs."""
    digest = hashlib.sha256()
    for word in (shutil.which(command[0]) or command[0], *command[1:]):
        if Path(word).is_file():
            digest.update(hashlib.sha256(Path(word).read_bytes()).digest())
    return f"sha256:{digest.hexdigest()[:16]}"
