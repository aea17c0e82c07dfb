"""A net below the proof of a law: plain runs of the sampler, counted and compared with it.

It shares no code with what finds laws, and so catches what that has overlooked: a sampler that behaves differently on
ordinary bits, or whose behaviour changes from run to run. All runs draw from one source of bits, as in production.

**What is tested.** Let n be the number of runs, m the known mass of an outcome and u the unresolved mass of the law, so
that its probability lies in [m, m + u]. Its count is too high if P[Bin(n, m + u) ≥ count] < t, and too low if
P[Bin(n, m) ≤ count] < t. The same holds for blocks of rare outcomes, less likely than `RARE` each, which are neighbours
in the law's order. The blocks are fixed by the law alone. All outcomes that the law does not list are together too
frequent if P[Bin(n, u) ≥ count] < t; for a closed law, where u = 0, one such outcome suffices.

**The false alarm.** t = `FALSE_ALARM` divided by the number of tests: two for each outcome and each block, one for
the outcomes not listed, times the number of values that n can have. For n may depend on how fast the runs are, hence on
their outcomes; so only the runs before one of the values runs, runs/2, runs/4, … are counted. So a true law is refused
with probability at most `FALSE_ALARM`: every refusal rests on an upper bound on the tail, in which every operation is
rounded up. Floating point only chooses what to look at.
"""

from __future__ import annotations

import bisect
import math
import reprlib
import time
from array import array
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import gmpy2
import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray
from scipy import special

from attacklab.errors import passes_through
from attacklab.laws.errors import Contradicted, LawError, SamplerFailed
from attacklab.laws.law import Law
from attacklab.laws.outcomes import tag
from attacklab.random_bits import SeededBits

RUNS = 20_000
SECONDS = 30.0
"""After so long no further run is begun."""

FALSE_ALARM = mpq(1, 10**12)
"""The probability, at most, that a true law is refused."""

RARE = 2.0**-8
"""The mass below which outcomes are counted together, and of the smallest blocks of them."""

POWER = 0.95

_LOOKED_AT = 1e3
"""A tail is bounded exactly where floating point finds it less than so many times the threshold."""

_PRECISION = 128

_ROUNDED = mpq(1, 1 << 50)
"""Relative: more than a mass loses as a float (2^-52) and a correctly rounded sum of them (2^-53)."""

_UNDERFLOWN = mpq(1, 1 << 1000)
"""More than a mass loses as a float that is subnormal or 0."""

_HEAVIEST = 16
"""Among how many outcomes the one is sought whose deviation is hardest to see: the closest to probability 1/2."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Plain runs of a sampler.

    Attributes:
        asked: how many were asked for.
        numbers: for each run that was made, in order, the place of its outcome in `tags`.
        tags: the outcomes that came up: type and bits.
        told: the same outcomes as messages show them.
    """

    asked: int
    numbers: NDArray[np.uint32]
    tags: list[Hashable]
    told: list[str]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Plain runs that do not contradict a law, and what would have.

    Attributes:
        made: how many runs were made.
        counted: how many of them were counted: the first of them.
        off_by: a listed outcome whose probability lies this far outside of what the law says would have been refused
            with probability `POWER`; infinite if nothing would have been.
        unlisted: likewise for the probability of all outcomes that the law does not list.
    """

    made: int
    counted: int
    off_by: float
    unlisted: float

    def __str__(self) -> str:
        told = f"{self.made:,} plain runs agree with the law" if self.made > 1 else "1 plain run agrees with the law"
        if min(self.off_by, self.unlisted) >= 1:
            return f"{told}; too few to detect anything"
        kinds = []
        if self.off_by < 1:
            kinds.append(f"an outcome whose probability is off by {_rounded_up(self.off_by)}")
        if self.unlisted < 1:
            kinds.append(f"unlisted outcomes of probability {_rounded_up(self.unlisted)}")
        return f"{told}; {' or '.join(kinds)} would have been detected (power {POWER:.0%})"


_PLAIN = frozenset({int, str})
"""Types that are told apart by equality."""


def plain_runs(sampler: Callable[..., Any], arguments: tuple[Any, ...], runs: int, seconds: float, seed: int) -> Runs:
    """Run a sampler in this process, on one source of bits; see `require_agreement`.

    Args:
        sampler: draws from the source of bits that is its last argument.
        arguments: what precedes that.
        runs: how many runs are made.
        seconds: after so long no further one is begun.
        seed: of the source of bits.

    Raises:
        SamplerFailed: a run raised.
        OpaqueOutcome: an outcome cannot be hashed.
    """
    bits, numbers = SeededBits(seed), array("I")
    known: dict[Hashable, int] = {}
    told: list[str] = []
    end = time.monotonic() + seconds
    for run in range(1, runs + 1):
        try:
            outcome = sampler(*arguments, bits)
            key = tag(outcome)
            number = known.setdefault(key, len(known))
            if number == len(told):
                told.append(_told(outcome))
        except LawError:
            raise
        except BaseException as error:  # whatever the sampler raises
            if passes_through(error):
                raise
            one_line = " ".join(f"{type(error).__name__}: {error}".split())
            raise SamplerFailed(f"plain run {run:,} of the sampler raised {one_line}") from error
        numbers.append(number)
        if time.monotonic() > end:
            break
    return Runs(runs, np.array(numbers, dtype=np.uint32), list(known), told)


def compare(law: Law, runs: Runs) -> Agreement:
    """Compare plain runs with a law.

    Raises:
        Contradicted: a true law would give such counts with probability at most `FALSE_ALARM`.
    """
    places = _places(law, runs)
    sizes = [runs.asked >> halvings for halvings in range(runs.asked.bit_length())]
    counted = max(size for size in sizes if size <= len(runs.numbers))
    counts, unlisted, told = np.zeros(len(law), dtype=np.int64), 0, ""
    for number, count in enumerate(np.bincount(runs.numbers[:counted], minlength=len(runs.tags)).tolist()):
        if number in places:
            counts[places[number]] = count
        elif law.closed:
            often = int(np.count_nonzero(runs.numbers == number))
            reason = "but the law is closed and does not list it"
            raise _contradicted(f"outcome {runs.told[number]}", often, len(runs.numbers), reason)
        else:
            unlisted, told = unlisted + count, f", {runs.told[number]} among them"

    masses = list(law.masses.values())
    floats = np.fromiter(map(float, masses), dtype=np.float64, count=len(masses))
    blocks = _blocks(floats)
    tests = 2 * (len(masses) + len(blocks)) + 1
    threshold = FALSE_ALARM / (len(sizes) * tests)

    unlisted_name = f"an outcome that the law does not list{told}"
    _check(unlisted_name, unlisted, counted, mpq(0), law.unresolved, threshold)
    outcomes: list[Hashable] = list(law)
    for place in _suspects(counts, counted, floats, floats + float(law.unresolved), float(threshold)):
        mass = masses[place]
        _check(f"outcome {_told(outcomes[place])}", counts[place], counted, mass, mass + law.unresolved, threshold)
    counts_of_blocks = np.array([counts[block.places].sum() for block in blocks], dtype=np.int64)
    least, most = (np.array([float(b[end]) for b in blocks]) for end in (1, 2))
    for number in _suspects(counts_of_blocks, counted, least, most + float(law.unresolved), float(threshold)):
        block = blocks[number]
        ends = [_told(outcomes[block.places[end]]) for end in (0, -1)]
        name = f"one of {len(block.places):,} rare outcomes, in the law's order from {ends[0]} to {ends[1]},"
        _check(name, counts_of_blocks[number], counted, block.least, block.most + law.unresolved, threshold)
    return _agreement(floats, float(law.unresolved), len(runs.numbers), counted, float(threshold))


def binomial_tail(count: int, trials: int, probability: Any) -> Any:
    """An upper bound on the probability that at least `count` of some independent trials succeed.

    Args:
        count: how many.
        trials: of how many.
        probability: of success in each, a rational number in [0, 1].

    Returns:
        A rational number, hardly larger than the probability: every operation is rounded up.
    """
    if count <= 0:
        return mpq(1)
    if count > trials or probability <= 0:
        return mpq(0)
    if probability >= 1:
        return mpq(1)
    with gmpy2.context(precision=_PRECISION, round=gmpy2.RoundUp):
        odds = gmpy2.mpfr(mpq(probability) / (1 - mpq(probability)))
        term = gmpy2.mpfr(gmpy2.bincoef(trials, count))
        term = term * gmpy2.mpfr(probability) ** count * gmpy2.mpfr(1 - mpq(probability)) ** (trials - count)
        added = term
        for successes in range(count, trials):
            shrinks = 2 * (trials - successes) * odds <= successes + 1  # each term is then at most half of the last
            term = term * (trials - successes) * odds / (successes + 1)
            if shrinks and term <= gmpy2.div_2exp(added, _PRECISION // 2):
                added += 2 * term
                break
            added += term
        return min(mpq(added), mpq(1))


def _places(law: Law, runs: Runs) -> dict[int, int]:
    """The number of each outcome that came up and is listed, and its place in the law."""
    numbers = {key: number for number, key in enumerate(runs.tags)}
    keys = ((type(outcome), outcome) if type(outcome) in _PLAIN else tag(outcome) for outcome in law)
    found = ((numbers.get(key), place) for place, key in enumerate(keys))
    return {number: place for number, place in found if number is not None}


class _Block(NamedTuple):
    """Places of rare outcomes in the law, and bounds on their mass together."""

    places: NDArray[np.int64]
    least: Any
    most: Any


def _blocks(floats: NDArray[np.float64]) -> list[_Block]:
    """Neighbouring rare outcomes: blocks about as likely as `RARE`, those two by two, and so on to all of them."""
    rare = np.flatnonzero(floats < RARE)
    if len(rare) < 2:
        return []
    numbers = np.floor(np.cumsum(floats[rare]) / RARE).astype(np.int64)
    level = []
    for places in np.split(rare, np.flatnonzero(np.diff(numbers)) + 1):
        mass = mpq(math.fsum(floats[places]))
        slack = mass * _ROUNDED + _UNDERFLOWN * len(places)
        level.append(_Block(places, mass - slack, mass + slack))
    blocks = list(level)
    while len(level) > 1:
        level = [_joined(level[at : at + 2]) for at in range(0, len(level), 2)]
        blocks += level
    return blocks


def _joined(blocks: list[_Block]) -> _Block:
    places, least, most = zip(*blocks, strict=True)
    return _Block(np.concatenate(places), sum(least), sum(most))


def _suspects(
    counts: NDArray[np.int64],
    trials: int,
    least: NDArray[np.float64],
    most: NDArray[np.float64],
    threshold: float,
) -> Iterator[int]:
    """The places of counts that look too high or too low for probabilities between two bounds, by floating point."""
    limit = _LOOKED_AT * threshold
    seen = np.flatnonzero(counts)
    yield from seen[_upper_tail(counts[seen], trials, np.minimum(most[seen], 1.0)) < limit].tolist()
    likely = np.flatnonzero((trials * np.log1p(-np.minimum(least, 1 - 2.0**-53)) < math.log(limit)) & (counts < trials))
    yield from likely[_upper_tail(trials - counts[likely], trials, 1 - least[likely]) < limit].tolist()


def _upper_tail(count: Any, trials: int, probability: Any) -> Any:
    """P[Bin ≥ count] in floating point, for a count of 1 or more."""
    return special.betainc(count, trials - count + 1, probability)


def _check(name: str, count: int, trials: int, least: Any, most: Any, threshold: Any) -> None:
    """Refuse a count that is too high for the one probability or too low for the other."""
    high = binomial_tail(int(count), trials, most)
    low = binomial_tail(trials - int(count), trials, 1 - least)
    if min(high, low) < threshold:
        shown = max(float(min(high, low)), 1e-300)
        law = f"{float(least):.6g}" if least == most else f"between {float(least):.6g} and {float(most):.6g}"
        how = f"count that {'high' if high < low else 'low'} is less likely than {shown:.2g}"
        raise _contradicted(name, int(count), trials, f"but the law says its probability is {law}, at which a {how}")


def _contradicted(name: str, count: int, runs: int, reason: str) -> Contradicted:
    told = f"{name} came up {count:,} times in {runs:,} plain runs, {reason}"
    return Contradicted(f"{told}; let the sampler depend on nothing but its arguments and the bits that it draws")


def _told(outcome: Hashable) -> str:
    return f"{reprlib.repr(outcome)} of type {type(outcome).__name__}"


def _agreement(masses: NDArray[np.float64], unresolved: float, made: int, counted: int, threshold: float) -> Agreement:
    nearest = np.argsort(np.abs(masses - 0.5))[:_HEAVIEST]
    ends = [*np.minimum(masses[nearest] + unresolved, 1.0).tolist(), *(1 - masses[nearest]).tolist()]
    found = [(end, _detected(end, counted, threshold)) for end in ends]
    off_by = max((least - end for end, least in found if least < math.inf), default=math.inf)
    # What cannot be detected matters only if a probability can be off by as much: by the distance to 1 (or to 0).
    is_seen = all(1 - end < off_by for end, least in found if least == math.inf)
    return Agreement(made, counted, off_by if is_seen else math.inf, _detected(unresolved, counted, threshold))


def _detected(most: float, trials: int, threshold: float) -> float:
    """The probability of an event that is refused with probability `POWER`, where the law says at most `most`."""
    counts = range(1, trials + 1)
    least = 1 + bisect.bisect_left(counts, True, key=lambda count: bool(_upper_tail(count, trials, most) < threshold))
    return float(special.betaincinv(least, trials - least + 1, POWER)) if least <= trials else math.inf


def _rounded_up(number: float) -> str:
    """Text for a number, rounded up to two significant digits."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return f"{math.ceil(number / unit) * unit:.2g}"
