"""Selection with fixed work has a dyadic law within its ε, and does the same work for all utilities and all bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import gmpy2
import numpy as np
import pytest

from attacklab.model.random_bits import TapedBits
from mechanisms.core import select_dyadic
from mechanisms.core.scores import Utilities, utilities
from mechanisms.core.select_dyadic import SelectFixedWork, Tickets
from mechanisms.exponential.exact import exact_exponential_fixed_work

Levels = tuple[int, ...]
HALF, THREE_QUARTERS, SEVEN_EIGHTHS = Fraction(1, 2), Fraction(3, 4), Fraction(7, 8)
MOST = 4
"""Utilities are 0, 1, …, MOST levels."""


def fixed(ratio: Fraction, steps: int = 1, precision: int = 64, spare: int = 64, most: int = MOST) -> SelectFixedWork:
    return SelectFixedWork(utilities(utility_range=(0, Fraction(most, steps))), ratio, steps, precision, spare)


SMALL = [
    fixed(HALF, precision=2, spare=2),
    fixed(HALF, precision=1, spare=3),
    fixed(THREE_QUARTERS, precision=3, spare=3),
    fixed(SEVEN_EIGHTHS, steps=2, precision=3, spare=3),
]
WIDE = [fixed(term.ratio, term.steps, 8, 30) for term in SMALL]


def vectors(outcomes: int) -> list[Levels]:
    return list(product(range(MOST + 1 if outcomes < 3 else MOST), repeat=outcomes))


def neighbours(given: Sequence[Levels], steps: int, *, monotone: bool) -> Iterator[tuple[Levels, Levels]]:
    for one, other in product(given, given):
        moved = [b - a for a, b in zip(one, other, strict=True)]
        if max(map(abs, moved)) <= steps and not (monotone and min(moved) < 0 < max(moved)):
            yield one, other


def tickets_of(term: SelectFixedWork, outcomes: int) -> Tickets:
    return Tickets(outcomes, term.precision, term.spare)


def weights_of(term: SelectFixedWork, levels: Sequence[int]) -> list[int]:
    """The weights of utilities that are whole levels, by the table."""
    return [term.weights[min(max(levels) - level, len(term.weights) - 1)] for level in levels]


def shares(term: SelectFixedWork, weights: Sequence[int]) -> list[int]:
    """How many tickets each outcome has, by its thresholds."""
    tickets = tickets_of(term, len(weights))
    ends = [0, *tickets.thresholds(tickets.padded(weights)), 1 << tickets.bits]
    return [end - begin for begin, end in pairwise(ends)]


def worst(laws: dict[Levels, list[int]], steps: int, *, monotone: bool = False) -> Fraction:
    """The greatest ratio of the probabilities of an outcome over all pairs of neighbours."""
    return max(
        Fraction(p, q)
        for one, other in neighbours(list(laws), steps, monotone=monotone)
        for p, q in zip(laws[one], laws[other], strict=True)
    )


def ratio_of(claim: Any) -> gmpy2.mpfr:
    with gmpy2.context(precision=400):
        return gmpy2.exp(gmpy2.mpfr(gmpy2.mpq(claim.epsilon)))


@pytest.mark.parametrize("term", SMALL, ids=lambda term: f"{term.ratio}, {term.steps}")
@pytest.mark.parametrize("outcomes", [1, 2, 3])
def test_on_every_string_of_bits_it_has_the_law_of_its_formula(term: SelectFixedWork, outcomes: int) -> None:
    size = tickets_of(term, outcomes).bits
    h = term.precision + (outcomes - 1).bit_length()
    for levels in vectors(outcomes) if outcomes < 3 else product(range(3), repeat=3):
        counts: Counter[int] = Counter()
        for tape in range(1 << size):
            bits = TapedBits(tape, size)
            counts[term.release([Fraction(level, term.steps) for level in levels], bits)] += 1
            assert bits.left == 0
        weights = weights_of(term, levels)
        quotient = (1 << size + h) // sum(weights)
        firsts = [sum(weights[:outcome]) * quotient // (1 << h) for outcome in range(outcomes)]
        ends = [*firsts[1:], 1 << size]
        assert [counts[o] for o in range(outcomes)] == [end - first for first, end in zip(firsts, ends, strict=True)]


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("term", [*SMALL, *WIDE], ids=lambda term: f"{term.ratio}, {term.steps}")
@pytest.mark.parametrize("outcomes", [1, 2, 3])
def test_no_pair_of_neighbours_loses_more_than_is_claimed(term: SelectFixedWork, outcomes: int, monotone: bool) -> None:
    laws = {levels: shares(term, weights_of(term, levels)) for levels in vectors(outcomes)}
    query = replace(term.query, monotone=monotone)  # type: ignore[type-var] # a dataclass
    claim = replace(term, query=query).claim
    assert all(sum(law) == 1 << tickets_of(term, outcomes).bits and min(law) > 0 for law in laws.values())
    assert worst(laws, term.steps, monotone=monotone) <= ratio_of(claim)


def test_many_outcomes_of_few_levels_come_near_to_the_claim() -> None:
    """One outcome against 40 that move the other way: the ratio tends to R."""
    term = fixed(HALF, precision=8, spare=30)
    up, down = (shares(term, weights_of(term, (1 + level, *[2 - level] * 40)))[0] for level in (1, 0))
    assert Fraction(9, 10) * 4 < Fraction(up, down) <= ratio_of(term.claim)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("spare", [2, 3, 10])
def test_the_claim_is_its_formula_rounded_up_by_next_to_nothing(spare: int, monotone: bool) -> None:
    term = SelectFixedWork(utilities(utility_range=(0, 3), monotone=monotone), THREE_QUARTERS, 3, 8, spare)
    growth = Fraction(4, 3) ** (3 if monotone else 6)
    formula = (growth * 2**spare + 2) / (2**spare - 2)
    assert formula <= ratio_of(term.claim) <= formula * (1 + Fraction(1, 2**100))


@pytest.mark.parametrize("epsilon", [Fraction(1, 7), 1, 5])
@pytest.mark.parametrize("steps", [1, 3])
def test_no_weight_of_a_term_falls_by_more_than_the_ratio(epsilon: Any, steps: int) -> None:
    term = exact_exponential_fixed_work(epsilon=epsilon, steps=steps, utility_range=(0, 500))
    for each in (term, *SMALL, *WIDE, fixed(SEVEN_EIGHTHS, precision=2), fixed(THREE_QUARTERS, precision=64, most=900)):
        assert all(heavy >= light >= each.ratio * heavy for heavy, light in pairwise(each.weights))


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**5), Fraction(1, 30), 0.1, 1, 8.5])
def test_parameters_for_an_epsilon_keep_within_it_and_waste_little(
    epsilon: float | Fraction, steps: int, monotone: bool
) -> None:
    term = exact_exponential_fixed_work(epsilon=epsilon, steps=steps, monotone=monotone, utility_range=(0, 100))
    assert Fraction(epsilon) * (1 - Fraction(1, 1 << 28)) < term.claim.epsilon < Fraction(epsilon)


@pytest.mark.parametrize("epsilon", [0.01, 1, 4])
def test_the_law_is_close_to_that_of_the_exponential_mechanism(epsilon: float) -> None:
    """Probabilities are within one part in 10^6 of e^(−ε·gap/2), normalised, for gaps up to 40/ε."""
    term = exact_exponential_fixed_work(epsilon=epsilon, utility_range=(0, 8192))
    levels = [int(gap / epsilon) for gap in (0, 40, 3, 17, 1, 1, 29)]
    law = shares(term, weights_of(term, levels))
    ideal = np.exp(epsilon / 2 * (np.array(levels) - max(levels)))
    assert np.allclose(np.array(law) / sum(law), ideal / ideal.sum(), rtol=1e-6, atol=0)


class Sized(int):
    """An integer whose operations are written down, with how many bits their operands have."""

    done: list[tuple[str, int, int]] = []  # noqa: RUF012

    @staticmethod
    def operation(name: str) -> Callable[[Sized, int], Any]:
        def run(one: Sized, other: int) -> Any:
            result = getattr(int, name)(int(one), int(other))
            if result is NotImplemented:
                raise AssertionError(name)
            Sized.done.append((name, max(1, one.bit_length()), max(1, int(other).bit_length())))
            return Sized(result)

        return run


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "lshift", "rshift", "ge"):
    setattr(Sized, f"__{_name}__", Sized.operation(f"__{_name}__"))


class SizedTickets(Tickets):
    """Works with integers that are written down."""

    @property
    def pad(self) -> int:
        return Sized(super().pad)


EVERYDAY = exact_exponential_fixed_work(epsilon=1, utility_range=(0, 200))


@pytest.mark.parametrize("term", [*SMALL, EVERYDAY], ids=lambda term: f"{term.ratio}, {term.steps}")
@pytest.mark.parametrize("outcomes", [1, 2, 3, 4])
def test_operations_and_their_operands_lengths_are_the_same_for_all_levels(
    term: SelectFixedWork, outcomes: int
) -> None:
    last, seen = len(term.weights) - 1, set()
    for levels in product(sorted({0, min(1, last), last // 2, max(last - 1, 0), last}), repeat=outcomes):
        if 0 in levels:
            Sized.done = []
            tickets = SizedTickets(outcomes, term.precision, term.spare)
            tickets.thresholds(
                [Sized(weight) for weight in tickets_of(term, outcomes).padded(weights_of(term, levels))]
            )
            seen.add(tuple(Sized.done))
    (done,) = seen
    assert len(done) >= 4 * tickets_of(term, outcomes).bits


class Ticket(int):
    """Random bits whose comparisons are counted."""

    compared = 0


def counted(name: str) -> Callable[[Ticket, int], bool]:
    def compare(ticket: Ticket, other: int) -> bool:
        Ticket.compared += 1
        return bool(getattr(int, name)(ticket, other))

    return compare


for _name in ("lt", "le", "eq", "ne", "ge", "gt"):
    setattr(Ticket, f"__{_name}__", counted(f"__{_name}__"))


def bits_and_comparisons(tickets: Tickets, weights: list[int], ticket: int) -> tuple[int, int]:
    """How many bits a selection takes, and how many comparisons with them."""

    class Compared(TapedBits):
        def take(self, count: int) -> int:
            return Ticket(super().take(count))

    Ticket.compared, bits = 0, Compared(ticket, tickets.bits)
    tickets.winner(tickets.padded(weights), bits)
    return tickets.bits - bits.left, Ticket.compared


class EarlyExit(Tickets):
    """Stops at the first threshold that the ticket is below; its law is the same."""

    def winner(self, padded: list[int], bits: Any) -> int:
        ticket = bits.take(self.bits)
        for outcome, threshold in enumerate(self.thresholds(padded)):
            if ticket < threshold:
                return outcome
        return self.outcomes - 1


@pytest.mark.parametrize(("kind", "different"), [(Tickets, False), (EarlyExit, True)])
def test_every_selection_takes_as_many_bits_and_comparisons(kind: type[Tickets], different: bool) -> None:
    tickets = kind(3, SMALL[2].precision, SMALL[2].spare)
    tried = [(weights_of(SMALL[2], levels), ticket) for levels in vectors(3) for ticket in (0, 80, 100, 150, 255)]
    assert (len({bits_and_comparisons(tickets, *each) for each in tried}) > 1) is different


@pytest.mark.parametrize(
    ("steps", "sensitivity", "ends", "at_once"),
    [
        (1, 1, (-7, 5), True),
        (4, 0.5, (-2.5, 1.125), True),
        (1, Fraction(1, 1 << 60), (0, Fraction(5, 1 << 60)), True),
        (3, 1, (-7, 5), False),
        (1, 4, (-8, 8), False),
        (2, 1, (-7.3, 5), False),
        (1, Fraction(1, 1 << 40), (0, 1 << 20), False),
    ],
)
def test_doubles_are_at_the_levels_of_the_rationals_that_they_are(
    steps: int, sensitivity: float | Fraction, ends: tuple[Any, Any], at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At all edges of levels and next to them, beyond the range, and at special values."""
    query = Utilities(Fraction(sensitivity), *map(Fraction, ends))
    low, high = query.lower, query.upper
    edges = [float(high - Fraction(level) * query.sensitivity / steps) for level in range(60)]
    doubles = [near for edge in edges for near in (edge, np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf))]
    doubles += [np.inf, -np.inf, np.nan, 1e300, -1e300, 5e-324, -5e-324, -0.0, float(low), float(high)]
    finite = np.clip(np.nan_to_num(np.array(doubles), nan=-np.inf), -1e301, 1e301).tolist()
    clamped = [min(max(Fraction(double), low), high) for double in finite]
    expected = [steps * (high - utility) // query.sensitivity for utility in clamped]
    given = query.of(np.array(doubles))
    assert select_dyadic._depths(query, given, steps) == expected
    assert select_dyadic._depths(query, query.of([*doubles, Fraction(0)]), steps)[:-1] == expected
    monkeypatch.setattr(select_dyadic, "_shortfalls", lambda *_: [])
    assert (select_dyadic._depths(query, given, steps) == expected) is at_once
