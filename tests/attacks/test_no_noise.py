"""What has no noise is named so, once; a key that one person has is found wherever it stands in an output."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab import Domain, NeighbouringPair, Records, Relation, Target, Verdict
from attacklab.attacks import NO_NOISE, RARE_KEYS
from attacklab.auditing.referee import audit

BITS = Domain(shape=Records(most=8), integers=True, bounds=(0, 1))


def bare(statistic: Callable[[Any], Any]) -> Callable[..., NDArray[Any]]:
    def release(input_: Any, trials: int, _rng: np.random.Generator) -> NDArray[Any]:
        return np.full(trials, statistic(input_))

    return release


BARE = {
    "noise": Target.noise(bare(float), epsilon=1.0),
    "sum": Target.sum(bare(np.sum), epsilon=1.0, bounds=(0.0, 1.0)),
    "mean of those who are there": Target.mean(
        bare(lambda records: records.mean() if len(records) else 0.5), epsilon=1.0, bounds=(0.0, 1.0)
    ),
    "selection": Target.selection(bare(np.argmax), epsilon=1.0),
    "dataset": Target.dataset(bare(len), epsilon=1.0, domain=BITS, relation="add-remove"),
}


@pytest.mark.parametrize("target", BARE.values(), ids=BARE)
def test_an_audit_of_a_target_without_noise_says_so_once_and_ends(target: Target) -> None:
    (finding,) = audit(target)
    assert (finding.attack, finding.verdict, finding.flaw) == ("no_noise", Verdict.VIOLATED, NO_NOISE.flaw)


@pytest.mark.parametrize(
    ("output", "holds"),
    [
        ({"ash": 1.0}, True),
        ({"trees": ["ash", "oak"]}, True),
        (frozenset({"oak"}), False),
        ("ash: 3", True),
        (["birch", 5], False),
        (None, False),
        (2.5, False),
    ],
)
def test_a_key_is_found_wherever_it_stands(output: Any, holds: bool) -> None:
    pair = NeighbouringPair.records(["ash"], [], Relation.ADD_REMOVE)
    outputs = np.fromiter([{"ash"}] * 64, dtype=object)
    target = Target.dataset(lambda *_: outputs, epsilon=1.0, pairs=(pair,))
    (scenario,) = RARE_KEYS.scenarios(target, lambda *_: outputs)
    assert scenario.events[0].contains(np.fromiter([output], dtype=object)).tolist() == [holds]
