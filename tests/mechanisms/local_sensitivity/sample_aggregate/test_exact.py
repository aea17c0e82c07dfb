"""Sample and aggregate meets its claim by its exact laws, whatever the statistic does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from mechanisms.grid import Grid
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.sample_aggregate.exact import (
    chunk_of,
    prepare_sample_aggregate,
)
from tests.mechanisms.local_sensitivity.noise import (
    ScriptedNoise,
    hockey_stick,
    output_law,
)

TINY = Domain(0, 2, Grid(0))
NEGLIGIBLE = 1e-20


def unruly(values: np.ndarray) -> float:
    """A statistic that fails on some databases and escapes the range on others."""
    if values.sum() == 2:
        raise RuntimeError("two")
    return 1e300 * float(values.prod()) if len(values) > 1 else float(values[0]) - 1


@pytest.mark.parametrize("statistic", [np.max, unruly])
def test_the_exact_law_of_sample_and_aggregate_meets_pure_epsilon_on_all_tiny_pairs(
    statistic: Callable[[np.ndarray], float],
) -> None:
    epsilon = Fraction(2)
    people = ["Ada", "Bo", "Cy"]
    # Absent, one record, or two records: a person goes with all that is theirs.
    choices: list[tuple[int, ...]] = [(), (0,), (1,), (2,), (0, 2)]
    assert {chunk_of(person, 2, b"public") for person in people} == {0, 1}
    laws = {}
    for holdings in product(choices, repeat=3):
        records = [(person, float(value)) for person, held in zip(people, holdings, strict=True) for value in held]
        prepared = prepare_sample_aggregate(
            records, statistic=statistic, chunks=2, key=b"public", domain=TINY, epsilon=epsilon
        )
        laws[holdings] = output_law(prepared.one)
    reached = Fraction(0)
    for holdings, position in product(laws, range(3)):
        without = (*holdings[:position], (), *holdings[position + 1 :])
        for p, q in [(laws[holdings], laws[without]), (laws[without], laws[holdings])]:
            assert hockey_stick(p, q, epsilon) < NEGLIGIBLE
            reached = max(reached, hockey_stick(p, q, epsilon * Fraction(9, 10)))
    assert reached > 1e-3


def test_removing_any_one_row_moves_the_aggregate_by_the_noise_scale_at_most() -> None:
    rows = [(str(i), float(age)) for i, age in enumerate([20, 20, 80, 80] * 300)]
    aggregate = partial(
        prepare_sample_aggregate, statistic=np.max, chunks=600, key=b"k", domain=Domain(20, 80, Grid(-20)), epsilon=1
    )

    def answer(records: Sequence[tuple[str, float]]) -> float:
        noise = ScriptedNoise([0])
        released = aggregate(records).one(noise)
        assert noise.scales == [60 * 2**20]
        return released

    moves = [abs(answer(rows) - answer(rows[:i] + rows[i + 1 :])) for i in range(0, 1200, 40)]
    assert 0 < max(moves) <= 60 / 600 + 2**-20


def test_chunks_depend_on_the_key_and_spread_evenly() -> None:
    """The largest of 600 Poisson(54) counts stays below 54 + 8·√54 but with probability below 1e-9."""
    counts = np.bincount([chunk_of(str(i), 600, b"one") for i in range(32_561)], minlength=600)
    assert counts.max() < 54 + 8 * math.sqrt(54)
    assert any(chunk_of(str(i), 600, b"one") != chunk_of(str(i), 600, b"two") for i in range(9))


def test_impossible_chunks_and_keys_are_refused() -> None:
    aggregate = partial(prepare_sample_aggregate, [], statistic=np.mean, domain=TINY, epsilon=1)
    with pytest.raises(ValueError, match="chunks must be at least 1, not 0"):
        aggregate(chunks=0, key=b"")
    with pytest.raises(TypeError, match=r"chunks must be an integer, not 2\.5"):
        aggregate(chunks=2.5, key=b"")
    with pytest.raises(ValueError, match="key must have at most 64 bytes, not 65"):
        aggregate(chunks=1, key=b"x" * 65)
