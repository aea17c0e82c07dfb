"""The attack `stability`: looks for two neighbouring datasets whose outputs lie further apart than a stage claims.

No sample is drawn and chance has no part in it: a claim is refuted by two inputs and two outputs, whose distance is
exact. A counterexample is simplified: records that both datasets have are left out, and the rest are rounded. A claim
that held on every pair tried is proved only if every dataset of a finite domain was tried.

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
from collections.abc import Callable, Iterator, MappingView, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis import target as towards
from hypothesis.configuration import set_hypothesis_home_dir

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
from attacklab.stages.distances import Distance, Unmeasurable, powered_distance
from attacklab.stages.inputs import (
    Neighbours,
    all_neighbours,
    chains,
    changed,
    finite_values,
    neighbours,
    values_of,
)

NAME = "stability"

MOST_PAIRS = 8_000
"""Number of pairs tried before the search."""

SEARCHED = 300
"""Number of datasets that the search tries."""

MOST_DRAWN = 100
"""If the smallest dataset has more records than this, Hypothesis does not search: it draws none so large."""

FIRST_PAIRS, CHAINS = 100, 0.1
"""Number of small pairs tried before chains of neighbours, and the chains' share of the time."""

REMEMBERED = 4
"""If a dataset has at most this many records, its first output is kept, and later outputs must equal it."""

SLOW = 0.1
"""Seconds that a pair may take; if it takes longer, no larger datasets are tried."""

SHRINK_SECONDS = 3.0
"""Seconds to simplify a pair that breaks the claim."""

SECONDS = 5.0
"""The most processor seconds of a run; small datasets come first."""

LONGEST_CALL = 5
"""Processor seconds that a call may take beyond the time of the search; then it is ended."""

WAITING = 5
"""Seconds of time that count as one processor second, for a stage that waits, such as for a database."""

ROUNDING = Fraction(1, 10**6)
"""If a distance exceeds the claim by at most this part of it, the finding says that rounding is the cause."""

FLAW = "one record moves the stage further than it claims"
ROUNDED = "rounding moves the stage further than it claims"


@dataclass(frozen=True)
class Raised:
    """The output of a call that raised. Its distance is 0 from any other such output, and infinite from all others."""

    text: str


class _Unsteady(Exception):
    """A stage gave two different outputs on the same input."""


@dataclass
class _Study:
    """A search on a stage: its settings, and what was tried so far."""

    stage: Stage
    relax: Fraction
    seconds: float
    seed: int
    notes: int | None = None  # the file where to write which pair is tried next, and what was found before
    begun: tuple[float, float] = (0.0, 0.0)
    tried: int = 0
    records: int = 0  # of the largest dataset tried
    worst: tuple[Distance, Neighbours] | None = None
    answered: bool = False
    raised: str = ""
    seen: dict[str, Any] = field(default_factory=dict)  # the first output of each small dataset
    largest: float = math.inf  # datasets of more records take too long

    def finding(self, verdict: Verdict, reason: str, **rest: Any) -> Finding:
        """Return a finding on the stage, with this search's seed and number of calls."""
        again = "audit the same stage once more: nothing in it is random"
        given = {"seed": self.seed, "replay": again, "trials": 2 * self.tried, **rest}
        return Finding.on(self.stage, NAME, verdict, reason, **given)

    @property
    def allowed(self) -> Fraction:
        """The largest distance that the claim allows, with `relax`, squared for l2."""
        claim = self.stage.claim
        return (claim.bound * (1 + self.relax)) ** claim.metric.power

    def output(self, records: Sequence[Any]) -> Any:
        """Call the stage on a dataset. Return a copy of the output, or `Raised` if the call raised an exception.

        Raises:
            Unmeasurable: the output cannot be copied.
        """
        try:
            output = self.stage.function(self.stage.dataset(records))
            output = list(output) if isinstance(output, Iterator | MappingView) else output  # type: ignore[arg-type]
        except BaseException as error:
            if passes_through(error) or isinstance(error, LabFault):
                raise
            self.raised = in_one_line(error)
            return Raised(self.raised)
        self.answered = True
        try:
            return copy.deepcopy(output)
        except TypeError as error:
            raise Unmeasurable(f"its output cannot be copied: {in_one_line(error)}") from error

    def apart(self, pair: Neighbours) -> Distance:
        """Return the distance between the outputs of two datasets, squared for l2.

        Raises:
            _Unsteady: one of the datasets had another output before.
        """
        if self.notes is not None:
            os.pwrite(self.notes, cloudpickle.dumps((pair, self.tried, self.worst)), 0)
        started = self.elapsed
        outputs = [self.output(side) for side in pair]
        if self.elapsed - started > SLOW:
            self.largest = min(self.largest, max(map(len, pair)))
        for side, output in zip(pair, outputs, strict=True):
            if len(side) <= REMEMBERED and self.distance(self.seen.setdefault(repr(side), output), output):
                raise _Unsteady
        return self.distance(*outputs)

    def distance(self, first: Any, second: Any) -> Distance:
        """Return the distance between two outputs, squared for l2: 0 if both calls raised, infinite if one did."""
        raised = [isinstance(output, Raised) for output in (first, second)]
        if any(raised):
            return Fraction(0) if all(raised) else math.inf
        return powered_distance(first, second, self.stage.claim.metric)

    def look_at(self, pair: Neighbours) -> Distance:
        """Try a pair, keep it if its outputs lie furthest apart so far, and return their distance, squared for l2."""
        self.tried += 1
        self.records = max(self.records, *map(len, pair))
        distance = self.apart(pair)
        if self.worst is None or distance > self.worst[0]:
            self.worst = distance, pair
        return distance

    @property
    def elapsed(self) -> float:
        """Processor seconds of this search, or all its seconds over `WAITING`, whichever is more."""
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
        with warnings.catch_warnings(), np.printoptions(threshold=sys.maxsize, floatmode="unique"):
            warnings.simplefilter("ignore")
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
    longest = WAITING * (study.seconds + SHRINK_SECONDS + LONGEST_CALL)
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.write_bytes(pickle.dumps(((), 0, None)))
        try:
            (finding,) = run_in_fresh_processes([(_limited, (study, notes))], seconds=longest)
            return finding  # type: ignore[no-any-return]
        except NoAnswer as error:
            ended, (pair, tried, worst) = error, pickle.loads(notes.read_bytes())  # noqa: S301 - that process wrote it
    if study.seconds and worst and worst[0] > study.allowed:  # what was found before is a finding
        return _in_its_own_process(replace(study, seconds=0, tried=tried, worst=worst, answered=True))
    is_late = isinstance(ended, TooLate) or "SIGXCPU" in str(ended)
    how = f"a call did not end within {LONGEST_CALL} s" if is_late else f"a call ended its process ({ended})"
    inputs = " or on ".join(_text(study.stage.dataset(side)) for side in pair)
    reason = f"{how}, on {inputs}; declare a domain without such records, or bound them first"
    return replace(study, tried=tried).finding(Verdict.ERROR, reason)


def _limited(study: _Study, notes: Path) -> Finding:
    """Search in this process, which the system ends if a call takes too long, even in native code."""
    import resource  # there is none on Windows

    most = math.ceil(time.process_time() + study.seconds + SHRINK_SECONDS) + LONGEST_CALL
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    set_hypothesis_home_dir(notes.parent)  # what Hypothesis knows of modules is not for the user's folder
    return _searched_for(replace(study, notes=os.open(notes, os.O_WRONLY)))


@_plainly()
def _searched_for(study: _Study) -> Finding:
    """Search in this process, and return the finding."""
    stage = study.stage
    study.begun = time.process_time(), time.monotonic()

    values = finite_values(stage)
    try:
        whole = _all_tried(study, values)
        if study.worst is None:
            return study.finding(Verdict.NOT_APPLICABLE, "the domain has no two neighbours")
        if not study.answered:
            return study.finding(Verdict.ERROR, f"{stage.name} raised {study.raised}, on every input that was tried")
        if study.worst[0] > study.allowed:
            return _violated(study, study.worst)
    except Unmeasurable as error:
        return study.finding(Verdict.ERROR, f"{stage.name}: {error}")
    except _Unsteady:
        remedy = "a stage has no noise and no memory; declare a release by its kind"
        return study.finding(Verdict.ERROR, f"{stage.name} gave two outputs of one input: {remedy}")
    room = f" (with room for {float(study.relax):g} of it)" if study.relax else ""
    farthest = f"the outputs furthest apart are {number_text(_plain(study, study.worst[0]))} apart{room}"
    if whole and values:
        inputs = sum(len(values) ** size for size in range(stage.sizes[0], int(stage.sizes[1]) + 1))
        pairs = study.tried - len(stage.pairs)
        scope = Scope(Reach.INPUTS, inputs, pairs)
        return study.finding(Verdict.PROVED, f"of all {pairs:,} pairs, {farthest}", scope=scope)
    tried = f"{study.tried:,} pairs ({stage.relation}) of up to {study.records:,} records"
    return study.finding(Verdict.NOT_DETECTED, f"{tried}; {farthest}")


def _all_tried(study: _Study, values: list[Any] | None) -> bool:
    """Try the declared pairs, then those of the domain. Return whether every pair of the domain was tried."""
    _tried(study, _declared(study.stage))
    if values and _tried(study, all_neighbours(study.stage, values), most=None):
        return True
    pairs = neighbours(study.stage, study.seed)
    _tried(study, itertools.islice(pairs, FIRST_PAIRS))
    ends = study.elapsed + CHAINS * (study.seconds - study.elapsed)
    for chain, places in chains(study.stage):
        _bisected(study, chain, places, ends)
    _tried(study, pairs)
    _searched(study)
    return False


def _bisected(study: _Study, chain: Callable[[int], list[Any]], places: Sequence[int], ends: float) -> None:
    """Bisect a chain of neighbours if outputs at two places are further apart than the steps between them allow."""
    bound = study.stage.claim.bound * (1 + study.relax)

    def is_far(start: int, end: int) -> bool:
        return _plain(study, study.apart((chain(start), chain(end)))) > bound * (end - start)

    for start, end in itertools.pairwise(places):
        if study.elapsed > ends or len(chain(end)) > study.largest:
            return
        if not is_far(start, end):
            continue
        while end - start > 1:
            middle = (start + end) // 2
            start, end = (start, middle) if is_far(start, middle) else (middle, end)
        study.look_at((chain(end), chain(start)))


def _declared(stage: Stage) -> Iterator[Neighbours]:
    for pair in stage.pairs:
        sides = tuple(
            side.tolist() if isinstance(side, np.ndarray) else list(side) for side in (pair.first, pair.second)
        )
        if not all(map(stage.takes, sides)):
            raise UsageError(f"a pair of {stage.name} has records outside its domain; leave it out")
        yield sides[0], sides[1]


def _tried(study: _Study, pairs: Iterator[Neighbours], most: int | None = MOST_PAIRS) -> bool:
    """Try pairs until the time is up. Return whether all were tried."""
    whole = True
    for number, pair in enumerate(pairs):
        if study.spent or (most is not None and number >= most):
            return False
        if max(map(len, pair)) > study.largest:
            whole = False
        else:
            study.look_at(pair)
    return whole


def _searched(study: _Study) -> None:
    """Let Hypothesis look for datasets whose outputs lie further apart than any so far."""
    stage, values = study.stage, values_of(study.stage)
    least, most = stage.sizes
    least, most = max(least, 1), min(most - stage.claim.changes, max(24, least))
    if len(values) < 2 or most < least or least > MOST_DRAWN or study.spent:
        return
    records = _records_like(stage, values)

    @seeded(study.seed)
    @settings(
        max_examples=SEARCHED,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.target),
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(records, min_size=least, max_size=int(most)), st.integers(0, 24), records)
    def looked_at(base: list[Any], place: int, value: Any) -> None:
        pair = changed(stage, base, min(place, len(base) - 1), value)
        if not study.spent and all(map(stage.takes, pair)):
            towards(min(float(study.look_at(pair)), 1e300))

    looked_at()


def _records_like(stage: Stage, values: list[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy that draws these values and, if the domain is numeric, numbers between them."""
    records = st.sampled_from(values)
    kinds: dict[Any, Any] = {float: st.floats, int: st.integers} if isinstance(stage.domain, Domain | type) else {}
    for kind, between in kinds.items():
        numbers = [value for value in values if isinstance(value, kind) and abs(value) < math.inf]
        if numbers:
            records |= between(min(numbers), max(numbers))
    return records


def _violated(study: _Study, worst: tuple[Distance, Neighbours]) -> Finding:
    """Simplify a pair that breaks the claim, run it once more, and return the finding."""
    stage, pair = study.stage, _shrunk(worst[1], _breaking(study, worst[0]))
    outputs = [study.output(side) for side in pair]
    distance = study.distance(outputs[0], outputs[1])
    again = [study.distance(study.output(side), output) for side, output in zip(pair, outputs, strict=True)]
    if distance <= study.allowed or any(again):
        raise _Unsteady
    plain, bound = _plain(study, distance), stage.claim.bound
    inputs = [stage.dataset(side) for side in pair]
    gives = ", ".join(f"{_text(input_)} gives {_text(output)}" for input_, output in zip(inputs, outputs, strict=True))
    apart = f"{_apart_text(plain, bound)} apart"
    return study.finding(
        Verdict.VIOLATED,
        f"{gives}: {apart}, claimed are at most {number_text(bound)}{_loss_text(plain, bound)}",
        pair=described_pair(NeighbouringPair(inputs[0], inputs[1], stage.relation)),
        flaw=ROUNDED if _by_rounding(study, distance) else FLAW,
        evidence=Counterexample(
            outputs=(_exact_text(outputs[0]), _exact_text(outputs[1])),
            distance="infinite" if plain == math.inf else str(plain),
            claimed=str(bound),
            apart=apart,
            **_place(stage),
        ),
    )


def _breaking(study: _Study, distance: Distance) -> Callable[[Neighbours], bool]:
    """Return a test for whether a smaller pair still breaks the claim; it raises TimeoutError after `SHRINK_SECONDS`.

    Unless the claim is broken by rounding alone, the pair must keep at least half of the (powered) distance.
    """
    enough = study.allowed if _by_rounding(study, distance) else max(study.allowed, distance / 2)
    ends = study.elapsed + SHRINK_SECONDS

    def breaks(smaller: Neighbours) -> bool:
        if study.elapsed > ends:
            raise TimeoutError
        return all(map(study.stage.takes, smaller)) and study.allowed < study.apart(smaller) >= enough

    return breaks


def _by_rounding(study: _Study, distance: Distance) -> bool:
    bound = study.stage.claim.bound**study.stage.claim.metric.power
    return bound > 0 and distance <= bound * (1 + ROUNDING)


def _plain(study: _Study, distance: Distance) -> Distance:
    """Return the distance to show: for l2 the square root of the squared distance, rounded down by less than 2^−64."""
    if study.stage.claim.metric.power == 1 or isinstance(distance, float):
        return distance
    below = distance.denominator << 64
    return Fraction(math.isqrt((distance.numerator * distance.denominator) << 128), below)


def _apart_text(distance: Distance, bound: Fraction) -> str:
    """Return a distance as text. If six digits would not tell it from the claim, write claim + excess."""
    if isinstance(distance, float):
        return "infinitely far"
    if bound and 0 < distance - bound < bound * ROUNDING:
        return f"{number_text(bound)} + {float(distance - bound):.3g}"
    return number_text(distance)


def _loss_text(plain: Distance, bound: Fraction) -> str:
    if not bound or isinstance(plain, float):
        return "; no noise hides that"
    beyond = plain / bound - 1
    more = f"(1 + {float(beyond):.2g})" if beyond < Fraction(1, 100) else number_text(1 + beyond)
    return f"; noise scaled by the claim loses {more} ε instead of ε"


def _shrunk(pair: Neighbours, breaks: Callable[[Neighbours], bool]) -> Neighbours:
    """Return a pair that still breaks the claim, with fewer records and rounder values."""
    ahead = _alike_first(*pair)
    behind = _alike_first(*(side[ahead:][::-1] for side in pair))
    shared = [*pair[0][:ahead], *pair[0][len(pair[0]) - behind :]]
    middles = [side[ahead : len(side) - behind] for side in pair]

    def whole(records: Sequence[Any], before: int) -> Neighbours:
        first, second = ([*records[:before], *middle, *records[before:]] for middle in middles)
        return first, second

    size = max(1, len(shared) // 2)
    with contextlib.suppress(TimeoutError):
        while shared and size:
            at = 0
            while at < len(shared):
                fewer, before = shared[:at] + shared[at + size :], min(ahead, at) + max(0, ahead - at - size)
                if breaks(whole(fewer, before)):
                    shared, ahead = fewer, before
                else:
                    at += size
            size //= 2
        for at, value in enumerate(shared[:64]):
            simpler = ([*shared[:at], rounder, *shared[at + 1 :]] for rounder in _simpler(value))
            shared = next((records for records in simpler if breaks(whole(records, ahead))), shared)
    return whole(shared, ahead)


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
    if isinstance(value, Raised):
        return value.text
    plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if not isinstance(plain, list | tuple):
        text = repr(plain)
        return text if len(text) <= 200 else f"{text[:180]} …"
    items = list(map(repr, plain))
    if len(items) > 8:
        runs = [(text, len(list(run))) for text, run in itertools.groupby(items)]
        told = [text if count == 1 else f"{text} ({count:,} times)" for text, count in runs]
        items = told if len(told) <= 8 else [*items[:3], f"… {len(items):,} in all"]
    return f"[{', '.join(items)}]"


def _exact_text(output: Any) -> str:
    """Return an output as text with every bit: floats by `float.hex`."""
    if isinstance(output, Raised):
        return f"raised {output.text}"
    if isinstance(output, float | np.floating):
        return float(output).hex()
    if isinstance(output, np.ndarray) and output.dtype.kind == "f":
        return str([float(number).hex() for number in output.ravel()])
    return repr(output)


def _place(stage: Stage) -> dict[str, Any]:
    """Return the file and the first line of the stage's function; empty if its source is not known."""
    try:
        function = inspect.unwrap(stage.function)
        return {"file": from_here(inspect.getfile(function)), "line": inspect.getsourcelines(function)[1]}
    except (OSError, TypeError):
        return {}
