"""What an attack is: what the adversary knows, the neighbouring pairs it picks and the events it bets on.

An attack is a frozen dataclass with the members of `Attack`. It never runs a target itself: if it needs to see outputs
before it can pick a pair, it calls the probe that the referee gives it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from attacklab.model.errors import OutsideDomain, TargetError
from attacklab.model.floats import Floats
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind, Outputs, Target

Probe: TypeAlias = Callable[[Any, int], Outputs]
"""`probe(input, trials)` returns outputs of the target. None of them is used to judge an event."""


DEAR_WORDS = 64
"""An output that takes more random words is dear: a maximum of noisy utilities takes one for each outcome."""

FEW = 8  # how many outputs show of what kind they are


def is_dear(probe: Probe, input_: Any, outputs: int = FEW) -> bool:
    """Whether an output takes many random words, as where noise is drawn for each outcome.

    A cost that does not depend on the machine; not known of another process, nor where the target fails.
    """
    before = getattr(probe, "words", 0)
    with contextlib.suppress(TargetError):
        drawn = len(probe(input_, outputs))
        return bool(getattr(probe, "words", 0) - before > DEAR_WORDS * drawn)
    return False


@dataclass(frozen=True, slots=True)
class Event:
    """A set of outputs that the adversary bets on.

    Attributes:
        description: the set in words.
        contains: takes outputs, one a row, and returns which of them lie in the set, as a bool array.
        line: the same as an expression of one `output` that is not a failure, for people to read; it may use `np`.
            Empty where it takes more than a line.
        flaw: the flaw that it shows, in one line, where that is another than its attack looks for.
    """

    description: str
    contains: Callable[[Outputs], NDArray[np.bool_]]
    line: str = ""
    flaw: str = ""


def literal(value: float) -> str:
    """An expression for a number, every bit of it kept."""
    return repr(value) if isinstance(value, int) or math.isfinite(value) else f'float("{value}")'


@dataclass(frozen=True, slots=True)
class Scenario:
    """A neighbouring pair and the events that the adversary may bet on.

    Attributes:
        pair: the two inputs.
        events: the candidates. A first sample chooses one of them and tells how many trials it will take; a second
            sample judges it.
        answers: how many answers the adversary collects before it decides. If more than 1, an event sees rows of that
            many.
        sees_failures: whether its events tell failures apart: if so, an output may be the `Failure` of a release that
            raised. If not, all that they see of a trial in which a release raised is that they do not hold it.
        trials: the most that judge it, where the event holds always or never, so that more would show no more; None for
            as many as the audit has.

    Raises:
        ValueError: there are no events, or `answers` or `trials` is less than 1.
    """

    pair: NeighbouringPair
    events: tuple[Event, ...]
    answers: int = 1
    sees_failures: bool = False
    trials: int | None = None

    def __post_init__(self) -> None:
        if not self.events:
            raise ValueError("a scenario needs at least one event")
        if self.answers < 1:
            raise ValueError(f"answers of a scenario must be at least 1, not {self.answers}")
        if self.trials is not None and self.trials < 1:
            raise ValueError(f"trials of a scenario must be at least 1, not {self.trials}")


class Attack(Protocol):
    """An attack on one flaw.

    An attack that looks at outputs of any form, and not only at numbers, says so by a `whole_outputs` that is true.
    Others meet no target of kind NOISE, SUM or MEAN whose outputs are not numbers.
    """

    @property
    def name(self) -> str:
        """The attack's name on the command line and in findings."""
        ...

    @property
    def flaw(self) -> str:
        """The flaw that the attack looks for, in one line."""
        ...

    def applies_to(self, target: Target) -> bool:
        """Whether the target is of a kind that can have the flaw."""
        ...

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """The pairs and events to try on this target.

        Raises:
            TargetError: the target failed while it was probed.
        """
        ...


class OfKinds:
    """An attack on all targets of some kinds, and on no others; `class MyAttack(OfKinds, kinds={Kind.SUM})`."""

    _kinds: ClassVar[frozenset[Kind]]

    def __init_subclass__(cls, *, kinds: Iterable[Kind]) -> None:
        cls._kinds = frozenset(kinds)

    def applies_to(self, target: Target) -> bool:
        """Whether the attack is for targets of this kind."""
        return target.kind in self._kinds


@dataclass(frozen=True, repr=False)
class FunctionAttack:
    """An attack that is one function, whose name is the attack's, and a row of facts about it.

    Attributes:
        find: `find(target, probe, **settings)` yields scenarios. Its docstring says flaw, adversary, pair, event and
            what a negative result does not show.
        flaw: the flaw in one line.
        kinds: the kinds of targets that can have it.
        source: where it was described.
        settings: what `find` is given besides, by name.
        decides_alone: whether an audit ends where it refutes the claim, as nothing else is to be said then.
    """

    find: Callable[..., Iterable[Scenario]]
    flaw: str
    kinds: frozenset[Kind]
    source: str
    settings: tuple[tuple[str, Any], ...] = ()
    decides_alone: bool = False

    @property
    def name(self) -> str:
        """The attack's name on the command line and in findings."""
        return self.find.__name__

    def applies_to(self, target: Target) -> bool:
        """Whether the attack is for targets of this kind."""
        return target.kind in self.kinds

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """The scenarios that `find` yields for the target."""
        return self.find(target, probe, **dict(self.settings))

    def given(self, **settings: Any) -> FunctionAttack:
        """The attack with other settings."""
        return replace(self, settings=tuple(settings.items()))

    def __repr__(self) -> str:
        given = f".given({', '.join(f'{name}={value!r}' for name, value in self.settings)})" if self.settings else ""
        return f"{self.name.upper()}{given}"


@runtime_checkable
class Learning(Attack, Protocol):
    """An attack that learns its events from many outputs, more of them where more trials judge."""

    @property
    def looks(self) -> int:
        """About how many outputs it draws to find its pairs and events."""
        ...

    def within(self, trials: int) -> Learning:
        """The attack with a learning sample whose size suits an audit of this number of trials."""
        ...


def as_floats(outputs: Outputs) -> NDArray[np.float64]:
    """Outputs as doubles: every bit of a float is kept, and a failure becomes NaN.

    An exact number becomes the nearest double, or an infinity beyond the largest, so that no two change their order;
    what is not a number becomes NaN.
    """
    if outputs.dtype == object:
        return np.fromiter(map(_as_double, outputs.flat), dtype=np.float64, count=outputs.size).reshape(outputs.shape)
    return outputs.astype(np.float64)


def _as_double(output: Any) -> float:
    try:
        return float(output)
    except OverflowError:
        return math.inf if output > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def as_released(outputs: Outputs) -> Floats:
    """Outputs in their own floating-point format; integers, and arrays that can hold failures, become doubles."""
    return outputs if outputs.dtype.kind == "f" else as_floats(outputs)


def pair_of_answers(target: Target, first: float, second: float) -> tuple[NeighbouringPair, float, float]:
    """Two true answers as a pair and as numbers: these two, or the nearest that the target's domain has.

    Raises:
        OutsideDomain: the domain has none.
    """
    pair = NeighbouringPair.answers(first, second, sensitivity=target.sensitivity)
    near = target.adapted(pair)
    if near.first == pair.first and near.second == pair.second:
        return near, first, second
    return near, float(near.first), float(near.second)


def adapted_pairs(target: Target, pairs: Iterable[NeighbouringPair]) -> Iterator[NeighbouringPair]:
    """The pairs, moved into the target's domain where needed; pairs that do not fit are left out."""
    for pair in pairs:
        with contextlib.suppress(OutsideDomain):
            yield target.adapted(pair)


def origin(target: Target) -> Any:
    """The answer nearest to 0 that the target takes."""
    return 0.0 if target.domain is None else target.domain.origin


def whole_only(target: Target) -> bool:
    """Whether the target takes whole numbers only."""
    return target.domain is not None and target.domain.integers


def laplace_scale(target: Target) -> float:
    """The scale λ of the target's noise, if the noise is Laplace noise."""
    return target.noise_scale or target.sensitivity / target.claim.nominal.epsilon


def bounds_of(target: Target) -> tuple[float, float]:
    """The bounds of a record of a sum or mean; the nearest records to them that its domain has.

    Raises:
        OutsideDomain: the domain has no two records within the bounds.
    """
    assert target.bounds is not None  # noqa: S101 - sums and means have bounds
    if target.domain is None:
        return target.bounds
    lower, upper = map(Fraction, target.bounds)
    lower = lower if target.domain.low is None else max(lower, target.domain.low)
    upper = upper if target.domain.high is None else min(upper, target.domain.high)
    if target.domain.integers:
        lower, upper = Fraction(math.ceil(lower)), Fraction(math.floor(upper))
    if lower >= upper:
        raise OutsideDomain(f"the domain of {target.name} has no two records within its bounds")
    return float(lower), float(upper)


def ends(target: Target) -> tuple[float, float]:
    """Two values of a record that are no further apart than the sensitivity under either relation.

    Returns:
        The value near 0 and the value far from it: the bound of smaller magnitude (0 if the bounds' signs differ), and
        the bound of larger magnitude.
    """
    near, far = sorted(bounds_of(target), key=abs)
    return (near, far) if near * far > 0 else (0.0, far)


def on_path(near: float, far: float, size: int, uppers: int) -> NDArray[np.float64]:
    """The dataset of `size` records, the first `uppers` of them at the far value and the others at the near one."""
    records = np.full(size, near)
    records[:uppers] = far
    return records
