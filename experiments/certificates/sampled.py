"""Drafts of certificates of sampled counts, shuffled answers and a session: every input of their finite domains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, factorial
from typing import Any

from gmpy2 import mpq
from mechanisms.interactive.adversary import BUDGET, CHEAP, DEAR
from mechanisms.laplace.exact_geometric import FixedWorkNoise
from mechanisms.subsampling.amplification import delta_of_shuffled

from attacklab.certificates import Draft, encoded
from attacklab.laws.enclosures import float_above
from experiments.certificates.finite import Law, small_scope
from experiments.targets.sampled import FINENESS, FLIP, PEOPLE, RATE, SHARE, SIZE, eta_of_sample
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.interactive.exact import exact_query_session
from mechanisms.subsampling.exact import exact_poisson_count, exact_sampled_count, exact_shuffled_response

Vector = tuple[int, ...]


def _noisy(counts: Mapping[int, mpq], eta: BaseTwoEta, most: int) -> Law:
    """The law of a count with noise, clamped to 0 … most."""
    noise = FixedWorkNoise(eta, most)
    law: Counter[int] = Counter()
    for (count, p), (place, weight) in product(counts.items(), enumerate(noise.weights)):
        law[min(max(count + place - most, 0), most)] += p * mpq(weight, 1 << noise.bits)
    return law


def _poisson(records: Vector) -> Law:
    yes, rate = sum(records), mpq(RATE)
    counts = {kept: comb(yes, kept) * rate**kept * (1 - rate) ** (yes - kept) for kept in range(yes + 1)}
    return _noisy(counts, eta_of_sample(1.0, RATE), PEOPLE)


def _sampled(records: Vector) -> Law:
    samples = list(combinations(records, SIZE))
    counts: Counter[int] = Counter()
    for sample in samples:
        counts[sum(sample)] += mpq(1, len(samples))
    return _noisy(counts, eta_of_sample(1.0, SHARE), SIZE)


def _shuffled(records: Vector) -> Law:
    law: Counter[Vector] = Counter()
    for flips in product((0, 1), repeat=len(records)):
        mass = mpq(FLIP) ** sum(flips) * mpq(1 - FLIP) ** (len(flips) - sum(flips))
        answers = [answer ^ flip for answer, flip in zip(records, flips, strict=True)]
        for order in permutations(answers):
            law[order] += mass / factorial(len(records))
    return law


def _poisson_count() -> Draft:
    return small_scope(
        exact_poisson_count,
        {"eta": eta_of_sample(1.0, RATE), "rate": RATE, "most": PEOPLE},
        _poisson,
        values=2,
        lengths=range(PEOPLE + 1),
        neighbours="add-remove",
        epsilon=Fraction(1),
        closed=True,
    )


def _sampled_count() -> Draft:
    return small_scope(
        exact_sampled_count,
        {"eta": eta_of_sample(1.0, SHARE), "size": SIZE, "most": SIZE},
        _sampled,
        values=2,
        lengths=(PEOPLE,),
        neighbours="substitute",
        epsilon=Fraction(1),
        closed=True,
    )


def _shuffled_response() -> Draft:
    return small_scope(
        exact_shuffled_response,
        {"flip": FLIP},
        _shuffled,
        values=2,
        lengths=(PEOPLE,),
        neighbours="substitute",
        epsilon=Fraction(1),
        delta=Fraction(float_above(delta_of_shuffled(1.0, FLIP, PEOPLE))),
        closed=True,
    )


def _query_session() -> Draft:
    eta = BaseTwoEta.from_epsilon(Fraction(1, BUDGET), y=FINENESS, monotone=True)

    def law(secret: bool) -> list[Any]:
        """A dear answer, and a cheap one after it, since another dear one is refused."""

        def of(answer: int, price: int) -> mpq:
            lie = eta.decay**price / (1 + eta.decay**price)
            return 1 - lie if answer == secret else lie

        masses = {pair: of(pair[0], DEAR) * of(pair[1], CHEAP) for pair in product((0, 1), repeat=2)}
        return [[encoded(pair), f"{mass.numerator}/{mass.denominator}"] for pair, mass in masses.items()]

    return Draft(
        theorem="finite_inputs",
        functions={"reference": exact_query_session},
        parameters={"eta": eta},
        neighbours="the listed pairs",
        claim={"kind": "pure", "epsilon": "1"},
        evidence={
            "inputs": {"listed": [encoded(True), encoded(False)]},
            "pairs": [[0, 1]],
            "laws": [law(True), law(False)],
        },
    )


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "exact_poisson_count": _poisson_count,
    "exact_sampled_count": _sampled_count,
    "exact_shuffled_response": _shuffled_response,
    "exact_query_session": _query_session,
}
"""Each is of all inputs that its target takes, which are finitely many."""
