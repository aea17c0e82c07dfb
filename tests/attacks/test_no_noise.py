"""What has no noise is named so, once; parts without noise and keys that one person has are bet on by name."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab import Categories, Domain, NeighbouringPair, Records, Relation, Target, Verdict
from attacklab.attacks import BARE_PART, NO_NOISE, RARE_KEYS
from attacklab.auditing.referee import audit

ALPHA = 1e-9  # the probability of a false alarm of each audit below

NAMES = Domain(shape=Categories(names=("ash", "birch", "cedar")))
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
    (finding,) = audit(target, alpha=ALPHA)
    assert (finding.attack, finding.verdict, finding.flaw) == ("no_noise", Verdict.VIOLATED, NO_NOISE.flaw)


def report(records: NDArray[Any], trials: int, rng: np.random.Generator, *, rows: bool) -> list[dict[str, float]]:
    noise = rng.laplace(0.0, 1.0, trials)
    return [{"sum": float(records.sum()) + n, **({"rows": len(records)} if rows else {})} for n in noise]


def test_a_number_without_noise_beside_one_with_noise_is_bet_on() -> None:
    def verdict(*, rows: bool) -> Verdict:
        target = Target.dataset(partial(report, rows=rows), epsilon=1.0, domain=BITS, relation="add-remove")
        (finding,) = audit(target, [BARE_PART], trials=200, alpha=ALPHA)
        return finding.verdict

    assert verdict(rows=True) is Verdict.VIOLATED
    assert verdict(rows=False) is Verdict.NOT_APPLICABLE


def partitions(records: NDArray[Any], trials: int, rng: np.random.Generator, *, threshold: int) -> list[set[str]]:
    """The names whose noisy counts reach it: one of a single person with probability e^(1 − threshold)/(1 + 1/e)."""
    names = sorted(set(records.tolist()))
    shape, keep = (trials, len(names)), 1 - np.exp(-1)
    noise = rng.geometric(keep, shape) - rng.geometric(keep, shape)
    counts = np.array([int((records == name).sum()) for name in names], dtype=np.int64)
    return [{name for name, count in zip(names, row, strict=True) if count >= threshold} for row in counts + noise]


@pytest.mark.parametrize(("threshold", "verdict"), [(5, Verdict.VIOLATED), (6, Verdict.NOT_DETECTED)])
def test_a_key_of_one_person_is_judged_however_rare_it_is(threshold: int, verdict: Verdict) -> None:
    """The probabilities are 0.0134 and 0.0049, the claim is δ = 0.01; the first is 12 standard deviations above it."""
    release = partial(partitions, threshold=threshold)
    target = Target.dataset(release, epsilon=1.0, delta=0.01, domain=NAMES, relation="add-remove")
    (finding,) = audit(target, [RARE_KEYS], trials=200_000, alpha=ALPHA)
    assert (finding.verdict, finding.shown.event) == (verdict, "the output holds 'ash'")


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
