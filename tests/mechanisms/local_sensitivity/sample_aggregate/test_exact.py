"""Sample and aggregate meets its claim by its exact laws, whatever the statistic does."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, permutations, product
from typing import Literal

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


@pytest.mark.few(1)
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


@pytest.mark.ci
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


WIDE = Domain(-16, 16, Grid(-4))
ROUNDED = (3.0, 2.0**54, -(2.0**54), 0.7, 0.0, -0.0, math.nan)
"""Values whose floating-point sum depends on their order, zeros that are equal and differ, and none."""


def chunk_answers(records: Sequence[tuple[str, float]], statistic: Callable[[np.ndarray], float]) -> list[int]:
    """Each chunk's answer, found by what it adds to the total of the others, all of them empty."""
    answers = []
    for chunk in range(2):
        held = [record for record in records if chunk_of(record[0], 2, b"public") == chunk]
        prepared = prepare_sample_aggregate(held, statistic=statistic, chunks=2, key=b"public", domain=WIDE, epsilon=1)
        answers.append(prepared.total - WIDE.middle)
    whole = prepare_sample_aggregate(records, statistic=statistic, chunks=2, key=b"public", domain=WIDE, epsilon=1)
    assert whole.total == sum(answers)
    return answers


def reciprocal_of_the_first(values: np.ndarray) -> float:
    """A statistic that sees the sign of a zero."""
    return float(np.sign(1 / values[0])) if values[0] == 0 else 0.5


@pytest.mark.few(1)
@pytest.mark.parametrize("statistic", [np.mean, np.sum, reciprocal_of_the_first])
def test_one_person_moves_one_chunk_whatever_the_order_of_the_records(
    statistic: Callable[[np.ndarray], float],
) -> None:
    """All databases of up to three values in one chunk and up to one in the other, in all orders."""
    ada, bo = "Ada", next(name for name in "BCDEFGH" if chunk_of(name, 2, b"public") != chunk_of("Ada", 2, b"public"))
    hers = chunk_of(ada, 2, b"public")
    for size in range(4):
        for values in combinations_with_replacement(ROUNDED, size):
            seen = set()
            for order in permutations(values):
                records = [(bo, value) for value in order]
                for others in (records, [(ada, 3.0), *records], [*records, (ada, math.nan)]):
                    seen.add(chunk_answers(others, statistic)[1 - hers])
            assert len(seen) == 1, values


def failing(values: np.ndarray) -> float:
    """A statistic that does something else for each first value."""
    match int(values[0]):
        case 1:
            sys.exit("one")
        case 2:
            warnings.warn("two", RuntimeWarning, stacklevel=1)
        case 3:
            raise MemoryError
        case 4:
            return float(np.log(np.array([0.0]))[0])
        case 5:
            return "five"  # type: ignore[return-value]
        case 6:
            return None  # type: ignore[return-value]
        case 7:
            raise GeneratorExit
        case 8:
            return 10**400
        case 9:
            return np.ma.masked  # type: ignore[no-any-return]
        case 10:
            values[:] = 1e308
            return float(values.sum() * 10)
        case 11:
            return [1.0, 2.0]  # type: ignore[return-value]
    return 0.0


@pytest.mark.parametrize("action", ["error", "always"])
def test_whatever_a_statistic_does_nothing_but_a_chunks_answer_shows_it(
    action: Literal["error", "always"], capfd: pytest.CaptureFixture[str]
) -> None:
    for first in range(12):
        records = [("Ada", float(first))]
        with warnings.catch_warnings(record=True) as shown, np.errstate(all="raise" if action == "error" else "warn"):
            warnings.simplefilter(action)
            prepared = prepare_sample_aggregate(records, statistic=failing, chunks=1, key=b"", domain=WIDE, epsilon=1)
        assert not shown
        assert 0 <= prepared.total <= WIDE.width
        assert records == [("Ada", float(first))]
    assert capfd.readouterr() == ("", "")


def test_an_interruption_by_the_user_still_interrupts() -> None:
    def interrupted(_: np.ndarray) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare_sample_aggregate([("Ada", 1.0)], statistic=interrupted, chunks=1, key=b"", domain=WIDE, epsilon=1)


def test_values_of_people_are_read_like_other_private_numbers() -> None:
    def total(values: list[object]) -> int:
        records = [(str(person), value) for person, value in enumerate(values)]
        return prepare_sample_aggregate(
            records,
            statistic=np.max,
            chunks=3,
            key=b"",
            domain=WIDE,
            epsilon=1,  # type: ignore[arg-type]
        ).total

    assert total([10**400, None, 3, -1]) == total([math.inf, math.nan, 3.0, Fraction(-1)])
    for values in ([10**400, "1"], [None, "1"], [1.0, "1"]):
        with pytest.raises(TypeError, match="values of records must be"):
            total(values)  # type: ignore[arg-type]
