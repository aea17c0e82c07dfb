"""Search for the pair of inputs that shows a flaw best, and shrink it to the smallest pair that still shows it.

Every pair is judged as in any audit, by an attack made for it. Three stages: pairs are tried and the one with the most
evidence against the claim is kept; it is changed for as long as the evidence grows; then numbers are taken away and
made simpler for as long as the claim stays refuted. All that is only choosing. The witness that is left is audited on
fresh outputs with an α of its own, and only that is a finding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

import numpy as np

from attacklab.attacks.base import Attack, Event, Probe, Scenario
from attacklab.attacks.black_box import BlackBox
from attacklab.attacks.candidate_pairs import candidate_pairs
from attacklab.betting import evidence
from attacklab.findings import Finding
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.referee import DEFAULT_ALPHA, DEFAULT_TRIALS, audit
from attacklab.targets import Target

Column: TypeAlias = tuple[float | None, float | None]
"""One outcome's utilities, or one person's record, in the first and in the second input; None where it is not there."""

SEARCH_TRIALS = 2_000
SEARCH_LEARNING = 2_048
PROMISING = math.log(1_000)
"""The evidence that makes a pair worth shrinking, and that a smaller one has to keep."""

KEPT_BITS = (0, 1, 2, 4, 8, 16, 32)
"""To how many leading bits numbers are cut."""

MOST_CHANGES = 32
"""Improvements before the search stops."""


@dataclass(frozen=True)
class Witness:
    """What a search came to.

    Attributes:
        pair: the smallest pair that was found to show the flaw.
        finding: what an audit of that pair on fresh outputs says.
        code: Python that repeats that audit, given the target under the name `target`.
        tried: how many pairs were looked at on the way.
    """

    pair: NeighbouringPair
    finding: Finding
    code: str
    tried: int


def learned_attack(pair: NeighbouringPair) -> Attack:
    """The black-box attack on one pair, with as many outputs to learn from as a search can afford."""
    return BlackBox(pairs=(pair,), learning=SEARCH_LEARNING)


def search(
    target: Target,
    pairs: Iterable[NeighbouringPair] | None = None,
    *,
    attack: Callable[[NeighbouringPair], Attack] = learned_attack,
    trials: int = DEFAULT_TRIALS,
    alpha: float = DEFAULT_ALPHA,
    seed: int = 0,
) -> Witness | None:
    """Search for a pair that refutes the claim, shrink it, and audit what is left.

    Args:
        target: the implementation.
        pairs: where the search starts: drawn from a strategy (`strategies.drawn`), or any others; by default those that
            the black-box attack would try.
        attack: the attack on a given pair.
        trials: the most outputs of either input in the last audit.
        alpha: of the last audit; the search before it costs none.
        seed: what all randomness is derived from.

    Returns:
        The witness and its finding; None where no pair looked worth a last audit.

    Raises:
        ValueError: an argument is out of range, or there are no pairs (a DATASET target needs them given).
    """
    starts = _proposed(target, seed) if pairs is None else tuple(pairs)
    if not starts:
        raise ValueError("a search needs pairs to start from")
    looks = _Looks(target, attack, seed)
    pair = _shrunk(_improved(max(starts, key=looks.at), target, looks), target, looks)
    if looks.at(pair) < PROMISING:
        return None
    last, last_seed = attack(pair), 2 * seed + 1
    findings = audit(target, [last], trials=trials, alpha=alpha, seed=last_seed)
    finding = max(findings, key=_evidence)
    return Witness(pair, finding, replay_code(pair, target, last, trials, alpha, last_seed), looks.tried)


@dataclass(frozen=True)
class _Proposals:
    """Keeps the pairs that the black-box attack would try; only the referee runs a target, so this is an attack too."""

    pairs: list[NeighbouringPair] = field(default_factory=list)
    name: str = "proposals"
    flaw: str = "none"

    def applies_to(self, target: Target) -> bool:  # noqa: ARG002 - asked of those only that have candidate pairs
        return True

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        self.pairs.extend(candidate_pairs(target, probe, BlackBox().outcomes))
        nothing = Event("nothing", lambda outputs: np.zeros(len(outputs), dtype=bool))
        return [Scenario(self.pairs[0], (nothing,), sees_failures=True)]


def _proposed(target: Target, seed: int) -> tuple[NeighbouringPair, ...]:
    proposals = _Proposals()
    audit(target, [proposals], trials=1, seed=2 * seed)
    return tuple(proposals.pairs)


class _Looks:
    """The evidence that each pair shows in a short audit, looked at once."""

    def __init__(self, target: Target, attack: Callable[[NeighbouringPair], Attack], seed: int) -> None:
        self._target, self._attack, self._seed = target, attack, seed
        self._seen: dict[str, float] = {}

    @property
    def tried(self) -> int:
        return len(self._seen)

    def at(self, pair: NeighbouringPair) -> float:
        key = input_code(pair.first) + input_code(pair.second)
        if key not in self._seen:
            findings = audit(
                self._target, [self._attack(pair)], trials=SEARCH_TRIALS, seed=2 * self._seed, spend_all=True
            )
            self._seen[key] = max(map(_evidence, findings))
        return self._seen[key]


def _evidence(finding: Finding) -> float:
    return -math.inf if finding.counts is None else evidence(finding.claim, finding.counts)


def _improved(pair: NeighbouringPair, target: Target, looks: _Looks) -> NeighbouringPair:
    for _ in range(MOST_CHANGES):
        better = max(_rebuilt(pair, _changes(pair, target), target), key=looks.at, default=pair)
        if looks.at(better) <= looks.at(pair):
            break
        pair = better
    return pair


def _shrunk(pair: NeighbouringPair, target: Target, looks: _Looks) -> NeighbouringPair:
    while True:
        smaller = (
            one
            for one in _rebuilt(pair, _simplifications(_columns(pair)), target)
            if _size(_columns(one)) < _size(_columns(pair)) and looks.at(one) >= PROMISING
        )
        simpler = next(smaller, None)
        if simpler is None:
            return pair
        pair = simpler


def _columns(pair: NeighbouringPair) -> list[Column]:
    """The two inputs side by side; empty for graphs and for what is no vector, which are not changed."""
    if pair.relation in (Relation.NODE, Relation.EDGE):
        return []
    first, second = (np.atleast_1d(np.asarray(side)) for side in (pair.first, pair.second))
    if first.dtype.kind not in "iuf" or second.dtype.kind not in "iuf" or max(first.ndim, second.ndim) > 1:
        return []
    one, other = first.tolist(), second.tolist()
    if pair.relation is Relation.ADD_REMOVE:
        shorter, longer = sorted((one, other), key=len)
        place = next((i for i, value in enumerate(shorter) if value != longer[i]), len(shorter))
        (one if shorter is one else other).insert(place, None)
    return list(zip(one, other, strict=True))


def _rebuilt(pair: NeighbouringPair, versions: Iterable[list[Column]], target: Target) -> Iterator[NeighbouringPair]:
    """Pairs like this one from other columns, where they are neighbours still."""
    for columns in versions:
        if not columns:
            continue
        first, second = ([value for value in side if value is not None] for side in zip(*columns, strict=True))
        try:
            if pair.relation is not None:
                yield NeighbouringPair.records(first, second, pair.relation)
            elif np.ndim(pair.first):
                yield NeighbouringPair.utilities(first, second, sensitivity=target.sensitivity)
            else:
                yield NeighbouringPair.answers(first[0], second[0], sensitivity=target.sensitivity)
        except ValueError:
            continue


def _changes(pair: NeighbouringPair, target: Target) -> Iterator[list[Column]]:
    """Larger and smaller numbers, further apart; records at the bounds and more of them."""
    columns = _columns(pair)
    if pair.relation is None:
        for factor in (0.5, 2.0, -1.0):
            yield [_each(column, lambda y: factor * y) for column in columns]  # noqa: B023 - called at once
            yield [_moved(column, lambda y: factor * y) for column in columns]  # noqa: B023 - called at once
        for apart in (target.sensitivity, -target.sensitivity):
            widened = [_apart(column, apart) for column in columns]
            yield widened
            for place in range(len(columns)):
                yield [*columns[:place], widened[place], *columns[place + 1 :]]
        return
    for bound in target.bounds or ():
        at_bound = [_each(column, lambda _: bound) for column in columns]  # noqa: B023 - called at once
        for moves_shared in (True, False):
            yield [
                moved if _is_shared(column) is moves_shared else column
                for column, moved in zip(columns, at_bound, strict=True)
            ]
    yield columns + [column for column in columns if _is_shared(column)]


def _simplifications(columns: list[Column]) -> Iterator[list[Column]]:
    """Fewer columns first, then simpler numbers: together, and one by one."""
    length = len(columns)
    step = length // 2
    while step:
        for start in range(0, length, step):
            yield columns[:start] + columns[start + step :]
        step //= 2
    yield from _simpler(columns)
    for place in range(length):
        for (column,) in _simpler(columns[place : place + 1]):
            yield [*columns[:place], column, *columns[place + 1 :]]


def _simpler(columns: list[Column]) -> Iterator[list[Column]]:
    """The same columns moved, with fewer bits to each number, and without a difference."""
    numbers = {value for column in columns for value in column if value is not None}
    for origin in sorted(numbers, key=abs, reverse=True):
        yield [_each(column, lambda y: y - origin) for column in columns]  # noqa: B023 - called at once
    for bits in KEPT_BITS:
        yield [_each(column, lambda y: _with_bits(y, bits)) for column in columns]  # noqa: B023 - called at once
        yield [_moved(column, lambda y: _with_bits(y, bits)) for column in columns]  # noqa: B023 - called at once
    yield [_apart(column, 0.0) for column in columns]


def _is_shared(column: Column) -> bool:
    return column[0] == column[1]


def _each(column: Column, change: Callable[[float], float]) -> Column:
    one, other = column
    return None if one is None else change(one), None if other is None else change(other)


def _moved(column: Column, change: Callable[[float], float]) -> Column:
    """Change the first number and keep the distance of the second."""
    one, other = column
    return column if one is None or other is None else (change(one), change(one) + (other - one))


def _apart(column: Column, distance: float) -> Column:
    one, other = column
    return column if one is None or other is None else (one, one + distance)


def _with_bits(value: float, bits: int) -> float:
    """The number with so many leading bits only; 0 for none."""
    if bits == 0 or not math.isfinite(value):
        return 0.0
    significand, power = math.frexp(value)
    return math.ldexp(math.trunc(math.ldexp(significand, bits)), power - bits)


def _size(columns: list[Column]) -> tuple[int, int, int]:
    """What shrinks: the number of columns, the differences between the inputs, the bits that their numbers take."""
    numbers = [value for column in columns for value in column if value is not None]
    return len(columns), sum(one != other for one, other in columns), sum(map(_bits, numbers))


def _bits(value: float) -> int:
    """Significant bits, and those of the exponent's distance from 0; 0 for 0, one more for a negative number."""
    if value == 0:
        return 0
    numerator, denominator = float(value).as_integer_ratio()
    trailing = (numerator & -numerator).bit_length() - 1
    return abs(numerator).bit_length() - trailing + (trailing + denominator.bit_length() - 1) + (value < 0)


def input_code(value: Any) -> str:
    """Python that builds an input of a pair, every bit kept."""
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()!r}, dtype=np.{value.dtype.name})" if value.dtype.kind != "O" else repr(value)
    return repr(value)


def replay_code(pair: NeighbouringPair, target: Target, attack: Attack, trials: int, alpha: float, seed: int) -> str:
    """Python that audits `target` by an attack made for this pair."""
    kind = type(attack)
    inputs = f"{input_code(pair.first)},\n    {input_code(pair.second)}"
    if pair.relation in (Relation.NODE, Relation.EDGE):
        made = f"NeighbouringPair.graphs(\n    {inputs},\n    Relation.{pair.relation.name},\n)"
    elif pair.relation is not None:
        made = f"NeighbouringPair.records(\n    {inputs},\n    Relation.{pair.relation.name},\n)"
    else:
        maker = "utilities" if np.ndim(pair.first) else "answers"
        made = f"NeighbouringPair.{maker}(\n    {inputs},\n    sensitivity={target.sensitivity!r},\n)"
    return f"""\
import numpy as np

from attacklab import NeighbouringPair, Relation, audit
from {kind.__module__} import {kind.__name__}

pair = {made}
findings = audit(target, [{kind.__name__}({_settings(attack, pair)})], trials={trials}, alpha={alpha!r}, seed={seed})
"""


def _settings(attack: Any, pair: NeighbouringPair) -> str:
    changed = []
    for one in fields(attack):
        value = getattr(attack, one.name)
        if isinstance(value, tuple) and any(item is pair for item in value):
            changed.append(f"{one.name}=(pair,)")
        elif value != one.default:
            changed.append(f"{one.name}={value!r}")
    return ", ".join(changed)
