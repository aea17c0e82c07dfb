"""A target that nobody wrote an attack for: try many pairs, learn for each how its outputs differ, bet on that.

Nothing is known of the mechanism but its kind, its claim and the sensitivity or bounds. Outputs for both inputs of each
candidate pair (see `candidate_pairs`) rank candidate events (see `candidate_events`), and those pairs go on whose
events most plainly break the claim. All this happens on probes: the referee chooses among the events and judges the
chosen one on outputs of its own, so that the search costs no more α than the pairs that are kept.

Where the probes fail, failures and NaN are outputs like any other.

What a negative result does not show: pairs of another shape, events that are no interval of one of the scores, and
events so rare that the probes do not hold them. An attack that knows the sampler (`low_bit_laplace`) sees more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

from attacklab.attacks.base import Probe, Scenario
from attacklab.attacks.black_box.candidate_events import candidate_events
from attacklab.attacks.black_box.candidate_pairs import candidate_pairs
from attacklab.attacks.common.failures import sampled
from attacklab.errors import TargetError, UsageError
from attacklab.neighbours import NeighbouringPair
from attacklab.targets import Failure, Kind, Target

EVENTS = 8
"""Events of a pair among which the choosing sample picks."""

SCREENING = 16
LEAST_LEARNING = 4 * SCREENING


@dataclass(frozen=True)
class BlackBox:
    """The attack.

    Attributes:
        pairs: the pairs to try; by default those that fit the kind of the target.
        outcomes: how many utilities a selection is tried with.
        learning: outputs for either input that the events of a pair are learned from, at least 64; where there are
            more pairs than are kept, they are compared on a sixteenth of that.
        kept: how many pairs are judged; α is split over them.

    Raises:
        ValueError: one of them is out of range.
    """

    pairs: tuple[NeighbouringPair, ...] = ()
    outcomes: tuple[int, ...] = (2, 257)
    learning: int = 1 << 15
    kept: int = 4
    name: str = "black_box"
    flaw: str = "outputs differ between neighbours in some way that can be learned"

    def __post_init__(self) -> None:
        if self.learning < LEAST_LEARNING:
            raise UsageError(f"learning must be at least {LEAST_LEARNING}, not {self.learning}")
        if self.kept < 1:
            raise UsageError(f"kept must be at least 1, not {self.kept}")
        if not self.outcomes or min(self.outcomes) < 2:
            raise UsageError(f"outcomes must be numbers of at least 2, not {self.outcomes}")

    def applies_to(self, target: Target) -> bool:
        """Every target; one that takes anything as its input only where pairs are given."""
        return bool(self.pairs) or target.kind is not Kind.DATASET

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """The most promising pairs with the events learned for them.

        Raises:
            TargetError: the target fails on both inputs of each of them.
        """
        pairs = [pair for pair in self.pairs or candidate_pairs(target, probe, self.outcomes) if target.covers(pair)]
        if len(pairs) > self.kept:
            clarity = [_learned(target, probe, pair, self.learning // SCREENING)[0] for pair in pairs]
            best = sorted(range(len(pairs)), key=lambda number: -clarity[number])
            pairs = [pairs[number] for number in best[: self.kept]]
        learned = [_learned(target, probe, pair, self.learning) for pair in pairs]
        if learned and all(scenario.sees_failures for _, scenario in learned):
            _require_output(probe, pairs)
        return [scenario for _, scenario in learned]


def _require_output(probe: Probe, pairs: list[NeighbouringPair]) -> None:
    """Let the target's failure through unless it gives an output for some input."""
    for pair in pairs:
        for input_ in (pair.first, pair.second):
            with contextlib.suppress(TargetError):
                probe(input_, 1)
                return
    probe(pairs[0].first, 1)


def _learned(target: Target, probe: Probe, pair: NeighbouringPair, outputs: int) -> tuple[float, Scenario]:
    """The events for a pair, and how plainly the best of them breaks the claim."""
    first, second = (sampled(probe, input_, outputs) for input_ in (pair.first, pair.second))
    drawn = min(len(first), len(second))
    candidates = candidate_events(first[:drawn], second[:drawn], target.claim, EVENTS)
    failed = any(isinstance(output, Failure) for side in (first, second) if side.dtype == object for output in side)
    events = tuple(candidate.event for candidate in candidates)
    # Only where it must be: failures are seen one output at a time, which is slow and keeps no outputs' format.
    return candidates[0].clarity, Scenario(pair, events, sees_failures=failed)
