"""What an attack is: what the adversary knows, the neighbouring pairs it picks and the events it bets on.

An attack is a frozen dataclass with the members of `Attack`. It never runs a target itself: if it needs to see outputs
before it can pick a pair, it calls the probe that the referee gives it.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from attacklab.model.errors import OutsideDomain, TargetError
from attacklab.model.floats import Floats
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Outputs, Target

Probe: TypeAlias = Callable[[Any, int], Outputs]
"""`probe(input, trials)` returns this many outputs of the target for the input. No event is judged on them."""

Answers: TypeAlias = tuple[float, float]  # two true answers

DEAR_WORDS = 64
"""An output that takes more random words than this is expensive. A noisy maximum takes one or more per outcome."""

FEW = 8  # how many outputs `is_dear` draws unless told otherwise


def is_dear(probe: Probe, input_: Any, outputs: int = FEW) -> bool:
    """Whether outputs for this input take more than `DEAR_WORDS` random words each, on average over a few of them.

    Targets that draw noise for every outcome do. The result is False if the target fails or runs in another process.
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
        line: the set as a Python expression in `output`, for people to read. It assumes that the output is not a
            failure, and may use `np`. Empty if one line is not enough.
        flaw: the flaw that the event shows, in one line. If it is empty, the event shows the flaw of its attack.
    """

    description: str
    contains: Callable[[Outputs], NDArray[np.bool_]]
    line: str = ""
    flaw: str = ""


def literal(value: float) -> str:
    """Return a Python expression for a number that keeps every bit of it."""
    return repr(value) if isinstance(value, int) or math.isfinite(value) else f'float("{value}")'


@dataclass(frozen=True, slots=True)
class Scenario:
    """A neighbouring pair and the events that the adversary may bet on.

    Attributes:
        pair: the two inputs.
        events: the candidates. A first sample chooses one of them and the number of trials to judge it on; a second
            sample judges it.
        answers: how many answers the adversary collects before it decides. If more than 1, each row that an event sees
            holds this many answers.
        sees_failures: whether an output may be the `Failure` of a release that raised. If not, a trial in which the
            release raised counts as "not in the event".
        trials: the most trials to judge the event on, because few are enough if it always or never happens. None to use
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

    An attack that handles outputs of any type, not only numbers, has an attribute `whole_outputs` that is True.
    Other attacks are not run on targets of kind NOISE, SUM or MEAN whose outputs are not numbers.
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
        """Return the pairs and events to try on this target; `probe` draws its outputs.

        Raises:
            TargetError: the target failed while it was probed.
        """
        ...


class OfKinds:
    """Base class of attacks that apply to targets of some kinds: `class MyAttack(OfKinds, kinds={Kind.SUM})`."""

    _kinds: ClassVar[frozenset[Kind]]

    def __init_subclass__(cls, *, kinds: Iterable[Kind]) -> None:
        cls._kinds = frozenset(kinds)

    def applies_to(self, target: Target) -> bool:
        """Whether the attack is for targets of this kind."""
        return target.kind in self._kinds


@dataclass(frozen=True, repr=False)
class FunctionAttack:
    """An attack that consists of one function and some facts about it; the function's name is the attack's name.

    Attributes:
        find: `find(target, probe, **settings)` yields scenarios. Its docstring states the flaw, the adversary, the pair
            and the event, and what a negative result does not show.
        flaw: the flaw in one line.
        kinds: the kinds of targets that can have the flaw.
        source: the publication that describes the flaw.
        settings: the keyword arguments of `find`, as pairs of name and value.
        decides_alone: whether the audit ends if this attack refutes the claim, because other attacks would add nothing.
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
        """Return the scenarios that `find` yields for the target."""
        return self.find(target, probe, **dict(self.settings))

    def given(self, **settings: Any) -> FunctionAttack:
        """Return a copy of the attack that passes these keyword arguments, and no others, to `find`."""
        return replace(self, settings=tuple(settings.items()))

    def __repr__(self) -> str:
        given = f".given({', '.join(f'{name}={value!r}' for name, value in self.settings)})" if self.settings else ""
        return f"{self.name.upper()}{given}"


@runtime_checkable
class Learning(Attack, Protocol):
    """An attack that learns its events from many outputs: the larger the audit, the more outputs it learns from."""

    @property
    def looks(self) -> int:
        """The approximate number of outputs that the attack draws to find its pairs and events."""
        ...

    def within(self, trials: int) -> Learning:
        """Return the attack with a learning sample whose size suits an audit of this number of trials."""
        ...


def as_floats(outputs: Outputs) -> NDArray[np.float64]:
    """Return outputs as doubles: a float of at most 64 bits keeps every bit, and a failure becomes NaN.

    An integer, fraction or decimal becomes the nearest double, or ±∞ beyond the largest double, so that no two numbers
    change their order. Anything that is not a number becomes NaN.
    """
    if outputs.dtype == object:
        return np.fromiter(map(as_double, outputs.flat), dtype=np.float64, count=outputs.size).reshape(outputs.shape)
    return outputs.astype(np.float64)


def as_double(output: Any) -> float:
    """Return the nearest double, ±∞ beyond the largest one, or NaN for what is not a number."""
    try:
        return float(output)
    except OverflowError:
        return math.inf if output > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def as_released(outputs: Outputs) -> Floats:
    """Return floats in their own format; integers, and arrays of objects (which can hold failures), become doubles."""
    return outputs if outputs.dtype.kind == "f" else as_floats(outputs)


def pair_of_answers(target: Target, first: float, second: float) -> tuple[NeighbouringPair, float, float]:
    """Return two true answers as a pair and as two numbers, moved to the nearest answers in the target's domain.

    Raises:
        OutsideDomain: the domain has no such pair.
    """
    pair = NeighbouringPair.answers(first, second, sensitivity=target.sensitivity)
    near = target.adapted(pair)
    if near.first == pair.first and near.second == pair.second:
        return near, first, second
    return near, float(near.first), float(near.second)


def dataset_pairs(target: Target) -> Iterator[NeighbouringPair]:
    """Return the pairs that the target declares, and then those that follow from its domain."""
    return itertools.chain(target.pairs, () if target.domain is None else target.domain.pairs(target.relation))


def pairs_with_answers(
    target: Target, answers: Answers | None = None, most: int = 2, size: int = 1
) -> Iterator[tuple[NeighbouringPair, Answers | None]]:
    """Yield pairs of a target of any kind but SELECTION, each with its true answers, or None if these are not known.

    Args:
        target: a target of any kind but SELECTION.
        answers: the two true answers for additive noise; 0 and the sensitivity by default.
        most: the largest number of pairs for a target of kind DATASET. Other kinds get one pair.
        size: the number of records in the first input, for sums and means.
    """
    if target.kind is Kind.NOISE:
        pair, first, second = pair_of_answers(target, *map(float, answers or (0.0, target.sensitivity)))
        yield pair, (first, second)
    elif target.kind is Kind.DATASET:
        yield from zip(itertools.islice(dataset_pairs(target), most), itertools.repeat(None))
    else:
        near, far = ends(target)
        records, relation = np.full(size, near), target.relation or Relation.SUBSTITUTE
        others = np.append(records[1:] if relation is Relation.SUBSTITUTE else records, far)
        answer = np.mean if target.kind is Kind.MEAN else np.sum
        yield NeighbouringPair.records(records, others, relation), (float(answer(records)), float(answer(others)))


def adapted_pairs(target: Target, pairs: Iterable[NeighbouringPair]) -> Iterator[NeighbouringPair]:
    """Yield the pairs, moved into the target's domain if necessary; pairs that do not fit are left out."""
    for pair in pairs:
        with contextlib.suppress(OutsideDomain):
            yield target.adapted(pair)


def origin(target: Target) -> Any:
    """Return the answer nearest to 0 that the target takes."""
    return 0.0 if target.domain is None else target.domain.origin


def whole_only(target: Target) -> bool:
    """Whether the target takes whole numbers only."""
    return target.domain is not None and target.domain.integers


def bounds_of(target: Target) -> tuple[float, float]:
    """Return the bounds of a record of a sum or mean, moved inwards to records that the target's domain has.

    Raises:
        OutsideDomain: the domain has no two records within the bounds.
    """
    assert target.bounds is not None  # noqa: S101 - sums and means have bounds
    if target.domain is None:
        return target.bounds
    lower, upper = max(target.bounds[0], target.domain.low), min(target.bounds[1], target.domain.high)
    if target.domain.integers:
        lower, upper = Fraction(math.ceil(lower)), Fraction(math.floor(upper))
    if lower >= upper:
        raise OutsideDomain(f"the domain of {target.name} has no two records within its bounds")
    return float(lower), float(upper)


def ends(target: Target) -> tuple[float, float]:
    """Return two values of one record whose distance is at most the sensitivity, for add-remove and for substitute.

    Returns:
        The value near 0 and the value far from it: the bound of smaller magnitude (0 if the bounds' signs differ), and
        the bound of larger magnitude.
    """
    near, far = sorted(bounds_of(target), key=abs)
    return (near, far) if near * far > 0 else (0.0, far)


def on_path(near: float, far: float, size: int, uppers: int) -> NDArray[np.float64]:
    """Return a dataset of `size` records: the first `uppers` of them are `far`, the others are `near`."""
    records = np.full(size, near)
    records[:uppers] = far
    return records
