"""Textbook flaws of means and sums: chunks cut by position, a clip on one side only, a budget that is spent twice.

Each of the three follows from the code that a textbook prints, has its own pair, and can be seen from outputs alone.

**Position chunks** (`PositionChunks`). Sample and aggregate scales its noise to one chunk's answer in k. Chunks that
are runs of ⌈n/k⌉ positions break that twice: without the first record all records move up and every chunk holds others;
and from k to k + 1 records the runs double in length, so that only ⌈(k + 1)/2⌉ chunks are left and the last one, a
single record, weighs twice what the noise is scaled to. The first shows where chunks answer with a maximum or the like,
the second where they answer with a mean. A vector of records names no person: to a mechanism that takes the position in
it for the person's identity, the first record's absence renames everybody.

**Missing clip** (`MissingClip`). Records far below the lower bound, or far above the upper one, must count as that
bound. To a mechanism that clips, the two databases of this pair are the same.

**Double budget** (`DoubleBudget`). A noisy sum over a noisy count, each with all of ε. For n records at the bound u, y
near −u needs noise in both that drives sum and count apart, each against its own record: the losses add up to nearly
2ε. The likelihood ratio is (`mechanisms/local_sensitivity/README.md` derives it at y = −u)
e^(2ε)·(n² + n/ε + 1/(2ε²))/((n + 1)² + (n + 1)/ε + 1/(2ε²)), and at n = 2/ε the event is common enough to be seen.

The adversary knows the bounds, ε and, for the first, k. What a negative result does not show: other ways of cutting or
of clipping, other divisions of ε than noisy sum over noisy count, and that flaw behind a clamp to the bounds. Two more
flaws of the textbook are too rare or too small for any sample: a test that passes 10^4 times too often, at 10^−5, and
rounded utilities whose loss is 1.17 times the claim. Exact laws show them (`experiments/textbook.py`).

Source: Near and Abuah, 'Programming Differential Privacy', chapter 8.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Probe, Scenario, as_floats
from attacklab.attacks.sum_sensitivity import half_lines, typical
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.targets import Kind, Outputs, Target

PROBED = 501
"""Outputs whose median stands for the answer."""

FAR_AWAY = 2.0**30
"""How many widths of the range a record lies outside it."""

COMMON_EXPONENT = 2.0
"""The n·ε at which the double budget oversteps its claim most, for ε up to 2: n goes with 1/ε."""

NEGATIVE_WINDOW = (-2.8, -0.36)
"""The answers over u whose likelihood ratio exceeds e^ε there."""


@dataclass(frozen=True)
class PositionChunks:
    """The attack on chunks of positions; `chunks` is their number k."""

    chunks: int = 600
    name: str = "position_chunks"
    flaw: str = "one record less moves every later record to another chunk"

    def applies_to(self, target: Target) -> bool:
        """Means only."""
        return target.kind is Kind.MEAN

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Chunks of two equal records, all of which mix without the first; and one record more than chunks."""
        lower, upper = _bounds(target)
        blocks = np.tile([lower, lower, upper, upper], self.chunks // 2)
        at_lower = np.full(self.chunks, lower)
        for longer, shorter in ((blocks, blocks[1:]), (np.append(at_lower, upper), at_lower)):
            yield _scenario(longer, shorter, Relation.ADD_REMOVE, probe)


@dataclass(frozen=True)
class MissingClip:
    """The attack on records outside the bounds.

    Attributes:
        size: the number of records; propose-test-release answers for many only.
    """

    size: int = 1 << 15
    name: str = "missing_clip"
    flaw: str = "a record outside the bounds counts as it is"

    def applies_to(self, target: Target) -> bool:
        """Sums and means, whose bounds are known."""
        return target.kind in (Kind.SUM, Kind.MEAN)

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Records at a bound, and one of them far outside."""
        lower, upper = _bounds(target)
        for bound, outside in (
            (lower, lower - FAR_AWAY * (upper - lower)),
            (upper, upper + FAR_AWAY * (upper - lower)),
        ):
            inside = np.full(self.size, bound)
            leaving = inside.copy()
            leaving[0] = outside
            yield _scenario(leaving, inside, Relation.SUBSTITUTE, probe)


@dataclass(frozen=True)
class DoubleBudget:
    """The attack on a noisy sum over a noisy count."""

    name: str = "double_budget"
    flaw: str = "a noisy sum and a noisy count spend all of ε each"

    def applies_to(self, target: Target) -> bool:
        """Means only."""
        return target.kind is Kind.MEAN

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002 - needs no look at outputs
        """Some records at the bound of larger magnitude, and one more."""
        largest = max(_bounds(target), key=abs)
        size = max(1, round(COMMON_EXPONENT / target.claim.epsilon))
        low, high = sorted(largest * end for end in NEGATIVE_WINDOW)
        event = Event(f"the answer lies in [{low!r}, {high!r}]", partial(_between, low=low, high=high))
        fewer, more = np.full(size, largest), np.full(size + 1, largest)
        yield Scenario(NeighbouringPair.records(fewer, more, Relation.ADD_REMOVE), (event,))


def _bounds(target: Target) -> tuple[float, float]:
    assert target.bounds is not None  # noqa: S101 - sums and means have bounds
    return target.bounds


def _scenario(one: NDArray[np.float64], other: NDArray[np.float64], relation: Relation, probe: Probe) -> Scenario:
    """A pair, the input with the higher answers first, and the half-lines between the two answers."""
    sides = [(typical(probe(records, PROBED)), records) for records in (one, other)]
    (low, lower), (high, higher) = sorted(sides, key=lambda side: side[0])
    return Scenario(NeighbouringPair.records(higher, lower, relation), half_lines(low, high))


def _between(outputs: Outputs, *, low: float, high: float) -> NDArray[np.bool_]:
    values = as_floats(outputs)
    return (low <= values) & (values <= high)
