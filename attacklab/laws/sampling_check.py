"""The last check of a law: plain runs of the sampler, counted and compared with it.

It shares no code with what finds laws, and so catches what that has overlooked: a sampler that behaves differently on
ordinary bits, or whose behaviour changes from run to run. All runs draw from one source of bits, as in production.

**What is tested.** Let n be the number of runs, m the known mass of an outcome and u the unresolved mass of the law, so
that its probability lies in [m, m + u]. Its count is too high if P[Bin(n, m + u) ≥ count] < t, and too low if
P[Bin(n, m) ≤ count] < t. The same holds for blocks of rare outcomes, less likely than `RARE` each, which are neighbours
in the law's order; the blocks are fixed by the law alone. All outcomes that the law does not list are together too
frequent if P[Bin(n, u) ≥ count] < t; for a closed law one such outcome suffices.

**The false alarm.** t is `FALSE_ALARM` divided by the number of tests: two for each outcome and each block, one for the
outcomes not listed, times the number of values that n can have. For n may depend on how fast the runs are, hence on
their outcomes; so only the runs before one of the values runs, runs/2, runs/4, … are counted. Tails come from SciPy's
incomplete beta function, of which t is far larger than the relative error: a true law is refused with probability at
most `FALSE_ALARM`, up to that error.
"""

from __future__ import annotations

import math
import reprlib
import time
from array import array
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from attacklab.draws.errors import Contradicted, LawError, SamplerFailed
from attacklab.laws.law import Law
from attacklab.laws.outcomes import tag
from attacklab.model.errors import in_one_line, passes_through
from attacklab.model.random_bits import SeededBits

RUNS = 20_000
SECONDS = 30.0
"""Seconds after which no further run is begun."""

FALSE_ALARM = 1e-12
"""The largest probability with which a true law is refused."""

RARE = 2.0**-8
"""Outcomes of less mass than this are also counted together, in blocks of about this mass and larger ones."""

_ROUNDING = 2.0**-50
"""A bound on the relative error of sums of masses in floats."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The outcomes of plain runs of a sampler."""

    asked: int  # how many runs were asked for
    numbers: NDArray[np.uint32]  # the outcome of each run, as an index into the next two lists
    tags: list[Hashable]  # the tags of the different outcomes
    shown: list[str]  # the different outcomes as text


def plain_runs(sampler: Callable[..., Any], arguments: tuple[Any, ...], runs: int, seconds: float, seed: int) -> Runs:
    """Run `sampler(*arguments, bits)` up to `runs` times on one source of bits. No run begins after `seconds`.

    Raises:
        LawError: a run raised, or an outcome cannot be hashed.
    """
    bits, numbers = SeededBits(seed), array("I")
    known: dict[Hashable, int] = {}
    shown: list[str] = []
    end = time.monotonic() + seconds
    for run in range(1, runs + 1):
        try:
            outcome = sampler(*arguments, bits)
            number = known.setdefault(tag(outcome), len(known))
            if number == len(shown):
                shown.append(_outcome_text(outcome))
        except LawError:
            raise
        except BaseException as error:  # whatever the sampler raises
            if passes_through(error):
                raise
            raise SamplerFailed(f"plain run {run:,} of the sampler raised {in_one_line(error)}") from error
        numbers.append(number)
        if time.monotonic() > end:
            break
    return Runs(runs, np.array(numbers, dtype=np.uint32), list(known), shown)


def compare(law: Law, runs: Runs) -> int:
    """Compare plain runs with a law.

    Returns:
        The number of runs that were counted, from the first on.

    Raises:
        Contradicted: a true law would give such counts with probability at most `FALSE_ALARM`.
    """
    sizes = [runs.asked >> halvings for halvings in range(runs.asked.bit_length())]
    counted = max(size for size in sizes if size <= len(runs.numbers))
    outcomes: list[Hashable] = list(law)
    counts, stray = _counts(law, runs, counted)
    if law.closed and stray is not None:
        often, law_says = int(np.count_nonzero(runs.numbers == stray)), "but the law is closed and does not list it"
        raise _contradicted(f"outcome {runs.shown[stray]}", often, len(runs.numbers), law_says)

    def name(group: NDArray[np.int64]) -> str:
        if group[0] == len(law):
            return (
                f"an outcome that the law does not list{'' if stray is None else f', {runs.shown[stray]} among them'}"
            )
        if len(group) == 1:
            return f"outcome {_outcome_text(outcomes[group[0]])}"
        first, last = (_outcome_text(outcomes[group[end]]) for end in (0, -1))
        return f"one of {len(group):,} rare outcomes, in the law's order from {first} to {last},"

    masses = np.array([*map(float, law.masses.values()), 0.0])
    groups = [*np.roll(np.arange(len(masses)), 1).reshape(-1, 1), *_blocks(masses[:-1])]
    seen = np.array([counts[group].sum() for group in groups])
    expected = np.array([math.fsum(masses[group]) for group in groups])
    open_, threshold = float(law.unresolved), FALSE_ALARM / (len(sizes) * 2 * len(groups))
    # Every probability between a mass and that plus what is open is allowed.
    high = upper_tail(seen, counted, np.minimum(expected * (1 + _ROUNDING) + open_, 1.0))
    low = upper_tail(counted - seen, counted, 1 - expected * (1 - _ROUNDING))
    for place in np.flatnonzero(np.minimum(high, low) < threshold).tolist():
        mass, end = expected[place], expected[place] + open_
        says = f"{mass:.6g}" if mass == end else f"between {mass:.6g} and {end:.6g}"
        rarity = max(float(min(high[place], low[place])), 1e-300)
        event = f"count that {'high' if high[place] < low[place] else 'low'} is less likely than {rarity:.2g}"
        law_says = f"but the law says its probability is {says}, at which a {event}"
        raise _contradicted(name(groups[place]), int(seen[place]), counted, law_says)
    return counted


def _counts(law: Law, runs: Runs, counted: int) -> tuple[NDArray[np.int64], int | None]:
    """Count each outcome of the law, then all others, in the first `counted` runs. Also return one other's index."""
    places = {tag(outcome): place for place, outcome in enumerate(law)}
    counts, stray = np.zeros(len(law) + 1, dtype=np.int64), None
    for number, count in enumerate(np.bincount(runs.numbers[:counted], minlength=len(runs.tags)).tolist()):
        place = places.get(runs.tags[number], len(law))
        counts[place] += count
        stray = number if place == len(law) else stray
    return counts, stray


def _blocks(masses: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return blocks of neighbouring rare outcomes (their indices) of mass about `RARE`, and joins of 2, 4, … blocks."""
    rare = np.flatnonzero(masses < RARE)
    if len(rare) < 2:
        return []
    numbers = np.floor(np.cumsum(masses[rare]) / RARE).astype(np.int64)
    level = np.split(rare, np.flatnonzero(np.diff(numbers)) + 1)
    blocks = list(level)
    while len(level) > 1:
        level = [np.concatenate(level[at : at + 2]) for at in range(0, len(level), 2)]
        blocks += level
    return blocks


def upper_tail(counts: NDArray[np.int64], trials: int, probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P[Bin(trials, probability) ≥ count] for each count and its probability."""
    positive = np.maximum(counts, 1)
    tail = scipy.special.betainc(positive, trials - positive + 1, probability)
    return np.where(counts > 0, tail, 1.0)


def _contradicted(name: str, count: int, runs: int, reason: str) -> Contradicted:
    event = f"{name} came up {count:,} times in {runs:,} plain runs, {reason}"
    return Contradicted(f"{event}; let the sampler depend on nothing but its arguments and the bits that it draws")


def _outcome_text(outcome: Hashable) -> str:
    return f"{reprlib.repr(outcome)} of type {type(outcome).__name__}"
