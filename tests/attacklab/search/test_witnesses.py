"""The search for a pair: it finds, shrinks and replays; sound targets give nothing."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.attacks.low_bit_laplace import LowBitLaplace
from attacklab.claims import ZeroConcentrated
from attacklab.findings import Verdict
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.random_bits import SeededBits
from attacklab.search import Witness, search
from attacklab.search.variations import changed, simplified
from attacklab.strategies import drawn, neighbouring_pairs, pairs_of_utilities
from attacklab.targets import Target
from mechanisms.core.grid import Grid
from mechanisms.exponential.naive import naive_exponential
from mechanisms.laplace.exact import exact_discrete_laplace
from mechanisms.laplace.naive import naive_laplace_numpy

LAPLACE = Target.noise(partial(naive_laplace_numpy, epsilon=1.0), epsilon=1.0)
BOUNDS = (0.0, 10.0)


def found(witness: Witness | None) -> Witness:
    assert witness is not None
    assert witness.finding.verdict is Verdict.VIOLATED
    return witness


def counting_sevens(records: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A sound noisy sum of records in [0, 1], but for a tell-tale: whoever has a 7 in their record is named."""
    return rng.laplace(np.clip(records, 0, 1).sum(), 1.0, trials) + 1e6 * (records == 7).any()


def test_the_underflow_boundary_is_found_and_shrunk_to_one_outcome() -> None:
    target = Target.selection(partial(naive_exponential, epsilon=1.0), epsilon=1.0)
    witness = found(search(target))
    assert len(witness.pair.first) == 1
    (first,), (second,) = witness.pair.first, witness.pair.second
    deeper, shallower = sorted((first, second))
    # e^(−x/2) is half the least subnormal number at x = 2·1075·ln 2 = 1490.27.
    assert deeper < -1490.2 < shallower
    assert shallower - deeper <= 1


def test_a_pair_from_a_strategy_is_shrunk_to_whole_numbers() -> None:
    witness = found(search(LAPLACE, drawn(neighbouring_pairs(LAPLACE), 20, seed=0)))
    assert 0.0 in (witness.pair.first, witness.pair.second)
    assert witness.tried >= 20


def test_the_one_record_that_matters_is_all_that_is_left() -> None:
    many = np.array([1.0, 3.0, 0.5, 9.0, 2.0])
    pair = NeighbouringPair.records(many, np.insert(many, 3, 7.0), Relation.ADD_REMOVE)
    witness = found(search(Target.sum(counting_sevens, bounds=BOUNDS, epsilon=1.0), [pair]))
    assert (witness.pair.first.tolist(), witness.pair.second.tolist()) == ([], [7.0])


@pytest.mark.ci
def test_the_attack_can_be_chosen_and_the_search_does_better_than_its_start() -> None:
    def attack(pair: NeighbouringPair) -> LowBitLaplace:
        return LowBitLaplace((pair.first, pair.second))

    start = NeighbouringPair.answers(1e9, 1e9 + 1, sensitivity=1.0)
    assert found(search(LAPLACE, [start, NeighbouringPair.answers(32.0, 33.0, sensitivity=1.0)], attack=attack))


@pytest.mark.parametrize("pairs", [None, "drawn"])
def test_a_sound_target_gives_no_finding_of_a_violation(pairs: Any) -> None:
    """False alarms: 1e-9, by the α of the last audit, however often the search looked."""
    term = exact_discrete_laplace(epsilon=1, grid=Grid(-2))

    def release(answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.asarray(term.many(answer, trials, SeededBits(rng)))

    target = Target.noise(release, epsilon=1.0)
    starts = pairs and [pair for pair in drawn(neighbouring_pairs(target), 10, seed=1) if abs(pair.first) < 1e12]
    witness = search(target, starts, alpha=1e-9)
    assert witness is None or witness.finding.verdict is not Verdict.VIOLATED


@pytest.mark.parametrize(
    "pair",
    [
        NeighbouringPair.answers(0.1, 0.2, sensitivity=1.0),
        NeighbouringPair.utilities([0.1, -2.0], [0.3, -2.5], sensitivity=1.0),
    ],
)
def test_the_code_of_a_witness_repeats_its_finding(pair: NeighbouringPair) -> None:
    def tells(input_: Any, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return rng.normal(1e9 * float(np.sum(input_)), 1.0, trials)

    target = Target.dataset(tells, epsilon=1.0)
    witness = found(search(target, [pair], trials=1_000, seed=3))
    names: dict[str, Any] = {"target": target}
    exec(witness.code, names)  # noqa: S102 - running it is the test
    (finding,) = names["findings"]
    assert finding.counts == witness.finding.counts
    assert finding.pair == witness.finding.pair
    assert finding.event == witness.finding.event


def test_a_target_of_another_claim_is_searched_and_the_code_repeats_the_finding() -> None:
    def tells(input_: Any, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return rng.normal(1e9 * float(np.sum(input_)), 1.0, trials)

    target = Target.dataset(tells, claim=ZeroConcentrated(0.125))
    witness = found(search(target, [NeighbouringPair.answers(0.1, 0.2, sensitivity=1.0)], trials=1_000, seed=3))
    assert witness.finding.verdict is Verdict.VIOLATED
    assert witness.finding.judged_at is not None
    names: dict[str, Any] = {"target": target}
    exec(witness.code, names)  # noqa: S102 - running it is the test
    (again,) = names["findings"]
    assert (again.counts, again.claim, again.judged_at) == (
        witness.finding.counts,
        ZeroConcentrated(0.125),
        witness.finding.judged_at,
    )


def test_the_code_of_records_and_graphs_repeats_the_finding_too() -> None:
    def size(input_: NDArray[Any], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return rng.normal(1e9 * float(np.sum(input_)), 1.0, trials)

    target = Target.dataset(size, epsilon=1.0)
    edge = np.array([[False, True], [True, False]])
    for pair in (
        NeighbouringPair.records([1.0, 2.0], [1.0, 4.0], Relation.SUBSTITUTE),
        NeighbouringPair.graphs(edge, np.zeros((2, 2), dtype=bool), Relation.EDGE),
    ):
        witness = found(search(target, [pair], trials=1_000))
        names: dict[str, Any] = {"target": target}
        exec(witness.code, names)  # noqa: S102 - running it is the test
        assert names["pair"].relation is pair.relation
        assert names["findings"][0].counts == witness.finding.counts


def test_a_search_is_repeatable() -> None:
    def witness() -> Witness:
        return found(search(LAPLACE, drawn(neighbouring_pairs(LAPLACE), 5, seed=2), seed=7))

    assert witness().code == witness().code


VARIED: list[tuple[NeighbouringPair, Target]] = [
    (pair, Target.selection(naive_exponential, epsilon=1.0)) for pair in drawn(pairs_of_utilities(), 10, seed=6)
]


@pytest.mark.parametrize("vary", [changed, simplified])
def test_variations_are_neighbours_to_the_last_bit(
    vary: Callable[[NeighbouringPair, Target], Any],
) -> None:
    for pair, target in VARIED:
        for one in vary(pair, target):
            for here, there in zip(one.first.tolist(), one.second.tolist(), strict=True):
                assert abs(Fraction(here) - Fraction(there)) <= 1


def test_simplifying_ends() -> None:
    for start, target in VARIED:
        pair, steps = start, 0
        while (simpler := next(simplified(pair, target), None)) is not None:
            pair, steps = simpler, steps + 1
        assert steps < 2_500
        assert pair.first.tolist() == pair.second.tolist() == [0.0]


def test_variations_hold_finite_numbers_only() -> None:
    target = Target.sum(lambda *_: [], epsilon=1.0, bounds=(-1.7e308, 1.7e308))
    far = NeighbouringPair.records([-1.7e308, 1.7e308], [-1.7e308], Relation.ADD_REMOVE)
    for one in (*simplified(far, target), *changed(far, target)):
        assert np.isfinite(one.first).all()
        assert np.isfinite(one.second).all()
    infinite = NeighbouringPair.records([np.inf, 0.0], [np.inf], Relation.ADD_REMOVE)
    assert [*simplified(infinite, target), *changed(infinite, target)] == []


def test_a_search_needs_pairs() -> None:
    with pytest.raises(ValueError, match="needs pairs"):
        search(LAPLACE, [])
    with pytest.raises(ValueError, match="must be given"):
        search(Target.dataset(naive_laplace_numpy, epsilon=1.0))
