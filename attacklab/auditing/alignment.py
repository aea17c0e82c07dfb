"""The attack `alignment`: what the code around the noise loses, taking the samplers at their word.

Pairs are aligned one by one (see `attacklab.align`). A pair passes if shifts restore all outcomes and keep the claim. A
claim is refuted if outputs reveal every draw and lose more than it allows. If no draw seems to move a part of the
output, fresh samples decide. The black box samples the worst of all other pairs, with floats rounded to a grid between
their own and the noise, so that low bits of the noise decide nothing.

Budgets are counted in runs, pairs and trials, so that the same seed gives the same finding. The time is a last resort:
when it is up, pairs are dropped, and the finding rests on fewer trials (the command that replays it gives their number)
or is inconclusive.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from attacklab.align.blame import blamed
from attacklab.align.costs import Cost
from attacklab.align.examine import Examined, Status, examine
from attacklab.align.pairs import pairs_of
from attacklab.align.parts import parts_of, rounded
from attacklab.align.search import searched
from attacklab.attacks.black_box import BlackBox
from attacklab.auditing.drawing import own_seconds
from attacklab.auditing.judge import points_of
from attacklab.auditing.statistics.betting import evidence, judge
from attacklab.auditing.statistics.reasons import refuted_reason
from attacklab.draws import Draws, Run, run, watching
from attacklab.draws.places import NOWHERE, Site
from attacklab.model.errors import UsageError
from attacklab.model.files import from_here
from attacklab.model.findings import Alignment, Counts, Finding, Samples, Verdict, described_pair
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target

NAME = "alignment"
FLAW = "the code around the noise loses more than is claimed"

CONFIRMING = 400
"""The number of fresh outputs on each input by which a part that seems to have no noise is tested."""

GRAIN = 1e-3
"""Floats are rounded to `GRAIN` times the noise's least scale (or the output's spread), far above their low bits."""

MOST_PAIRS, MOST_RUNS = 50, 20_000
"""Most pairs that are aligned, and the number of runs after which no new pair is begun."""

MOST_SAMPLED, SHORT_ROUND, SAMPLED_TRIALS = 3, 1_000, 30_000
"""The most unaligned pairs that the black box samples, and the trials of an event in its first and second round."""

Audit: TypeAlias = Callable[..., Sequence[Finding]]
"""A function that audits by samples, such as `referee.audit`."""


class _TooSlow(BaseException):
    """Raised if no time is left for a sample. It is not an `Exception`, so that it is not taken for the target's."""


@dataclass
class _Study:
    """The pairs of a target that were examined, with their results, and what limits the search."""

    target: Target
    seed: int
    until: float  # the value of `own_seconds` after which no pair is begun
    runs: int = 0  # how often the target has been run
    examined: list[tuple[NeighbouringPair, Examined]] = field(default_factory=list)
    dropped: str = ""  # text that says how many pairs were not examined, and why; empty if all were

    def give(self, input_: Any, draws: Draws) -> Run:
        """Run the target once on an input, with these draws."""
        self.runs += 1
        return run(lambda input_, rng: next(iter(self.target.release(input_, 1, rng))), input_, draws)

    def spent(self) -> str:
        """Say why no more pairs are begun (the runs or the time are used up); return an empty text if more may be."""
        if self.examined and self.runs >= MOST_RUNS:
            return f"because {MOST_RUNS:,} runs were made"
        return "because the time was up" if self.examined and own_seconds() > self.until else ""

    def look_at(self, pair: NeighbouringPair) -> Examined:
        """Examine a pair, keep the result and return it."""
        made = examine(self.give, pair.first, pair.second, self.target.claim, self.seed)
        self.examined.append((pair, made))
        return made

    def worst(self) -> list[tuple[NeighbouringPair, Examined]]:
        """Return the pairs that could not be aligned, with their results: worst status first, then largest cost."""
        without = [(pair, made) for pair, made in self.examined if made.status > Status.ALIGNED]
        return sorted(without, key=lambda one: (-one[1].status, -_size(one[1].cost)))

    @property
    def tried(self) -> int:
        """The number of outcomes that were tried, over all pairs."""
        return sum(made.trials for _, made in self.examined)


def alignment(
    target: Target,
    audit: Audit,
    *,
    seed: int = 0,
    seconds: float = math.inf,
    trials: int = SAMPLED_TRIALS,
    alpha: float = 1e-6,
    again: Callable[[int], str] = lambda _: "",
) -> Finding:
    """Align the pairs of a target, and say what that means for its claim.

    The pairs: declared ones, pairs of the domain, the worst pairs of floats, and what a search finds.

    Args:
        target: the target; it runs in this process, so that its draws can be watched.
        audit: runs the black box, with rounded outputs, on pairs that could not be aligned.
        seed: the seed of all draws.
        seconds: about how long it may take; aligning takes up to half of it. Use it as a last resort, because another
            run may then give another finding.
        trials: the most outputs of each input on which the black box judges an event.
        alpha: the probability of a false alarm.
        again: takes the number of trials and returns the command line that replays the finding.

    Raises:
        UsageError: no pair is known.
    """
    started = own_seconds()
    study = _Study(target, seed, started + seconds / 2)
    with watching(), np.errstate(all="ignore"):
        _look(study, list(itertools.islice(pairs_of(target), MOST_PAIRS)))
        if not study.examined:
            raise UsageError(f"{target.name} does not say which inputs to compare; give pairs, or a domain")
        if all(made.status is Status.ALIGNED for _, made in study.examined):
            searched(target, study.examined[0][0], study.look_at, MOST_PAIRS, study.spent)
        found = _certain(study, alpha / 2)
        worst = study.worst()
        site = blamed(study.give, worst[0][1]) if worst and found is None else NOWHERE
    if found is None and worst:
        study.until = max(own_seconds() + 1.0, started + seconds)
        rounds = [SHORT_ROUND, min(trials, SAMPLED_TRIALS)] if trials > SHORT_ROUND else [trials]
        found, trials = _sampled(study, site, audit, rounds, alpha / 4)
    found = found or _passed(study)
    tried, seconds = study.tried, round(own_seconds() - started, 3)
    return replace(found, seed=seed, replay=again(trials), trials=tried, seconds=seconds)


def _look(study: _Study, pairs: Sequence[NeighbouringPair]) -> None:
    """Examine pairs until one breaks the claim, or the runs or the time are spent; the others are dropped."""
    for number, pair in enumerate(pairs):
        spent = study.spent()
        if spent:
            left = len(pairs) - number
            study.dropped = f"; {left:,} {'pair was' if left == 1 else 'pairs were'} not tried {spent}"
            return
        if study.look_at(pair).status > Status.OPEN:
            return


def _certain(study: _Study, alpha: float) -> Finding | None:
    """Return a finding that refutes the claim without the black box; None if there is none."""
    for pair, made in study.worst():
        if made.status is Status.VIOLATED:
            return _finding(study, Verdict.VIOLATED, made.reason, pair, made)
        if made.status is Status.SUSPECTED:
            confirmed = _confirmed(study, pair, made, alpha)
            if confirmed is not None:
                return confirmed
            varies = replace(made, status=Status.OPEN, reason="a part of the output varies, but not with the draws")
            study.examined = [(each, varies if one is made else one) for each, one in study.examined]
    return None


def _confirmed(study: _Study, pair: NeighbouringPair, made: Examined, alpha: float) -> Finding | None:
    """Test on fresh outputs a part that no draw seemed to move. Return a finding that refutes the claim, or None."""
    part, question = made.unmoved, made.question
    assert part is not None  # noqa: S101 - it is what was suspected
    seeds = np.random.SeedSequence((study.seed, CONFIRMING)).generate_state(2 * CONFIRMING, np.uint64) >> 2
    hits = [
        [part.holds(parts_of(study.give(input_, Draws.fresh(int(seed))).output)) for seed in seeds[start::2]]
        for start, input_ in ((0, question.first), (1, question.second))
    ]
    both = sum(one and other for one, other in zip(*hits, strict=True))
    counts = Counts(sum(hits[0]), sum(hits[1]), CONFIRMING, both)
    sides = Counts(CONFIRMING, 0, CONFIRMING, 0)
    point = max(points_of(study.target.claim), key=lambda one: evidence(one, sides))
    assessment = judge(point, counts, alpha)
    if not assessment.violated:
        return None
    reason = f"{made.reason}; {refuted_reason(point, counts, alpha, fails=False)}"
    ordered = NeighbouringPair(question.first, question.second, pair.relation)
    samples = Samples(event=str(part), counts=counts, ceiling=study.target.claim.ceiling, **assessment.bounds)
    return replace(_finding(study, Verdict.VIOLATED, reason, ordered, made, samples), alpha=alpha)


def _passed(study: _Study) -> Finding:
    """Return the finding that all pairs were aligned and keep the claim."""
    pair, most = max(study.examined, key=lambda one: _size(one[1].cost))
    pairs = "1 pair" if len(study.examined) == 1 else f"{len(study.examined):,} pairs"
    reason = (
        f"with the noise frozen, the code around it costs {most.cost or Cost()}; the claim is {study.target.claim} "
        f"({pairs}, {study.tried:,} values of the noise; a test, not a proof){study.dropped}"
    )
    return _finding(study, Verdict.NOT_DETECTED, reason, pair, most)


def _sampled(study: _Study, site: Site, audit: Audit, rounds: Sequence[int], alpha: float) -> tuple[Finding, int]:
    """Run the black box on the worst pairs. Return a finding and its number of trials; `alpha` is for each round."""
    worst = study.worst()[:MOST_SAMPLED]
    pair, made = worst[0]
    why, besides = f"shifting the noise decided nothing: {made.reason}", study.dropped
    if made.unseen:  # nor can samples tell such parts of outputs apart
        return _finding(study, Verdict.INCONCLUSIVE, why, pair, made), rounds[-1]
    target = _rounded(study, [one for one, _ in worst], made.scale)
    findings: Sequence[Finding] = ()
    done = rounds[0]
    for trials in rounds:
        try:
            findings = audit(target, [BlackBox()], trials=trials, alpha=alpha, seed=study.seed)
        except _TooSlow:
            besides = f"; {trials:,} trials did not fit in the time; give --trials (in Python, seconds=){besides}"
            break
        done = trials
        if any(finding.refutes for finding in findings):
            break
    if not findings:
        return _finding(study, Verdict.INCONCLUSIVE, f"{why}{besides}", pair, made), done
    named: dict[str, Any] = {"attack": NAME, "target": study.target.name, "target_version": study.target.version}
    for finding in findings:
        if finding.refutes:
            reason = f"{_site_text(site)}: {made.reason}; {finding.reason}"
            aligned = _aligned(site, study, made, finding.samples)
            return replace(finding, reason=reason, flaw=FLAW, evidence=aligned, **named), done
    decisive = next((one for one in findings if one.verdict is Verdict.NOT_DETECTED), findings[0])
    return replace(decisive, reason=f"{why}; by samples: {decisive.reason}{besides}", **named), done


def _rounded(study: _Study, pairs: Sequence[NeighbouringPair], scale: float | None) -> Target:
    """Return the target with all floats of its outputs rounded to multiples of `GRAIN * scale`, if `scale` is not None.

    It draws one output, then doubles the number of outputs, and checks the time before each step. Python's, numpy's and
    torch's global generators are seeded, for code that draws from them.
    """
    target = study.target

    def release(input_: Any, trials: int, rng: np.random.Generator) -> list[Any]:
        outputs: list[Any] = []
        with _global_generators_seeded(rng):
            while len(outputs) < trials:
                if own_seconds() > study.until:
                    raise _TooSlow
                wanted = min(2 * len(outputs) or 1, trials)
                outputs.extend(target.release(input_, wanted - len(outputs), rng))
                if len(outputs) != wanted:  # a wrong number, which is told where outputs are checked
                    break
        return [output if scale is None else rounded(output, GRAIN * scale) for output in outputs]

    return Target.dataset(release, claim=target.claim, relation=target.relation, name=target.name, pairs=pairs)


@contextlib.contextmanager
def _global_generators_seeded(rng: np.random.Generator) -> Iterator[None]:
    states = random.getstate(), np.random.get_state()
    random.seed(int(rng.integers(1 << 62)))
    np.random.seed(rng.integers(1 << 32, size=4))
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(int(rng.integers(1 << 62)))
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


def _finding(
    study: _Study, verdict: Verdict, reason: str, pair: NeighbouringPair, made: Examined, samples: Samples | None = None
) -> Finding:
    site = blamed(study.give, made) if verdict is Verdict.VIOLATED else _own_line(made)
    told = f"{_site_text(site)}: {reason}" if verdict is Verdict.VIOLATED else reason
    return Finding.on(
        study.target,
        NAME,
        verdict,
        told,
        pair=described_pair(pair),
        flaw=FLAW if verdict is Verdict.VIOLATED else "",
        evidence=_aligned(site, study, made, samples),
    )


def _own_line(made: Examined) -> Site:
    """Return the line of the draw whose shift costs most; if no cost is known, the line of the first draw."""
    if by_unit := made.by_unit:
        return max(by_unit, key=by_unit.__getitem__).key[0][0]
    return made.run.draws[0].site if made.run.draws else NOWHERE


def _aligned(site: Site, study: _Study, made: Examined, samples: Samples | None) -> Alignment:
    is_certain = made.status is Status.VIOLATED and samples is None and made.epsilon and math.isfinite(made.epsilon)
    return Alignment(
        epsilon_lower=made.epsilon if is_certain else None,
        file=from_here(site.file),
        line=site.line,
        source=site.statement,
        loss="" if made.cost is None else str(made.cost),
        claimed=str(study.target.claim),
        samples=samples,
    )


def _site_text(site: Site) -> str:
    return f"{from_here(site.file)}:{site.line}, {site.statement}" if site.line else "line unknown"


def _size(cost: Cost | None) -> float:
    return 0.0 if cost is None else cost.epsilon + cost.mu
