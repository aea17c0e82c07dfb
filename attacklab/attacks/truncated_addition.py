"""Truncated addition, and other ways to lose a weight: light outcomes vanish, jump or freeze at some depth.

An exponential mechanism on real numbers gives an outcome at depth d below the best the weight e^(−ε·d/(2Δu)), however
deep it lies. In floating point a light weight at most half a unit in the last place of the running sum is rounded away
when it is added. Weights in a short format, integer tickets, tables, uniform numbers of few bits and Gumbel noise with
a largest value also end at some depth. A single outcome so deep is never seen; many of them together are. There are
three forms, each with one heavy outcome and many light ones.

- **Sums of a format.** Given formats, one pair each: on one input the light weights just fail to count in a sum of p
  bits, on the other each of them counts. About (number of light outcomes)·2^−p of the mass is lost. In binary64 no
  sample shows it; only an exact law shows the outcomes that cannot be reached. The other forms need no formats.
- **Sweeps.** For each of a few numbers of light outcomes, their share of the outputs is estimated at depths from where
  it is near 1 to where it is near 0. Bisection finds the step at which it falls furthest beyond e^(−ε·d/(2Δu)), or
  rises most. The pair lies on either side of this step.
- **Ladders.** Deeper shares are too rare to be looked at one by one. Groups of light outcomes at depths where their
  weights are powers of two, 2^−k, have equal shares, because each group is twice as large as the one before it. In a
  group whose weights a format, a ticket or a sum of k bits loses, no outcome is drawn.

A target that draws noise for each outcome has no sums, so ladders, which take many outputs of many outcomes, are left
out. The adversary knows ε and Δu, picks the utilities, and bets on which outcomes are drawn. It is judged on other
outputs than those that it looked at.

A negative result does not rule out lost weights if fewer than 1 in 2000 outputs would be a light one, as in sums of
binary64. Nor does it rule out weights lost between two groups of a ladder if ε is below ln 2.

Source: Ilvento 2020, 'Implementing the Exponential Mechanism with Base-2 Differential Privacy', section 2, for weights
that vanish and sums that round; the condition, which is missing in print, is fl(w_heavy + w_light) = w_heavy. Yellott
1977 for Gumbel noise. The searches are ours.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, OfKinds, Probe, Scenario, as_floats, is_dear, whole_only
from attacklab.attacks.bets import HEAVY, LIGHT, among
from attacklab.attacks.failures import sampled
from attacklab.model.bisection import steepest_step
from attacklab.model.claims import PrivacyClaim, directions
from attacklab.model.errors import OutsideDomain, UsageError
from attacklab.model.floats import Format, power_of_two_within
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind, Target

SWEPT = ((1, 1 << 11), (16, 1 << 11), (256, 1 << 10), (2048, 1 << 9))
"""Numbers of light outcomes, and how many outputs are drawn at each depth: fewer where an output costs more."""

NEAREST_LOGIT, FARTHEST_LOGIT, SPACING_NATS = 2.5, 6.0, 0.75
"""Over a sweep's depths, 0.75 nats apart, the light outcomes' share should fall from logit 2.5 to −FARTHEST_LOGIT."""

FINEST_NATS = 0.25
"""The most by which one unit of depth may change the logarithm of a weight, unless utilities must be integers."""

NOISE_FROM = 256  # a target whose outputs of this many light outcomes are dear draws noise for each outcome
NOISY_OUTPUTS = 1 << 7  # how many outputs of more outcomes than those are drawn at a depth of such a target

CONFIRMING = 4
"""Before a pair is judged, it is checked on this many times the number of outputs that the sweep draws at a depth."""

DEVIATIONS, CLEAR_DEVIATIONS = 1.5, 4.0
"""By how many standard deviations a pair must exceed the claim in this check to be judged, and to end the search."""

SHARE_BITS = 11  # a group of a ladder has a share of 2^−11 of the weight

LADDERS = (range(11, 21), range(22, 25, 2))
"""The k of the weights 2^−k of each ladder's groups. The second ladder has 10,240 outcomes, for sums in binary32."""

GROUPS = 10_240  # light outcomes of the larger ladder

LOOKS = ((1 << 13, 1), (1 << 14, 3), (1 << 15, 8))
"""Pairs (outputs drawn, most): the weights of a ladder's group seem lost if at most `most` of these outputs lie in the
group, in every look. If no weights are lost, 4, 8 and 16 outputs are expected in it."""

OF_TRIALS, LEAST_LEARNING, RARE_LEARNING = 8, 64, 1 << 10
"""A depth gets at most one output for `OF_TRIALS` judging trials, but at least `LEAST_LEARNING` outputs. Ladders are
tried only if it gets at least `RARE_LEARNING`."""

DEPTHS = 64  # about how many depths are looked at in all

NO_PAIR = (OutsideDomain, UsageError)
"""The errors that are raised if the domain has no such pair, or if utilities would exceed the largest double."""


@dataclass(frozen=True)
class TruncatedAddition(OfKinds, kinds={Kind.SELECTION}):
    """The attack on light outcomes that lose their weight.

    Attributes:
        most_outcomes: the largest number of light outcomes, which bounds the cost of a draw; forms that need more of
            them are left out.
        learning: the largest number of outputs drawn at a depth.
        formats: formats of the running sum. If there are any, only their pairs are tried, without sweeps and ladders.
    """

    most_outcomes: int = 1 << 14
    learning: int = 1 << 11
    formats: tuple[Format, ...] = ()
    name: str = "truncated_addition"
    flaw: str = "light outcomes lose their weight on one dataset only"

    @property
    def looks(self) -> int:
        """The approximate number of outputs that the attack draws to find its pairs."""
        return DEPTHS * self.learning

    def within(self, trials: int) -> TruncatedAddition:
        """Return the attack with a number of outputs at a depth that suits an audit of this number of trials."""
        return replace(self, learning=max(LEAST_LEARNING, min(self.learning, trials // OF_TRIALS)))

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Yield a scenario for each format in `formats`. Without formats, yield what sweeps and ladders find."""
        if self.formats:
            for form in self.formats:
                with contextlib.suppress(OutsideDomain):
                    yield self.scenario(target, form, min(4 << form.significand_bits, self.most_outcomes))
            return
        yield from self._searched(_Scale.of(target), probe)

    @staticmethod
    def scenario(target: Target, accumulator: Format, light_outcomes: int) -> Scenario:
        """Return the pair on either side of the point where a sum in this format loses its light terms.

        Raises:
            OutsideDomain: the target's domain has no such pair.
        """
        scale = _Scale.of(target)
        # Just below 2^−bits, half a unit in the last place of a sum that starts at 1.
        depth = scale.units(accumulator.significand_bits * math.log(2)) - scale.parts
        return Scenario(scale.astride(np.full(light_outcomes, depth)), (LIGHT,))

    def _searched(self, scale: _Scale, probe: Probe) -> Iterator[Scenario]:
        clearest, noisy = 0.0, False
        for lights, outputs in SWEPT:
            if lights > self.most_outcomes:
                break
            noisy = noisy or (lights >= NOISE_FROM and _is_dear(scale, probe, lights))
            most = NOISY_OUTPUTS if noisy and lights > NOISE_FROM else self.learning
            with contextlib.suppress(*NO_PAIR):
                for excess, scenario in _swept(scale, probe, lights, min(outputs, most)):
                    clearest = max(clearest, excess)
                    yield scenario
            if clearest > CLEAR_DEVIATIONS:
                return
        if self.learning >= RARE_LEARNING and not noisy and self.most_outcomes >= GROUPS:
            with contextlib.suppress(*NO_PAIR):
                yield from _on_ladders(scale, probe)


@dataclass(frozen=True)
class _Scale:
    """The unit in which depths below the best utility are counted; its small multiples are exact.

    Attributes:
        target: the target.
        gap: the largest power of two that is at most the sensitivity.
        parts: the number of units in a gap, a power of two; 1 if utilities must be whole numbers.
        nats: the change of a weight's logarithm for each unit of depth.
    """

    target: Target
    gap: float
    parts: int
    nats: float

    @classmethod
    def of(cls, target: Target) -> _Scale:
        gap = power_of_two_within(target.sensitivity)
        nats = target.claim.nominal.epsilon / 2 * (gap / target.sensitivity)
        parts = 1 if whole_only(target) else 1 << max(0, math.ceil(math.log2(nats / FINEST_NATS)))
        return cls(target, gap, parts, nats / parts)

    @property
    def unit(self) -> float:
        return self.gap / self.parts

    def units(self, nats: float) -> int:
        """Return the least depth, in units, at which a weight is at most e^(−nats)."""
        return math.ceil(nats / self.nats)

    def astride(self, depths: NDArray[np.int64]) -> NeighbouringPair:
        """Return the pair whose heavy outcome rises from −gap to 0, and whose light ones fall a gap below `depths`."""
        below = -self.unit * depths
        return self._pair(np.append(-self.gap, below), np.append(0.0, below - self.gap))

    def one_unit(self, depths: NDArray[np.int64]) -> NeighbouringPair:
        """Return the pair of light outcomes at these depths and a unit deeper, below a heavy outcome at 0."""
        below = -self.unit * depths
        return self._pair(np.append(0.0, below), np.append(0.0, below - self.unit))

    def _pair(self, first: NDArray[np.float64], second: NDArray[np.float64]) -> NeighbouringPair:
        return self.target.adapted(NeighbouringPair.utilities(first, second, sensitivity=self.target.sensitivity))


def _is_dear(scale: _Scale, probe: Probe, lights: int) -> bool:
    """Whether the target draws noise for each of the light outcomes, judged by the random words that it takes."""
    with contextlib.suppress(*NO_PAIR):
        return is_dear(probe, scale.one_unit(np.zeros(lights, dtype=np.int64)).first)
    return False


def _swept(scale: _Scale, probe: Probe, lights: int, outputs: int) -> Iterator[tuple[float, Scenario]]:
    """Yield (excess, scenario) for pairs on which the light outcomes' share seems to break the claim; see `_excess`.

    One pair straddles the steepest fall, one ends where the share has fallen most clearly below what it should be, and
    one straddles the steepest rise, with the heavy outcome left where it is.
    """
    whole = np.ones(lights, dtype=np.int64)

    @functools.cache
    def logit(depth: int) -> tuple[float, float]:
        return _logit(sampled(probe, scale.one_unit(depth * whole).first, outputs))

    def fall(low: int, high: int) -> float:
        return logit(low)[0] - logit(high)[0] - scale.nats * (high - low)

    def clear_fall(interval: tuple[int, int]) -> float:
        return fall(*interval) / math.hypot(*(logit(depth)[1] for depth in interval))

    balanced = math.log(lights)
    nats = np.arange(max(0.0, balanced - NEAREST_LOGIT), balanced + FARTHEST_LOGIT, SPACING_NATS)
    depths = sorted({round(depth / scale.nats) for depth in nats})
    intervals = list(itertools.pairwise(depths))
    if not intervals:
        return
    down = steepest_step(fall, *max(intervals, key=clear_fall))
    _, behind = max(itertools.combinations(depths, 2), key=clear_fall)
    up = steepest_step(lambda low, high: -fall(low, high), *min(intervals, key=clear_fall))
    places = [scale.astride(depth * whole) for depth in dict.fromkeys((down, max(0, behind - scale.parts)))]
    for pair in (*places, scale.one_unit(up * whole)):
        excess = _excess(scale.target, probe, pair, CONFIRMING * outputs)
        if excess > DEVIATIONS:
            yield excess, Scenario(pair, _bets(lights))


def _logit(outputs: NDArray[np.generic]) -> tuple[float, float]:
    """Return the logit of the light outcomes' share and its standard error; half an output is added to each count."""
    light = np.count_nonzero(LIGHT.contains(outputs)) + 0.5
    heavy = np.count_nonzero(HEAVY.contains(outputs)) + 0.5
    return math.log(light / heavy), math.sqrt(1 / light + 1 / heavy)


def _bets(lights: int) -> tuple[Event, ...]:
    bets = [LIGHT, HEAVY]
    if lights > 1:
        bets += [among("the first half of the light outcomes", np.arange(1, lights // 2 + 1), lights)]
        bets += [among("the second half of the light outcomes", np.arange(lights // 2 + 1, lights + 1), lights)]
        bets += [among("a light outcome at an odd place", np.arange(1, lights + 1, 2), lights)]
    return tuple(bets)


def _excess(target: Target, probe: Probe, pair: NeighbouringPair, outputs: int) -> float:
    """Return by how many standard deviations the share of light outcomes, or of the heavy one, exceeds the claim."""
    drawn = [sampled(probe, side, outputs) for side in (pair.first, pair.second)]
    trials = min(map(len, drawn))
    first, second = (float(np.count_nonzero(LIGHT.contains(side[:trials]))) / trials for side in drawn)
    cases = directions((first, first), (second, second))
    points = [target.claim.at(epsilon) for epsilon in target.claim.points]
    return max(_deviations(point, trials * p, trials * q, trials) for point in points for p, q in cases)


def _deviations(point: PrivacyClaim, first: float, second: float, trials: int) -> float:
    # Half an event more on either side keeps the ratio finite.
    kept, base = max(0.0, first - point.delta * trials) + 0.5, second + 0.5
    return (math.log(kept / base) - point.epsilon) / math.sqrt(1 / kept + 1 / base)


def _on_ladders(scale: _Scale, probe: Probe) -> Iterator[Scenario]:
    """Yield the scenario of the first of `LADDERS` that seems to lose weights. Deeper ones lose them on both inputs."""
    for rungs in LADDERS:
        with contextlib.suppress(StopIteration):
            yield next(_on_ladder(scale, probe, rungs))
            return


def _on_ladder(scale: _Scale, probe: Probe, rungs: range) -> Iterator[Scenario]:
    """Yield a scenario with a bet on each group that is hardly drawn, so that its weights may be lost; else nothing."""
    sizes = [1 << bits - SHARE_BITS for bits in rungs]
    depths = [scale.units(bits * math.log(2)) - scale.parts for bits in rungs]
    # The deepest come first, so that a running sum is still that of the heavy outcome alone when it reaches them.
    pair = scale.astride(np.repeat(depths[::-1], sizes[::-1]))
    ends = np.cumsum([1, *sizes[::-1]])
    groups = [(int(start), int(end)) for start, end in itertools.pairwise(ends)]
    for outputs, most in LOOKS:
        drawn = as_floats(sampled(probe, pair.second, outputs))
        groups = [(start, end) for start, end in groups if ((drawn >= start) & (drawn < end)).sum() <= most]
    if groups:
        count = len(pair.first) - 1
        bets = [among(f"outcomes {start} to {end - 1}", np.arange(start, end), count) for start, end in groups]
        yield Scenario(pair, tuple(bets))
