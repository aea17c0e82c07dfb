"""No noise: one input always gives the same output, or the same part of it, so that a single one tells its input."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import (
    Answers,
    Event,
    FunctionAttack,
    Probe,
    Scenario,
    as_floats,
    dataset_pairs,
    pairs_with_answers,
)
from attacklab.attacks.failures import PROBES, failed
from attacklab.attacks.features import features, hashes
from attacklab.model.errors import OutOfTime, OutsideDomain, Refused
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.plain_text import quoted
from attacklab.model.targets import Kind, Outputs, Target, are_numbers

MOST_PAIRS, MOST_PAIRS_OF_PARTS = 4, 12  # how many pairs of a target on datasets are looked at

SURE = 1 << 10
"""How many outputs of an input must be equal, if there is time. Randomized response with ε = 6 changes two or three."""


def no_noise(target: Target, probe: Probe) -> Iterator[Scenario]:
    """A target that releases what it computes, with no noise at all.

    Noise whose scale is 0, or that a refactoring has lost, leaves the bare answer. Every other attack would see a flaw
    of its own in that, so this one comes first, and an audit that it decides ends with it.

    The adversary draws a few outputs of either input of a pair: two answers, or utilities, or records, as far apart as
    neighbours may be; of datasets, the first pairs that are declared or follow from the domain. If all outputs of one
    input are alike, bit for bit, and differ from the other input's, it bets on that very output. If the true answer is
    known, the output must equal it, because a constant added to it is noise that repeats (see `repeated_noise`).

    A negative result does not rule out inputs without noise other than those tried, nor parts of an output without
    noise.
    """
    with contextlib.suppress(OutsideDomain):
        for pair, answers in _pairs(target):
            bare = _bare(probe, pair, answers, PROBES)
            with contextlib.suppress(OutOfTime):
                bare = bare and _bare(probe, pair, answers, SURE)
            if bare:
                yield Scenario(pair, (bare,))
                return


def bare_part(target: Target, probe: Probe) -> Iterator[Scenario]:
    """A part of the output has no noise: a coordinate, a key that is there, a length, an order.

    A query adds noise to the counts that it releases, but not to the list of keys, to how many there are, to the value
    beside them, or to a coordinate that somebody forgot.

    The adversary takes the first pairs that are declared or follow from the domain, and draws a few outputs of either
    input. It looks for a part, or for something that can be read off the whole, that always has one value for one
    input, and always another value for its neighbour. It bets on that value.

    A negative result does not rule out parts that lack noise on other inputs, or that are now and then missing.
    """
    for pair in itertools.islice(dataset_pairs(target), MOST_PAIRS_OF_PARTS):
        sides = _sides(probe, pair)
        if not all(map(len, sides)) or (sides[0].ndim == 1 and are_numbers(sides[0])):
            continue
        for feature in features(sides[0]):
            values = [np.unique(as_floats(feature.of(outputs))) for outputs in sides]
            if [len(side) for side in values] == [1, 1] and not np.array_equal(values[0], values[1], equal_nan=True):
                words = f"{feature.description} is {values[0][0]:.17g}"
                bet = partial(_reads, of=feature.of, value=float(values[0][0]))
                yield Scenario(pair, (Event(words, bet),))
                return


def _bare(probe: Probe, pair: NeighbouringPair, answers: Answers | None, trials: int) -> Event | None:
    """Return a bet on the first input's output if each input has just one, they differ and fit `answers`; or None."""
    sides = _sides(probe, pair, trials)
    known = [np.unique(hashes(outputs)) for outputs in sides]
    if (
        not all(map(_is, sides, answers or (None, None)))
        or [len(values) for values in known] != [1, 1]
        or known[0] == known[1]
    ):
        return None
    only = known[0][0]
    return Event(f"the output is {quoted(sides[0].tolist()[0])}", lambda outputs: np.asarray(hashes(outputs) == only))


def _sides(probe: Probe, pair: NeighbouringPair, trials: int = PROBES) -> list[Outputs]:
    """Return a few outputs of each input; two empty arrays if any trial of either input fails."""
    none = [np.empty(0), np.empty(0)]
    try:
        sides = [probe(side, trials) for side in (pair.first, pair.second)]
    except (Refused, OutsideDomain):
        return none
    return none if any(failed(outputs).any() for outputs in sides) else sides


def _pairs(target: Target) -> Iterator[tuple[NeighbouringPair, Answers | None]]:
    """Yield pairs, each with the true answers of both inputs, or None if they are not known."""
    if target.kind is not Kind.SELECTION:
        yield from pairs_with_answers(target, most=MOST_PAIRS)
        return
    step = np.array([target.sensitivity, 0.0])
    pair = NeighbouringPair.utilities(step, step[::-1], sensitivity=target.sensitivity)
    yield target.adapted(pair), None


def _is(outputs: Outputs, answer: float | None) -> bool:
    return answer is None or (are_numbers(outputs) and bool((as_floats(outputs) == answer).all()))


def _reads(outputs: Outputs, *, of: Callable[[Outputs], NDArray[Any]], value: float) -> NDArray[np.bool_]:
    read = as_floats(of(outputs))
    return np.asarray(np.isnan(read) if np.isnan(value) else read == value)


NO_NOISE = FunctionAttack(
    no_noise,
    "no noise is added: one input always gives the same output",
    frozenset(Kind),
    "Dwork and Roth 2014, 'The Algorithmic Foundations of Differential Privacy', section 2.3, on why randomness is "
    "needed",
    decides_alone=True,
)
BARE_PART = FunctionAttack(
    bare_part,
    "a part of the output has no noise, such as a coordinate or the list of keys",
    frozenset({Kind.DATASET}),
    "Korolova, Kenthapadi, Mishra and Ntoulas 2009, 'Releasing Search Queries and Clicks Privately'",
)
