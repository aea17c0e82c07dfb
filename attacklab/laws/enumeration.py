"""The output law of a sampler, found by running it on every sequence of random bits."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gmpy2 import mpq

from attacklab.errors import UsageError, UsageTypeError
from attacklab.laws.counted_work import Counted, Work
from attacklab.laws.errors import (
    LawError,
    MisplacedRestart,
    NeverEnds,
    NotDeterministic,
    SamplerFailed,
    UnhashableOutcome,
)
from attacklab.laws.law import Law
from attacklab.laws.outcomes import canonical
from attacklab.laws.series import SeriesArithmetic
from attacklab.laws.tape import Found, Frontier, Path, PutAside, Restarted, Span, Stop, Tape, after
from attacklab.laws.uniform import UniformInteger, settled

#: Laws of called samplers are resolved this much more closely, so that they add little to the caller's unresolved mass.
_CALLED = Fraction(1, 1 << 16)

#: How often the first run of every sampler is repeated, to check that it does the same again.
_REPEATS = 8

#: Later runs are repeated once if their number is a multiple of this.
_REPEATED = 16

#: The first accepted rounds are repeated after this many rejected ones, to check that a restart changes nothing.
_REJECTED = 16

#: How many accepted rounds are repeated so.
_ACCEPTED = 2

#: Progress is reported whenever this many runs are done.
_REPORTED = 1024

#: Masses of a law that is not closed are rounded down to multiples of the target over this: more digits gain nothing.
_ROUNDING = 1 << 64

#: The search ends when the runs left can resolve no more than this share of the target.
_IMMATERIAL = 1 / 16


@dataclass(frozen=True, slots=True)
class Limits:
    """When an enumeration ends.

    Args:
        unresolved: it ends when no more mass than this is left; 0 to go on until the law is closed. Laws of called
            samplers are resolved 2^16 times as closely.
        runs: the most runs, including those for the laws of called samplers.
        draws: the most takes and calls in one run.
        tapes: the most waiting runs, and the most values of an outcome that is a uniform integer. If more runs wait,
            the lighter half of them is given up.

    Raises:
        ValueError: `unresolved` is outside [0, 1), or another limit is less than 1.
    """

    unresolved: Fraction = Fraction(1, 1 << 60)
    runs: int = 1_000_000
    draws: int = 100_000
    tapes: int = 1_000_000

    def __post_init__(self) -> None:
        if not 0 <= self.unresolved < 1:
            raise UsageError(f"unresolved must lie in [0, 1), not {self.unresolved}")
        for name in ("runs", "draws", "tapes"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an enumeration has come.

    Args:
        runs: the runs so far, including those for the laws of called samplers.
        laws: the laws found so far.
        tapes: the waiting runs, for the law now sought.
        unresolved: the mass still unresolved, for the law now sought.
    """

    runs: int
    laws: int
    tapes: int
    unresolved: float


def enumerate_law(
    sampler: Callable[..., Any],
    *arguments: Any,
    limits: Limits | None = None,
    counted: Counted | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Law:
    """Find the law of `sampler(*arguments, bits)`.

    The sampler must draw from `bits` alone: `take(k)` and `words(n)` give bits; `call(sampler, *arguments)` gives the
    outcome of another sampler, whose law is then found once. A rejection loop calls `restart()` when a rejected round
    leaves the sampler in the state in which it was called; the geometric series of the rounds is then summed in closed
    form. The heaviest runs are made first.

    The integer that `take(k)` gives for k > 1 is decided no further than the sampler looks at it. Comparing it with a
    bound is one fork, so 53 bits compared with a threshold take two runs, not 2^53.

    Args:
        sampler: a function of its arguments and of a source of random bits, which comes last.
        arguments: what it is called with.
        limits: when to end; `Limits()` if not given.
        counted: if given, find the joint law of the output and the counted work, as pairs (output, work): the "bits"
            drawn or the "calls" made, including those in rejected rounds and in called samplers. All masses are then
            rounded down (to multiples of 2^−192 if `limits.unresolved` is 0).
        progress: called after every 1024 runs and at the end.

    Returns:
        The law; what the limits left out is unresolved. Unless the law is closed, masses are rounded down to multiples
        of 2^−64 times `limits.unresolved`.

    Raises:
        NotDeterministic: two runs on the same bits differ. The first run of each sampler is repeated eight times, and
            every sixteenth run once.
        NeverEnds: no run within the limits gave an outcome. (A loop that draws nothing cannot be interrupted here.)
        UnhashableOutcome: an outcome cannot be hashed.
        MisplacedRestart: a restart was marked by a function entered after the first draw, or after sixteen restarts the
            sampler does not go on as it began.
        LawError: the arguments of a call cannot be hashed, or a sampler is called for its own law.
        SamplerFailed: the sampler raised an exception. If a failure is one of its outcomes, let the sampler return it.
        ValueError: `counted` is neither "bits" nor "calls".
    """
    if not callable(sampler):
        raise UsageTypeError(f"sampler must be callable, not a {type(sampler).__name__}")
    if counted not in (None, "bits", "calls"):
        raise UsageError(f"counted must be 'bits', 'calls' or None, not {counted!r}")
    return _Explorer(limits or Limits(), counted, progress).law(sampler, arguments)


class _Explorer:
    """Finds the laws of a sampler and of those that it calls."""

    def __init__(self, limits: Limits, counted: Counted | None, progress: Callable[[Progress], None] | None) -> None:
        self._limits = limits
        self._counted = counted
        finest = int(1 / mpq(limits.unresolved)).bit_length() + 64 if limits.unresolved else 192
        self._arithmetic = SeriesArithmetic(finest, limits.draws)
        self._progress = progress
        self._known: dict[Any, dict[Hashable, Found]] = {}
        self._sought: set[Hashable] = set()
        self._repeated: set[Callable[..., Any]] = set()
        self._runs = 0

    def law(self, sampler: Callable[..., Any], arguments: tuple[Any, ...]) -> Law:
        """Find the law of the sampler that was asked for."""
        found = self.explore(sampler, arguments, mpq(self._limits.unresolved))
        if not found.values:
            raise NeverEnds(
                f"{_name(sampler)} gave no outcome in {self._runs} runs of at most {self._limits.draws} draws; "
                "check that it ends, and if it does, allow more by Limits(runs=..., draws=...)"
            )
        masses: dict[Hashable, Any] = {}
        for i, (value, share) in enumerate(zip(found.values, found.shares, strict=True)):
            for outcome, part in _spelled_out(value, self._limits.tapes):
                if not self._counted:
                    masses[outcome] = masses.get(outcome, 0) + share * part
                    continue
                for work, mass in self._arithmetic.masses(found.work[i]):
                    masses[outcome, work] = masses.get((outcome, work), 0) + mass * part
        return Law(masses)

    def explore(self, sampler: Callable[..., Any], arguments: tuple[Any, ...], target: Any) -> Found:
        """Find one law, with at most `target` unresolved if the limits allow."""
        closer = target * _CALLED
        known = self._known.setdefault(closer, {})

        def find(called: Callable[..., Any], its_arguments: tuple[Any, ...], repeated: bool) -> Found:
            key = (called, repeated, *map(_argument_key, its_arguments))
            found = known.get(key)
            if found is None:
                if key in self._sought:
                    call = f"{_name(called)} is called for its own law, at ({_shown(its_arguments)})"
                    raise LawError(f"{call}: recurse by a plain function call instead")
                self._sought.add(key)
                found = self.explore(called, settled(its_arguments), closer)
                known[key] = found = self._accepted(found) if repeated else found
                self._sought.remove(key)
            return found

        def tape(path: Path, frontier: Frontier | None, rounds: int = 0) -> Tape:
            return Tape(path, frontier, find, self._limits.draws * (rounds + 1), _run.__code__, rounds)

        masses = _Masses(Work(self._counted, self._arithmetic) if self._counted else None)
        frontier = Frontier(self._limits.tapes)
        rejected: Tape | None = None
        accepted: list[tuple[Hashable, Tape]] = []
        path: Path = None
        while self._runs < self._limits.runs:
            self._runs += 1
            played = tape(path, frontier)
            outcome, value = _run(sampler, arguments, played)
            masses.add(outcome, value, played)
            if outcome is Restarted:
                rejected = rejected or played
            elif outcome is not PutAside and len(accepted) < _ACCEPTED:
                accepted.append((outcome, played))
            for _ in range(self._repeats(sampler, outcome)):
                again = tape(played.path, None)
                if _run(sampler, arguments, again)[0] != outcome or again.bits != played.bits:
                    raise NotDeterministic(
                        f"{_name(sampler)} gave another outcome when run again on the same bits; "
                        "let it draw from `bits` alone"
                    )
            if self._runs % _REPORTED == 0:
                self._report(frontier, masses)
            # No later run can resolve more than the heaviest path weighs.
            resolvable = frontier.heaviest * (self._limits.runs - self._runs)
            if resolvable <= _IMMATERIAL * float(target) or masses.unresolved <= target:
                break
            path = frontier.pop()
        if rejected is not None:
            for outcome, played in accepted:
                again = tape(after(_REJECTED, rejected.path, played.path), None, _REJECTED)
                bits = _REJECTED * rejected.bits + played.bits
                if not _ends_in(outcome, sampler, arguments, again) or again.bits != bits:
                    raise MisplacedRestart(
                        f"{_name(sampler)} does not go on after a restart as it began; keep no state between rounds"
                    )
        if not self._sought:
            self._report(frontier, masses)
        return masses.found(target / _ROUNDING)

    def _accepted(self, found: Found) -> Found:
        """The law of a rejection loop, from that of its round."""
        if None not in found.values:
            return found
        at = found.values.index(None)
        kept = [i for i in range(len(found.values)) if i != at]
        series = 1 / (1 - found.shares[at]) if kept else 0
        shares = tuple(found.shares[i] * series for i in kept)
        work: tuple[Any, ...] = ()
        if found.work:
            rounds = self._arithmetic.geometric(found.work[at])
            work = tuple(self._arithmetic.product(rounds, found.work[i]) for i in kept)
        return Found(tuple(found.values[i] for i in kept), shares, tuple(map(float, shares)), work)

    def _repeats(self, sampler: Callable[..., Any], outcome: Hashable) -> int:
        """How often to repeat a run that ended in this outcome."""
        if outcome is PutAside:
            return 0
        if sampler not in self._repeated:
            self._repeated.add(sampler)
            return _REPEATS
        return self._runs % _REPEATED == 0

    def _report(self, frontier: Frontier, masses: _Masses) -> None:
        if self._progress is not None:
            laws = sum(map(len, self._known.values()))
            self._progress(Progress(self._runs, laws, len(frontier), float(masses.unresolved)))


class _Masses:
    """What the runs for one law have found."""

    def __init__(self, work: Work | None) -> None:
        self._work = work
        self._resolved: dict[Hashable, tuple[Any, Any]] = {}
        self._left = mpq(1)
        self._restarted = mpq(0)

    @property
    def unresolved(self) -> Any:
        """The mass still unresolved, once the series of restarts is summed."""
        return self._left / (1 - self._restarted) if self._restarted < 1 else mpq(1)

    def add(self, outcome: Hashable, value: Any, tape: Tape) -> None:
        """Add a run."""
        if outcome is PutAside:
            return
        mass = tape.mass
        self._left -= mass
        if self._work is not None:
            self._work.add(outcome, tape)
        if outcome is Restarted:
            self._restarted += mass
        else:
            known = self._resolved.get(outcome)
            self._resolved[outcome] = (value, mass if known is None else known[1] + mass)

    def found(self, grain: Any) -> Found:
        """The law, heaviest value first; if it is not closed, in multiples of `grain` (0: exact)."""
        if not self._resolved:
            return Found((), (), ())
        series = 1 / (1 - self._restarted)
        outcomes = sorted(self._resolved, key=lambda outcome: -self._resolved[outcome][1])
        values = tuple(self._resolved[outcome][0] for outcome in outcomes)
        shares = tuple(self._resolved[outcome][1] * series for outcome in outcomes)
        if grain and self._left:
            shares = tuple(share // grain * grain for share in shares)
        work = self._work.series(outcomes) if self._work is not None else ()
        return Found(values, shares, tuple(map(float, shares)), work)


def _run(sampler: Callable[..., Any], arguments: tuple[Any, ...], tape: Tape) -> tuple[Any, Any]:
    """Run once. Return what distinguishes the outcome, and the value returned; or how the run stopped, and None."""
    ended: tuple[Any, Any] = (None, None)
    try:
        value = sampler(*arguments, tape)
        is_open = isinstance(value, UniformInteger) and value.high - value.low > 1
        value = Span(value.low, value.high) if is_open else settled(value)
        ended = ((type(value), canonical(value)), value)
    except Stop:
        pass
    except UnhashableOutcome:
        if tape.stopped is None:
            raise
    except (Exception, SystemExit) as error:
        if tape.stopped is None:
            raise SamplerFailed(f"{_name(sampler)} raised {error!r} on the draws {tape.draws}") from error
    reason = tape.close()
    if reason is None:
        return ended
    if isinstance(reason, Stop):
        return type(reason), None
    raise reason


def _ends_in(outcome: Hashable, sampler: Callable[..., Any], arguments: tuple[Any, ...], tape: Tape) -> bool:
    """Whether a run ends in the expected outcome, neither too early nor too late."""
    try:
        return bool(_run(sampler, arguments, tape)[0] == outcome)
    except NotDeterministic:
        return False


def _spelled_out(value: Any, limit: int) -> Iterator[tuple[Hashable, Any]]:
    """The outcomes that a value stands for, each with its share of the value's mass."""
    if not isinstance(value, Span):
        yield canonical(value), mpq(1)
        return
    size = value.high - value.low
    if size > limit:
        shown = size if size.bit_length() <= 64 else f"2^{size.bit_length() - 1} or more"
        raise LawError(f"an outcome is an integer uniform over {shown} values; raise Limits(tapes=...), now {limit}")
    for outcome in range(value.low, value.high):
        yield outcome, mpq(1, size)


def _argument_key(argument: Any) -> Hashable:
    """What distinguishes an argument of a called sampler: its type as well, because samplers may look at it."""
    kind = type(argument)
    if kind is Fraction:
        return kind, argument.as_integer_ratio()  # hashed and compared much faster than a Fraction
    try:
        settled_argument = canonical(argument)
    except UnhashableOutcome as error:
        raise LawError(f"arguments of a call must be hashable, not a {kind.__name__}") from error
    return type(settled_argument) if kind is UniformInteger else kind, settled_argument


def _name(sampler: Callable[..., Any]) -> str:
    # Not `repr`, which gives memory addresses: the same failure must have the same message.
    inner = getattr(sampler, "func", sampler)
    return str(getattr(inner, "__qualname__", type(inner).__qualname__))


def _shown(arguments: tuple[Any, ...]) -> str:
    return ", ".join(_name(argument) if callable(argument) else repr(argument) for argument in arguments)
