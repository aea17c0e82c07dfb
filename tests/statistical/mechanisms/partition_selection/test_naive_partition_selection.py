"""Each naive histogram by threshold breaks its claim on a pair of its own, and the exact one does not.

Events are fixed beforehand and judged on fresh outputs of each input, at ε = 1 and δ = 1/128: the claim is false if a
Clopper-Pearson lower bound of P[E] is greater than e·(upper bound of Q[E]) + δ. Each bound fails with probability 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from attacklab.laws import Limits
from attacklab.laws.proof import prove
from attacklab.model.findings import Verdict
from attacklab.model.targets import Target
from experiments import targets
from experiments.targets.partitions import DELTA, PAIRS
from tests.statistical.mechanisms.clopper_pearson import bounds

TRIALS = {"naive_partition_selection_geometric": 50_000}
FEWER = 20_000
Event = Callable[[dict[str, Any]], bool]


def excess(target: Target, name: str, *, seed: int) -> float:
    """By how much P[E] exceeds e·Q[E] + δ at the least; P is the law on the larger dataset."""
    pair, event = BROKEN[name]
    rng, trials = np.random.default_rng(seed), TRIALS.get(name, FEWER)
    hits = [
        sum(event(dict(output)) for output in target.release(people, trials, rng))
        for people in (pair.first, pair.second)
    ]
    return bounds(hits[0], trials)[0] - math.e * bounds(hits[1], trials)[1] - float(DELTA)


def can_be(output: float, count: int) -> bool:
    """Whether a double is count + noise of numpy's `Generator.laplace` at scale 1, for one of its 2^53 uniforms.

    Those that could lead there lie about the distribution function's value, within the output's last place and a few.
    """
    noise = output - count
    tail = math.exp(-abs(noise)) / 2
    middle = round((tail if noise < 0 else 1 - tail) * 2**53)
    reach = 3 + int(math.ulp(output) * tail * 2**53)
    for leading in range(max(middle - reach, 1), min(middle + reach, (1 << 53) - 1) + 1):
        u = leading * 2.0**-53
        drawn = math.log(u + u) if u < 0.5 else -math.log(2.0 - u - u)
        if drawn + count == output:
            return True
    return False


def only_of_six(output: dict[str, float]) -> bool:
    noisy = output.get("ash")
    return noisy is not None and can_be(float(noisy), 6) and not can_be(float(noisy), 5)


PRESENCE, COUNT, ORDER = PAIRS
BROKEN: dict[str, tuple[Any, Event]] = {
    "naive_partition_selection": (ORDER, lambda output: list(output)[:2] == ["beech", "ash"]),
    "naive_partition_selection_sorted": (COUNT, only_of_six),
    "naive_partition_selection_own_count": (PRESENCE, lambda output: "elm" in output),
    "naive_partition_selection_geometric": (PRESENCE, lambda output: "elm" in output),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_naive_histogram_by_threshold_breaks_its_claim_on_its_pair(name: str) -> None:
    assert excess(getattr(targets, name)(), name, seed=1) > 0


@pytest.mark.parametrize("name", BROKEN)
def test_the_exact_one_is_not_accused_by_the_same_pair_and_event(name: str) -> None:
    assert excess(targets.exact_partition_selection(), name, seed=2) < 0


def test_every_output_of_numpys_noise_is_one_that_it_can_make() -> None:
    """Else the event of the low bits would be one of errors of `can_be`."""
    outputs = 6 + np.random.default_rng(3).laplace(0.0, 1.0, 2_000)
    assert all(can_be(output, 6) for output in outputs.tolist())


@pytest.mark.parametrize("name", BROKEN)
def test_the_claim_is_of_a_pair_that_the_target_declares(name: str) -> None:
    target = getattr(targets, name)()
    assert BROKEN[name][0] in target.pairs
    assert all(target.covers(pair) for pair in target.pairs)


THRESHOLDED = ("naive_partition_selection_own_count", "naive_partition_selection_geometric")


@pytest.mark.parametrize("name", THRESHOLDED)
def test_exact_laws_refute_thresholds_that_are_not_for_integers(name: str) -> None:
    finding = prove(getattr(targets, name)(), PRESENCE, limits=Limits(unresolved=Fraction(1, 1 << 30)))
    assert finding.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("name", BROKEN)
def test_nobody_and_no_trials_are_released_as_they_are(name: str) -> None:
    release = getattr(targets, name)().release
    assert list(map(dict, release(np.array([], dtype="<U1"), 2, np.random.default_rng(5)))) == [{}, {}]
    assert release(np.array(["ash"]), 0, np.random.default_rng(5)) == []
