"""Small scope: every pair of neighbours among given inputs is judged, and the worst is shown."""

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest

from attacklab.laws.proof import prove
from attacklab.laws.proof.inputs import neighbours_among
from attacklab.model.claims import ZeroConcentrated
from attacklab.model.domains import Domain
from attacklab.model.domains.finite import all_databases
from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, Reach, Scope, Verdict
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.random_bits import RandomBits
from attacklab.model.targets import Target
from tests.laws.test_pairs import LN_2, never
from tests.samplers import parity

pytestmark = pytest.mark.slow


def noise(sampler: Any, epsilon: float = LN_2, **rest: Any) -> Target:
    return Target.noise(never, epsilon=epsilon, name="noise", **rest).exact(sampler)


def test_every_pair_is_proved_and_the_scope_counts_them() -> None:
    finding = prove(noise(parity), inputs=[3, 0, 1, 2, 2.0])
    assert (finding.verdict, finding.scope) == (Verdict.PROVED, Scope(Reach.INPUTS, inputs=4, pairs=3))
    assert str(finding.scope) == "every pair of neighbours among 4 inputs (3 pairs)"
    assert str(finding).startswith("noise: exact_law: proved for every pair of neighbours among 4 inputs (3 pairs): ")
    assert finding.shown.epsilon_lower == pytest.approx(math.log(2))
    assert "the worst of 3 pairs: closed laws of 2 and 2 outcomes: they need ε = 0.69" in finding.reason
    assert Finding.from_json(finding.to_json()) == finding


def test_one_pair_out_of_many_that_breaks_the_claim_is_the_one_shown() -> None:
    def from_five(answer: float, bits: RandomBits) -> int:
        return parity(answer, bits) if answer < 5 else 2

    finding = prove(noise(from_five), inputs=range(8))
    assert finding.verdict is Verdict.VIOLATED
    assert finding.pair is not None
    assert [finding.pair[side]["readable"] for side in ("first", "second")] == [["4.0"], ["5.0"]]
    assert finding.shown.event
    assert finding.reason.endswith("; 1 of 7 pairs refute the claim")
    assert prove(noise(from_five), inputs=range(5)).verdict is Verdict.PROVED


def test_the_worst_pair_needs_more_than_the_others() -> None:
    """A coin of weight (2 + n)/8 for n = 0, 1, 2: the pair (0, 1) needs ln(3/2), the pair (1, 2) ln(4/3)."""

    def coin(answer: float, bits: RandomBits) -> bool:
        return bool(bits.take(3) < 2 + int(answer))

    finding = prove(noise(coin, 1.0), inputs=[2, 1, 0])
    assert finding.shown.epsilon_lower == pytest.approx(math.log(3 / 2))
    wider = prove(noise(coin, 1.0, sensitivity=2.0), inputs=[2, 1, 0])
    assert wider.scope == Scope(Reach.INPUTS, inputs=3, pairs=3)
    assert wider.shown.epsilon_lower == pytest.approx(math.log(2))
    rho = Target.noise(never, claim=ZeroConcentrated(0.5)).exact(coin)
    told = re.search(r"need ρ ≥ ([\d.]+) \(by order α", prove(rho, inputs=[2, 1, 0]).reason)
    assert told is not None
    assert float(told[1]) == pytest.approx(max(rho_of(3 / 8, 1 / 4), rho_of(1 / 4, 3 / 8)), rel=1e-3)


def rho_of(p: float, q: float) -> float:
    """The largest D_α(P‖Q)/α of two coins over a grid of orders, in doubles."""
    orders = 1 + np.geomspace(1e-3, 1e3, 20_000)
    sums = np.logaddexp(orders * np.log(p / q) + np.log(q), orders * np.log((1 - p) / (1 - q)) + np.log(1 - q))
    return float(np.max(sums / (orders - 1) / orders))


def all_with_zeros(most: int, values: list[float]) -> list[Any]:
    """All vectors of values that are equal but not the same: 0 and −0."""
    return [np.array(one, dtype=float) for size in range(most + 1) for one in itertools.product(values, repeat=size)]


@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.SUBSTITUTE])
@pytest.mark.parametrize("values", [[0.0, -0.0, 2.5], [1.0, 2.5], ["a", "b", "ab"]])
def test_neighbours_among_databases_are_those_that_the_constructor_of_pairs_accepts(
    relation: Relation, values: list[Any]
) -> None:
    whole = [np.array([1] * size) for size in (1, 2, 3)]  # the records 1 and 1.0 are the same
    inputs = all_databases(3, ["0", *values])[:60] if "a" in values else [*all_with_zeros(3, values), *whole]
    target = Target.dataset(never, epsilon=1.0, relation=relation)

    def accepted(one: Any, other: Any) -> bool:
        try:
            NeighbouringPair.records(one, other, relation)
        except UsageError:
            return False
        return True

    numbered = itertools.combinations(range(len(inputs)), 2)
    expected = {places for places in numbered if accepted(inputs[places[0]], inputs[places[1]])}
    found = [(min(one, other), max(one, other)) for one, other, _ in neighbours_among(target, inputs)]
    assert len(found) == len(set(found))
    assert set(found) == expected


@pytest.mark.parametrize(
    ("target", "inputs", "said"),
    [
        (noise(parity), [0, 5], "no two of these 2 inputs are neighbours"),
        (noise(parity), [], "no two of these 0 inputs are neighbours"),
        (noise(parity), [[0], [1]], "an input of a noise target must be a number"),
        (noise(parity), [0, math.nan], "is not finite"),
        (noise(parity), [2**53, 2**53 + 1], "cannot be stored as a double"),
        (noise(parity), 3, "inputs must be a list of inputs, not 3"),
        (noise(parity, domain=Domain(bounds=(0, 1))), [0, 1, 2], "input 2 lies outside the domain of noise"),
        (Target.noise(never, epsilon=1.0), [0, 1], "has no sampler"),
        (Target.selection(never, epsilon=1.0).exact(parity), [[], [1]], "must be a list of numbers"),
        (Target.dataset(never, epsilon=1.0).exact(parity), [[0], [1]], "does not say which datasets are neighbours"),
        (Target.dataset(never, epsilon=1.0).exact(parity), [[0], [1, [2]]], "is ragged"),
    ],
)
def test_inputs_that_cannot_be_proved_are_refused_in_words(target: Target, inputs: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        prove(target, inputs=inputs)
