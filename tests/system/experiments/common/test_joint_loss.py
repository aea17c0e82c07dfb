"""Joint losses of noise and its words: against the enumeration, against sums over single steps, and every target's."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any, cast

import numpy as np
import pytest
from gmpy2 import mpq

from attacklab.laws import Limits, enumerate_law, exp_bounds
from attacklab.model.targets import Sampler
from attacklab.model.work import CountedBits
from experiments import targets
from experiments.common.exact_losses import BY_BOUND, BY_WORDS, COARSER, EXACT, INPUTS, entry
from experiments.common.joint_loss import _positive_part, added, loss, table_loss, words_law
from mechanisms.core.inversion import invert, undecided
from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace, Law, RoundedLaplace
from mechanisms.core.table import Table
from tests.system.experiments.records import Data, committed_record

LAWS: list[Law] = [DiscreteLaplace(Fraction(1, 2)), RoundedLaplace(Fraction(1)), DiscreteGaussian(Fraction(3))]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_counted_words_give_the_masses_that_enumeration_finds(law: Law) -> None:
    counted = words_law(law, lambda outcome: outcome)
    enumerated = enumerate_law(
        partial(invert, law), limits=Limits(unresolved=Fraction(1, 1 << 60), runs=4_000), counted="bits"
    )
    exactly = 0
    for pair, mass in enumerated.masses.items():
        assert mass <= counted.mass(pair)
        exactly += counted.mass(pair) - mass < mpq(1, 1 << 120)
    assert exactly > len(enumerated) // 2
    assert enumerated.unresolved < mpq(1, 1 << 50)
    assert counted.unresolved < mpq(1, 1 << 110)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_more_than_one_word_is_as_rare_as_the_bound_says(law: Law) -> None:
    counted = words_law(law, lambda outcome: outcome)
    more = 1 - sum(mass for (_, bits), mass in counted.masses.items() if bits == 64)
    assert 0 < more <= undecided(law)
    joint = loss(Fraction(1), Fraction(0), counted, _moved(counted))
    alone = loss(Fraction(1), Fraction(0), *(law.map(lambda pair: pair[0]) for law in (counted, _moved(counted))))
    assert joint.delta.upper - alone.delta.lower <= added(Fraction(1), undecided(law)) + mpq(1, 1 << 100)


def _moved(law: Any) -> Any:
    return law.map(lambda pair: (pair[0] + 1, pair[1]))


def test_pure_dp_is_lost_to_words_and_delta_is_what_it_costs() -> None:
    law = words_law(DiscreteLaplace(Fraction(4)), lambda outcome: outcome)
    moved = law.map(lambda pair: (pair[0] + 4, pair[1]))
    found = loss(Fraction(1), Fraction(0), law, moved, rest_is_apart=True)
    assert found.epsilon == (math.inf, math.inf)
    assert 2.0**-56 < found.delta.lower <= found.delta.upper < 2.0**-55


@pytest.mark.parametrize(
    ("law", "shift"), [(DiscreteLaplace(Fraction(20_480)), 20_480), (DiscreteGaussian(Fraction(9_000**2)), 8_192)]
)
def test_the_table_s_loss_is_a_sum_over_steps(law: Law, shift: int) -> None:
    """By the table's own evidence, step by step and in doubles, without what remains of the law."""
    evidence = Table(law).evidence()
    width = 1 << evidence["width_bits"]
    assert width > 1
    assert shift % width == 0
    capacity = 2.0 ** (64 - evidence["slot_bits"])
    one: dict[int, float] = {}
    for number, (share, upper, lower) in enumerate(evidence["slots"]):
        start, limit = number * capacity, float(evidence["limit"])
        end = min(start + capacity, limit)
        if end <= start:
            continue
        below = min(float(share * width), end - start)
        for place, words in ((lower * width, below), (upper * width, end - start - below)):
            one[place] = one.get(place, 0.0) + words
    three = {cell * width: (even, ramp) for cell, even, ramp in evidence["open"]}
    step, rising = np.arange(width), {True: np.arange(width), False: np.arange(width)[::-1]}

    def given(start: int) -> tuple[Any, Any]:
        even, ramp = three.get(start, (0, 0))
        return (
            np.full(width, one.get(start, 0.0) / width),
            even / width + ramp * (2 * rising[start < 0] + 1) / width**2 + 0.0 * step,
        )

    factor = math.e
    excess = 0.0
    for start in {*one, *three}:
        for mine, other in zip(given(start), given(start - shift), strict=True):
            excess += float(np.maximum(mine - factor * other, 0.0).sum())
    found = table_loss(law, shift, Fraction(1), Fraction(0))
    known = excess / 2.0**64
    assert float(found.delta.upper) == pytest.approx(known + float(found.inverted), rel=1e-6, abs=1e-12)
    assert known * (1 - 1e-6) - 1e-12 <= float(found.delta.lower) <= float(found.delta.upper)
    assert float(found.opened) == pytest.approx(1 - evidence["limit"] / 2.0**64, rel=1e-6)


def _output(moved: int, outcome: int) -> float:
    return 256.0 * (outcome + moved)


def test_words_of_a_target_are_those_of_its_noise() -> None:
    """The target as it is released, on both inputs, against its noise counted by words and moved by its answer."""
    target = targets.exact_rounded_laplace_wide()
    law, sampler = cast(Any, target.release).term.law, cast(Sampler, target.sampler)
    limits = Limits(unresolved=Fraction(1, 1 << 30))
    for answer, moved in zip(INPUTS[target.name], (0, 1), strict=True):
        counted = words_law(law, partial(_output, moved))
        found = enumerate_law(partial(sampler, answer), limits=limits, counted="bits")
        assert len(found) > 30
        for pair, mass in found.masses.items():
            assert mass <= counted.mass(pair) <= mass + found.unresolved


@pytest.mark.parametrize("name", ["exact_above_threshold", "exact_numeric_sparse"])
def test_the_bits_of_a_sparse_vector_are_a_function_of_what_it_releases(name: str) -> None:
    """Other bits come up in these runs with probability 1e-11 at most, by `unusual` of the record."""
    target = getattr(targets, name)()
    seen = set()
    for input_ in (target.pairs[0].first, target.pairs[0].second):
        bits = CountedBits(np.random.default_rng(1))
        for _ in range(1_000):
            bits.taken = 0
            output = target.sampler(input_, bits)
            reported = [value is True or (value is not False and value > -math.inf) for value in output]
            positives = sum(reported)
            examined = len(output) if positives < 5 else 12 - reported[::-1].index(True)
            values = 0 if name == "exact_above_threshold" else positives
            assert bits.taken == 64 * (1 + examined + values)
            seen.add(bits.taken)
    assert len(seen) > 3


def test_a_shift_by_a_part_of_a_cell_is_refused() -> None:
    with pytest.raises(ValueError, match="not a whole number of cells"):
        table_loss(DiscreteLaplace(Fraction(20_000)), 20_001, Fraction(1), Fraction(0))


@pytest.mark.parametrize("width", [1, 2, 7])
def test_sums_of_positive_parts_are_those_of_every_step(width: int) -> None:
    for base in range(-20, 21):
        for slope in range(-4, 5):
            expected = sum(max(base + slope * (2 * step + 1), 0) for step in range(width))
            assert _positive_part(mpq(base), mpq(slope), width) == expected


def test_the_rare_word_adds_at_most_twice_its_share_at_epsilon_0() -> None:
    assert added(Fraction(0), Fraction(1, 1 << 40)) == Fraction(2, 1 << 40)
    assert added(Fraction(1), Fraction(1)) == 1
    least, most = exp_bounds(Fraction(1))
    assert 1 + least <= added(Fraction(1), Fraction(1, 1 << 9)) * 2**9 <= (1 + most) * (1 + mpq(1, 1 << 100))


def test_every_exact_target_has_an_entry(recorded: Data) -> None:
    assert len(EXACT) == 44
    assert set(recorded) == set(EXACT)
    for name, found in recorded.items():
        assert found["how"] == ("bound" if name in BY_BOUND else "words" if name in BY_WORDS else "enumeration")
        if name in BY_BOUND:
            assert 0 < found["added_at_most"] < 1e-8
        else:
            lower, upper = found["added"]
            assert 0 <= lower <= upper <= 1
            assert found["joint"]["delta"][1] >= found["output"]["delta"][0]
        if "added_at_most" in found and found.get("grid") is None and "added" in found:
            assert found["added"][0] <= found["added_at_most"]


@pytest.fixture(scope="module")
def recorded() -> Data:
    found: Data = committed_record("output_and_work")["measured"]["exact"]
    return found


def test_fixed_work_loses_with_its_work_what_it_loses_without(recorded: Data) -> None:
    for name in ("exact_two_sided_geometric", "exact_fixed_work_gaussian", "exact_exponential_fixed_work"):
        found = recorded[name]
        assert found["joint"] == found["output"]
        assert found["bits"][0] == found["bits"][1]


def test_what_bits_tell_by_far_is_told(recorded: Data) -> None:
    """A number of records or of keys, and a comparison that stops at the first bit that decides."""
    for name in ("exact_poisson_count", "exact_partition_selection", "exact_randomized_response"):
        assert recorded[name]["joint"]["delta"][0] > 0.99
        assert recorded[name]["output"]["delta"][1] < 0.01


@pytest.mark.parametrize("name", ["exact_discrete_laplace", "exact_two_sided_geometric", "exact_randomized_response"])
def test_an_entry_is_found_again(name: str, recorded: Data) -> None:
    assert entry(name, Limits(unresolved=Fraction(1, 1 << 32), runs=3_000)) == recorded[name]


def test_lists_name_exact_targets_once() -> None:
    assert {*BY_WORDS, *BY_BOUND, *COARSER, *INPUTS} <= set(EXACT)
    assert not set(BY_WORDS) & set(BY_BOUND)
