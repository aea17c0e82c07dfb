"""Every kind of term has, on small inputs, a law that keeps its claim and comes near it, for one draw and for many."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from attacklab.model.random_bits import SeededBits
from mechanisms.core.claims import ApproximateDP
from mechanisms.core.distances import Distances
from mechanisms.core.flip import RationalResponse, Response, ShuffledResponse
from mechanisms.core.grid import Grid
from mechanisms.core.kernel import Kernel
from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace, RoundedLaplace
from mechanisms.core.noisy import Noisy
from mechanisms.core.noisy_max import NoisyMax, PermuteAndFlip
from mechanisms.core.records import Answer, CountFrom, Histogram, Total
from mechanisms.core.restated import Restated
from mechanisms.core.sample import FixedSample, PoissonSample
from mechanisms.core.scores import utilities
from mechanisms.core.select_dyadic import SelectBase2
from mechanisms.core.snapped import Snapped
from mechanisms.core.term import Mechanism
from mechanisms.core.threshold import AboveThreshold, KeysAbove
from mechanisms.interactive.exact import exact_query_session
from tests.mechanisms.enumeration import Law, law_of

ONE, HALF = Fraction(1), Fraction(1, 2)
ANSWER = Answer(ONE, Grid(0))
UNIT, NARROW = DiscreteLaplace(ONE), DiscreteLaplace(HALF)
GAUSSIAN = Noisy(ANSWER, DiscreteGaussian(ONE))
ROWS, IMPOSSIBLE = ((5, 2, 1), (2, 4, 2), (1, 2, 5)), ((4, 4, 0), (2, 4, 2), (1, 2, 5))
BITS = [*product((0, 1), repeat=2)]
ADDED: list[Any] = [[], [0], [1], [0, 1], [1, 1]]
FEW = [*product((0, HALF, 1), repeat=2)]


def no_further(x: Any, y: Any) -> bool:
    """Numbers, or lists of numbers, that are at most 1 apart."""
    return bool(np.abs(np.subtract(x, y, dtype=object)).max() <= 1)


def one_replaced(x: Sequence[Any], y: Sequence[Any]) -> bool:
    return sum(a != b for a, b in zip(x, y, strict=True)) == 1


def one_more(x: Sequence[Any], y: Sequence[Any]) -> bool:
    return (Counter(x) - Counter(y)).total() + (Counter(y) - Counter(x)).total() == 1


def any_two(x: Any, y: Any) -> bool:
    return x is not y


class Small(NamedTuple):
    """A term, inputs, which of them are neighbours, and the least share of the claim's ε, or δ, that is reached."""

    term: Mechanism
    inputs: list[Any]
    are_neighbours: Callable[[Any, Any], bool]
    reached: float = 0.999


TERMS = {
    "noise": Small(Noisy(ANSWER, UNIT), [0, 0.4, 1], no_further),
    "rounded noise": Small(Noisy(ANSWER, RoundedLaplace(ONE)), [0, 0.4, 1], no_further, 0.99),
    "normal noise": Small(Restated(GAUSSIAN, ApproximateDP(ONE, GAUSSIAN.law.delta(1, ONE))), [0, 1], no_further),  # type: ignore[attr-defined]
    "a histogram": Small(Noisy(Histogram(("a", "b"), "substitute"), UNIT), [["a"], ["b"], ["c"]], one_replaced, 0.9),
    "a sum": Small(Noisy(Total(-ONE, 2 * ONE, Grid(0), "add-remove"), UNIT), [[], [-1], [2], [9]], one_more),
    "a table": Small(Kernel(ANSWER, -1, ROWS), [-1, 0, 1], no_further),
    "a table and a delta": Small(Kernel(ANSWER, -1, IMPOSSIBLE, HALF), [-1, 0, 1], no_further),
    "snapped noise": Small(Snapped(Fraction(3, 4), HALF, Fraction(15, 2)), [6.25, 7], no_further),
    "a response": Small(Response(ONE), [True, False], any_two),
    "a rational response": Small(RationalResponse(Fraction(1, 4)), [True, False], any_two),
    "shuffled responses": Small(ShuffledResponse(Fraction(1, 8), 2, HALF), BITS, one_replaced),
    "a session": Small(exact_query_session(epsilon=1.5), [True, False], any_two),
    "a sample": Small(PoissonSample(Noisy(CountFrom(), UNIT), Fraction(1, 4)), ADDED, one_more, 0.9),
    "a sample of a size": Small(FixedSample(Noisy(CountFrom(ONE, "substitute"), UNIT), 1, 2), BITS, one_replaced, 0.7),
    "a stream": Small(AboveThreshold(ANSWER, ONE, 1, UNIT, DiscreteLaplace(2 * ONE)), BITS, no_further, 0.3),
    "keys": Small(KeysAbove(NARROW, 3), [["a"], ["a", "b"], ["a", "a"], []], one_more),
    "a selection in base 2": Small(SelectBase2(utilities(utility_range=(0, 1)), Fraction(3, 4)), FEW, no_further, 0.49),
    "monotone utilities": Small(
        SelectBase2(utilities(utility_range=(0, 1), monotone=True), HALF), [(0, 0), (0, 1), (1, 1)], no_further, 0.5
    ),
    "distances": Small(SelectBase2(Distances(ONE, 0 * ONE, 7 * ONE, Grid(0)), HALF), [*range(8)], no_further, 0.6),
    "noisy maxima": Small(NoisyMax(utilities(utility_range=(0, 1)), ONE), FEW, no_further, 0.5),
    "coins": Small(PermuteAndFlip(utilities(utility_range=(0, 2)), ONE), FEW, no_further, 0.5),
}  # fmt: skip


def excess(p: Law, q: Law, epsilon: Fraction) -> float:
    """At least Σ max(P − e^ε·Q, 0), all that the enumeration leaves open of P included."""
    left_open = 1 - sum(p.values())
    return float(left_open) + sum(
        max(float(mass) - math.exp(epsilon) * float(q.get(y, 0)), 0.0) for y, mass in p.items()
    )


@pytest.mark.parametrize("name", TERMS)
def test_a_term_keeps_its_claim_on_all_small_neighbours_and_comes_near_it_in_both_ways_of_drawing(name: str) -> None:
    """1,000 draws stray from a probability by 0.13 with probability below 2·e^−33 (Hoeffding)."""
    term, inputs, are_neighbours, reached = TERMS[name]
    laws = [law_of(partial(_released, term, x), smallest=Fraction(1, 1 << 18)) for x in inputs]
    claim: Any = term.claim
    pairs = [
        (p, q)
        for x, p in zip(inputs, laws, strict=True)
        for y, q in zip(inputs, laws, strict=True)
        if are_neighbours(x, y)
    ]
    assert pairs
    slack = 1e-12 + max(float(1 - sum(law.values())) for law in laws)
    assert slack < 0.01
    worst = max(excess(p, q, claim.epsilon) for p, q in pairs)
    assert worst <= float(claim.delta) + (1 + math.exp(claim.epsilon)) * slack
    if claim.delta:
        assert worst >= reached * float(claim.delta)
    else:
        losses = [math.log(mass / q[y]) for p, q in pairs for y, mass in p.items() if y in q and mass > 100 * slack]
        assert reached * claim.epsilon <= max(losses) <= float(claim.epsilon) + 0.02
    for x, law in zip(inputs[:2], laws, strict=False):
        drawn = term.many(x, 1_000, SeededBits(1))
        seen = Counter(map(_plain, drawn))
        assert all(abs(seen[y] / 1_000 - float(mass)) < 0.13 for y, mass in law.items())


def _released(term: Mechanism, x: Any, bits: Any) -> Any:
    return _plain(term.release(x, bits))


def _plain(output: Any) -> Any:
    """An output of one draw or of many, in a form that can be counted."""
    return (
        tuple(output.tolist())
        if isinstance(output, np.ndarray)
        else output.item()
        if hasattr(output, "item")
        else output
    )
