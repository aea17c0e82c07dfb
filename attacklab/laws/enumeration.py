"""The output law of a sampler, found by running it on every sequence of random bits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gmpy2 import mpq

from attacklab.draws.errors import LawError, NeverEnds, OpaqueOutcome, OpaqueState, SamplerFailed, StateChanged
from attacklab.draws.tape import Find, Found, Frontier, Path, PutAside, Span, Stop, Tape
from attacklab.draws.uniform import is_undecided, settled
from attacklab.laws.law import Law, total
from attacklab.laws.names import Names, arithmetic
from attacklab.laws.outcomes import tag
from attacklab.laws.replay import NOTED, Replays
from attacklab.laws.snapshot import CannotCompare, call_parts, is_fixed, pickled
from attacklab.model.errors import UsageError, UsageTypeError, passes_through
from attacklab.model.releases import in_one_process

#: The target for the unresolved mass of a called sampler's law, as a share of the caller's target.
CALLED = Fraction(1, 1 << 16)

#: Progress is reported whenever this many runs are done.
REPORTED = 256

#: Masses of a law that is not closed are rounded down to multiples of the target over this: more digits gain nothing.
ROUNDING = 1 << 64

#: The search ends when the runs left can resolve no more than this share of the target.
IMMATERIAL = 1 / 16

#: At every multiple of this many runs, except the first, the search ends if its pace is too slow to reach the target.
_PACED = 512


#: What a sampler holds is compared after each of the first `_COMPARED` runs, then after every 16th, and at the end.
_COMPARED = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """When an enumeration ends.

    Args:
        unresolved: the enumeration ends when at most this mass is unresolved; 0 to go on until the law is closed. For
            the laws of called samplers, the bound is 2^16 times smaller.
        runs: the most runs. The laws of called samplers share the same number again; each may use at most half of
            what is left of it.
        draws: the most draws of bits and calls of samplers in one run.
        tapes: the most waiting runs, and the most values of an outcome that is a uniform integer. If more runs wait,
            the less probable half of them is given up.
        seconds: how long the enumeration may take. A single run is not interrupted.

    Raises:
        ValueError: `unresolved` is outside [0, 1), `seconds` is not above 0, or another limit is less than 1.
    """

    unresolved: Fraction = Fraction(1, 1 << 60)
    runs: int = 1_000_000
    draws: int = 100_000
    tapes: int = 1_000_000
    seconds: float = math.inf

    def __post_init__(self) -> None:
        if not (0 <= self.unresolved < 1 and min(self.runs, self.draws, self.tapes) >= 1 and self.seconds > 0):
            raise UsageError(f"unresolved must lie in [0, 1), and the other limits be above 0, not {self}")


def enumerate_law(
    sampler: Callable[..., Any],
    *arguments: Any,
    limits: Limits | None = None,
    progress: Callable[[str], None] | None = None,
    is_replayed: bool = True,
) -> Law:
    """Find the law of `sampler(*arguments, bits)`.

    The sampler must draw from `bits` alone: `take(k)` and `words(n)` give bits; `call(sampler, *arguments)` gives the
    outcome of another sampler, whose law is found once; `repeat(round, *arguments)` gives the outcome of a
    rejection loop, whose geometric series is summed in closed form. A loop written otherwise is unrolled. The most
    probable runs are made first.

    The integer that `take(k)` gives for k > 1 is decided no further than the sampler looks at it. Comparing it with a
    bound is one fork, so 53 bits compared with a threshold take two runs, not 2^53.

    The law is right if the sampler depends on its input and its draws alone. Every leaf is played again on plain
    integers before its mass counts (`replay`). What the sampler holds and what its code names must never change
    (`snapshot`), and clocks, other generators and the like are refused (`names`). That finds mistakes, not code that
    hides. A call whose function or arguments cannot be compared is played inline and its law is not kept.

    Args:
        sampler: a function of its arguments and of a source of random bits, which comes last.
        arguments: the arguments of the sampler before the source of bits.
        limits: when to end; `Limits()` if not given.
        progress: called after every 256 runs and at the end, with a line that says how far the search has come.
        is_replayed: whether all leaves are played again, which takes most of the time. Otherwise only the first ones
            are, which is enough for a law that is found a second time.

    Returns:
        The law; what the limits left out is unresolved. Unless the law is closed, masses are rounded down to multiples
        of 2^−64 times `limits.unresolved`.

    Raises:
        LawError: the law cannot be found; its class (`attacklab.draws.errors`) and its message say why. A loop that
            draws nothing cannot be interrupted here.
    """
    if not callable(sampler):
        raise UsageTypeError(f"sampler must be callable, not a {type(sampler).__name__}")
    return _Explorer(limits or Limits(), progress, is_replayed).law(sampler, arguments)


class _Explorer:
    """Finds the law of a sampler, and the laws of the samplers that it calls."""

    def __init__(self, limits: Limits, progress: Callable[[str], None] | None, is_replayed: bool) -> None:
        self._limits = limits
        self._is_replayed = is_replayed
        self._progress = progress
        self._known: dict[Any, dict[Hashable, Found | None]] = {}
        self._sought: set[Hashable] = set()
        self._names = Names()
        self._kept: list[Any] = []
        self._replays = Replays(self._names)
        self._runs = 0
        self._called_runs = limits.runs
        self._deadline = time.monotonic() + limits.seconds
        self._obstacle = (mpq(0), "")

    def law(self, sampler: Callable[..., Any], arguments: tuple[Any, ...]) -> Law:
        """Find the law of `sampler(*arguments, bits)`."""
        law = self._explore(sampler, arguments, mpq(self._limits.unresolved), self._limits.runs)
        if not law.values:
            raise NeverEnds(
                f"{_name(sampler)} gave no outcome in {self._runs:,} runs of at most {self._limits.draws:,} draws; "
                "make sure that it ends, or if it does, allow more by Limits(runs=..., draws=...)"
            )
        return Law(self._masses(law), obstacle=self._obstacle[1])

    def _masses(self, law: Found) -> Iterator[tuple[Any, Any]]:
        for value, share in zip(law.values, law.shares, strict=True):
            for outcome, part in _spelled_out(value, self._limits.tapes):
                yield outcome, share * part

    def _explore(self, sampler: Callable[..., Any], arguments: tuple[Any, ...], target: Any, runs: int) -> Found:
        """Find one law by at most `runs` runs, with at most the mass `target` unresolved if the limits allow."""
        name = _name(sampler)
        try:
            state = _state(sampler, arguments, name)
        except CannotCompare as error:
            raise OpaqueState(f"{error}, whose state cannot be compared; do not use it in {name}") from error
        find = self._finder(target * CALLED)
        masses = _Masses()
        frontier: Frontier[Path] = Frontier(self._limits.tapes)
        pace = _Pace(runs, target)
        path: Path = None
        for run in range(1, runs + 1):
            self._runs += 1
            self._called_runs -= bool(self._sought)
            played = Tape(path, frontier, find, self._limits.draws)
            outcome, value, returned = run_once(sampler, arguments, played)
            if run <= _COMPARED or run % 16 == 0:
                self._require_unchanged("during a run", state, sampler, arguments, name)
            if outcome is not PutAside:
                known = None if isinstance(value, Span) else outcome
                if self._is_replayed or self._replays.leaves < NOTED:
                    self._replays.check(name, sampler, arguments, played.leaf(returned), known)
                masses.add(outcome, value, played)
            if self._runs % REPORTED == 1:
                self._report(frontier, masses, name)
            if time.monotonic() > self._deadline or pace.is_over(run, frontier.heaviest, masses.unresolved):
                break
            path = frontier.pop()
        self._require_unchanged("between runs", state, sampler, arguments, name)
        if not self._sought:
            self._report(frontier, masses, name)
        return masses.law(target / ROUNDING)

    def _finder(self, closer: Any) -> Find:
        """Return a function that finds and keeps the law of a called sampler, with at most `closer` unresolved."""
        known = self._known.setdefault(closer, {})

        def find(called: Callable[..., Any], arguments: tuple[Any, ...], is_loop: bool) -> Found | None:
            arguments = settled(arguments)
            try:
                key = is_loop, pickled(_name(called), (called, arguments)), arithmetic()
            except CannotCompare:
                return None
            if place := self._names.changed():
                raise StateChanged(f"{place} has changed since {_name(called)} was first called; make it an argument")
            if key in known:
                return known[key]
            if key in self._sought:
                return None  # a sampler that calls itself is unrolled
            self._sought.add(key)
            self._kept.append((called, arguments))  # keys name objects by their places in memory
            try:
                known[key] = self._called(called, arguments, is_loop, closer)
            except (OpaqueOutcome, OpaqueState, SamplerFailed):
                known[key] = None
            finally:
                self._sought.remove(key)
            return known[key]

        return find

    def _require_unchanged(self, when: str, before: dict[str, bytes], *call: Any) -> None:
        """Raise StateChanged if the state of a sampler differs from `before`, or a name that it uses has changed."""
        try:
            now = _state(*call) if before else {}  # what was fixed then is so now
            place = next((place for place in now if now[place] != before.get(place)), None) or self._names.changed()
        except CannotCompare as error:
            place = str(error).partition(" holds ")[0]
        if place:
            raise StateChanged(f"{place} changed {when} of {call[-1]}; keep nothing between runs or rounds")

    def _called(self, called: Callable[..., Any], arguments: tuple[Any, ...], is_loop: bool, closer: Any) -> Found:
        if self._called_runs < 2:
            return Found((), (), ())
        law = self._explore(called, arguments, closer, self._called_runs // 2)
        if is_loop:
            law = self._accepted(law)
        left = 1 - total(law.shares)
        if left > max(self._obstacle[0], closer):
            shown = f"{_name(called)}({_shown(arguments)})"
            self._obstacle = left, f"{float(left):.2g} of the probability of {shown}, which it calls, was not found"
        return law

    def _accepted(self, law: Found) -> Found:
        """Turn the law of one round of a rejection loop, where None means rejected, into the law of the loop."""
        if None not in law.values:
            return law
        at = law.values.index(None)
        kept = [i for i in range(len(law.values)) if i != at]
        series = 1 / (1 - law.shares[at]) if kept else 0
        shares = tuple(law.shares[i] * series for i in kept)
        return Found(tuple(law.values[i] for i in kept), shares, tuple(map(float, shares)))

    def _report(self, frontier: Frontier[Path], masses: _Masses, name: str) -> None:
        if self._progress is not None:
            laws = sum(map(len, self._known.values()))
            self._progress(
                f"{name}: {self._runs:,} runs, {laws:,} laws of called samplers, {len(frontier):,} runs waiting, "
                f"{float(masses.unresolved):.2g} of the probability not found"
            )


class _Pace:
    """Stops a search that cannot reach its target. The likeliest runs come first, so each later one resolves less."""

    def __init__(self, runs: int, target: Any) -> None:
        self._runs, self._target = runs, target
        self._unresolved = 1.0

    def is_over(self, run: int, heaviest: float, unresolved: Any) -> bool:
        """Whether to stop: the target is reached, or the runs left will not reach it at the recent pace."""
        # No later run can resolve more than the heaviest path weighs.
        left = self._runs - run
        if unresolved <= self._target or heaviest * left <= IMMATERIAL * float(self._target):
            return True
        if run % _PACED:
            return False
        resolved, self._unresolved = self._unresolved - float(unresolved), float(unresolved)
        return run > _PACED and self._unresolved - resolved / _PACED * left > float(self._target)


class _Masses:
    """The outcomes that the runs for one law gave, with their masses."""

    def __init__(self) -> None:
        self._resolved: dict[Hashable, tuple[Any, Any]] = {}
        self.unresolved = mpq(1)

    def add(self, outcome: Hashable, value: Any, tape: Tape) -> None:
        """Add the outcome and the value of a run, with the mass of its tape."""
        mass = tape.mass
        self.unresolved -= mass
        self._resolved[outcome] = value, self._resolved.get(outcome, (value, 0))[1] + mass

    def law(self, grain: Any) -> Found:
        """Return the law, likeliest value first. If mass is unresolved, round shares down to multiples of `grain`."""
        outcomes = sorted(self._resolved, key=lambda outcome: -self._resolved[outcome][1])
        values = tuple(self._resolved[outcome][0] for outcome in outcomes)
        shares = tuple(self._resolved[outcome][1] for outcome in outcomes)
        if grain and self.unresolved:
            shares = tuple(share // grain * grain for share in shares)
        return Found(values, shares, tuple(map(float, shares)))


def run_once(sampler: Callable[..., Any], arguments: tuple[Any, ...], tape: Tape) -> tuple[Any, Any, Any]:
    """Run once. Return (the outcome's tag, value, undecided integer or None), or (class of the `Stop`, None, None)."""
    ended: tuple[Any, Any, Any] = (None, None, None)
    try:
        with in_one_process():
            returned = sampler(*arguments, tape)
        if is_undecided(returned) and returned.high - returned.low > 1:
            value: Any = Span(returned.low, returned.high)
            ended = (value, value, returned)
        else:
            value = settled(returned)
            ended = (tag(value), value, None)
    except Stop:
        pass
    except OpaqueOutcome:
        if tape.stopped is None:
            raise
    except BaseException as error:
        if passes_through(error):
            raise
        if tape.stopped is None:
            raise SamplerFailed(
                f"{_name(sampler)} raised {error!r} on the draws {tape.draws}; fix it, or if an adversary can see the "
                "failure, return it as an outcome"
            ) from error
    reason = tape.close()
    if reason is None:
        return ended
    if isinstance(reason, Stop):
        return type(reason), None, None
    raise reason


def _spelled_out(value: Any, limit: int) -> Iterator[tuple[Any, Any]]:
    """Yield each outcome that a value stands for (all integers of a `Span`), with its share of the value's mass."""
    if not isinstance(value, Span):
        yield value, mpq(1)
        return
    size = value.high - value.low
    if size > limit:
        shown = size if size.bit_length() <= 64 else f"2^{size.bit_length() - 1} or more"
        raise LawError(
            f"the sampler returned an integer uniform over {shown} values, but a law lists at most {limit:,}; compare "
            "or divide the drawn integer before you return it"
        )
    for outcome in range(value.low, value.high):
        yield outcome, mpq(1, size)


def _state(sampler: Callable[..., Any], arguments: tuple[Any, ...], name: str) -> dict[str, bytes]:
    """Pickle everything that a call depends on and that can change, keyed by its description in messages."""
    return {
        place: pickled(place, value) for place, value in call_parts(sampler, arguments, name) if not is_fixed(value)
    }


def _name(sampler: Callable[..., Any]) -> str:
    # Not `repr`, which gives memory addresses: the same failure must have the same message.
    inner = getattr(sampler, "func", sampler)
    return str(getattr(inner, "__qualname__", type(inner).__qualname__)).rpartition("<locals>.")[2]


def _shown(arguments: tuple[Any, ...]) -> str:
    text = ", ".join(_name(argument) if callable(argument) else repr(argument) for argument in arguments)
    return text if len(text) <= 60 else text[:57] + "..."
