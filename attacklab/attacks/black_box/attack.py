"""A target that nobody wrote an attack for: try many pairs, learn how the outputs of each differ, and bet on that.

The adversary knows the target's kind, its claim, its domain, and its sensitivity or bounds. It draws a few outputs for
both inputs of many candidate pairs (see `candidate_pairs`) and keeps those that tell the inputs apart most clearly (see
`screening`). For these it learns events from more outputs (see `candidate_events`). All this happens on probes, whose
number is bounded. The referee chooses among the events and judges the chosen one on outputs of its own, so the search
costs no α beyond that of the pairs that are kept.

If the probes fail, failures and NaN are outputs like any other.

A negative result does not rule out pairs of another shape, events that are not an interval of one of the scores, or
events so rare that the probes do not contain them. An attack that knows the sampler, such as `low_bit_laplace`, sees
more.

Source: Bichsel, Steffen, Bogunovic and Vechev 2021, 'DP-Sniper: Black-Box Discovery of Differential Privacy Violations
using Classifiers', for learning events from outputs. The pairs, scores and ranking are ours.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from attacklab.attacks.base import OfKinds, Probe, Scenario, is_dear
from attacklab.attacks.black_box.candidate_events import candidate_events
from attacklab.attacks.black_box.candidate_pairs import candidate_pairs
from attacklab.attacks.black_box.screening import FEWEST, Draw, Sampler, screened
from attacklab.model.errors import TargetError, UsageError
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Failure, Kind, Target, are_numbers

EVENTS = 8  # how many events of a pair the choosing sample picks from

LEAST_LEARNING = 64

LOOKS = 12  # all in all, about this many times as many outputs are drawn as the events of one pair are learned from

OF_TRIALS = 6
"""Events are learned from at most one output for this many trials, so that looking costs less than judging."""

MORE = 8  # to prove the largest ε, events are learned from up to this many times as many outputs
OF_PROVING_TRIALS = 4  # and from at most one output for this many trials, because all trials are drawn anyway
SCREENING_TO_PROVE = 8  # takes the place of `SCREENING`, see below, to prove the largest ε

MOST_PAIRS = 200

OUTPUTS_A_PAIR = 16  # there is at most one candidate pair for this many outputs that events are learned from
SCREENING = 16  # pairs are compared on this many times fewer outputs than events are learned from

OBJECTS = 2
"""If outputs are not arrays of numbers, they are expensive to take apart: this many times fewer pairs are kept, and
events are learned from this many times fewer outputs."""

WHAT_TO_DECLARE = "declare domain=Domain(shape=...), or pairs=(...) to try; on the command line, --domain or --pairs"


@dataclass(frozen=True)
class BlackBox(OfKinds, kinds=set(Kind)):
    """The attack that learns pairs and events from outputs alone.

    Attributes:
        pairs: the pairs to try; the most promising ones are judged. By default, all pairs that the target declares are
            judged, and the most promising pairs that follow from its domain or fit its kind.
        outcomes: the numbers of utilities to try on a selection.
        learning: how many outputs of each input the events of a pair are learned from, at least 64.
        kept: the largest number of pairs that are judged besides the declared ones; α is split over them. There are
            fewer if outputs are expensive to take apart, or take many random words.
        proving: whether the attack looks for the largest ε that can be proved, not for what refutes the claim.

    Raises:
        UsageError: `learning`, `kept` or `outcomes` is out of range.
    """

    pairs: tuple[NeighbouringPair, ...] = ()
    outcomes: tuple[int, ...] = (2, 3, 8, 64, 257, 8193)
    learning: int = 1 << 14
    kept: int = 4
    proving: bool = field(default=False, repr=False)
    name: str = "black_box"
    flaw: str = "outputs differ between neighbours in a way that can be learned"
    whole_outputs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.learning < LEAST_LEARNING:
            raise UsageError(f"learning takes at least {LEAST_LEARNING} outputs of each input, not {self.learning}")
        if self.kept < 1:
            raise UsageError(f"kept, the number of pairs to judge, must be at least 1, not {self.kept}")
        if not self.outcomes or min(self.outcomes) < 2:
            raise UsageError(f"outcomes, the numbers of utilities to try, must be at least 2 each, not {self.outcomes}")

    def proving_within(self, trials: int) -> BlackBox:
        """Return the attack set to look for the largest ε that a sample of this size proves."""
        learning = max(LEAST_LEARNING, min(MORE * self.learning, trials // OF_PROVING_TRIALS))
        return replace(self, learning=learning, proving=True)

    def within(self, trials: int) -> BlackBox:
        """Return the attack with a learning sample whose size suits an audit of this number of trials."""
        return replace(self, learning=max(LEAST_LEARNING, min(self.learning, trials // OF_TRIALS)))

    @property
    def looks(self) -> int:
        """The approximate number of outputs that the attack draws to find its pairs and events."""
        return LOOKS * self.learning

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Return the most promising pairs, with the events learned for them.

        Raises:
            TargetError: the target fails on both inputs of every pair, or takes datasets without pairs or a domain.
        """
        draw = Sampler(probe)
        pairs = self.pairs_of(target, draw, probe)
        learned = [
            _learned(target, draw, pair, self._outputs(draw, pair, len(pairs)), proving=self.proving) for pair in pairs
        ]
        if learned and all(scenario.sees_failures for scenario in learned):
            _require_output(probe, pairs)
        return learned

    def pairs_of(self, target: Target, draw: Draw, probe: Probe) -> list[NeighbouringPair]:
        """Return the declared pairs and the most promising others.

        Args:
            target: the target to find pairs for.
            draw: draws outputs of both inputs of a pair, by the probe.
            probe: draws outputs of the target.

        Raises:
            TargetError: the target takes datasets, and declares neither pairs nor a domain.
        """
        if target.kind is Kind.DATASET and not (self.pairs or target.pairs or target.domain):
            raise TargetError(f"{target.name} does not say which datasets it takes; {WHAT_TO_DECLARE}")
        declared = [] if self.pairs else list(target.pairs)
        most = max(self.kept, min(MOST_PAIRS, self.learning // OUTPUTS_A_PAIR))
        candidates = self.pairs or tuple(candidate_pairs(target, probe, self.outcomes, most))
        covered = [pair for pair in candidates if target.covers(pair)]
        outputs = self.learning // (SCREENING_TO_PROVE if self.proving else SCREENING)
        best = screened(covered, draw, target.claim.nominal, kept=self.kept, outputs=outputs, proving=self.proving)
        return declared + (best if self.proving else _cheap(best[: self._kept(best, draw)], probe))

    def _kept(self, pairs: Sequence[NeighbouringPair], draw: Draw) -> int:
        """Return how many of these pairs to judge besides the declared ones: fewer if outputs are not numbers."""
        sides = draw(pairs[0], FEWEST) if pairs else ()
        objects = any(side.dtype == object and not are_numbers(side) for side in sides)
        return max(1, self.kept // OBJECTS) if objects else self.kept

    def _outputs(self, draw: Draw, pair: NeighbouringPair, pairs: int) -> int:
        """Return how many outputs of each input to learn this pair's events from, if there are `pairs` pairs."""
        outputs = min(self.learning, self.learning * self.kept // pairs)
        if any(side.dtype == object for side in draw(pair, LEAST_LEARNING)):
            outputs //= OBJECTS
        return max(LEAST_LEARNING, outputs)


def _cheap(pairs: Sequence[NeighbouringPair], probe: Probe) -> list[NeighbouringPair]:
    """Return the first and most promising pair, and the other pairs whose outputs do not cost much to draw."""
    return [*pairs[:1], *(pair for pair in pairs[1:] if not is_dear(probe, pair.first))]


def _require_output(probe: Probe, pairs: list[NeighbouringPair]) -> None:
    """Raise the target's failure, unless it gives an output for some input."""
    for pair in pairs:
        for input_ in (pair.first, pair.second):
            with contextlib.suppress(TargetError):
                probe(input_, 1)
                return
    probe(pairs[0].first, 1)


def _learned(target: Target, draw: Draw, pair: NeighbouringPair, outputs: int, *, proving: bool) -> Scenario:
    """Return the pair with the events learned from this number of outputs of each input."""
    first, second = draw(pair, outputs)
    points = [target.claim.at(epsilon) for epsilon in (() if proving else target.claim.points)]
    claims = points or [target.claim.nominal]
    candidates = candidate_events(first, second, claims, EVENTS, proving=proving)
    failed = any(isinstance(output, Failure) for side in (first, second) if side.dtype == object for output in side)
    # Only if needed: to see failures, outputs are drawn one at a time, which is slow and loses their format.
    return Scenario(pair, tuple(candidate.event for candidate in candidates), sees_failures=failed)
