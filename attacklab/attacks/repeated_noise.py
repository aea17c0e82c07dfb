"""Repeated noise: the same noise comes up again, in another call or in the same one, because it has few values.

A generator that is seeded with a constant gives the same noise to every call, whatever generator the caller passes; one
that is seeded from a clock or a counter gives it to some; noise from a table has no more values than the table. Then
an output tells its input, if it is compared bit for bit: the other input adds the same noise to another answer, and so
gives other outputs.

The adversary knows nothing but outputs. It draws some for both inputs of a pair, in calls of many trials and, if calls
of one trial agree more often than the trials of one call do, in calls of one. It bets that the output was seen before
from one input and not from the other. A pair is judged only if further calls bear this out, so that sound targets
cost no α. If outputs are few, such as the outcomes of a selection, and calls agree, it looks for the step of a utility
at which another outcome wins.

A negative result does not rule out noise with far more values than the calls that were compared, nor noise that repeats
within one run of a process and differs between runs.

Outputs that come up again show that the noise is fixed, or that it follows from the data, but not which of the two.

Source: Garfinkel and Leclerc 2020, 'Randomness Concerns When Deploying Differential Privacy'.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Probe, Scenario, as_floats, pairs_with_answers
from attacklab.attacks.failures import failed
from attacklab.attacks.features import NotUnderstood, hashes, numbers
from attacklab.auditing.statistics.choosing import expected_evidence
from attacklab.model.bisection import first
from attacklab.model.errors import OutsideDomain, TargetError
from attacklab.model.floats import power_of_two_within
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind, Outputs, Target, are_numbers

Sides: TypeAlias = tuple[Outputs, Outputs]  # outputs of either input of a pair

Atoms: TypeAlias = Callable[[Outputs], NDArray[np.uint64]]
"""Takes outputs and returns a hash of each, or of one number in each."""

PAIRS = 2  # how many pairs are tried
TOGETHER = 1 << 8  # how many outputs are drawn in a call of many
CALLS = 32  # how many calls of one trial are compared
BEYOND_CHANCE = 6.0  # by how many standard deviations calls must agree more often than the trials of one call
COLLECTED = 1 << 9  # how many calls of one trial the bet is learned from, once some have agreed
ENOUGH = 3.0  # the evidence, in nats, that further calls must show for a pair to be judged

OFTEN = 0.1
"""A bet is also judged if more than this share of one input's later outputs win it, and none of the other input's do.
At a large ε, these calls are too few for `ENOUGH` evidence."""

APART = 4.0
"""Sorted numbers lie on a grid if all gaps are whole multiples of the least, and the median gap at most this many."""

MOST_STEPS = 1 << 16  # by how many steps a utility is raised at the most until its outcome wins
COLUMNS = 8  # how many numbers of an output are looked at by themselves

SIZE = 8  # how many utilities or records the first input of a pair has; some targets refuse a single record


@dataclass(frozen=True)
class RepeatedNoise:
    """The attack on noise that comes up again."""

    name: str = "repeated_noise"
    flaw: str = "the same outputs come up again, and tell their input"
    whole_outputs: ClassVar[bool] = True

    def applies_to(self, target: Target) -> bool:
        """Whether the target is of another kind than DATASET, or declares pairs or a domain from which they follow."""
        return target.kind is not Kind.DATASET or bool(target.pairs) or target.domain is not None

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Yield the pairs whose outputs repeat, each with bets on the outputs seen from one input only.

        Raises:
            NotUnderstood: an output cannot be taken apart.
        """
        agree: bool | None = None
        for pair in _pairs(target):
            try:
                seen, again = (_drawn(pair, lambda input_: probe(input_, TOGETHER)) for _ in range(2))
                scenario = _repeated(pair, seen, again, target, "calls of many trials")
                if scenario is not None and not (
                    _lies_on_a_grid(seen[0]) and (not np.array_equal(hashes(seen[0]), hashes(again[0])))
                ):
                    yield scenario
                    continue
                agree = _calls_agree(target, pair, probe, seen[0]) if agree is None else agree
                if agree:
                    yield from _in_single_calls(target, pair, probe)
            except NotUnderstood:
                raise
            except TargetError:  # failing is for other attacks to look at
                continue


def _in_single_calls(target: Target, pair: NeighbouringPair, probe: Probe) -> Iterator[Scenario]:
    flipped = _flipped(target, probe) if target.kind is Kind.SELECTION else pair
    if flipped is not None:
        seen, again = (_drawn(flipped, partial(_in_calls, probe, calls=COLLECTED)) for _ in range(2))
        scenario = _repeated(flipped, seen, again, target, "calls of one trial")
        if scenario is not None:
            yield replace(scenario, sees_failures=True)  # so that every trial is a call of its own


def _pairs(target: Target) -> Iterator[NeighbouringPair]:
    yield from target.pairs[:PAIRS]
    with contextlib.suppress(OutsideDomain):
        if target.kind is Kind.SELECTION:
            yield _step(target, 0)
        else:
            undeclared = replace(target, pairs=())
            yield from (pair for pair, _ in pairs_with_answers(undeclared, most=PAIRS, size=SIZE))


def _step(target: Target, step: int, outcome: int = 0) -> NeighbouringPair:
    """Return the pair of utilities in which one outcome's utility is raised by `step` steps, and by one step more."""
    gap = power_of_two_within(target.sensitivity)
    sides = [np.zeros(SIZE), np.zeros(SIZE)]
    for raised, side in enumerate(sides):
        side[outcome] = gap * (step + raised)
    return target.adapted(NeighbouringPair.utilities(*sides, sensitivity=target.sensitivity))


def _flipped(target: Target, probe: Probe) -> NeighbouringPair | None:
    """Return utilities one step apart between which single calls start to select a rival outcome; None if never."""
    winner = int(probe(_step(target, 0).first, 1)[0])
    rival = (winner + 1) % SIZE
    step = first(lambda step: int(probe(_step(target, step, rival).first, 1)[0]) == rival, most=MOST_STEPS)
    return None if step is None else _step(target, step - 1, rival)


def _drawn(pair: NeighbouringPair, draw: Callable[[Any], Outputs]) -> Sides:
    return draw(pair.first), draw(pair.second)


def _in_calls(probe: Probe, input_: Any, calls: int) -> Outputs:
    outputs = [probe(input_, 1)[0] for _ in range(calls)]
    return np.fromiter(outputs, dtype=object, count=calls)


def _calls_agree(target: Target, pair: NeighbouringPair, probe: Probe, together: Outputs) -> bool:
    """Whether calls of one trial agree more often than trials of one call, or a selection gives one outcome only."""
    agreeing, pairs = _agreeing(hashes(together)), math.comb(len(together), 2)
    if target.kind is Kind.SELECTION and agreeing == pairs:
        return True
    expected = agreeing / pairs * math.comb(CALLS, 2)
    seen = _agreeing(hashes(_in_calls(probe, pair.first, CALLS)))
    return seen > expected + BEYOND_CHANCE * math.sqrt(expected)


def _lies_on_a_grid(outputs: Outputs) -> bool:
    """Whether outputs lie on a grid so coarse that sound noise repeats too."""
    if outputs.ndim > 1 or not are_numbers(outputs):
        return False
    values = as_floats(outputs)
    steps = np.diff(np.unique(values[np.isfinite(values)]))
    if not len(steps):
        return False
    whole = steps / steps.min()
    return bool(np.median(whole) <= APART and np.abs(whole - np.rint(whole)).max() < 2.0**-20)


def _agreeing(seen: NDArray[np.uint64]) -> int:
    """Return how many pairs of outputs are equal."""
    counts = np.unique(seen, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _repeated(pair: NeighbouringPair, seen: Sides, again: Sides, target: Target, calls: str) -> Scenario | None:
    """Return bets on the outputs in `seen` that only one input gave, if they win on those in `again`; else None."""
    columns = numbers(seen[0])[:COLUMNS]
    parts: list[tuple[str, Atoms]] = [("this very output", hashes)]
    if len(columns) > 1:
        parts += [(f"this very {column.description}", partial(_column, of=column.of)) for column in columns]
    bets = []
    for part, atoms in parts:
        known, later = [atoms(outputs[~failed(outputs)]) for outputs in seen], [atoms(outputs) for outputs in again]
        for side, words in enumerate(("first", "second")):
            only = np.setdiff1d(known[side], known[1 - side])
            rates = [float(np.isin(outputs, only).mean()) for outputs in later]
            evidence = len(later[0]) * float(expected_evidence([target.claim.nominal], *rates))
            if evidence > ENOUGH or (rates[side] > OFTEN and not rates[1 - side]):
                description = f"{calls} on the {words} input, and none on the other, gave {part} before"
                bets.append(Event(description, partial(_is_among, atoms=atoms, known=only)))
    return Scenario(pair, tuple(bets)) if bets else None


def _column(outputs: Outputs, *, of: Callable[[Outputs], NDArray[Any]]) -> NDArray[np.uint64]:
    return hashes(of(outputs))


def _is_among(outputs: Outputs, *, atoms: Atoms, known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    return np.isin(atoms(outputs), known)
