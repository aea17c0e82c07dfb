"""Drawing: outputs of a target for an input, in this process or in any `concurrent.futures.Executor` (PEP 3148).

All randomness of a draw is in its seed, so it gives the same outputs wherever it is made. An executor gets the target
by value and gives back outputs; the events of attacks stay here. A worker that dies fails the draw that it died in, and
no other: where an executor loses a draw, this one is made again with nothing beside it.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import pickle
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor, Future
from copy import copy
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from attacklab.draws.work import words_between
from attacklab.model.errors import (
    ArithmeticModeError,
    LabError,
    LabFault,
    OutsideDomain,
    Refused,
    TargetError,
    in_one_line,
)
from attacklab.model.floats import default_errors, require_ieee_arithmetic
from attacklab.model.targets import Outputs, Target
from attacklab.processes.fresh import CannotBeSent, sent

Load: TypeAlias = Callable[[], Target]
Say: TypeAlias = Callable[[str], object]

AHEAD = 32
"""The most draws that an executor has at once: each has some megabytes, and draws after a decision are wasted."""

KEPT_BYTES = 1 << 24
"""A block of this size is freed once at the start, so that the C library of Linux keeps blocks up to it for later use.
Without that it returns them to the system, and a fast release takes four times as long."""


class Request(NamedTuple):
    """The arguments of `draw`, except the target."""

    input_: Any
    trials: int
    seed: np.random.SeedSequence
    alone: bool = False


class Drawn(NamedTuple):
    """The outputs of a draw, the states of its generator before and after it, and the seconds that the draw took."""

    outputs: Outputs
    states: tuple[dict[str, Any], dict[str, Any]]
    seconds: float

    @property
    def words(self) -> int:
        """The number of 64-bit random words that the target took from its generator."""
        return words_between(*self.states)


def draw(target: Target, input_: Any, trials: int, seed: np.random.SeedSequence, alone: bool = False) -> Drawn:
    """Draw outputs of a target. If `alone`, call the release once per trial; a failed trial has a `Failure` as output.

    Raises:
        TargetError: as `Target.outputs` does.
    """
    rng, started = np.random.default_rng(seed), _time_of(target)
    before = dict(rng.bit_generator.state)
    outputs = target.outputs(input_, trials, rng, sees_failures=alone)
    return Drawn(outputs, (before, dict(rng.bit_generator.state)), _time_of(target) - started)


def own_seconds(child: int | None = None) -> float:
    """Return the time of a clock that stops while this thread, or a child that it waits for, waits for a processor.

    Only Linux tells how long that is; elsewhere all seconds count.
    """
    return time.perf_counter() - sum(_waited(process) for process in ("self", child) if process)


def _time_of(target: Target) -> float:
    return own_seconds(getattr(target.release, "pid", None))


def _waited(process: int | str) -> float:
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{process}/schedstat") as file:  # noqa: PTH123
        return int(file.read().split()[1]) / 1e9
    return 0.0


class Draws:
    """Draws outputs of a target, in this process or in an executor.

    Args:
        target: the implementation.
        executor: where to draw; None for this process. Its workers need this package and what the target imports.
        here_seconds: how long to draw in this process before the executor is used.
        load: makes the target in a worker; by default the target itself is sent.
        say: called with a line of text if the target cannot be sent to another process.
    """

    def __init__(
        self,
        target: Target,
        executor: Executor | None = None,
        *,
        here_seconds: float = 0.0,
        load: Load | None = None,
        say: Say = warnings.warn,
    ) -> None:
        np.empty(KEPT_BYTES, dtype=np.uint8)  # freed at once, for the reason given there
        self.target, self._executor, self._say = target, executor, say
        self._load, self._seconds_left = load, here_seconds
        self._idle = 0.0  # seconds of waiting for workers in which they were not at work on what was waited for
        self._job: bytes | None = None

    def now(self) -> float:
        """Return the time of a clock that stops while this process waits for a processor or for idle workers."""
        return _time_of(self.target) - self._idle

    def __call__(self, request: Request) -> Drawn:
        """Make one draw.

        Raises:
            TargetError: the target failed, even if it ended the process that it ran in.
            LabFault: no worker is left, or none can load the target.
        """
        (drawn,) = self.in_order([request])
        return drawn

    def in_order(self, requests: Iterable[Request]) -> Generator[Drawn, None, None]:
        """Make many draws, in the order of the requests. Closing the generator cancels draws that it has not yielded.

        Raises:
            TargetError: as above.
            LabFault: as above.
        """
        requests = iter(requests)
        for request in requests:
            if self._draws_elsewhere():
                yield from self._elsewhere(itertools.chain([request], requests))
                return
            drawn = draw(self.target, *request)
            self._seconds_left -= drawn.seconds
            yield drawn

    def _draws_elsewhere(self) -> bool:
        if self._executor is None or self._seconds_left > 0:
            return False
        if self._job is None:
            try:
                self._job = sent(self.target.name, self._load or partial(copy, self.target), self.target.version)
            except CannotBeSent as error:
                self._executor = None
                self._say(
                    f"{error}; so the audit runs without workers; to use them, "
                    "let your function hold nothing that cannot be pickled, such as an open file"
                )
        return self._job is not None

    def _elsewhere(self, requests: Iterable[Request]) -> Generator[Drawn, None, None]:
        requests, waiting, ahead = iter(requests), deque[tuple[Request, Future[bytes]]](), AHEAD
        try:
            while True:
                waiting.extend(
                    (request, self._submit(request)) for request in itertools.islice(requests, ahead - len(waiting))
                )
                if not waiting:
                    return
                began, (_, future) = own_seconds(), waiting[0]
                try:
                    reply = future.result()
                except Exception:  # whatever an executor says of a worker that died; a draw itself raises nothing
                    reply = self._again(waiting)
                    requests = itertools.chain([later for later, _ in list(waiting)[1:]], requests)
                    waiting.clear()
                    ahead = 1
                else:
                    waiting.popleft()
                drawn = _read(reply)
                self._idle += max(0.0, own_seconds() - began - drawn.seconds)
                yield drawn
        finally:
            _give_up(waiting)

    def _submit(self, request: Request) -> Future[bytes]:
        assert self._executor is not None and self._job is not None  # noqa: S101, PT018 - asked before
        try:
            return self._executor.submit(_draw_in_worker, self._job, request)
        except Exception as death:  # as above
            raise LabFault(f"the workers are gone ({in_one_line(death)}); start the audit again") from death

    def _again(self, waiting: deque[tuple[Request, Future[bytes]]]) -> bytes:
        """Make the first draw anew, alone: its worker may have been killed for another reason, or by another draw."""
        _give_up(waiting)
        try:
            return self._submit(waiting[0][0]).result()
        except LabError:
            raise
        except Exception as death:  # as above
            raise TargetError(f"{self.target.name}: a worker process died ({in_one_line(death)})") from death


def _read(reply: bytes) -> Drawn:
    drawn: Drawn | LabError
    (drawn,) = pickle.loads(reply)  # noqa: S301 - our own worker wrote it
    if isinstance(drawn, LabError):
        raise drawn
    return drawn


def _give_up(waiting: Iterable[tuple[Request, Future[bytes]]]) -> None:
    for _, future in waiting:
        future.cancel()


# In a worker


@default_errors
def _draw_in_worker(job: bytes, request: Request) -> bytes:
    """Return a pickled draw, or the pickled error that ended it. An exception here is the worker's own fault."""
    try:
        target = _loaded(job)
        drawn = draw(target, *request)
        require_ieee_arithmetic()
        return sent(f"an output of {target.name}", drawn)
    except LabError as error:
        kinds = (ArithmeticModeError, OutsideDomain, Refused, TargetError)
        kind = next((kind for kind in kinds if isinstance(error, kind)), LabFault)
        return sent("an error", kind(in_one_line(error)))


@functools.lru_cache(maxsize=4)
def _loaded(job: bytes) -> Target:
    try:
        load, version = pickle.loads(job)  # noqa: S301 - written by `Draws`
        target: Target = load()
    except Exception as error:
        raise LabFault(f"a worker cannot load the target: {in_one_line(error)}") from error
    if target.version != version:
        raise LabFault(
            f"a worker has version {target.version} of {target.name}, not {version}; "
            "give every worker the same files, and start again"
        )
    np.empty(KEPT_BYTES, dtype=np.uint8)
    return target
