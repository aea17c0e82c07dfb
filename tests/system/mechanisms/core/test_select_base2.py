"""The exponential mechanism in base 2: its law in rational numbers, its privacy loss over all neighbours, bad input."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacklab.model.random_bits import SeededBits, SystemBits, TapedBits
from mechanisms.core.select_dyadic import Levelled
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact import exact_exponential_base2
from tests.unit.mechanisms.enumeration import Law, law_of

HALF = BaseTwoEta(1, 1)


def ideal_law(shortfalls: Sequence[Fraction], decay: Fraction) -> Law:
    """The definition, averaged over every combination of roundings up and down."""
    law = dict.fromkeys(range(len(shortfalls)), Fraction(0))
    choices = [{(math.floor(s), 1 - s % 1), (math.ceil(s), s % 1)} for s in shortfalls]
    for rounding in product(*choices):
        share = math.prod((probability for _, probability in rounding), start=Fraction(1))
        weights = [decay**level for level, _ in rounding]
        for index, weight in enumerate(weights):
            law[index] += share * weight / sum(weights)
    return law


def mechanism_law(utilities: Sequence[float | Fraction], **public: object) -> Law:
    return law_of(exact_exponential_base2(**public).release, utilities)


@pytest.mark.parametrize("eta", [HALF, BaseTwoEta(3, 2), BaseTwoEta(2, 3), BaseTwoEta(5, 3)], ids=str)
@pytest.mark.parametrize("utilities", [(2,), (0, 0, 0), (3, 1, 2), (1, 3, 1, 0)], ids=str)
def test_integer_utilities_give_the_ideal_law_exactly(eta: BaseTwoEta, utilities: tuple[int, ...]) -> None:
    law = mechanism_law(utilities, eta=eta, utility_range=(0, 3))
    assert law == ideal_law([Fraction(3 - u) for u in utilities], eta.decay)


def test_many_draws_are_single_ones_by_the_same_bits() -> None:
    """With utilities that are rounded at random, and with integers; weights are kept from one draw to the next."""
    for scores in ([0.5, 1.25, 3.0, 0.5], [3, 1, 2], [Fraction(1, 3)] * 40):
        term = exact_exponential_base2(eta=BaseTwoEta(155, 8), utility_range=(0, 3))
        singles, many = SeededBits(5), SeededBits(5)
        assert [term.release(scores, singles) for _ in range(300)] == term.many(scores, 300, many).tolist()
    assert term.many([1, 2], 0, TapedBits(0, 0)).shape == (0,)


@pytest.mark.parametrize(
    ("utilities", "sensitivity"),
    [
        ((0.5, 1.25, 3.0), 1),
        ((Fraction(1, 3), 2), 1),
        ((0.5, 1.0, 2.5), Fraction(1, 2)),
        ((0.5, 1.0, 2.0), Fraction(3, 2)),
    ],
    ids=str,
)
def test_other_utilities_give_the_ideal_law_averaged_over_their_roundings(
    utilities: tuple[float, ...], sensitivity: Fraction
) -> None:
    eta = BaseTwoEta(3, 2)
    law = mechanism_law(utilities, eta=eta, utility_range=(0, 3), sensitivity=sensitivity)
    assert law == ideal_law([(3 - Fraction(u)) / sensitivity for u in utilities], eta.decay)


def test_the_law_does_not_depend_on_how_far_the_range_reaches_beyond_the_utilities() -> None:
    narrow = mechanism_law((3, 1, 2), eta=BaseTwoEta(3, 2), utility_range=(1, 3))
    assert narrow == mechanism_law((3, 1, 2), eta=BaseTwoEta(3, 2), utility_range=(-7, 11))


def losses(laws: dict[tuple[Fraction, ...], Law], sensitivity: Fraction, monotone: bool) -> list[Fraction]:
    """P[o]/P′[o] for every outcome and every ordered pair of neighbouring utilities."""
    return [
        laws[first][outcome] / laws[second][outcome]
        for first, second in product(laws, repeat=2)
        if all(abs(a - b) <= sensitivity for a, b in zip(first, second, strict=True))
        and (not monotone or all(a >= b for a, b in zip(first, second, strict=True)))
        for outcome in laws[first]
    ]


@pytest.mark.parametrize("sensitivity", [Fraction(1, 2), Fraction(1), Fraction(2, 3)])
def test_the_loss_over_all_neighbours_stays_within_twice_eta_and_within_eta_if_monotone(sensitivity: Fraction) -> None:
    eta = BaseTwoEta(3, 2)
    grid = [Fraction(k, 3) for k in range(5)]
    laws = {
        utilities: mechanism_law(utilities, eta=eta, utility_range=(0, Fraction(4, 3)), sensitivity=sensitivity)
        for utilities in product(grid, repeat=3)
    }
    growth = 1 / eta.decay
    assert max(losses(laws, sensitivity, monotone=False)) <= growth**2
    assert max(losses(laws, sensitivity, monotone=False)) > growth
    falling = losses(laws, sensitivity, monotone=True)
    assert max(max(falling), 1 / min(falling)) <= growth


def rounded_at_half(others: int) -> tuple[Fraction, Fraction]:
    """In closed form, an outcome's probability at ½ beside others at 0, and at 0 beside others at ½."""
    before = (Fraction(1, 1 + others) + Fraction(2, 2 + others)) / 2
    after = sum(Fraction(math.comb(others, up), (1 + others + up) * 2**others) for up in range(others + 1))
    return before, Fraction(after)


def test_rounding_at_sensitivity_one_half_without_rescaling_is_not_private() -> None:
    """η = 1, Δu = ½: the claimed base-2 loss is 2·1·½ = 1. One outcome falls by ½, ten others rise by ½."""
    unscaled = partial(mechanism_law, eta=HALF, utility_range=(0, 1), sensitivity=1)
    half = Fraction(1, 2)
    before, after = unscaled((half, *[0] * 10))[0], unscaled((0, *[half] * 10))[0]
    assert (before, after) == rounded_at_half(10)
    assert before > 2 * after


@pytest.mark.parametrize("shortfall", [8, 9, 40])
def test_a_light_outcome_beside_sixty_three_heavy_ones_keeps_its_probability(shortfall: int) -> None:
    law = mechanism_law((0,) * 63 + (-shortfall,), eta=HALF, utility_range=(-50, 0))
    assert law[63] == Fraction(1, 63 * 2**shortfall + 1)


def test_eighty_seven_outcomes_have_their_exact_law() -> None:
    law = mechanism_law(tuple(-u for u in range(87)), eta=HALF, utility_range=(-86, 0))
    assert law == {u: Fraction(2 ** (86 - u), 2**87 - 1) for u in range(87)}


@given(
    st.builds(lambda y, z, data: (y, z, data), st.integers(1, 9), st.integers(1, 3), st.data()),
    st.sets(st.integers(0, 40), min_size=1),
    st.integers(0, 5),
)
def test_weights_and_their_total_are_the_powers_in_units_of_the_finest_bit(
    drawn: tuple[int, int, st.DataObject], levels: set[int], slack: int
) -> None:
    y, z, data = drawn
    eta = BaseTwoEta(data.draw(st.integers(1, 2**y - 1)), y, z)
    counts = tuple(data.draw(st.integers(1, 5)) for _ in levels)
    spread = max(levels) + slack
    term = exact_exponential_base2(eta=eta, utility_range=(0, spread))
    prepared = term.prepared([0])
    assert isinstance(prepared, Levelled)
    unit = eta.decay.denominator**spread
    expected = [count * eta.decay**level * unit for level, count in zip(sorted(levels), counts, strict=True)]
    assert list(prepared.weights(tuple(sorted(levels)), counts)) == expected


def test_the_claim_is_twice_eta_in_base_e_rounded_up() -> None:
    for monotone, times in ((False, 2), (True, 1)):
        term = exact_exponential_base2(eta=BaseTwoEta(3, 2), monotone=monotone, utility_range=(0, 1))
        with mpmath.workprec(300):
            exact = times * mpmath.log(mpmath.mpf(4) / 3)
            claimed = mpmath.mpf(term.claim.epsilon.numerator) / term.claim.epsilon.denominator
            assert exact <= claimed <= exact * (1 + mpmath.mpf(2) ** -100)


@pytest.mark.parametrize("outcomes", [2**8 + 1, 2**15 + 1, 2**16 + 1])
def test_the_last_of_many_outcomes_is_selected_if_it_is_the_best_by_far(outcomes: int) -> None:
    term = exact_exponential_base2(eta=HALF, utility_range=(0, 200))
    assert term.many([*[0] * (outcomes - 1), 200], 3, SeededBits(1)).tolist() == [outcomes - 1] * 3


def test_one_outcome_is_always_selected() -> None:
    assert exact_exponential_base2(eta=HALF, utility_range=(-5, 5)).release([-3.7], SystemBits()) == 0
    assert exact_exponential_base2(eta=HALF, utility_range=(3, 3)).release(np.array([3]), TapedBits(0, 0)) == 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from Linux's /proc")
def test_seventy_five_thousand_outcomes_take_less_than_a_hundred_megabytes() -> None:
    program = """
from pathlib import Path
import numpy as np
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact import exact_exponential_base2
from attacklab.model.random_bits import SystemBits
exact_exponential_base2(eta=BaseTwoEta(155, 8), utility_range=(0, 75_000)).release(np.arange(75_000), SystemBits())
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)  # noqa: S603
    assert int(run.stdout) < 100_000  # KiB
