"""The library's functions: claims that are derived, laws by formulas of their own, widths, and what they refuse."""

import math
import os
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
from gmpy2 import mpq

from attacklab import Domain, Target, ZeroConcentrated
from attacklab.auditing.flaws import exact_call
from attacklab.model.random_bits import TapedBits
from mechanisms import library
from mechanisms.core import noisy_max
from mechanisms.core.claims import ApproximateDP, Claim, ZeroConcentratedDP
from mechanisms.core.laws import DiscreteLaplace, RoundedGaussian
from mechanisms.core.noisy_max import one_of_those_up
from mechanisms.core.table import table_of
from mechanisms.entropy import EXPANDED_FROM, INVERTED, SeededBits, SystemBits, _expander
from mechanisms.library import (
    above_threshold,
    bounded_mean,
    bounded_sum,
    gaussian,
    geometric,
    histogram,
    laplace,
    quantile,
    report_noisy_max,
    select,
)
from mechanisms.releasing import Additive, Bounds, Release
from tests.mechanisms.core.known_laws import known_mass

STEP = Fraction(1, 4)
ONE = ApproximateDP(Fraction(1))
RECORDS = {"lower": 0, "upper": 8, "step": STEP}

LAPLACE = laplace(epsilon=1, sensitivity=2, step=STEP)
NORMAL = gaussian(sigma=2, step=STEP)
MADE: dict[str, tuple[Release[Any, Any], Claim, str, Any]] = {
    "laplace": (LAPLACE, ONE, "answers", 1.5),
    "laplace of a tenth": (laplace(epsilon=0.1, step=1), ApproximateDP(Fraction(0.1)), "answers", 1.5),
    "gaussian": (NORMAL, ZeroConcentratedDP(Fraction(1, 8)), "answers", 1.5),
    "gaussian, rounded up": (gaussian(sigma=2, step=4), ZeroConcentratedDP(Fraction(2)), "answers", 1.5),
    "gaussian by ε and δ": (
        gaussian(epsilon=1, delta=1e-6, step=STEP),
        ApproximateDP(Fraction(1), Fraction(1e-6)),
        "answers",
        1.5,
    ),
    "geometric": (geometric(epsilon=1, sensitivity=3), ONE, "answers", 7),
    "histogram": (histogram(epsilon=1), ONE, "answers", [3, 0, 5]),
    "select": (select(epsilon=1), ONE, "utilities", [1, 2.5, 0]),
    "report_noisy_max": (report_noisy_max(epsilon=1), ONE, "utilities", [1, 2.5, 0]),
    "above_threshold": (above_threshold(epsilon=1, threshold=5, step=STEP), ONE, "answers", [1, 90, 90]),
    "quantile": (quantile(epsilon=1, quantile=0.9, **RECORDS), ONE, "add-remove", [1, 2.5, 9]),
    "bounded_sum": (bounded_sum(epsilon=1, **RECORDS), ONE, "add-remove or substitute", [1, 2.5, 9]),
    "bounded_mean": (bounded_mean(epsilon=1, relation="substitute", **RECORDS), ONE, "substitute", [1, 2.5, 9]),
}


@pytest.mark.parametrize("name", MADE)
def test_a_mechanism_derives_its_claim_and_says_who_is_a_neighbour(name: str) -> None:
    made, claim, relation, _ = MADE[name]
    assert (made.claim, made.relation) == (claim, relation)
    assert made.certificate(name)["term"]["is"]


@pytest.mark.parametrize("name", MADE)
def test_a_release_is_that_of_the_term_and_a_copy_for_tests_repeats_it(name: str) -> None:
    made, _, _, data = MADE[name]
    seeded = made.seeded_for_tests(5)
    drawn = seeded(data)
    assert repr(made.seeded_for_tests(5)(data)) == repr(drawn)
    if name == "histogram":
        assert drawn.tolist() == made.term.many(data, 1, SeededBits(5))[0].tolist()
    else:
        assert drawn == made.term.release(data, SeededBits(5))
    others = {repr(made.seeded_for_tests(seed)(data)) for seed in range(60)}
    assert len(others) > 1
    assert made.bits is not seeded.bits
    assert repr(pickle.loads(pickle.dumps(made.seeded_for_tests(5)))(data)) == repr(drawn)  # noqa: S301 - our own


def test_without_a_seed_every_bit_comes_from_the_systems_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return (b"\x80" + bytes(count))[:count]

    monkeypatch.setattr(os, "urandom", urandom)
    fresh = laplace(epsilon=Fraction(997, 1000), step=STEP)
    drawn = [fresh(1.5) for _ in range(3 * INVERTED)]
    steps = 6 + table_of(fresh._noisy.law).one(SystemBits())
    assert drawn == [1.5] * INVERTED + [steps * STEP] * 2 * INVERTED
    assert len(asked) >= 3 * INVERTED
    assert SystemBits().take(75) == 1 << 74
    assert SystemBits().words(2).tolist() == [0x80, 0]


RFC_8439 = [7645359380336737593, 5281276197874154893]
"""The first two words of RFC 8439's cipher for the key 0, 1, …, 31, by its text: counter and nonce are 0."""


@pytest.mark.parametrize("count", [EXPANDED_FROM // 8 - 1, EXPANDED_FROM // 8, 10**5])
def test_many_words_are_those_of_the_published_cipher_for_a_key_of_the_systems(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: list[bytes] = []

    def urandom(size: int) -> bytes:
        keys.append(bytes(place % 256 for place in range(size)))
        return keys[-1]

    monkeypatch.setattr(os, "urandom", urandom)
    words, _ = SystemBits().words(count), SystemBits().words(count)
    assert (len(words), len(keys)) == (count, 2)
    if _expander() and 8 * count >= EXPANDED_FROM:
        assert [len(key) for key in keys] == [32, 32]
        assert words[:2].tolist() == RFC_8439
        assert len({*words.tolist()}) == count
    else:
        assert words.tobytes() == keys[0]


def tape(word: int, rest: int) -> TapedBits:
    """A word and 4,096 bits behind it."""
    return TapedBits(word << 4096 | rest, 64 + 4096)


def test_a_table_draws_one_number_as_it_does_an_array_of_one() -> None:
    table, behind = table_of(LAPLACE._noisy.law), SeededBits(1).take(4096)
    edges = [0, *range(0, 2**64, 2**53), table.limit, *(int(end) for end in table._ends), 2**64 - 1]
    for word in {max(edge + nudge, 0) for edge in edges for nudge in (-1, 0)}:
        values = np.zeros(1, dtype=np.int64)
        table.add(values, tape(word, behind))
        assert table.one(tape(word, behind)) == values[0]


@pytest.mark.parametrize("name", MADE)
def test_strict_refuses_what_would_count_as_another_number_and_nothing_else(name: str) -> None:
    made, _, _, given = MADE[name]
    data = [min(number, 8) for number in given] if isinstance(given, list) else given
    made(data, strict=True)
    for wrong in (math.nan, math.inf, -(2.0**1023)):
        for given in ([*data, wrong],) if isinstance(data, list) else (wrong,):
            made(given)
            with pytest.raises(ValueError, match="strict: each number must be from"):
                made(given, strict=True)
        if hasattr(made, "each"):
            rows = [[wrong, 1]] if name == "select" else [wrong, 1]
            with pytest.raises(ValueError, match="strict"):
                made.each(rows, strict=True)


def test_numbers_come_from_an_iterator_and_in_single_precision() -> None:
    seeded = [LAPLACE.seeded_for_tests(3).each(given).tolist() for given in ([1, 2.5], iter([1, 2.5]))]
    single = LAPLACE.seeded_for_tests(3).each(np.array([1, 2.5], np.float32)).tolist()
    assert seeded[0] == seeded[1] == single
    row = (select(epsilon=1000).each(rows for rows in ([1, 2], [2, 1]))).tolist()
    assert row == [1, 0]
    assert laplace(epsilon=Decimal("0.1"), step=1).claim == ApproximateDP(Fraction(1, 10))
    for strange in (Decimal("1e-99999999"), Decimal("sNaN"), Decimal("inf")):
        with pytest.raises(TypeError, match="not Decimal"):
            laplace(epsilon=strange, step=1)


def test_a_sensitivity_below_the_step_is_told() -> None:
    told = [laplace(epsilon=1, sensitivity=Fraction(1, 3), step=step).effective_sensitivity for step in (4, 0.25)]
    assert told == [4, Fraction(1, 2)]


def test_a_mechanism_travels_without_its_table() -> None:
    LAPLACE.each(np.zeros(10))
    assert len(pickle.dumps(LAPLACE)) < 2000


@pytest.mark.parametrize("gap", [Fraction(1, 3), 5, 21, 22, 100], ids=str)
def test_a_coin_of_all_that_are_flipped_comes_up_below_its_weight(gap: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noisy_max, "uniform_below", lambda _, __: 0)  # the first of those that came up
    with mpmath.workdps(60):
        whole = int(2**31 * mpmath.exp(-mpmath.mpf(Fraction(gap).numerator) / Fraction(gap).denominator))
    width = (whole >> 10) + 8
    for point in {max(whole + off, 0) for off in (-width, -9, -4, -1, 0, 1, 4, 9, width)} | {0, 2**31 - 1}:
        for rest in (0, 1):
            is_up = point < whole or (point == whole and not rest)  # then at the start of its interval, or at its end
            drawn = one_of_those_up((Fraction(-gap), Fraction(0)), mpq(1), tape(point << 33, (1 << 4032 * rest) - 1))
            assert drawn == (0 if is_up else 1)


laplace_mass = partial(known_mass, DiscreteLaplace(Fraction(8)))
normal_mass = partial(known_mass, RoundedGaussian(Fraction(64)))


@pytest.mark.parametrize(("made", "mass"), [(LAPLACE, laplace_mass), (NORMAL, normal_mass)])
def test_the_law_of_noise_is_the_formula_shifted_by_the_rounded_answer(
    made: Any, mass: Callable[[int], mpmath.mpf]
) -> None:
    law = made.law(1.3)  # five steps and a fifth
    with mpmath.workdps(400):
        for steps in (-300, -20, -1, 0, 1, 2, 35, 300):
            lower, upper = law.probability((5 + steps) * STEP)
            assert 0 < lower <= upper <= lower * (1 + Fraction(1, 2**90))
            assert abs(mpmath.mpf(lower.numerator) / lower.denominator / mass(steps) - 1) < mpmath.mpf(2) ** -90
        tail = mpmath.fsum(mass(steps) for steps in range(3, 2000))
        bounds = law.at_least(2)  # three steps above the answer
        assert abs(float(bounds.lower) - tail) < 1e-15
        assert law.at_least(Fraction(7, 4) + Fraction(1, 1000)) == bounds


def test_the_law_covers_all_outputs_and_no_others() -> None:
    law = geometric(epsilon=1).law(2.0**53 - 1)
    top = 2**53
    assert law.probability(top) == law.at_least(top)
    assert law.at_least(top + 1) == law.probability(top + 1) == law.probability(0.5) == Bounds(Fraction(0), Fraction(0))
    assert law.at_least(-top) == law.at_least(-(2**60)) == Bounds(Fraction(1), Fraction(1))
    outputs = range(top - 300, top + 1)
    assert float(sum(law.probability(output).lower for output in outputs)) == pytest.approx(1, abs=1e-30)
    low = geometric(epsilon=1).law(-top)
    assert float(low.probability(-top).lower) == pytest.approx(1 / (1 + math.exp(-1)))
    assert float(low.probability(1 - top).upper) == pytest.approx(math.exp(-1) * math.tanh(0.5))


def test_the_law_of_a_quantile_names_each_candidate_and_reads_0_9_as_nine_tenths() -> None:
    law = quantile(epsilon=1, quantile=0.9, lower=0, upper=2, step=1).law([0.5] * 3)
    distances = {0.0: 27, 1.0: 3, 2.0: 3}  # |(10 − 9)·below − 9·above|; a record moves one by 9 at most
    total = sum(math.exp(-distance / 18) for distance in distances.values())
    assert list(law) == list(distances)
    for candidate, distance in distances.items():
        assert float(law[candidate].upper) == pytest.approx(math.exp(-distance / 18) / total, rel=1e-15)


def test_each_count_of_a_histogram_has_a_law_of_its_own() -> None:
    laws = histogram(epsilon=1).law([3, 0])
    assert laws[0].probability(3) == laws[1].probability(0)
    assert float(laws[1].probability(2).lower) == pytest.approx(math.exp(-2) * math.tanh(0.5), rel=1e-15)


@pytest.mark.parametrize(
    ("made", "mass", "step"),
    [
        (LAPLACE, laplace_mass, STEP),
        (NORMAL, normal_mass, STEP),
        (bounded_sum(epsilon=4, relation="add-remove", **RECORDS), laplace_mass, STEP),
        (geometric(epsilon=Fraction(1, 8)), laplace_mass, 1),
        (histogram(epsilon=Fraction(1, 8)), laplace_mass, 1),
    ],
)
@pytest.mark.parametrize("probability", [1e-9, 0.05, 0.5, 0.95, 0.999, 1 - 2.0**-30, 1 - Fraction(1, 10**25)])
def test_the_accuracy_is_the_least_width_that_keeps_the_probability(
    made: Additive[Any, Any], mass: Callable[[int], mpmath.mpf], step: Fraction, probability: Any
) -> None:
    width = made.accuracy(probability)
    steps = Fraction(width) / step
    assert steps.denominator == 1
    with mpmath.workdps(60):
        outside = 1 - mpmath.mpf(Fraction(probability).numerator) / Fraction(probability).denominator

        def beyond(most: int) -> mpmath.mpf:
            return 2 * mpmath.fsum(mass(k) for k in range(most + 1, most + 1500))

        assert beyond(int(steps)) <= outside
        assert steps == 0 or beyond(int(steps) - 1) > outside


def nothing(*_: object) -> None:
    """Stand for a release that nobody calls."""


REPAIRS: list[tuple[Target, str]] = [
    (Target.noise(nothing, epsilon=0.5, sensitivity=3), "laplace(epsilon=0.5, sensitivity=3.0, step=2**-9)(answer)"),
    (
        Target.noise(nothing, epsilon=0.5, sensitivity=3, domain=Domain(integers=True)),
        "geometric(epsilon=0.5, sensitivity=3.0)(answer)",
    ),
    (
        Target.noise(nothing, epsilon=0.5, delta=1e-6, sensitivity=100),
        "gaussian(epsilon=0.5, sensitivity=100.0, delta=1e-06, step=2**-4)(answer)",
    ),
    (Target.selection(nothing, epsilon=0.25, sensitivity=2), "select(epsilon=0.25, sensitivity=2.0)(utilities)"),
    (
        Target.sum(nothing, epsilon=2, bounds=(-5, 100), relation="substitute"),
        "bounded_sum(epsilon=2.0, lower=-5.0, upper=100.0, step=2**-4, relation='substitute')(records)",
    ),
    (Target.mean(nothing, epsilon=1, bounds=(0.0, 0.1)), ""),
    (Target.noise(nothing, epsilon=1e-12), ""),
    (Target.noise(nothing, claim=ZeroConcentrated(0.5)), ""),
    (Target.dataset(nothing, epsilon=1), ""),
]


@pytest.mark.parametrize(("target", "call"), REPAIRS)
def test_the_call_that_repairs_a_target_claims_no_more_than_the_target(target: Target, call: str) -> None:
    assert exact_call(target) == call
    if call:
        made = eval(call.rpartition("(")[0], vars(library))  # noqa: S307 - our own
        claim = target.claim.nominal
        assert made.claim.epsilon <= claim.epsilon
        assert made.claim.delta <= claim.delta
        assert made.relation == (target.relation or made.relation)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"north": 3, "south": 5}, "give its values"),
        ({3, 5}, "give a list"),
        (np.ma.masked_array([3, 5], mask=[0, 1]), "compressed"),
    ],
)
@pytest.mark.parametrize("name", ["histogram", "bounded_sum", "bounded_mean", "quantile", "select", "above_threshold"])
def test_data_that_would_lose_something_in_order_are_refused(name: str, data: Any, message: str) -> None:
    mechanism = MADE[name][0]
    for call in (mechanism, getattr(mechanism, "law", mechanism)):
        with pytest.raises(TypeError, match=message):
            call(data)
    with pytest.raises(TypeError, match=message):
        LAPLACE.each(data)


SENSELESS = Fraction(10**400)


@pytest.mark.parametrize(
    "make",
    [
        lambda: laplace(epsilon=1, step=0.001),
        lambda: laplace(epsilon=1, step=3),
        lambda: laplace(epsilon=1, step=2**980),
        lambda: laplace(epsilon=1e-9, step=2**-40),
        lambda: LAPLACE.accuracy(1),
        lambda: LAPLACE.accuracy(0),
        lambda: laplace(epsilon=2**-46, step=1).accuracy(1 - Fraction(1, 2**400)),
        lambda: gaussian(epsilon=1, delta=1, step=1),
        lambda: gaussian(epsilon=1, delta=Fraction(1, 10**330), step=STEP),
        lambda: gaussian(epsilon=Decimal("1e9999"), delta=1e-9, step=1),  # type: ignore[call-overload]
        lambda: gaussian(epsilon=5e-324, delta=1e-300, step=2**-10),
        lambda: gaussian(epsilon=1, delta=1e-290, step=2**-10),
        lambda: above_threshold(epsilon=1, threshold=0.5, step=1),
        lambda: quantile(epsilon=1, quantile=0.5, lower=1, upper=1, step=1),
        lambda: bounded_sum(epsilon=1, lower=0, upper=SENSELESS, step=1),
        lambda: bounded_mean(epsilon=1, relation="people", **RECORDS),
    ],
)
def test_what_is_out_of_range_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"must|may|take"):
        make()


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: laplace(1, 1, 1),  # type: ignore[call-arg]
        lambda: LAPLACE([1, 2]),
        lambda: geometric(epsilon=1)(np.ones(2)),
        lambda: LAPLACE.each(["1"]),
        lambda: LAPLACE.seeded_for_tests(1.5),
        lambda: gaussian(step=1),  # type: ignore[call-overload]
        lambda: gaussian(epsilon=1, step=1),  # type: ignore[call-overload]
        lambda: gaussian(sigma=1, delta=0.1, step=1),  # type: ignore[call-overload]
        lambda: above_threshold(epsilon=1, threshold=1, step=1)(iter([1])),
    ],
)
def test_what_is_called_in_another_way_is_refused(mistake: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        mistake()
