"""Pairs of datasets on which the flaws of textbook sums and means show: each flaw is a few pairs, with a bet on each.

A class is a flaw: what it is, its pairs, and what a negative result does not rule out. The adversary knows the bounds,
ε and, of chunks, their number. Where nothing else is said, the event is a half-line: outputs beyond the middle of the
two typical answers. The events are given, not learned as those of `black_box` are: some of them are too rare to learn.

Source: Near and Abuah, 'Programming Differential Privacy', chapter 8, whose code has these flaws: the mean with global
sensitivity spends ε twice and clips from above only, sample and aggregate cuts by position, and the smooth sensitivity
divides by zero for fewer than 199 records. The pairs and events are ours.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, OfKinds, Probe, Scenario, as_floats, bounds_of
from attacklab.attacks.common.failures import answered, despite_failures, failed, probed, scenario_on
from attacklab.attacks.common.half_lines import PROBED, half_line_scenario, probed_within
from attacklab.model.bisection import least
from attacklab.model.errors import OutsideDomain
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Outputs, Target

FAR_AWAY = 2.0**30  # how many widths of the range a record lies outside it
COMMON_EXPONENT = 2.0  # the n·ε at which the claim is exceeded most, for ε up to 2: n is proportional to 1/ε
NEGATIVE_WINDOW = (-2.8, -0.36)  # the y/u whose likelihood ratio exceeds e^ε at that n


@dataclass(frozen=True)
class PositionChunks(OfKinds, kinds={Kind.MEAN}):
    """Sample and aggregate that cuts chunks by position, so that removing one record changes all chunks after it.

    Its noise is scaled to a change of one of k chunks' answers. Chunks that are runs of ⌈n/k⌉ positions break that in
    two ways. Without the first record all records move up by one, and every chunk changes, which shows if chunks
    answer with something like a maximum. And from k to k + 1 records the runs double in length: only ⌈(k + 1)/2⌉ chunks
    are left, and the last one, a single record, weighs twice what the noise is scaled to, which shows if they answer
    with a mean. A vector of records carries no names: if a mechanism takes positions for the identities of persons,
    removing the first record renames everybody. A negative result does not rule out other numbers of chunks, or other
    ways of cutting.

    Attributes:
        chunks: their number k.
        probed: how many outputs of each dataset the typical answer is taken from.
    """

    chunks: int = 600
    probed: int = PROBED
    name: str = "position_chunks"
    flaw: str = "removing one record changes every later chunk"

    @property
    def looks(self) -> int:
        """How many outputs it draws of its two pairs."""
        return 4 * self.probed

    def within(self, trials: int) -> PositionChunks:
        """The attack with as many outputs of each dataset as an audit of so many trials warrants."""
        return replace(self, probed=probed_within(self.probed, trials))

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Chunks of two equal records, all of which mix without the first record; and one record more than chunks."""
        lower, upper = bounds_of(target)
        blocks = np.tile([lower, lower, upper, upper], self.chunks // 2)
        at_lower = np.full(self.chunks, lower)
        for longer, shorter in ((blocks, blocks[1:]), (np.append(at_lower, upper), at_lower)):
            yield half_line_scenario(longer, shorter, Relation.ADD_REMOVE, probe, probed=self.probed)


@dataclass(frozen=True)
class MissingClip(OfKinds, kinds={Kind.SUM, Kind.MEAN}):
    """A record outside the bounds counts at its full value, because it is clipped on one side only or not at all.

    In the pair all records lie at one bound, and one of them is moved far outside it, where it must count as that
    bound. If the claim holds for add-remove only, the record outside is added instead of moved. A negative result does
    not rule out a missing clip for records less than 2^30 widths of the range outside it, nor one hidden by a clamp of
    the answer to the bounds.

    Attributes:
        size: the number of records; large, because propose-test-release refuses to answer for few.
        probed: how many outputs of each dataset the typical answer is taken from.
    """

    size: int = 1 << 15
    probed: int = PROBED
    name: str = "missing_clip"
    flaw: str = "a record outside the bounds is not clipped"

    @property
    def looks(self) -> int:
        """How many outputs it draws of its two pairs."""
        return 4 * self.probed

    def within(self, trials: int) -> MissingClip:
        """The attack with as many outputs of each dataset as an audit of so many trials warrants."""
        return replace(self, probed=probed_within(self.probed, trials))

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Records at a bound, against the same with one record far outside that bound; for each of the two bounds."""
        lower, upper = bounds_of(target)
        away = FAR_AWAY * (upper - lower)
        relation = target.relation or Relation.SUBSTITUTE
        for bound, outside in ((lower, lower - away), (upper, upper + away)):
            inside = np.full(self.size, bound)
            others = inside if relation is Relation.ADD_REMOVE else inside[1:]
            with contextlib.suppress(OutsideDomain):
                near = target.adapted(NeighbouringPair.records(np.append(others, outside), inside, relation))
                yield half_line_scenario(near.first, near.second, relation, probe, probed=self.probed)


@dataclass(frozen=True)
class DoubleBudget(OfKinds, kinds={Kind.MEAN}):
    """A mean computed as a noisy sum over a noisy count, each of which spends all of ε.

    The pair is n records at the bound u against n + 1 of them. An answer y near −u needs noise that moves the sum and
    the count apart by 2n records in all, however that is divided between the two. One more record makes it 2n + 2, so
    the two losses add up to nearly 2ε. At y = −u the likelihood ratio is e^(2ε)·(n² + n/ε + 1/(2ε²))/((n + 1)² +
    (n + 1)/ε + 1/(2ε²)), which `mechanisms/local_sensitivity/README.md` derives. At n = 2/ε the event, a window around
    −u, is common enough to be seen. A negative result does not rule out a budget that is overspent in any other way
    than on a sum and a count, nor this flaw behind a clamp of the answer to the bounds.
    """

    name: str = "double_budget"
    flaw: str = "a noisy sum and a noisy count each spend all of ε"

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Some records at the bound of larger magnitude, against one more of them."""
        largest = max(bounds_of(target), key=abs)
        size = max(1, round(COMMON_EXPONENT / target.claim.nominal.epsilon))
        low, high = sorted(largest * end for end in NEGATIVE_WINDOW)
        event = Event(
            f"the answer lies in [{low!r}, {high!r}]",
            partial(_between, low=low, high=high),
            f"{low!r} <= float(output) <= {high!r}",
        )
        pair = NeighbouringPair.records(np.full(size, largest), np.full(size + 1, largest), Relation.ADD_REMOVE)
        yield from despite_failures([Scenario(pair, (event,))], probe)


def _between(outputs: Outputs, *, low: float, high: float) -> NDArray[np.bool_]:
    values = as_floats(outputs)
    return (low <= values) & (values <= high)


@dataclass(frozen=True)
class FailingSize:
    """A target that fails only for datasets of some sizes tells by failing whether one person is present.

    Code that divides by the number of records, or by that number less a constant, raises or returns NaN below some
    size; code that was written for small datasets may fail above one. If the relation is add-remove, the size is not
    public. Datasets of 0, 1, 2, 4, 8, … equal records show between which powers of two the target starts or stops
    failing, and bisection finds the border. The pair is the two datasets on either side of it; the event is the
    failure. If the target fails at every size, or at none, nothing leaks. A negative result does not rule out failures
    beyond the largest size tried, a range of failing sizes that lies between two powers of two, or failures that depend
    on the values of records (see `special_values`).

    Attributes:
        most_records: the largest size tried.
    """

    most_records: int = 1 << 12
    name: str = "failing_size"
    flaw: str = "the target fails only for datasets of some sizes"

    def applies_to(self, target: Target) -> bool:
        """Sums and means whose number of records is not public."""
        return target.kind in (Kind.SUM, Kind.MEAN) and target.relation is not Relation.SUBSTITUTE

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """One scenario for each border.

        Raises:
            TargetError: the target always raises, at every size.
        """
        lower, _ = bounds_of(target)

        def records(size: int) -> NDArray[np.float64]:
            return np.full(size, lower)

        def has_failed(size: int) -> bool:
            outputs = probed(probe, records(size))
            return outputs is None or bool(failed(outputs).any())

        def differs(size: int, *, fails: bool) -> bool:
            return has_failed(size) != fails

        sizes = [0, *(1 << power for power in range(self.most_records.bit_length()))]
        fails = {size: has_failed(size) for size in sizes}
        if all(fails.values()):
            answered(probe, records(self.most_records), 1)
        for low, high in itertools.pairwise(sizes):
            if fails[low] != fails[high]:
                border = least(partial(differs, fails=fails[low]), low, high)
                pair = NeighbouringPair.records(records(border - 1), records(border), Relation.ADD_REMOVE)
                yield scenario_on(pair, [probed(probe, side) for side in (pair.first, pair.second)], ())
