"""Which of many pairs look worth learning from: successive halving on few outputs of each.

All pairs start with just enough outputs to show a large difference. Those that look best go on with four times as many
outputs, and so on, until the wanted number of pairs is left. A pair is rated by the evidence that its best half-line or
likely value promises, on any number that can be read off an output. That costs little; the events are learned later.

Source: Jamieson and Talwalkar 2016, 'Non-stochastic Best Arm Identification and Hyperparameter Optimization', for
successive halving. The comparison is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Probe, as_floats
from attacklab.attacks.black_box.candidate_events import pooled_outputs
from attacklab.attacks.black_box.scores import grid_exponent
from attacklab.attacks.failures import sampled
from attacklab.attacks.features import features, hashes
from attacklab.auditing.statistics.choosing import expected_evidence, promised_epsilon
from attacklab.model.claims import PrivacyClaim
from attacklab.model.errors import OutsideDomain
from attacklab.model.floats import Doubles
from attacklab.model.neighbours import NeighbouringPair, fingerprint
from attacklab.model.targets import Failure, Outputs

FEWEST = 16  # the least number of outputs of an input that a pair is judged by
FACTOR = 4  # how many times as many outputs each round draws, of about this many times fewer pairs
QUANTILES = np.arange(1, 16) / 16  # where half-lines may end
LIKELY_VALUES = 8  # how many of the most frequent values are compared
MOST_FAILING_PAIRS = 16  # if the target fails in every trial on this many pairs, none is worth more trials

Draw = Callable[[NeighbouringPair, int], tuple[Outputs, Outputs]]


class Sampler:
    """Draws outputs for both inputs of a pair; the outputs of an input that several pairs share are drawn once."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._drawn: dict[tuple[object, ...], Outputs] = {}

    def __call__(self, pair: NeighbouringPair, outputs: int) -> tuple[Outputs, Outputs]:
        """Draw this number of outputs for each of the two inputs, or fewer if the target fails."""
        first, second = (self._of(side, outputs) for side in (pair.first, pair.second))
        drawn = min(len(first), len(second))
        return first[:drawn], second[:drawn]

    def _of(self, input_: object, outputs: int) -> Outputs:
        key = (*fingerprint(input_), outputs)
        if key not in self._drawn:
            self._drawn[key] = sampled(self._probe, input_, outputs)
        return self._drawn[key]


def screened(
    pairs: Sequence[NeighbouringPair],
    draw: Draw,
    claim: PrivacyClaim,
    *,
    kept: int,
    outputs: int,
    proving: bool = False,
) -> list[NeighbouringPair]:
    """Return the pairs that look best.

    Args:
        pairs: the pairs to compare.
        draw: draws outputs of both inputs of a pair.
        claim: the claim for one output.
        kept: how many pairs to keep.
        outputs: how many outputs of each input are drawn in the last round.
        proving: whether to compare pairs by the ε that they promise to prove.

    Returns:
        `kept` pairs, the best first; all pairs, in their order, if there are fewer.
    """
    rounds = max(1, math.ceil(math.log(max(1, len(pairs) / kept), FACTOR)))
    left = list(pairs)
    for number in range(rounds - 1, -1, -1):
        if len(left) <= kept:
            break
        survivors = max(kept, kept * FACTOR**number) if number else kept
        drawn = max(FEWEST, outputs // FACTOR**number)
        left = _best(left, draw, claim, drawn, survivors, proving=proving)
    return left


def _best(
    pairs: Sequence[NeighbouringPair], draw: Draw, claim: PrivacyClaim, outputs: int, survivors: int, *, proving: bool
) -> list[NeighbouringPair]:
    taken: list[NeighbouringPair] = []
    seen: list[float] = []
    answered, outside = False, None
    for pair in pairs:
        try:
            sides = draw(pair, outputs)
        except OutsideDomain as error:  # the release knows a domain that is not declared
            outside = error
            continue
        taken.append(pair)
        answered = answered or not all(all_failed(side) for side in sides)
        seen.append(told_apart(*sides, claim, proving=proving) if answered else -math.inf)
        if not answered and len(seen) == MOST_FAILING_PAIRS:
            return taken[:survivors]
    if outside and not taken:
        raise outside
    return [taken[place] for place in sorted(range(len(taken)), key=lambda place: -seen[place])[:survivors]]


def all_failed(outputs: Outputs) -> bool:
    """Whether each of the outputs is the `Failure` of a release that raised."""
    return outputs.dtype == object and all(isinstance(output, Failure) for output in outputs)


def told_apart(first: Outputs, second: Outputs, claim: PrivacyClaim, *, proving: bool = False) -> float:
    """Return the expected evidence of one trial for the best of some simple bets, or the ε that it promises to prove.

    Half a hit and half a miss are added for each input, so that nothing is taken for impossible.

    Args:
        first: outputs for one input.
        second: the same number of outputs for the other input.
        claim: the claim for one output.
        proving: whether to return the ε that the best bet promises to prove at the claim's δ.
    """
    size = len(first)
    hits = [_hits(values[:size], values[size:]) for values in _numbers(pooled_outputs(first, second))]
    if not hits:
        return -math.inf
    first_hits, second_hits = (np.concatenate(side) for side in zip(*hits, strict=True))
    if proving:
        return float(promised_epsilon(first_hits, second_hits, size, claim.delta).max())
    p, q = ((side + 0.5) / (size + 1) for side in (first_hits, second_hits))
    return float(expected_evidence([claim], p, q).max())


def _numbers(outputs: Outputs) -> Iterator[Doubles]:
    if outputs.dtype.kind in "biuf" and outputs.ndim == 1:
        for feature in features(outputs):
            yield from _read(feature.of(outputs))
        return
    if outputs.dtype == object and any(isinstance(output, Failure) for output in outputs):
        fails = np.array([isinstance(output, Failure) for output in outputs])
        yield fails.astype(np.float64)
        answered = outputs[~fails]
        for values in _numbers(answered) if len(answered) else ():
            whole = np.full(len(outputs), np.nan)
            whole[~fails] = values
            yield whole
        return
    yield hashes(outputs).astype(np.float64)
    if outputs.dtype.kind in "biuf":
        yield from _weighed(as_floats(outputs).reshape(len(outputs), -1))
    for feature in features(outputs):
        yield from _read(feature.of(outputs))


def _weighed(rows: Doubles) -> Iterator[Doubles]:
    """Yield each row's sum, and each row's product with the signs of (first input's mean row − second input's)."""
    with np.errstate(invalid="ignore"):
        sums = rows.sum(axis=1), rows @ np.sign(np.subtract(*(half.mean(axis=0) for half in np.split(rows, 2))))
    yield from (np.nan_to_num(values, nan=np.inf) for values in sums)


def _read(values: NDArray[np.generic]) -> Iterator[Doubles]:
    numbers = as_floats(values)
    yield np.nan_to_num(numbers, nan=np.inf) if np.isnan(numbers).any() else numbers
    if values.dtype.kind in "fO":
        yield grid_exponent(numbers)


def _hits(first: Doubles, second: Doubles) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each side, how many numbers lie in each of some half-lines and equal each of some likely values."""
    pooled = np.sort(np.concatenate([first, second]))
    ends = pooled[(QUANTILES * len(pooled)).astype(np.int64)]
    values, counts = np.unique(pooled, return_counts=True)
    likely = values[np.argsort(-counts, kind="stable")[:LIKELY_VALUES]] if len(values) < len(pooled) else values[:0]
    sides = [np.sort(first), np.sort(second)]
    hits = [
        np.concatenate(
            [
                np.searchsorted(side, ends, "right"),
                np.searchsorted(side, likely, "right") - np.searchsorted(side, likely, "left"),
            ]
        )
        for side in sides
    ]
    return hits[0], hits[1]
