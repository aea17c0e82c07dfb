"""Special values: NaN, infinities, −0.0, subnormals and the largest doubles, in records, answers and utilities.

One NaN among the records passes through `np.clip` and makes the sum NaN in every trial. One infinite utility makes
every weight NaN. If a sensitivity or a bound is so small that the scale of the noise rounds to 0, the bare answer is
released; if it is so large that the scale overflows, the noise is infinite. A target may do anything with such a value,
even fail, as long as it does so on both neighbours alike.

The pairs depend on the kind of target.

- **Answers**: finite and no further apart than the sensitivity. 0 against the sensitivity, 0 against the least
  subnormal, 0.0 against −0.0, and the two largest numbers that still resolve the sensitivity. They are numbers of the
  outputs' format, because rounding other answers to it is not the target's doing.
- **Records** of sums and means: all at the bound of smaller magnitude (at 0 if the bounds' signs differ), with one
  replaced by NaN, ±∞, ± the largest double, the least subnormal, −0.0 or the other bound; and all at the other bound,
  with one replaced by the first. If the claim holds for add-remove only, the new record is added instead. Whatever
  record within the bounds a target takes the special value for, the sum moves by no more than the sensitivity under
  either relation. So a target that clips, and gives NaN some value within the bounds, keeps its claim.
- **Utilities**: NaN or ±∞ as one of them.

The adversary knows the bounds and the sensitivity. It bets on a failure, on the larger half of the outputs, and on one
exact output, bit for bit. On selections it bets on a failure only: which outcome a target favours depends on what it
takes NaN for, and two utilities so far apart are not neighbours.

A negative result does not rule out other parameters: only the ε, sensitivity and bounds that the target was made with
are tried. Nor does it rule out failures rarer than one in a few dozen, or failures that depend on the number of records
(see `failing_size`).

Source: Casacuberta, Shoemate, Vadhan and Wagaman 2022, 'Widespread Underestimation of Sensitivity in Differentially
Private Libraries and How to Fix It' (sums that overflow); IEEE 754-2019, sections 6 and 7 (infinities, NaN, signs of
zero, underflow). The pairs are ours.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import (
    Event,
    OfKinds,
    Probe,
    Scenario,
    adapted_pairs,
    as_floats,
    ends,
    literal,
    origin,
)
from attacklab.attacks.common.exact_answers import exact_answer
from attacklab.attacks.common.failures import probed, scenario_on
from attacklab.model.floats import BINARY64, Format, format_of, power_of_two_within
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Outputs, Target

RECORDS = 4  # how many records a sum or a mean has: few, so that one of them matters

LARGEST = sys.float_info.max
LEAST = math.ulp(0.0)

SPECIAL_RECORDS = (math.nan, math.inf, -math.inf, LARGEST, -LARGEST, LEAST, -0.0)
SPECIAL_UTILITIES = (math.nan, math.inf, -math.inf)


@dataclass(frozen=True)
class SpecialValues(OfKinds, kinds=set(Kind) - {Kind.DATASET}):
    """The attack."""

    name: str = "special_values"
    flaw: str = "NaN, an infinity or an extreme value makes the target fail or its noise vanish on one dataset only"

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """One scenario for each pair."""
        for pair in adapted_pairs(target, _pairs(target, probe)):
            sides = [probed(probe, side) for side in (pair.first, pair.second)]
            bets = () if target.kind is Kind.SELECTION else tuple(_bets_on_values(sides))
            yield scenario_on(pair, sides, bets)


def _pairs(target: Target, probe: Probe) -> Iterator[NeighbouringPair]:
    if target.kind is Kind.NOISE:
        outputs = probed(probe, origin(target))
        yield from _answers(target.sensitivity, BINARY64 if outputs is None else format_of(outputs))
    elif target.kind is Kind.SELECTION:
        yield from _utilities()
    else:
        yield from _records(target)


def _answers(sensitivity: float, released: Format) -> Iterator[NeighbouringPair]:
    # At the largest answer that still resolves the sensitivity, numbers of the format are this power of two apart.
    step = power_of_two_within(sensitivity)
    large = released.at_most(min(2.0**released.significand_bits * step, LARGEST))
    next_below = float(released.next_below(released.rounded(np.array([large])))[0])
    candidates = ((released.at_most(sensitivity), 0.0), (released.least, 0.0), (0.0, -0.0), (large, next_below))
    for first, second in candidates:
        yield NeighbouringPair.answers(first, second, sensitivity=sensitivity)


def _records(target: Target) -> Iterator[NeighbouringPair]:
    near, far = ends(target)
    base = np.full(RECORDS, near)
    for value in filter(target.takes, SPECIAL_RECORDS):
        if value != near or math.copysign(1.0, value) != math.copysign(1.0, near):
            yield _with(value, base, target.relation)
    yield _with(far, base, target.relation)
    yield _with(near, np.full(RECORDS, far), target.relation)


def _with(value: float, records: NDArray[np.float64], relation: Relation | None) -> NeighbouringPair:
    if relation is Relation.ADD_REMOVE:
        return NeighbouringPair.records(np.append(value, records), records, relation)
    return NeighbouringPair.records(np.append(value, records[1:]), records, Relation.SUBSTITUTE)


def _utilities() -> Iterator[NeighbouringPair]:
    for value in SPECIAL_UTILITIES:
        # No sensitivity bounds these: the datasets behind them are the neighbours, and only failing is judged.
        yield NeighbouringPair(np.array([0.0, value]), np.zeros(2), None)


def _bets_on_values(sides: Sequence[Outputs | None]) -> Iterator[Event]:
    values = [as_floats(outputs) for outputs in sides if outputs is not None]
    values = [numbers[~np.isnan(numbers)] for numbers in values]
    medians = [float(np.quantile(numbers, 0.5, method="lower")) for numbers in values if numbers.size]
    if medians:
        larger = max(medians)
        at_least = f"float(output) >= {literal(larger)}"
        yield Event(f"the answer is at least {larger!r}", partial(_at_least, threshold=larger), at_least)
    atoms = {}
    for numbers in values:
        patterns, seen = np.unique(numbers.view(np.int64), return_counts=True)
        if seen.size and seen.max() > 1:
            atoms[int(patterns[seen.argmax()])] = float(patterns[seen.argmax()].view(np.float64))
    yield from map(exact_answer, atoms.values())


def _at_least(outputs: Outputs, *, threshold: float) -> NDArray[np.bool_]:
    return np.asarray(as_floats(outputs) >= threshold)
