"""Exact histograms by threshold have the law that their README says, on both paths, and keep δ to the last integer."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations
from typing import Any

import mpmath
import numpy as np
import pytest

from attacklab.random_bits import SeededBits
from mechanisms.laplace.exact import noisy_integer
from mechanisms.laplace.exact_fast import discrete_laplace_many
from mechanisms.partition_selection.exact import exact_partition_selection, exact_partition_selection_fast
from mechanisms.partition_selection.tally import tally
from mechanisms.partition_selection.threshold import least_threshold
from tests.mechanisms.enumeration import law_of

DELTA = Fraction(1, 128)
PUBLIC = {"epsilon": 1, "delta": DELTA}


def seeded(seed: int) -> SeededBits:
    return SeededBits(np.random.default_rng(seed))


def reached(threshold: int, epsilon: Fraction) -> Any:
    """P[1 + N ≥ T] by mpmath, to 60 digits."""
    with mpmath.workdps(60):
        rate = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        return mpmath.exp(-rate * (threshold - 1)) / (1 + mpmath.exp(-rate))


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(3, 7), Fraction(5), Fraction(1, 1000)])
@pytest.mark.parametrize("delta", [Fraction(1, 128), Fraction(49, 100), Fraction(1, 10**12)])
def test_the_threshold_is_the_least_that_keeps_delta(epsilon: Fraction, delta: Fraction) -> None:
    found = least_threshold(epsilon, delta)
    assert found >= 2
    with mpmath.workdps(60):
        most = mpmath.mpf(delta.numerator) / delta.denominator
        assert reached(found, epsilon) <= most
        assert found == 2 or reached(found - 1, epsilon) > most


def test_a_delta_just_below_what_a_threshold_gives_takes_the_next_one() -> None:
    """The double nearest to e^(−5)/(1 + e^(−1)) lies below it, and the next one above."""
    near = float(reached(6, Fraction(1)))
    doubles = sorted([near, math.nextafter(near, 1), math.nextafter(near, 0)])
    assert [least_threshold(1, one) for one in doubles] == [
        7 if one < reached(6, Fraction(1)) else 6 for one in doubles
    ]
    assert {least_threshold(1, one) for one in doubles} == {6, 7}


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0.1), (-1, 0.1), (1, 0), (1, 0.5), (1, math.nan), (2.0**-70, 0.1)])
def test_parameters_out_of_range_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        exact_partition_selection(["a"], seeded(1), epsilon=epsilon, delta=delta)


def shown_law(count: int, threshold: int, terms: int = 200) -> dict[Any, float]:
    """The law of one key of so many people by the closed formula; what is not shown is ()."""
    q = math.exp(-1)
    law = {(("a", n),): (1 - q) / (1 + q) * q ** abs(n - count) for n in range(threshold, threshold + terms)}
    return law | {(): 1 - sum(law.values())}


@pytest.mark.parametrize("count", [1, 2, 5, 7])
def test_the_law_of_one_key_found_by_running_all_bits_is_the_closed_formula(count: int) -> None:
    """Branches less probable than 2^−30 are dropped, so that no probability lacks more than what is missing in all."""

    def release(bits: Any) -> Any:
        return exact_partition_selection(["a"] * count, bits, **PUBLIC)

    found = law_of(release, smallest=Fraction(1, 1 << 30))
    missing = 1 - sum(found.values())
    assert missing < Fraction(1, 10**5)
    expected = shown_law(count, 6)
    for outcome in found.keys() | {one for one, mass in expected.items() if mass > 1e-4}:
        assert 0 <= expected[outcome] - float(found.get(outcome, 0)) + 1e-12 <= float(missing) + 2e-12


def test_keys_are_independent_and_nobodys_key_is_never_shown() -> None:
    found = law_of(
        lambda bits: exact_partition_selection(["b", "a", "a", "b", "a"], bits, epsilon=4, delta=Fraction(1, 4)),
        smallest=Fraction(1, 1 << 26),
    )
    q, threshold = math.exp(-4), least_threshold(4, Fraction(1, 4))
    assert threshold == 2
    keeps = {count: 1 - q ** (count - 1) / (1 + q) for count in (2, 3)}
    both = sum(mass for outcome, mass in found.items() if [key for key, _ in outcome] == ["a", "b"])
    only = sum(mass for outcome, mass in found.items() if [key for key, _ in outcome] == ["b"])
    assert float(both) == pytest.approx(keeps[3] * keeps[2], abs=1e-4)
    assert float(only) == pytest.approx((1 - keeps[3]) * keeps[2], abs=1e-4)
    assert {key for outcome in found for key, _ in outcome} == {"a", "b"}


def test_the_reference_shows_what_the_noisy_integers_of_the_tally_are() -> None:
    people, bits = ["c"] * 9 + ["a"] * 30 + ["b"], seeded(2)
    noisy = {key: noisy_integer(count, Fraction(1), bits) for key, count in (("a", 30), ("b", 1), ("c", 9))}
    expected = tuple((key, count) for key, count in noisy.items() if count >= 6)
    assert exact_partition_selection(people, seeded(2), **PUBLIC) == expected
    assert [key for key, _ in expected] == ["a", "c"]


def test_the_fast_path_adds_rows_of_noise_to_the_tally() -> None:
    noise = discrete_laplace_many(Fraction(1), 8, seeded(3)).reshape(4, 2).tolist()
    released = exact_partition_selection_fast(["b"] * 7 + ["a"] * 5, 4, seeded(3), **PUBLIC)
    rows = [(("a", 5 + one), ("b", 7 + other)) for one, other in noise]
    assert released == [tuple(pair for pair in row if pair[1] >= 6) for row in rows]


def test_both_paths_have_one_law() -> None:
    """2,000 draws each of an outcome stray from a probability by 0.08 with probability below 2·e^−25 (Hoeffding)."""
    people, bits = ["a"] * 6, seeded(4)
    fast = exact_partition_selection_fast(people, 2_000, bits, **PUBLIC)
    one_by_one = [exact_partition_selection(people, bits, **PUBLIC) for _ in range(2_000)]
    expected = shown_law(6, 6)
    for released in (fast, one_by_one):
        seen = Counter(released)
        for outcome, mass in expected.items():
            assert abs(seen[outcome] / 2_000 - mass) < 0.08


def test_what_is_released_does_not_depend_on_the_order_of_the_people_nor_on_how_keys_are_written() -> None:
    released = {
        repr(exact_partition_selection_fast(written, 20, seeded(5), **PUBLIC))
        for people in set(permutations(["b", "c", "a", "a", "a"]))
        for written in (list(people), tuple(people), np.array(people), np.array(people, dtype=object))
    }
    assert len(released) == 1


def test_the_tally_takes_strings_alone_and_each_as_it_is() -> None:
    assert tally(["é", "e\u0301", "", "b", "b", "\ud800"]) == (
        ("", 1),
        ("b", 2),
        ("e\u0301", 1),
        ("é", 1),
        ("\ud800", 1),
    )
    assert tally([]) == ()
    for wrong in (1, None, b"a", ("a",)):
        with pytest.raises(TypeError, match="keys must be strings"):
            tally(["a", wrong])  # type: ignore[list-item] # what is tested


def test_no_people_and_no_trials_are_released_as_they_are() -> None:
    assert exact_partition_selection([], seeded(6), **PUBLIC) == ()
    assert exact_partition_selection_fast([], 3, seeded(6), **PUBLIC) == [(), (), ()]
    assert exact_partition_selection_fast(["a"], 0, seeded(6), **PUBLIC) == []
