"""A target that nobody wrote an attack for: try many pairs, learn how the outputs of each differ, and bet on that.

The adversary knows the target's kind, its claim, and its sensitivity or bounds. It draws outputs for both inputs of
each candidate pair (see `candidate_pairs`), uses them to rank candidate events (see `candidate_events`), and keeps the
pairs whose events break the claim most clearly. All this happens on probes. The referee chooses among the events and
judges the chosen one on outputs of its own, so the search costs no α beyond that of the pairs that are kept.

If the probes fail, failures and NaN are outputs like any other.

A negative result does not rule out pairs of another shape, events that are not an interval of one of the scores, or
events so rare that the probes do not contain them. An attack that knows the sampler, such as `low_bit_laplace`, sees
more.

Source: Bichsel, Steffen, Bogunovic and Vechev 2021, 'DP-Sniper: Black-Box Discovery of Differential Privacy Violations
using Classifiers', for learning events from outputs. The pairs, scores and ranking are ours.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from attacklab.attacks.base import Probe, Scenario, adapted_pairs
from attacklab.attacks.black_box.candidate_events import candidate_events
from attacklab.attacks.black_box.candidate_pairs import candidate_pairs
from attacklab.attacks.common.failures import sampled
from attacklab.errors import TargetError, UsageError
from attacklab.neighbours import NeighbouringPair
from attacklab.targets import Failure, Kind, Target

EVENTS = 8
"""How many events of a pair the choosing sample picks from."""

SCREENING = 16
LEAST_LEARNING = 4 * SCREENING


@dataclass(frozen=True)
class BlackBox:
    """The attack.

    Attributes:
        pairs: the pairs to try; by default those that the target declares, and those that follow from its domain or
            fit its kind. Of the declared ones, all are judged, and of the others the most promising.
        outcomes: the numbers of utilities to try on a selection.
        learning: how many outputs of each input the events of a pair are learned from, at least 64. If there are more
            pairs than are kept, they are compared on a sixteenth of that.
        kept: how many pairs are judged, besides the declared ones; α is split over them.

    Raises:
        ValueError: one of these is out of range.
    """

    pairs: tuple[NeighbouringPair, ...] = ()
    outcomes: tuple[int, ...] = (2, 257)
    learning: int = 1 << 15
    kept: int = 4
    name: str = "black_box"
    flaw: str = "outputs differ between neighbours in a way that can be learned"
    whole_outputs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.learning < LEAST_LEARNING:
            raise UsageError(f"learning must be at least {LEAST_LEARNING}, not {self.learning}")
        if self.kept < 1:
            raise UsageError(f"kept must be at least 1, not {self.kept}")
        if not self.outcomes or min(self.outcomes) < 2:
            raise UsageError(f"outcomes must be numbers of at least 2, not {self.outcomes}")

    def applies_to(self, target: Target) -> bool:
        """Every target; a target of kind DATASET only if pairs are given, or declared, or follow from its domain."""
        return bool(self.pairs or target.pairs or target.domain) or target.kind is not Kind.DATASET

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """The most promising pairs, with the events learned for them.

        Raises:
            TargetError: the target fails on both inputs of every pair.
        """
        declared = [] if self.pairs else list(target.pairs)
        pairs = [pair for pair in self.pairs or self._found(target, probe) if target.covers(pair)]
        if len(pairs) > self.kept:
            clarity = [_learned(target, probe, pair, self.learning // SCREENING)[0] for pair in pairs]
            best = sorted(range(len(pairs)), key=lambda number: -clarity[number])
            pairs = [pairs[number] for number in best[: self.kept]]
        pairs = declared + pairs
        learned = [_learned(target, probe, pair, self.learning) for pair in pairs]
        if learned and all(scenario.sees_failures for _, scenario in learned):
            _require_output(probe, pairs)
        return [scenario for _, scenario in learned]

    def _found(self, target: Target, probe: Probe) -> Iterable[NeighbouringPair]:
        """Pairs that nobody has given."""
        if target.kind is Kind.DATASET:
            return () if target.domain is None else target.domain.pairs(target.relation)
        return adapted_pairs(target, candidate_pairs(target, probe, self.outcomes))


def _require_output(probe: Probe, pairs: list[NeighbouringPair]) -> None:
    """Raise the target's failure, unless it gives an output for some input."""
    for pair in pairs:
        for input_ in (pair.first, pair.second):
            with contextlib.suppress(TargetError):
                probe(input_, 1)
                return
    probe(pairs[0].first, 1)


def _learned(target: Target, probe: Probe, pair: NeighbouringPair, outputs: int) -> tuple[float, Scenario]:
    """How clearly the best event for a pair breaks the claim, and the pair with its events."""
    first, second = (sampled(probe, input_, outputs) for input_ in (pair.first, pair.second))
    drawn = min(len(first), len(second))
    points = [target.claim.near(epsilon) for epsilon in target.claim.points]
    candidates = candidate_events(first[:drawn], second[:drawn], points, EVENTS)
    failed = any(isinstance(output, Failure) for side in (first, second) if side.dtype == object for output in side)
    events = tuple(candidate.event for candidate in candidates)
    # Only if needed: to see failures, outputs are drawn one at a time, which is slow and loses their format.
    return candidates[0].clarity, Scenario(pair, events, sees_failures=failed)
