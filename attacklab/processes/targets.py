"""Targets that run in another process: a Python one in a child interpreter, or any program that speaks the protocol.

Whatever such a target does to its process (crash, hang, use up memory, switch the floating-point mode) stays there and
is reported as the target's failure; the next request starts a new process. Each request carries a seed drawn from the
generator that the referee passes to the release, so findings are reproducible.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import shlex
import shutil
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.libraries import adapter_file, library, near_library
from attacklab.model.claims import Claim
from attacklab.model.domains import Domain
from attacklab.model.errors import UsageError
from attacklab.model.loading import (
    described_target,
    made_target,
    parameters_of,
    place_and_name,
    read_claim,
    require_claim,
)
from attacklab.model.neighbours import Relation
from attacklab.model.targets import Kind, Target, as_bounds
from attacklab.processes.codec import decoded, written
from attacklab.processes.lines import DEFAULT_SECONDS, Program
from attacklab.processes.wire import (
    ChildError,
    ChildFailure,
    ReleaseError,
    announced_failure,
    read_answer,
    read_object,
    request_line,
)

__all__ = ["external", "isolated"]

STARTING_SECONDS = 60.0
"""An interpreter may take at least this long to start and to import a target with all its libraries."""

CHILD = str(Path(__file__).with_name("child.py"))
"""The program that runs a Python target; the interpreter that runs it need not have this package."""


class ProcessRelease(Program):
    """A release whose outputs come from a child process.

    Waiting for it once is enough: after a hang it is not asked again, and after a request that took too long it is not
    asked for as many outputs again. It may be called from several threads, pickled, and used after a fork: each process
    then has a child of its own.

    Args:
        command: the program and its arguments.
        seconds: the timeout of one request.
        kind: what the inputs are; None for a program that starts with a greeting which says so, as `child.py` does.
    """

    def __init__(self, command: Sequence[str], seconds: float, kind: Kind | None) -> None:
        super().__init__(command, seconds)
        self._kind = kind
        self._greeting: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._late: tuple[float, ChildError] = math.inf, ChildError(ChildFailure.TIME_LIMIT, "")

    draws_elsewhere = True
    """Whether its randomness is not drawn from the generator that it is given; the seed of it is."""

    def __reduce__(self) -> tuple[Any, ...]:
        return ProcessRelease, (self._command, self._seconds, self._kind)

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> NDArray[Any] | list[Any]:
        """Ask the process for outputs.

        Raises:
            ChildError: the process failed; the message says how.
            ReleaseError: the release failed; the process keeps running.
            TargetError: the input cannot be sent with every bit kept.
        """
        seed = int(rng.integers(1 << 63))
        with self._lock:
            fewest, late = self._late
            if trials >= fewest:
                raise ChildError(late.failure, f"{late.told}; it was not asked again")
            try:
                process = self.process
                kind, ours = self._kind or self._greeting["kind"], self._kind is None
                request = request_line(kind, input_, trials, seed, to_child=ours)
                return read_answer(process.ask(request), trials)
            except ReleaseError:
                raise
            except BaseException as error:
                if isinstance(error, ChildError) and error.failure in (ChildFailure.HANG, ChildFailure.TIME_LIMIT):
                    self._late = 0 if error.failure is ChildFailure.HANG else trials, error
                self.close()
                raise

    def greeting(self) -> dict[str, Any]:
        """The line with which the process starts, as an object; starts the process.

        Raises:
            ChildError: it could not be started.
        """
        with self._lock:
            self.process  # noqa: B018 - starts it
            return self._greeting

    @property
    def pid(self) -> int | None:
        """The id of the process, which is also that of its group; None if it is not running."""
        return None if self._running is None else self._running.pid

    def _started(self) -> None:
        """Read the greeting of a new process."""
        if self._kind is not None or self._running is None:
            return
        try:
            line = self._running.line(max(self._seconds, STARTING_SECONDS))
            self._greeting = {}
            with contextlib.suppress(ChildError):
                self._greeting = read_object(line)
            if "error" in self._greeting:
                raise announced_failure(self._greeting)
            if not {"kind", "version"} <= set(self._greeting):
                message = f"{self._command[0]} did not start; is it a Python with numpy installed?"
                raise ChildError(ChildFailure.LOADING, message)
        except BaseException:
            self.close()
            raise


def isolated(
    spec: str,
    *,
    kind: Kind | None = None,
    epsilon: float | None = None,
    claim: Claim | None = None,
    relation: Relation | str | None = None,
    python: str = sys.executable,
    seconds: float = DEFAULT_SECONDS,
    **parameters: Any,
) -> Target:
    """A Python target that runs in a child interpreter.

    Args:
        spec: `path/to/file.py:name`, `package.module:name` or `library:mechanism`, as for `load_target`.
        kind: the kind of a bare release function.
        epsilon: the claimed ε; a bare release function needs it or a claim.
        claim: instead of ε and δ, a claim of any other kind, as for `load_target`.
        relation: makes two datasets neighbours under the claim, as for the constructors of targets.
        python: the interpreter, which needs numpy and whatever the target imports.
        seconds: the timeout of one call.
        **parameters: other arguments of the constructor of that kind (delta, sensitivity, bounds, noise_scale).

    Raises:
        UsageError: a parameter is out of range, the target cannot be loaded, or this system cannot isolate it; the
            message says why.
        OSError: the system did not start the process.
    """
    place, name = place_and_name(spec)
    if place.endswith(".py") and not Path(place).is_file():
        raise UsageError(f"there is no file {place}; check the path")
    if shutil.which(python) is None:
        raise UsageError(f"there is no program {python!r}; give the path of a Python interpreter")
    arguments = {**parameters, **({} if epsilon is None else {"epsilon": epsilon})}
    if kind is not None:
        require_claim(spec, epsilon, claim)
    elif claim is not None:
        arguments |= parameters_of(claim)
    neighbours = None if relation is None else Relation(relation)
    settings = json.dumps({"kind": kind, "parameters": written(arguments), "relation": neighbours})
    adapter = adapter_file(place)
    if adapter and name not in library(place).mechanisms:
        raise UsageError(f"{place} has no {name!r}; there are {', '.join(library(place).mechanisms)}")
    loaded = f"{adapter}:{name}" if adapter else spec
    release = ProcessRelease((python, CHILD, loaded, settings), seconds, kind=None)
    try:
        greeting = release.greeting()
    except (ChildError, ReleaseError) as error:
        hint = "" if adapter else near_library(place)
        if adapter and python == sys.executable and library(place).installed is None:
            hint = "; see which environments have it: attacklab list"
        raise UsageError(str(error).replace(loaded, spec) + hint) from error
    if kind is not None:
        if neighbours is not None:
            arguments["relation"] = neighbours
        target = made_target(kind, release, claim=claim, name=name, **arguments)
        return replace(target, version=greeting["version"])
    if "described" in greeting:
        description = decoded(greeting["described"])
        if "release" in description:
            description["release"] = release
        target = described_target(description, spec, name)
        return replace(target, name=spec if adapter else target.name, version=greeting["version"])
    properties = {key: decoded(value) for key, value in greeting["target"].items()}
    return Target(
        name=greeting["name"],
        kind=Kind(greeting["kind"]),
        claim=read_claim(decoded(greeting["claim"]), spec),
        release=release,
        sensitivity=properties["sensitivity"],
        bounds=None if properties["bounds"] is None else as_bounds(properties["bounds"]),
        noise_scale=properties["noise_scale"],
        relation=greeting["relation"],
        domain=None if greeting["domain"] is None else Domain.from_json(greeting["domain"]),
        version=greeting["version"],
    )


def external(
    command: Sequence[str],
    *,
    kind: Kind,
    epsilon: float | None = None,
    claim: Claim | None = None,
    seconds: float = DEFAULT_SECONDS,
    **parameters: Any,
) -> Target:
    """A program in any language that answers requests on its standard input, as docs/reference/protocol.md says.

    Args:
        command: the program and its arguments; no shell reads it.
        kind: what the inputs are.
        epsilon: the claimed ε.
        claim: instead of ε and δ, a claim of any other kind.
        seconds: the timeout of one request.
        **parameters: other arguments of the constructor of that kind (delta, sensitivity, bounds, noise_scale,
            relation).

    Raises:
        UsageError: there is no such program, a parameter is out of range, or this system cannot isolate it.
        OSError: the system did not start the process.
    """
    release = ProcessRelease(command, seconds, kind)
    name = " ".join(shlex.join(command).split())
    if not command or shutil.which(command[0]) is None:
        raise UsageError(f"there is no program {name!r}, or it is not executable; check its path and mode")
    target = made_target(kind, release, name=name, epsilon=epsilon, claim=claim, **parameters)
    return replace(target, version=_digest(command))


def _digest(command: Sequence[str]) -> str:
    """One digest of all files that a command names: the program, and any script that it runs."""
    digest = hashlib.sha256()
    for word in (shutil.which(command[0]) or command[0], *command[1:]):
        if Path(word).is_file():
            digest.update(hashlib.sha256(Path(word).read_bytes()).digest())
    return f"sha256:{digest.hexdigest()[:16]}"
