"""`replay`: a target, pairs of neighbours, and findings for what the code between the mechanisms does."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import linecache
import math
import os
import shlex
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from attacklab.model.claims import Claim, PrivacyClaim
from attacklab.model.domains import Domain
from attacklab.model.errors import UsageError, UsageTypeError, in_one_line, passes_through
from attacklab.model.findings import Finding, Reach, Scope, Severity, Verdict, Witness, described_pair
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.releases import as_release
from attacklab.model.targets import Target
from attacklab.replay import laws
from attacklab.replay.compare import Difference, Gap, Outcome
from attacklab.replay.events import shown_by_fresh_runs
from attacklab.replay.hooks import Hooks, given_to
from attacklab.replay.judge import Pair
from attacklab.replay.origins import explained
from attacklab.replay.outputs import Raised, differences
from attacklab.replay.pairs import neighbours_among, pairs_of
from attacklab.replay.runs import NotCopied, Runs, TimeUp
from attacklab.replay.search import searched
from attacklab.replay.seeds import BASE_GENERATOR
from attacklab.replay.session import Session, Site
from attacklab.replay.sources import watch
from attacklab.replay.trail import Located, located
from attacklab.replay.variants import examine_variants

NAME = "replay"
"""What stands for an attack's name in the findings."""

RESTS_ON = (
    "this rests on runs of each pair with a few outcomes of every draw, and on samplers that have the laws they are "
    "named for, which is to be proved of each apart"
)
"""What the verdict on all pairs of a finite domain does not show itself."""

OTHER_SEEDS = 8
"""Where both inputs of a pair raise the same, so many other outcomes of the noise are tried."""

MOST_PAIRS = 200
SECONDS = 20.0
HERE = str(Path(__file__).parent)

MOST_TOLD = 200
"""So many characters of an error are told."""

FULL_PAIRS = 2
"""After so many pairs, one further seed is tried of each, another one for each pair."""

SAMPLING_SECONDS, MOST_UNSHOWN = 10.0, 4
"""After so long no more outputs of a pair are counted; and after so many pairs that showed nothing, of no other."""

SYSTEMS = 1 << 120
"""Generators that runs are given are seeded with numbers as large as those of the system: their seeds are nobody's."""

GENERATORS = ("rng", "generator", "random_state", "prng")


def replay(
    target: Target | Callable[..., Any],
    pairs: Iterable[NeighbouringPair | tuple[Any, Any]] | None = None,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    claim: Claim | None = None,
    relation: Relation | str | None = None,
    domain: Domain | None = None,
    inputs: Sequence[Any] | None = None,
    seed: int = 0,
    most_pairs: int = MOST_PAIRS,
    seconds: float = SECONDS,
    spec: str = "",
) -> list[Finding]:
    """Run a target once on each of two neighbours, with its noise frozen on the second, and judge what differs.

    Args:
        target: a `Target`, or a function of one input (or of an input and a generator `rng`) that releases something.
        pairs: the neighbours to try, as pairs or as tuples of two inputs; by default those that the target declares,
            those of its domain, and floats at their worst, and after them a search for pairs that lose more.
        epsilon: what a bare function claims, with `delta`.
        delta: the claimed δ.
        claim: instead of those two, a claim of any other kind.
        relation: what makes the two inputs of a tuple neighbours.
        domain: the inputs that a bare function takes; its pairs are tried.
        inputs: instead of pairs, all inputs of a finite domain, of which every pair of neighbours is tried.
        seed: of all draws; the same seed gives the same findings.
        most_pairs: after so many pairs no more are tried, nor in the search.
        seconds: after so long no further pair is tried, and what is left of the one at hand is not judged, once there
            were 100 runs. The findings say so.
        spec: the words of a command line that load the target again.

    Returns:
        A finding for each flaw, at the line to look at; or one that says on how many pairs nothing differed, how far
        values moved, and what could not be watched.

    Raises:
        UsageError: there is no claim, no pair to try, or both pairs and inputs were given.
    """
    known = as_target(target, epsilon=epsilon, delta=delta, claim=claim, relation=relation, domain=domain)
    if pairs is not None and inputs is not None:
        raise UsageError("replay takes pairs or inputs; leave one out")
    is_finite = inputs is not None
    if inputs is not None:
        chosen: Iterable[NeighbouringPair] = neighbours_among(inputs, known.relation)
    elif pairs is not None:
        chosen = [_as_pair(pair, known.relation) for pair in pairs]
    else:
        chosen = pairs_of(known)
    study = Study(known, seed, spec, time.monotonic() + seconds)
    with study:
        study.try_all(itertools.islice(chosen, None if is_finite else most_pairs), finish=is_finite)
        if not study.count:
            raise UsageError(f"there is no pair to replay {known.name} on; give pairs, a domain or inputs")
        if inputs is None and pairs is None and not study.refuted:
            searched(study, most_pairs)
        study.explain()
    return study.findings(is_finite)


def as_target(target: Any, **claimed: Any) -> Target:
    """A target, or a function with a claim as one.

    Raises:
        UsageError: a function has no claim, or a target is given another.
    """
    given = {name: value for name, value in claimed.items() if value not in (None, 0.0)}
    if isinstance(target, Target):
        if given:
            raise UsageError(f"{target.name} is a target with a claim of its own; leave {' and '.join(given)} out")
        return target
    if not callable(target):
        raise UsageTypeError(f"replay takes a Target or a function, not {target!r}")
    if claimed["epsilon"] is None and claimed["claim"] is None:
        raise UsageError("a function needs a claim; give epsilon= (and delta=) or claim=")
    name = getattr(target, "__name__", type(target).__name__)
    parameters = _parameters(target)
    if [one for one in parameters[1:] if one in GENERATORS] and len(parameters) == 2:
        release = _with_generator(target, parameters[1])
    else:
        try:
            release = as_release(target)
        except TypeError as error:
            raise UsageTypeError(str(error)) from None
    given = {key: value for key, value in given.items() if key != "delta" or value}
    return Target.dataset(release, name=name, **given)


def _with_generator(function: Callable[..., Any], name: str) -> Any:
    """A release of a function of an input and a generator."""
    return lambda input_, trials, rng: [function(input_, **{name: rng}) for _ in range(trials)]


def _parameters(function: Any) -> list[str]:
    try:
        return [
            name
            for name, one in inspect.signature(function).parameters.items()
            if one.default is one.empty or (one.default is None and name in GENERATORS)
        ]
    except (TypeError, ValueError):
        return []


def _as_pair(pair: Any, relation: Relation | None) -> NeighbouringPair:
    if isinstance(pair, NeighbouringPair):
        return pair
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise UsageTypeError(f"a pair must be a NeighbouringPair or a tuple of two inputs, not {type(pair).__name__}")
    return NeighbouringPair(pair[0], pair[1], relation)


@dataclass
class Study:
    """All pairs of one target, and what came of them.

    Attributes:
        target: what is run.
        seed: of the draws.
        spec: the words of a command line that load it.
        until: when to stop, by the monotonic clock.
        worst: of each flaw at each line, the difference that loses the most, with the examination of its
            pair, and how its line was found if no draw told it.
        count: how many pairs were run.
        outcomes: under how many outcomes of their noise.
        fixed: the seeds that are the same whatever the input, and where they are given.
        failures: what was raised on both inputs of a pair.
        unsearched: why no pairs were searched for, as the end of a sentence.
        unfinished: the first pair whose examination ended early.
        gaps: the differences of answers with the same noise, of the first pair that has them.
        template: the first pair.
        unshown: on how many pairs fresh outputs did not show what was inferred.
    """

    target: Target
    seed: int
    spec: str
    until: float
    worst: dict[tuple[str, str], tuple[Difference, Pair, Located | None]] = field(default_factory=dict)
    count: int = 0
    outcomes: int = 0
    loss: Fraction | float = Fraction(0)
    shifts: dict[str, Fraction] = field(default_factory=dict)
    unjudged: dict[str, None] = field(default_factory=dict)
    sites: dict[str, str] = field(default_factory=dict)
    fixed: dict[tuple[str, str], Site] = field(default_factory=dict)
    failed: str = ""
    cut: bool = False
    unsearched: str = ""
    failures: list[str] = field(default_factory=list)
    unfinished: NeighbouringPair | None = None
    gaps: dict[tuple[str, str], Gap] = field(default_factory=dict)
    template: NeighbouringPair | None = None
    unshown: int = 0
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._hooks = Hooks()
        self.runs = Runs(
            lambda input_, rng: self.target.release(input_, 1, rng),
            _generator,
            self._hooks.forget_calls,
            watch,
        )

    def __enter__(self) -> Study:
        try:
            self._hooks.install()
            self._hooks.install_libraries()
            self._hooks.reach(self.target.release)
        except BaseException:
            self._hooks.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._hooks.remove()

    @property
    def refuted(self) -> bool:
        """Whether a difference refutes the claim."""
        return any(difference.is_certain for difference, *_ in self.worst.values())

    def try_all(self, pairs: Iterable[NeighbouringPair], *, finish: bool = False) -> None:
        """Examine pairs until the time is up, or each flaw has been seen often enough."""
        for pair in pairs:
            if self.count and not finish and time.monotonic() > self.until:
                self.cut = True
                return
            self.examined(pair)

    def examined(self, pair: NeighbouringPair) -> Outcome:
        """Examine one pair, and keep the worst of what it shows."""
        examination, outcome, failed = None, Outcome(), list[str]()
        with _ended(failed), np.errstate(all="ignore"):  # warnings may be errors here
            if self.template is None:
                self._require_repeatable(pair)
                self.template = pair
            self.runs.until = self.until
            examination = Pair(self.runs, pair, self.target.claim, self.seed)
            outcome = examination.outcome
            examination.examine()
            self._put_to_samples(outcome, pair)
            for other in range(OTHER_SEEDS if outcome.raised else 0):  # perhaps noise decides whether it raises
                if outcome.raised:
                    examination = Pair(self.runs, pair, self.target.claim, self.seed + 60_000 + other)
                    outcome = examination.outcome
                    examination.examine()
            if not outcome.is_refuted and not outcome.raised:
                variants = examine_variants(examination, None if self.count < FULL_PAIRS else self.count)
                outcome.differences += variants.differences
                outcome.take(variants)
                self._put_to_samples(outcome, pair)
            outcome.differences += self._moved_gaps(examination)
        self.runs.until = math.inf
        self.count += 1
        self.outcomes += 1 + outcome.variants
        if outcome.raised:
            self.failures.append(outcome.raised)
        for difference in outcome.differences if examination is not None else ():
            placed, line = difference, None
            with _ended(failed), np.errstate(all="ignore"):
                placed = self._blamed(difference, examination) if self.fixed else difference
                if not placed.site.line:
                    if any(flaw == difference.flaw and kept[0].is_certain for (flaw, _), kept in self.worst.items()):
                        continue
                    line = located(self.runs, pair, examination.first, examination.second, difference.part)
                    placed = replace(difference, site=line.site)
            key = (placed.flaw, str(placed.site))
            kept = self.worst.get(key)
            if kept is None or (placed.is_certain, _badness(placed)) > (kept[0].is_certain, _badness(kept[0])):
                self.worst[key] = (placed, examination, line)
        self.loss = max(self.loss, outcome.loss, key=laws.near)
        for place, shift in outcome.shifts.items():
            self.shifts[place] = max(self.shifts.get(place, Fraction(0)), shift)
        self.unjudged |= dict.fromkeys([*outcome.unjudged, *failed])
        self.unfinished = self.unfinished or (pair if failed else None)
        self.sites |= outcome.sites
        return outcome

    def _put_to_samples(self, outcome: Outcome, pair: NeighbouringPair) -> None:
        """Keep what was inferred from what noise decides only where fresh outputs of the pair refute the claim too."""
        if not any(one.is_chosen and one.is_certain for one in outcome.differences):
            return
        until = time.monotonic() + SAMPLING_SECONDS
        told = ""
        if self.unshown < MOST_UNSHOWN:
            fresh = self.runs.unwatched()
            inputs = (pair.first, pair.second)
            told = shown_by_fresh_runs(
                self.target.claim,
                lambda side, number: fresh.run(inputs[side], Session(self.seed + 2_000_000 + 2 * number + side)).output,
                lambda: time.monotonic() > min(until, self.until),
            )
            self.runs.count += fresh.count
        self.unshown += not told
        kept = []
        for one in outcome.differences:
            if not one.is_chosen or not one.is_certain:
                kept.append(one)
            elif told:
                kept.append(replace(one, reason=f"{one.reason}; {told}", is_chosen=False))
            else:
                outcome.unjudged.append(f"{one.reason}, which fresh outputs of the pair do not show")
        outcome.differences[:] = kept

    def tell_by(self, pair: NeighbouringPair) -> None:
        """Tell the flaws that a pair shows on that one, though they lose more on others."""
        before, self.worst = self.worst, {}
        self.examined(pair)
        self.worst = before | self.worst

    def explain(self) -> None:
        """Say of each flaw that was found where it comes from; flaws that come from one line are one."""
        found, self.worst = self.worst.values(), {}
        for difference, examination, line in sorted(found, key=lambda entry: -_badness(entry[0])):
            told = explained(difference, examination, line)
            kept = self.worst.setdefault((told.flaw, str(told.site)), (told, examination, line))
            if told.is_certain and not kept[0].is_certain:
                self.worst[told.flaw, str(told.site)] = (told, examination, line)

    def _moved_gaps(self, examination: Pair) -> Iterator[Difference]:
        """Notes of answers with the same noise whose difference is another one on another pair, whatever is drawn."""
        for (path, path_2), (gap, told) in examination.outcome.gaps.items():
            known = self.gaps.setdefault((path, path_2), gap).value
            weights, apart = {path: -laws.near(gap.ratio), path_2: 1.0}, laws.near(abs(gap.value - known))
            if apart and examination.stays([([weights], laws.near(gap.value))], apart):
                yield replace(told, reason=f"{told.reason}, and {laws.text_of(known)} on another pair")

    def _require_repeatable(self, pair: NeighbouringPair) -> None:
        """Note what no hook watches: with all watched draws the same, nothing may differ."""
        imported, first = 0, self.runs.run(pair.first, Session(self.seed))
        if isinstance(first.output, Raised):  # perhaps for it takes no numbers of other types than numpy's
            plain = Runs(self.runs.call, _generator, self.runs.begin, watch, is_plain=True).run(
                pair.first, Session(self.seed)
            )
            self.runs.is_plain = not isinstance(plain.output, Raised)
        while len(sys.modules) != imported:  # what is imported may draw, and may need hooks
            imported = len(sys.modules)
            runs = [self.runs.run(pair.first, Session(self.seed)) for _ in range(2)]
            if self._hooks.install_libraries():
                self._hooks.reach(self.target.release)
                imported = 0  # what ran before drew unseen
        self._note_fixed_seeds(pair, runs[0])
        parts = differences(runs[0].output, runs[1].output)
        if first.calls and not runs[1].calls:
            self.failed = "a second run draws nothing: noise is kept between runs, and that of a replay is not its own"
        elif parts:
            one, other = parts[0]
            path = (one or other).path  # type: ignore[union-attr]
            unread = ", ".join(dict.fromkeys(runs[0].unread))
            loaded = ", ".join(self._hooks.libraries)
            self.failed = (
                f"{path} differs between two runs with the same draws: it has noise from "
                f"{unread or 'a source'} that no hook watches"
                + (f" ({loaded} may draw in ways that none reaches)" if loaded and not unread else "")
            )

    def _note_fixed_seeds(self, pair: NeighbouringPair, first: Session) -> None:
        """Keep the seeds that follow neither the input, nor other draws, nor the time, nor what the caller gave."""
        others = [
            self.runs.run(input_, Session(self.seed + 20_000 + place))
            for place, input_ in enumerate((pair.first, pair.second))
            if first.seeds
        ]
        given = {*map(repr, given_to(self.target.release))}
        for site, what, value in first.seeds:
            is_fixed = all((site, what, value) in run.seeds for run in others)
            if is_fixed and (what.endswith(" of the code") or repr(value) not in given):
                self.fixed[what, repr(value)] = site
        keys = [
            key for key, seed in first.keys.items() if seed in self.fixed and all(key in run.keys for run in others)
        ]
        self.runs.known.update(self.fixed, keys)

    def _blamed(self, difference: Difference, examination: Pair) -> Difference:
        """A difference at the line that seeds the noise, if it is gone where the noise of a fixed seed is noise."""
        known, self.runs.known = self.runs.known, set()
        try:
            unseeded = Pair(self.runs, examination.pair, self.target.claim, self.seed).examine()
        finally:
            self.runs.known = known
        if any(one.flaw == difference.flaw for one in unseeded.differences):
            return difference
        (what, value), site = next(iter(self.fixed.items()))
        return replace(
            difference,
            flaw="the seed of the noise is fixed, so that everyone knows the noise",
            reason=f"{what} is seeded with {value}, whatever the input; with that noise, {difference.reason}",
            site=site,
        )

    def findings(self, is_finite: bool) -> list[Finding]:
        """What is to be told."""
        worst = sorted(self.worst.values(), key=lambda entry: (not entry[0].is_certain, -_badness(entry[0])))
        if self.failed:
            return [self._finding(Verdict.INCONCLUSIVE, f"{self.failed}; {self._watched()}")]
        if self.refuted:
            worst = [entry for entry in worst if entry[0].is_certain]
        if worst:
            return [self._violated(difference, examination.pair) for difference, examination, _ in worst]
        told = self._watched(is_finite)
        if len(self.failures) == self.count:
            raised = f"{self.target.name} raised {self.failures[0]} on both inputs of every pair"
            if self._runs_unwatched():
                return [self._finding(Verdict.INCONCLUSIVE, f"{raised}, but not where nothing is watched; {told}")]
            return [self._finding(Verdict.ERROR, f"{raised}; {told}")]
        if self.unjudged:
            why = "; ".join(self.unjudged)
            reason, pair = f"{told}; not judged: {why}", self.unfinished
            rest = {"scope": self._scope(is_finite), "pair": None if pair is None else _described(pair)}
            return [self._finding(Verdict.INCONCLUSIVE, reason, **rest)]
        return [self._finding(Verdict.NOT_DETECTED, told, scope=self._scope(is_finite))]

    def _runs_unwatched(self) -> bool:
        """Whether the first input is no failure now that the hooks are gone."""
        first = self.template.first if self.template else None
        return not isinstance(Runs(self.runs.call, _generator).run(first, Session(self.seed)).output, Raised)

    def _scope(self, is_finite: bool) -> Scope | None:
        return Scope(Reach.INPUTS, pairs=self.count) if is_finite else None

    def _watched(self, is_finite: bool = False) -> str:
        pairs = "1 pair" if self.count == 1 else f"{self.count:,} pairs"
        if is_finite:
            pairs = f"every pair of neighbours among the inputs ({pairs})"
        pairs += f", under {self.outcomes:,} outcomes of the noise" if self.outcomes else ""
        shifts = "; ".join(f"{place} moves by at most {laws.text_of(by)}" for place, by in self.shifts.items())
        rests = (f"; {RESTS_ON}" if is_finite and not self.unjudged else "") + self.unsearched
        draws = ", ".join(f"{place} {what}" for place, what in self.sites.items()) or "no draw was seen"
        moved = f": noisy values move ({shifts})" if shifts else ": no noisy value moves"
        if self.unjudged or self.failed:
            told = moved if shifts else ""
        elif self.loss == math.inf:
            told = f"{moved}, and what is lost has no bound in ε alone, and keeps the claim"
        elif self.loss:
            most = f": the most that the outputs lose in any of these outcomes is ε = {laws.text_of(self.loss)}"
            claim = self.target.claim
            if isinstance(claim, PrivacyClaim) and not claim.delta and self.loss > claim.epsilon:
                most += ", which is no more than is claimed but for the error of integrals and of rounding"
            told = most + (f" ({shifts})" if shifts else "")
        else:
            told = moved + (", with no loss that was measured" if shifts else "")
        return f"no divergence on {pairs}{told}; watched: {draws}{rests}"

    def _finding(self, verdict: Verdict, reason: str, **rest: Any) -> Finding:
        return Finding(
            target=self.target.name,
            target_version=self.target.version,
            attack=NAME,
            verdict=verdict,
            reason=_without_folder(reason) + ("; the time was up before all pairs were tried" if self.cut else ""),
            claim=self.target.claim,
            relation=self.target.relation,
            ceiling=self.target.claim.ceiling,
            seed=self.seed,
            trials=self.runs.count,
            seconds=round(time.monotonic() - self.started, 3),
            replay=shlex.join(["attacklab", "replay"]) + f" {self.spec} --seed {self.seed}" if self.spec else "",
            **rest,
        )

    def _violated(self, difference: Difference, pair: NeighbouringPair) -> Finding:
        excess, site = difference.excess, difference.site
        lower = excess.epsilon if excess is not None and excess.epsilon is not None else None
        at = None
        if excess is not None and excess.at is not None and not isinstance(self.target.claim, PrivacyClaim):
            at = self.target.claim.at(excess.at)
        witness = Witness(
            file=_without_folder(site.file),
            line=site.line,
            source=linecache.getline(site.file, site.line).strip(),
            call=difference.call,
            shift="" if difference.shift is None else str(difference.shift),
            shift_hex="" if difference.shift is None else _hex(difference.shift),
            loss="" if excess is None else excess.loss,
            claimed="" if excess is None else excess.claimed,
        )
        return self._finding(
            Verdict.VIOLATED,
            f"{site}{site.within}: {difference.reason}",
            severity=Severity.CLAIM if difference.is_certain else Severity.ACCOUNTING,
            pair=_described(pair),
            flaw=difference.flaw,
            event=difference.event,
            epsilon_lower=lower,
            delta_lower=None if excess is None else excess.delta,
            judged_at=at,
            witness=witness,
        )


@contextlib.contextmanager
def _ended(failed: list[str]) -> Iterator[None]:
    """Keep in words what ends the examination of a pair early: the time, an input, or a fault of the replay itself."""
    try:
        yield
    except (TimeUp, NotCopied) as error:
        failed.append(str(error))
    except BaseException as error:
        if passes_through(error):
            raise
        own = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.startswith(HERE)]
        what = f"{in_one_line(error)[:MOST_TOLD]}, at {Path(own[-1].filename).name}:{own[-1].lineno}"
        failed.append(f"replay failed on this pair: {what}; please report it")


def _described(pair: NeighbouringPair) -> dict[str, Any] | None:
    """A pair as findings have it; None where the class of an input raises when it is read."""
    try:
        return described_pair(pair)
    except Exception:
        return None


def _badness(difference: Difference) -> float:
    excess = difference.excess
    if excess is None:
        return 0.0
    return excess.epsilon or (1e6 * excess.delta if excess.delta else math.inf if excess.is_sure else 1.0)


def _without_folder(text: str) -> str:
    """A text whose files below the working directory are named from there."""
    with contextlib.suppress(FileNotFoundError):  # a target may have gone to a folder that is gone
        return text.replace(f"{Path.cwd()}{os.sep}", "")
    return text


def _hex(number: Fraction) -> str:
    try:
        return float(number).hex()
    except OverflowError:
        return "inf"


def _generator(seed: int) -> np.random.Generator:
    return BASE_GENERATOR(np.random.PCG64(SYSTEMS + seed))


__all__ = ["NAME", "replay"]
