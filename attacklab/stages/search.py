"""The attack `stability`: looks for two neighbouring datasets whose outputs lie further apart than a stage claims.

No sample is drawn and chance has no part in it: a claim is refuted by two inputs and two outputs, whose distance is
exact. Pairs are tried in the order of `inputs`, and the one furthest apart is kept. If it breaks the claim, records
that both datasets have are left out, and the rest are rounded. A claim that held on every pair tried is proved only if
every dataset of a finite domain was tried.

The search runs in a process of its own, so a call that does not end, or that ends its process, ends nothing else. A
stage that cannot be sent there, such as a transformation of OpenDP, runs here without a limit.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import itertools
import math
import os
import pickle
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, MappingView, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis import target as towards
from hypothesis.configuration import set_hypothesis_home_dir

from attacklab.model.bisection import steepest_step
from attacklab.model.claims.base import require_numbers
from attacklab.model.claims.stability import number_text
from attacklab.model.domains import Domain
from attacklab.model.errors import LabFault, UsageError, in_one_line, passes_through
from attacklab.model.files import from_here
from attacklab.model.findings import Counterexample, Finding, Reach, Scope, Verdict, described_pair
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.stage import Stage
from attacklab.processes.fresh import CannotBeSent, run_in_fresh_processes
from attacklab.processes.programs import NoAnswer, TooLate
from attacklab.stages.distances import Distance, Raised, Unmeasurable, powered_distance
from attacklab.stages.inputs import (
    Chain,
    Neighbours,
    all_neighbours,
    chains,
    changed,
    finite_values,
    neighbours,
    values_of,
)

NAME = "stability"

MOST_PAIRS, MOST_DRAWN = 8_000, 24
"""The most pairs tried before Hypothesis searches, and the most records in a dataset that Hypothesis draws."""

SECONDS = 5.0
"""The most processor seconds of a search; small datasets come first."""

LAST_SECONDS = 4
"""Processor seconds for simplifying a pair after the search, and as many more until a call is ended."""

WAITING = 5
"""Wall-clock seconds that count as one processor second, for a stage that waits, such as for a database."""

SLOW = 0.1
"""Seconds that a pair may take; if it takes longer, no larger datasets are tried."""

ROUNDING = Fraction(1, 10**6)
"""If a distance exceeds the claim by at most this part of it, the finding says that rounding is the cause."""

FLAW = "one record moves the stage further than it claims"
ROUNDED = "rounding moves the stage further than it claims"
UNSTEADY = "it gave two outputs of one input: a stage has no noise and no memory; declare a release by its kind"


@dataclass
class _Study:
    """A search on a stage: its settings, and what was tried so far."""

    stage: Stage
    relax: Fraction  # the claim is increased by this fraction of it
    seconds: float  # the most processor seconds of the search
    seed: int
    notes: int | None = None  # descriptor of the file that holds the next pair, `tried` and `worst`
    begun: tuple[float, float] = (0.0, 0.0)  # processor time and wall-clock time at the start
    tried: int = 0  # the number of pairs tried
    records: int = 0  # the number of records in the largest dataset tried
    worst: tuple[Distance, Neighbours] | None = None  # the largest distance, squared for l2, and its pair
    answered: bool = False  # whether any call gave an output
    seen: dict[str, Any] = field(default_factory=dict)  # the first output of each small dataset, by its repr
    largest: float = math.inf  # datasets with more records than this are left out, because they take too long

    def finding(self, verdict: Verdict, reason: str, **rest: Any) -> Finding:
        """Return a finding on the stage, with this search's seed and number of calls."""
        again = "audit the same stage once more: nothing in it is random"
        given = {"seed": self.seed, "replay": again, "trials": 2 * self.tried, **rest}
        return Finding.on(self.stage, NAME, verdict, reason, **given)

    @property
    def allowed(self) -> Fraction:
        """Return the largest distance that is no violation: bound·(1 + relax), squared for l2."""
        claim = self.stage.claim
        return (claim.bound * (1 + self.relax)) ** claim.metric.power

    def output(self, records: Sequence[Any]) -> Any:
        """Call the stage on a dataset. Return a copy of the output, or `Raised` if there is none."""
        try:
            output = self.stage.function(self.stage.dataset(records))
            output = list(output) if isinstance(output, Iterator | MappingView) else output  # type: ignore[arg-type]
        except BaseException as error:
            if passes_through(error) or isinstance(error, LabFault):
                raise
            return Raised(in_one_line(error))
        try:
            return copy.deepcopy(output)
        except Exception as error:  # whatever the __deepcopy__ of somebody's class raises
            raise Unmeasurable(f"its output cannot be copied: {in_one_line(error)}") from error

    def apart(self, pair: Neighbours) -> Distance:
        """Return the distance between the outputs of two datasets, squared for l2.

        Raises:
            Unmeasurable: one of the datasets had another output before, or the metric does not measure them.
        """
        if self.notes is not None:
            os.pwrite(self.notes, cloudpickle.dumps((pair, self.tried, self.worst)), 0)
        started, metric = self.elapsed, self.stage.claim.metric
        outputs = [self.output(side) for side in pair]
        if self.elapsed - started > SLOW:
            self.largest = min(self.largest, max(map(len, pair)))
        for side, output in zip(pair, outputs, strict=True):
            self.answered |= not isinstance(output, Raised)
            if len(side) <= 4 and powered_distance(self.seen.setdefault(repr(side), output), output, metric):
                raise Unmeasurable(UNSTEADY)
        return powered_distance(outputs[0], outputs[1], metric)

    def look_at(self, pair: Neighbours) -> Distance:
        """Try a pair, keep it if its outputs lie furthest apart so far, and return their distance, squared for l2."""
        self.tried += 1
        self.records = max(self.records, *map(len, pair))
        distance = self.apart(pair)
        if self.worst is None or distance > self.worst[0]:
            self.worst = distance, pair
        return distance

    def look_at_all(self, pairs: Iterable[Neighbours]) -> bool:
        """Try pairs until the time is up, except those that take too long. Return whether all were tried."""
        whole = True
        for pair in pairs:
            if self.spent:
                return False
            if max(map(len, pair)) > self.largest:
                whole = False
            else:
                self.look_at(pair)
        return whole

    @property
    def elapsed(self) -> float:
        """Return the processor seconds of this search, or its wall-clock seconds/`WAITING` if that is more."""
        return max(time.process_time() - self.begun[0], (time.monotonic() - self.begun[1]) / WAITING)

    @property
    def spent(self) -> bool:
        return self.elapsed > self.seconds


@contextlib.contextmanager
def _plainly() -> Iterator[None]:
    """Suppress warnings, and print arrays and integers in full."""
    digits = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        with warnings.catch_warnings(action="ignore"), np.printoptions(threshold=sys.maxsize, floatmode="unique"):
            yield
    finally:
        sys.set_int_max_str_digits(digits)


def stability(stage: Stage, *, relax: float = 0.0, seed: int = 0, seconds: float = SECONDS) -> Finding:
    """Look for neighbours whose outputs lie further apart than a stage claims.

    Args:
        stage: the function and its claim.
        relax: the claim is increased by this fraction of it, to leave rounding out.
        seed: the seed of the search.
        seconds: the most processor seconds that the search takes.

    Returns:
        A finding: VIOLATED with a counterexample; PROVED for every input of a finite domain; NOT_DETECTED with the
        largest distance that was found; NOT_APPLICABLE if the domain has no two neighbours; or ERROR.
    """
    require_numbers(seconds=seconds, relax=1 + relax if isinstance(relax, int | float) else relax)
    if relax < 0:
        raise UsageError(f"relax must be at least 0, not {relax}")
    study = _Study(stage, Fraction(relax), seconds, seed)
    try:
        return _in_its_own_process(study)
    except CannotBeSent:
        return _searched_for(study)


def _in_its_own_process(study: _Study) -> Finding:
    """Search in another process, which is ended if a call takes too long. Return the finding."""
    longest = WAITING * (study.seconds + 2 * LAST_SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.write_bytes(pickle.dumps(((), 0, None)))
        try:
            (finding,) = run_in_fresh_processes([(_limited, (study, notes))], seconds=longest)
            return finding  # type: ignore[no-any-return]
        except NoAnswer as error:
            ended, (pair, tried, worst) = error, pickle.loads(notes.read_bytes())  # noqa: S301 - that process wrote it
    if study.seconds and worst and worst[0] > study.allowed:  # what was found before is a finding
        return _in_its_own_process(replace(study, seconds=0, tried=tried, worst=worst))
    is_late = isinstance(ended, TooLate) or "SIGXCPU" in str(ended)
    how = f"a call did not end within {LAST_SECONDS} s" if is_late else f"a call ended its process ({ended})"
    inputs = " or on ".join(_text(study.stage.dataset(side)) for side in pair)
    reason = f"{how}, on {inputs}; declare a domain without such records, or bound them first"
    return replace(study, tried=tried).finding(Verdict.ERROR, reason)


def _limited(study: _Study, notes: Path) -> Finding:
    """Search in this process, which the system ends if a call takes too long, even in native code."""
    import resource  # there is none on Windows

    most = math.ceil(time.process_time() + study.seconds) + 2 * LAST_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    set_hypothesis_home_dir(notes.parent)  # what Hypothesis knows of modules is not for the user's folder
    return _searched_for(replace(study, notes=os.open(notes, os.O_WRONLY)))


@_plainly()
def _searched_for(study: _Study) -> Finding:
    """Search in this process, and return the finding."""
    stage, values = study.stage, finite_values(study.stage)
    study.begun = time.process_time(), time.monotonic()
    try:
        whole = study.look_at_all(_declared(stage)) and bool(values)
        whole = whole and study.look_at_all(all_neighbours(stage, values or []))
        if not whole:
            _search(study)
        if study.worst is None:
            return study.finding(Verdict.NOT_APPLICABLE, "the domain has no two neighbours")
        if study.worst[0] > study.allowed:
            return _violated(study, *study.worst)
    except Unmeasurable as error:
        return study.finding(Verdict.ERROR, f"{stage.name}: {error}")
    if not study.answered:
        raised = study.output(study.worst[1][0])
        return study.finding(Verdict.ERROR, f"{stage.name} raised {raised}, on every input that was tried")
    room = f" (with room for {float(study.relax):g} of it)" if study.relax else ""
    farthest = f"the outputs furthest apart are {number_text(_plain(study, study.worst[0]))} apart{room}"
    if whole and values:
        inputs = sum(len(values) ** size for size in range(stage.sizes[0], int(stage.sizes[1]) + 1))
        pairs = study.tried - len(stage.pairs)
        scope = Scope(Reach.INPUTS, inputs, pairs)
        return study.finding(Verdict.PROVED, f"of all {pairs:,} pairs, {farthest}", scope=scope)
    tried = f"{study.tried:,} pairs ({stage.relation}) of up to {study.records:,} records"
    return study.finding(Verdict.NOT_DETECTED, f"{tried}; {farthest}")


def _declared(stage: Stage) -> Iterator[Neighbours]:
    for pair in stage.pairs:
        sides = (pair.first, pair.second)
        first, second = (side.tolist() if isinstance(side, np.ndarray) else list(side) for side in sides)
        if not (stage.takes(first) and stage.takes(second)):
            raise UsageError(f"a pair of {stage.name} has records outside its domain; leave it out")
        yield first, second


def _search(study: _Study) -> None:
    """Bisect chains of neighbours, try the pairs of `inputs`, and let Hypothesis look for larger distances."""
    stage = study.stage
    bound, ends = stage.claim.bound * (1 + study.relax), study.elapsed + study.seconds / 10
    for chain, places in chains(stage):

        def change(start: int, end: int, chain: Chain = chain) -> Distance:
            return study.apart((chain(start), chain(end)))

        for start, end in itertools.pairwise(places):
            if study.elapsed > ends or len(chain(end)) > study.largest:
                break
            if _plain(study, change(start, end)) > bound * (end - start):  # then so is one of the steps between them
                step = steepest_step(change, start, end)
                study.look_at((chain(step + 1), chain(step)))
    study.look_at_all(itertools.islice(neighbours(stage, study.seed), MOST_PAIRS))
    _draw(study, values_of(stage))


def _draw(study: _Study, values: list[Any]) -> None:
    """Let Hypothesis search for larger distances, on datasets of these values and of numbers between them."""
    stage = study.stage
    least, most = max(stage.sizes[0], 1), min(stage.sizes[1] - stage.claim.changes, MOST_DRAWN)
    if least > most or study.spent:
        return
    records = st.sampled_from(values)
    numbers = [value for value in values if isinstance(value, float | int) and abs(value) < math.inf]
    if numbers and isinstance(stage.domain, Domain | type):
        between: Any = st.integers if isinstance(numbers[0], int) else st.floats
        records |= between(min(numbers), max(numbers))

    @seeded(study.seed)
    @settings(
        max_examples=300,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.target),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(records, min_size=least, max_size=int(most)), st.integers(0, MOST_DRAWN), records)
    def look_towards(base: list[Any], place: int, value: Any) -> None:
        pair = changed(stage, base, min(place, len(base) - 1), value)
        if not study.spent and all(map(stage.takes, pair)):
            towards(float(min(study.look_at(pair), 10**300)))

    look_towards()


def _violated(study: _Study, distance: Distance, pair: Neighbours) -> Finding:
    """Simplify a pair that breaks the claim, run it once more, and return the finding."""
    stage, claim, pair = study.stage, study.stage.claim, _shrunk(study, distance, pair)
    outputs = [study.output(side) for side in pair]
    distance = powered_distance(outputs[0], outputs[1], claim.metric)
    again = [powered_distance(study.output(side), seen, claim.metric) for side, seen in zip(pair, outputs, strict=True)]
    if distance <= study.allowed or any(again):
        raise Unmeasurable(UNSTEADY)
    plain = _plain(study, distance)
    flaw, apart, loss = _told(plain, claim.bound)
    inputs = [stage.dataset(side) for side in pair]
    gives = ", ".join(f"{_text(input_)} gives {_text(output)}" for input_, output in zip(inputs, outputs, strict=True))
    return study.finding(
        Verdict.VIOLATED,
        f"{gives}: {apart} apart, claimed are at most {number_text(claim.bound)}; {loss}",
        pair=described_pair(NeighbouringPair(inputs[0], inputs[1], stage.relation)),
        flaw=flaw,
        evidence=Counterexample(
            outputs=(_exact_text(outputs[0]), _exact_text(outputs[1])),
            distance="infinite" if plain == math.inf else str(plain),
            claimed=str(claim.bound),
            apart=f"{apart} apart",
            **_place(stage),
        ),
    )


def _plain(study: _Study, distance: Distance) -> Distance:
    """Return the distance to show: for l2 the square root of the squared distance, rounded down by less than 2^−64."""
    if study.stage.claim.metric.power == 1 or isinstance(distance, float):
        return distance
    below = distance.denominator << 64
    return Fraction(math.isqrt((distance.numerator * distance.denominator) << 128), below)


def _told(distance: Distance, bound: Fraction) -> tuple[str, str, str]:
    """Return three texts: the flaw, the distance (as claim + excess if it is near), and what it means for noise."""
    if isinstance(distance, float):
        return FLAW, "infinitely far", "no noise hides that"
    if not bound:
        return FLAW, number_text(distance), "no noise hides that"
    excess = distance - bound
    flaw, apart, factor = FLAW, number_text(distance), number_text(distance / bound)
    if excess <= bound * ROUNDING:
        flaw, apart = ROUNDED, f"{number_text(bound)} + {float(excess):.3g}"
        factor = f"(1 + {float(excess / bound):.2g})"
    return flaw, apart, f"noise scaled by the claim loses {factor} ε instead of ε"


def _shrunk(study: _Study, distance: Distance, pair: Neighbours) -> Neighbours:
    """Return a pair with fewer records and rounder values that breaks the claim, at half of `distance` or more."""
    parts, size = _parts(*pair), max(map(len, pair)) // 2
    enough, ends = max(study.allowed, distance / 2), study.elapsed + LAST_SECONDS

    def breaks(parts: list[Neighbours]) -> bool:
        if study.elapsed > ends:
            raise TimeoutError
        smaller = _joined(parts)
        return all(map(study.stage.takes, smaller)) and study.allowed < study.apart(smaller) >= enough

    with contextlib.suppress(TimeoutError):
        while size:
            at = 0
            while at < len(parts):
                fewer = parts[:at] + parts[at + size :]
                parts, at = (fewer, at) if breaks(fewer) else (parts, at + size)
            size //= 2
        for at, (first, second) in enumerate(parts[:64]):
            rounder = map(_shared, _simpler(first[0])) if first is second else iter(())
            tried = ([*parts[:at], part, *parts[at + 1 :]] for part in rounder)
            parts = next(filter(breaks, tried), parts)
    return _joined(parts)


def _parts(first: list[Any], second: list[Any]) -> list[Neighbours]:
    """Split two datasets: one part for each record that both start or end with, and one for the rest."""
    ahead = _alike_first(first, second)
    behind = _alike_first(first[ahead:][::-1], second[ahead:][::-1])
    ends = len(first) - behind, len(second) - behind
    return [
        *map(_shared, first[:ahead]),
        (first[ahead : ends[0]], second[ahead : ends[1]]),
        *map(_shared, first[ends[0] :]),
    ]


def _shared(record: Any) -> Neighbours:
    both = [record]
    return both, both


def _joined(parts: list[Neighbours]) -> Neighbours:
    return [record for first, _ in parts for record in first], [record for _, second in parts for record in second]


def _alike_first(first: Sequence[Any], second: Sequence[Any]) -> int:
    """Return the number of records at the start of two datasets that are equal."""
    alike = itertools.takewhile(lambda two: repr(two[0]) == repr(two[1]), zip(first, second, strict=False))
    return sum(1 for _ in alike)


def _simpler(value: Any) -> Iterator[Any]:
    """Yield rounder values of the same type, the simplest first: 0, the integer part, and one and three digits."""
    if isinstance(value, float) and math.isfinite(value) and value:
        yield from (0.0, math.copysign(math.floor(abs(value)), value), float(f"{value:.1g}"), float(f"{value:.3g}"))
    elif isinstance(value, int) and not isinstance(value, bool) and value:
        yield 0


def _text(value: Any) -> str:
    """Return a value as text for a sentence; in a long list, a run of equal records is written once."""
    plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if not isinstance(plain, list | tuple):
        text = repr(plain)
        return text if len(text) <= 200 else f"{text[:180]} …"
    items = list(map(repr, plain))
    if len(items) > 8:
        runs = [(text, len(list(run))) for text, run in itertools.groupby(items)]
        items = [text if count == 1 else f"{text} ({count:,} times)" for text, count in runs]
    return f"[{', '.join(items if len(items) <= 8 else [*map(repr, plain[:3]), f'… {len(plain):,} in all'])}]"


def _exact_text(output: Any) -> str:
    """Return an output as text with every bit: floats by `float.hex`."""
    if isinstance(output, np.ndarray) and output.dtype.kind == "f":
        return str([float(number).hex() for number in output.ravel()])
    return float(output).hex() if isinstance(output, float | np.floating) else repr(output)


def _place(stage: Stage) -> dict[str, Any]:
    """Return the file and the first line of the stage's function; empty if its source is not known."""
    try:
        function = inspect.unwrap(stage.function)
        return {"file": from_here(inspect.getfile(function)), "line": inspect.getsourcelines(function)[1]}
    except (OSError, TypeError):
        return {}
