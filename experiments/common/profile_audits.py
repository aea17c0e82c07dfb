"""Audits of claims of any kind on half-lines of known laws, many at a time, as the referee makes them.

Outputs fall into bins, in ascending order; the candidate events are the half-lines of bins from the second, the third,
… on. An audit is drawn whole, at every look of both samples, and then decided. `replayed` has the referee itself judge
the same draws.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from attacklab.auditing.attacks.base import Event, Probe, Scenario
from attacklab.auditing.judge import CHOOSING_ALPHA, first_look, is_settled, points_of
from attacklab.auditing.meter import Meter
from attacklab.auditing.referee import audit
from attacklab.auditing.statistics.betting import growths, judge
from attacklab.auditing.statistics.choosing import SHARE, promised_evidence
from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.auditing.statistics.power import trials_needed
from attacklab.model.claims import Claim, PrivacyClaim, directions
from attacklab.model.findings import Counts, EventCode, Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Outputs, Target
from attacklab.processes.batches import Batch, Bench, Outline, Role, Sample
from attacklab.processes.runners import Results
from experiments.common.simulated_audits import fewest_trials, looks

Floats: TypeAlias = NDArray[np.float64]
Tables: TypeAlias = NDArray[np.int64]

DIRECTIONS = np.array([[0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3], [3, 1, 2, 0]])
"""The columns of a table as `betting.evidence` orders them in each of its four directions."""


CHUNK = 256
"""For how many audits at a time the event is chosen, to bound memory."""

CLOSELY = 8
"""At how many points the bound on the trials of any test is computed: those where it is nearly the least."""


@dataclass(frozen=True, slots=True)
class Decision:
    """How an audit ended.

    Attributes:
        event: the place of the event that was judged.
        epsilon: the ε at which it was.
        trials: on how many trials.
        violated: whether the claim was refuted.
    """

    event: int
    epsilon: float
    trials: int
    violated: bool


@dataclass(frozen=True, eq=False)
class Draws:
    """The counts of every audit at every look.

    Attributes:
        trials: the most trials of the sample that judges.
        choosing: by audit, look and event, how many trials held both outputs, only the first, only the second, neither.
        judging: the same of the fresh sample.
    """

    trials: int
    choosing: Tables
    judging: Tables

    @classmethod
    def of(cls, first: Floats, second: Floats, audits: int, trials: int, rng: np.random.Generator) -> Draws:
        """Draw the audits.

        Args:
            first: the probability of each bin under the first input, at least 2 bins.
            second: under the second.
            audits: how many.
            trials: the most trials of the sample that judges, enough that a tenth of them chooses.
            rng: the source of randomness.
        """
        samples = ((trials // SHARE, Role.CHOOSE), (trials, Role.JUDGE))
        return cls(trials, *(_tables(first, second, audits, looks(*sample), rng) for sample in samples))


def _tables(first: Floats, second: Floats, audits: int, at: Sequence[int], rng: np.random.Generator) -> Tables:
    bins = len(first)
    steps = np.diff([0, *at])
    drawn = [rng.multinomial(step, np.outer(first, second).ravel(), size=audits) for step in steps]
    cells = np.cumsum(drawn, axis=0).swapaxes(0, 1).reshape(audits, len(at), bins, bins)
    # From (bin of the first output, bin of the second) to those at or above a bin.
    above = cells[..., ::-1, ::-1].cumsum(axis=-2).cumsum(axis=-1)[..., ::-1, ::-1]
    events = np.arange(1, bins)
    both, of_first, of_second = above[..., events, events], above[..., events, 0], above[..., 0, events]
    neither = np.array(at)[:, np.newaxis] - of_first - of_second + both
    return np.stack([both, of_first - both, of_second - both, neither], axis=-1)


def decided(claim: Claim, draws: Draws, alpha: float) -> list[Decision]:
    """Decide audits: event and ε by the choosing sample, the claim at that ε by the fresh one.

    Args:
        claim: the claim.
        draws: the counts.
        alpha: of each audit.
    """
    points = points_of(claim)
    events, places, seen = _chosen(points, draws.choosing)
    judged = {place: claim.at(points[place].epsilon) for place in sorted(set(places.tolist()))}
    tables = draws.judging[np.arange(len(events)), :, events]
    growing = np.array([growths(judged[place]) for place in places.tolist()])
    shown = np.stack([_evidence(tables[:, look], growing) for look in range(tables.shape[1])], axis=1)
    enough = shown >= math.log(2 / alpha)
    decisions, at = [], looks(draws.trials)
    for number, (event, place) in enumerate(zip(events.tolist(), places.tolist(), strict=True)):
        was_seen = _counts(seen[number])
        settles = was_seen.trials if is_settled(judged[place], was_seen, alpha) else draws.trials
        last = bisect.bisect_left(at, settles)
        if enough[number, : last + 1].any():
            p, q = was_seen.first / was_seen.trials, was_seen.second / was_seen.trials
            begins = first_look(was_seen, trials_needed(judged[place], p, q, alpha))
            enough[number, : min(last, bisect.bisect_left(at, begins))] = False
        look = int(np.argmax(enough[number])) if enough[number, : last + 1].any() else last
        counts = _counts(tables[number, look])
        violated = bool(enough[number, look]) or _by_bounds(judged[place], counts, alpha)
        decisions.append(Decision(event, judged[place].epsilon, counts.trials, violated))
    return decisions


def _chosen(
    points: Sequence[PrivacyClaim], tables: Tables
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The event that each audit judges, the place of the point at which it does, and what was seen of it."""
    audits, last = len(tables), tables.shape[1] - 1
    events, places = np.zeros(audits, dtype=np.int64), np.zeros(audits, dtype=np.int64)
    ended = np.full(audits, last)
    open_ = np.arange(audits)
    for look in range(last + 1):
        if not open_.size:
            break
        seen = tables[open_, look]
        ends = (_largest_excess(points, seen).max(axis=1) > 0) | (look == last)
        ended[open_[ends]] = look
        for chunk in (
            np.array_split(np.flatnonzero(ends), math.ceil(np.count_nonzero(ends) / CHUNK)) if ends.any() else ()
        ):
            first, second = (seen[chunk, :, 0] + seen[chunk, :, column] for column in (1, 2))
            promised = promised_evidence(points, first, second, int(seen[0, 0].sum()))
            best = promised.reshape(len(chunk), -1).argmax(axis=1)
            events[open_[chunk]], places[open_[chunk]] = np.divmod(best, len(points))
        open_ = open_[~ends]
    return events, places, tables[np.arange(audits), ended, events]


def _largest_excess(points: Sequence[PrivacyClaim], tables: Tables) -> Floats:
    """What `inference.largest_excess` gives of each table, at the confidence at which the referee chooses."""
    trials = int(tables[0, 0].sum())
    bounds = [
        clopper_pearson(hits, trials, CHOOSING_ALPHA / 2)
        for hits in (tables[..., 0] + tables[..., 1], tables[..., 0] + tables[..., 2])
    ]
    growth, delta = (
        np.array(values)[:, np.newaxis, np.newaxis]
        for values in zip(*((math.exp(point.epsilon), point.delta) for point in points), strict=True)
    )
    excess = [(larger - growth * smaller - delta).max(axis=0) for larger, smaller in directions(*bounds)]
    return np.asarray(np.max(excess, axis=0))


def _evidence(tables: Tables, growing: Floats) -> Floats:
    """What `betting.evidence` gives of each table, from the growths of its own claim."""
    wealths = (tables.astype(float)[:, DIRECTIONS] @ growing).reshape(len(tables), -1)
    largest = wealths.max(axis=1)
    return np.asarray(largest + np.log(np.exp(wealths - largest[:, np.newaxis]).mean(axis=1)))


def _by_bounds(claim: PrivacyClaim, counts: Counts, alpha: float) -> bool:
    """Whether the bounds at the end refute a claim; they hold the rates that were seen, which so have to break it."""
    p, q = counts.first / counts.trials, counts.second / counts.trials
    breaks = max(claim.excess(larger, smaller) for larger, smaller in directions((p, p), (q, q))) > 0
    return breaks and judge(claim, counts, alpha).violated


def _counts(table: Tables) -> Counts:
    both, first, second, neither = map(int, table)
    return Counts(both + first, both + second, both + first + second + neither, both)


def edge(claim: Claim, epsilon: float) -> tuple[float, float]:
    """P[E] and Q[E] of an event at the edge of a claim: no pair that keeps the claim is accused more readily near ε.

    They are where the two points of the profile on either side of ε are reached at once: the audits judge at no ε
    between those. Of an (ε, δ) claim, which has one point, they are the pair that normal noise of that δ(ε) reaches.

    Args:
        claim: the claim.
        epsilon: where.
    """
    if isinstance(claim, PrivacyClaim):
        mu = optimize.brentq(lambda mu: _normal(mu, claim.epsilon)[2] - claim.delta, 1e-3, 20.0, xtol=1e-15)
        q = _normal(mu, claim.epsilon)[1]
        return math.exp(claim.epsilon) * q + claim.delta, q
    place = int(np.searchsorted(claim.points, epsilon))
    low, high = (claim.at(claim.points[index]) for index in (place - 1, place))
    q = (low.delta - high.delta) / (math.exp(high.epsilon) - math.exp(low.epsilon))
    return math.exp(low.epsilon) * q + low.delta, q


def _normal(mu: float, epsilon: float) -> tuple[float, float, float]:
    """P[E], Q[E] and δ(ε) of N(μ, 1) against N(0, 1)."""
    p, q = (float(special.ndtr(-epsilon / mu + sign * mu / 2)) for sign in (1, -1))
    return p, q, p - math.exp(epsilon) * q


def fewest_trials_of(claim: Claim, p: float, q: float, alpha: float) -> float:
    """How many trials any test needs on average that refutes the claim by this event; infinite if p and q keep it.

    The pairs that keep the claim are those that keep it at every ε of its profile. They are a convex set, and so are
    the pairs within a given divergence of (p, q): a line parts the two where they touch. So the nearest pair that keeps
    the claim is also the nearest that keeps it at one ε, the one at which a test needs the fewest trials.

    Args:
        claim: what is to be refuted.
        p: P[E].
        q: Q[E].
        alpha: the probability of a false alarm.
    """

    def divergence(point: PrivacyClaim) -> float:
        """About that of (p, q) from the nearest pair allowed at a point, by the variance of the excess."""
        growth = math.exp(point.epsilon)
        excess, variance = max(
            (point.excess(larger, smaller), larger * (1 - larger) + growth**2 * smaller * (1 - smaller))
            for larger, smaller in directions((p, p), (q, q))
        )
        return excess**2 / variance if excess > 1e-12 and variance > 0 else 0.0

    best = sorted(points_of(claim), key=divergence)[-CLOSELY:]
    return min((fewest_trials(point, p, q, alpha) for point in best if divergence(point) > 0), default=math.inf)


@dataclass(frozen=True)
class HalfLines:
    """An attack on additive noise that bets on half-lines: which of two answers one apart is the higher one.

    Attributes:
        thresholds: where the half-lines begin, above the lower answer.
    """

    thresholds: tuple[float, ...]
    name: str = "half_lines"
    flaw: str = "too little noise"

    def applies_to(self, target: Target) -> bool:  # noqa: ARG002 - applies to the targets of this module
        """Any target of this module."""
        return True

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002 - needs neither
        """The answers 1 and 0, and the half-lines."""
        yield Scenario(NeighbouringPair(1.0, 0.0, None), tuple(map(_half_line, self.thresholds)))


def _half_line(threshold: float) -> Event:
    return Event(f"the answer is at least {threshold:g}", lambda outputs: np.asarray(outputs >= threshold))


def replayed(claim: Claim, draws: Draws, number: int, alpha: float) -> Decision:
    """What the referee decides on the counts of one audit.

    Args:
        claim: the claim.
        draws: the counts.
        number: which audit.
        alpha: of the audit.
    """
    events = tuple(float(place) for place in range(draws.judging.shape[2]))
    target = Target.noise(_never, claim=claim, name="replayed")
    (finding,) = audit(
        target, [HalfLines(events)], trials=draws.trials, alpha=alpha, where=lambda bench: _Replay(bench, draws, number)
    )
    return decision_of(finding, claim)


def decision_of(finding: Finding, claim: Claim) -> Decision:
    """How a finding of `HalfLines` ended; the thresholds are 0, 1, 2 and so on."""
    assert finding.counts is not None  # noqa: S101 - nothing here fails
    assert finding.event is not None  # noqa: S101 - likewise
    judged_at = finding.judged_at or claim.nominal
    event = int(float(finding.event.rpartition(" ")[2]))
    return Decision(event, judged_at.epsilon, finding.counts.trials, finding.verdict is Verdict.VIOLATED)


def _never(answer: float, trials: int, rng: np.random.Generator) -> Outputs:  # noqa: ARG001 - the form of a release
    raise AssertionError("all counts are given")


class _Replay:
    """A runner that gives the counts of an audit that was drawn."""

    def __init__(self, bench: Bench, draws: Draws, number: int) -> None:
        self._bench = bench
        self._draws, self._number = draws, number

    def outlines(self, attack: int, meter: Meter | None = None) -> tuple[Outline, ...]:
        """As in `Runner`."""
        return self._bench.outlines(attack, meter)

    def counts(self, sample: Sample, batches: Iterator[Batch]) -> Results:
        """As in `Runner`; what a look adds is given whole in the batch before it."""
        tables = self._draws.choosing if sample.role is Role.CHOOSE else self._draws.judging
        before, at = np.zeros((len(sample.events), 4), dtype=np.int64), looks(sample.trials, sample.role)
        for batch in batches:
            if not batch.looked_at:
                yield (Counts(0, 0, 0),) * len(sample.events)
                continue
            table = tables[self._number, at.index(batch.done)]
            never_fails = [0, 0, 0, table[0].sum()]
            now = np.vstack([table, never_fails])[list(sample.events)]
            yield tuple(map(_counts, now - before))
            before = now

    def code(self, attack: int, scenario: int, event: int, outline: str) -> EventCode | None:
        """As in `Runner`."""
        return self._bench.code(attack, scenario, event, outline)
