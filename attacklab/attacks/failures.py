"""Failures as outputs: an exception, a NaN or a missing output that depends on the dataset is an event like any other.

A probe stops where a call raises, so an attack can tell beforehand whether a pair shows any such failure. For such
pairs the release is called once for each trial from the start. An attack whose pairs are meant to make a target fail
bets on failure in addition to its other bets (`scenario_on`). An attack that looks for something else bets on failure
instead (`despite_failures`, `bet_on_failing`). If the target always fails on both inputs, the failure does not show
which input it had, and there is nothing to try.

If failures are too rare for the probe to see, the referee draws its samples anew when they turn up. A target that hangs
must run in a process of its own, where the time limit turns it into an ERROR finding.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.model.errors import OutsideDomain, Refused, TargetError, text_of
from attacklab.model.findings import FAILURE
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Failure, Outputs

FLOATS: Final = (float, np.floating)

PROBES = 64  # how many outputs of each input are looked at: a failure of probability ½ is missed with probability 2^−64
PIECE = 32  # how many outputs are drawn together, if drawing more of them fails
ONE_BY_ONE = 256  # how many outputs are drawn one at a time, if drawing them together fails


def failed(outputs: Outputs) -> NDArray[np.bool_]:
    """Return a bool for each output: whether it is NaN, None or the `Failure` of a release that raised."""
    if outputs.dtype == object:
        return np.fromiter(map(is_failure, outputs), dtype=bool, count=len(outputs))
    if outputs.dtype.kind not in "fc":
        return np.zeros(len(outputs), dtype=bool)
    return np.asarray(np.isnan(outputs).reshape(len(outputs), -1).any(axis=1))


def is_failure(output: object) -> bool:
    """Whether one output is a failure."""
    return output is None or isinstance(output, Failure) or (isinstance(output, FLOATS) and math.isnan(output))


FAILS = Event("the target fails", failed, flaw=FAILURE)


def probed(probe: Probe, input_: Any) -> Outputs | None:
    """Return `PROBES` outputs, or None if the target raises."""
    try:
        return probe(input_, PROBES)
    except TargetError:
        return None


def scenario_on(pair: NeighbouringPair, sides: Sequence[Outputs | None], bets: Sequence[Event]) -> Scenario:
    """Return a scenario of the pair and the bets. It also bets on failure if a failure was seen or `bets` is empty.

    Args:
        pair: the two inputs.
        sides: the probed outputs of each input; None for an input on which the target raised.
        bets: bets on outputs that are not failures.
    """
    stops = any(outputs is None for outputs in sides)
    fails = stops or any(failed(outputs).any() for outputs in sides if outputs is not None)
    events = (*bets, FAILS) if fails or not bets else tuple(bets)
    return Scenario(pair, events, sees_failures=stops)


def despite_failures(scenarios: Sequence[Scenario], probe: Probe) -> Iterator[Scenario]:
    """Yield the scenarios, or the bet on failure if the target raises on their pair; nothing if it always raises.

    Args:
        scenarios: one or more, all on the same pair.
        probe: draws outputs of the target.
    """
    pair = scenarios[0].pair
    if all(probed(probe, input_) is not None for input_ in (pair.first, pair.second)):
        yield from scenarios
        return
    try:
        on_failing = bet_on_failing(pair, probe)
    except TargetError:
        return
    yield on_failing


def bet_on_failing(pair: NeighbouringPair, probe: Probe) -> Scenario:
    """Return the bet on failure, for a pair on which the target was seen to fail.

    Raises:
        TargetError: the target always fails, on both inputs.
    """
    sides = [sampled(probe, input_, PROBES) for input_ in (pair.first, pair.second)]
    if all(isinstance(output, Failure) for outputs in sides for output in outputs):
        raise TargetError(sides[0][0].message)
    return Scenario(pair, (FAILS,), sees_failures=True)


def sampled(probe: Probe, input_: Any, trials: int) -> Outputs:
    """Return outputs. If the target raises, make at most `ONE_BY_ONE` single calls; one that raises gives a `Failure`.

    Raises:
        TargetError: the target failed in a way that is not an output, such as a process that hangs or dies.
    """
    try:
        return probe(input_, trials)
    except Refused:
        return np.fromiter((_one(probe, input_) for _ in range(min(trials, ONE_BY_ONE))), dtype=object)


def answered(probe: Probe, input_: Any, trials: int) -> Outputs:
    """Return outputs. If the target fails on many at once, draw small batches or single ones, without the failures.

    Raises:
        TargetError: every draw failed.
    """
    try:
        return probe(input_, trials)
    except OutsideDomain:
        raise
    except TargetError as error:
        singles = ONE_BY_ONE if isinstance(error, Refused) else 0  # a process that dies is not started so often
        for piece, calls in ((min(PIECE, trials), math.ceil(trials / PIECE)), (1, singles)):
            pieces: list[Outputs] = []
            for _ in range(calls):
                with contextlib.suppress(TargetError):
                    pieces.append(probe(input_, piece))
                if len(pieces) * piece >= trials:
                    break
            if pieces:
                return np.concatenate(pieces)
        raise error from None


def _one(probe: Probe, input_: Any) -> Any:
    try:
        return probe(input_, 1)[0]
    except Refused as error:
        raised = error.__cause__ or error  # as the outputs that are judged have it
        return Failure(type(raised).__name__, text_of(raised))
