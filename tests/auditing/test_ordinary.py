"""Which inputs are ordinary, which finding stands for all, and which flaw the findings of an audit support."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attacklab import Domain, Finding, LowBitLaplace, NeighbouringPair, Relation, Target, ZeroRounding
from attacklab.attacks import Precision, RepeatedNoise
from attacklab.auditing.flaws import flaw_of
from attacklab.auditing.ordinary import UNKNOWN, best, extremeness
from attacklab.auditing.referee import audit
from attacklab.model.findings import FAILURE, ON_LATTICE, TOO_LITTLE, described_pair
from tests.ideal import two_sided_geometric


def far(first: Any, second: Any) -> float:
    return extremeness(described_pair(NeighbouringPair(first, second, Relation.ADD_REMOVE)))


def test_inputs_are_the_more_ordinary_the_shorter_they_are_to_write() -> None:
    ladder = [
        far(0.0, 1.0),
        far(0.5, -1.5),
        far(100, 101),
        far(np.array([0.25, 746.0]), np.array([0.0, 746.0])),
        far(np.zeros(600), np.ones(601)),
        far(3.9999999999999996, 4.0),
        far(2**61, 2**61 + 1),
        far(2**70, 2**70 + 1),
        far(math.ulp(0.0), 0.0),
    ]
    assert ladder == sorted(ladder)
    assert all(far(0.0, odd) >= UNKNOWN > ladder[-1] for odd in (math.nan, math.inf, -0.0))
    assert far(["a"], ["a", "b"]) < 1
    assert extremeness(None) == UNKNOWN


def of_integers(release: Any) -> Target:
    return Target.noise(release, epsilon=1.0, domain=Domain(integers=True), name="integers")


def refuting(target: Target, *attacks: Any) -> list[Finding]:
    found = [one for one in audit(target, attacks or None, trials=20_000, seed=7) if one.refutes]
    assert found
    return found


def test_too_little_noise_is_not_taken_for_a_flaw_of_large_integers_or_of_a_sampler() -> None:
    found = refuting(of_integers(lambda answer, trials, rng: int(answer) + two_sided_geometric(rng, trials, 2.5)))
    assert {one.flaw for one in found if one.attack != "black_box"} == {TOO_LITTLE}
    assert {"integer_cast", "special_values"} <= {one.attack for one in found}
    strongest = best(found)
    assert strongest.flaw == TOO_LITTLE
    assert (flaw := flaw_of(strongest)) is not None
    assert "sensitivity/ε" in flaw.repair


def noisy_max(utilities: Any, trials: int, rng: np.random.Generator) -> Any:
    return np.argmax(np.floor(utilities) + two_sided_geometric(rng, (trials, len(utilities))), axis=1)


def exponential(utilities: Any, trials: int, rng: np.random.Generator) -> Any:
    weights = np.exp(np.asarray(utilities) / 2)
    return rng.choice(len(weights), trials, p=weights / weights.sum())


@pytest.mark.parametrize(("release", "flaw"), [(noisy_max, TOO_LITTLE), (exponential, ZeroRounding.flaw)])
def test_an_outcome_that_both_inputs_give_is_not_called_impossible(release: Any, flaw: str) -> None:
    target = Target.selection(release, epsilon=1.0, name="selection")
    assert {one.flaw for one in refuting(target, ZeroRounding())} == {flaw}


def test_noise_on_a_coarse_grid_is_not_taken_for_noise_that_comes_up_again() -> None:
    def coarse(answer: float, trials: int, rng: np.random.Generator) -> np.ndarray:
        return np.round(16 * (answer + rng.laplace(0.0, 0.3, trials))) / 16

    assert "repeated_noise" not in {one.attack for one in refuting(Target.noise(coarse, epsilon=1.0))}


def test_a_cast_of_large_integers_keeps_its_name_where_ordinary_ones_keep_the_claim() -> None:
    found = refuting(of_integers(lambda answer, trials, rng: float(answer) + two_sided_geometric(rng, trials)))
    assert {one.flaw for one in found if one.attack == "integer_cast"} == {
        "an answer is rounded or wraps around in a narrower format before the noise is added"
    }


@pytest.mark.parametrize("rate", [0.6, 1.0])
def test_a_target_that_fails_on_one_input_is_said_to_fail_whatever_was_looked_for(rate: float) -> None:
    def failing(answer: int, trials: int, rng: np.random.Generator) -> list[float | None]:
        outputs = (int(answer) + two_sided_geometric(rng, trials)).tolist()
        return [None if answer == 1 and rng.random() < rate else output for output in outputs]

    found = refuting(of_integers(failing))
    assert {(one.flaw, one.shown.event) for one in found if one.attack != "black_box"} == {
        (FAILURE, "the target fails")
    }
    strongest = best(found)
    assert strongest.flaw == FAILURE


def test_a_seed_that_follows_from_the_data_is_not_called_fixed_noise() -> None:
    def keyed(answer: float, trials: int, rng: np.random.Generator) -> np.ndarray:
        keyed_by_data = np.random.default_rng([int(answer) + 1, int(rng.integers(4))])
        return answer + keyed_by_data.laplace(0.0, 1.0, trials)

    (finding, *_) = refuting(Target.noise(keyed, epsilon=1.0), RepeatedNoise())
    assert finding.flaw == "the same outputs come up again, and tell their input"
    assert (flaw := flaw_of(finding)) is not None
    assert "derive no seed and no key from the data" in flaw.repair


def test_low_bits_of_a_gaussian_are_not_called_those_of_a_laplace_sampler() -> None:
    def gaussian(answer: float, trials: int, rng: np.random.Generator) -> np.ndarray:
        return answer + rng.normal(0.0, 4.8448, trials)

    target = Target.noise(gaussian, epsilon=1.0, delta=1e-5)
    found = [*refuting(target, LowBitLaplace()), best(refuting(target))]
    for finding in found:
        assert (flaw := flaw_of(finding)) is not None
        assert "Laplace sampler" not in f"{finding.flaw} {flaw.repair}"


STEP = 2.0**-20


def on_lattice(answer: Any, trials: int, rng: np.random.Generator) -> Any:
    return float(answer) + np.rint(rng.laplace(0.0, 0.3, trials) / STEP) * STEP


def narrow(answer: Any, trials: int, rng: np.random.Generator) -> Any:
    return float(answer) + 0.3 * rng.laplace(0.0, 1.0, trials).astype(np.float32).astype(float)


def sampled(release: Callable[..., Any]) -> Target:
    return Target.noise(release, epsilon=1.0, sensitivity=0.3)


def test_noise_on_a_lattice_is_called_that_and_no_sampler_is_blamed() -> None:
    found = refuting(sampled(on_lattice), LowBitLaplace())
    assert {finding.flaw for finding in found} == {ON_LATTICE}
    assert all(f"by noise on the multiples of {STEP!r}" in str(finding.shown.event) for finding in found)
    assert ON_LATTICE in {finding.flaw for finding in refuting(sampled(on_lattice), Precision())}


@pytest.mark.parametrize("release", [lambda answer, trials, rng: float(answer) + rng.laplace(0.0, 0.3, trials), narrow])
def test_noise_of_floats_lies_on_no_lattice(release: Callable[..., Any]) -> None:
    found = refuting(sampled(release), LowBitLaplace())
    assert {finding.flaw for finding in found} == {LowBitLaplace().flaw}


def test_a_guessed_answer_is_called_by_its_lattice_too() -> None:
    pair = NeighbouringPair.records(np.array([0.31, 0.7, 1.0]), np.array([0.31, 1.0]), Relation.ADD_REMOVE)
    target = Target.dataset(lambda records, *rest: on_lattice(np.sum(records), *rest), epsilon=1.0, pairs=[pair])
    (finding,) = (finding for finding in audit(target, [LowBitLaplace()], trials=2_000) if finding.refutes)
    assert finding.flaw == ON_LATTICE


def test_two_guesses_of_one_answer_are_told_apart_by_their_scales() -> None:
    """Both inputs have one answer, and the noise depends on the records: words that name the answer say nothing."""

    def release(records: Any, trials: int, rng: np.random.Generator) -> Any:
        return 40.0 + rng.laplace(0.0, 2.0 if len(records) == 3 else 1.0, trials)

    pair = NeighbouringPair.records(np.array([0.3, 0.7, 1.0]), np.array([0.3, 0.7]), Relation.ADD_REMOVE)
    findings = audit(Target.dataset(release, epsilon=1.0, pairs=[pair]), [LowBitLaplace()], trials=2_000)
    told = {words.partition(" by ")[0] for words in map(str, (finding.shown.event for finding in findings))}
    assert not any(words.endswith("from 40.0 and not from 40.0") for words in told)
    assert any("from 40.0 and not from 40.0 at scale " in words for words in told)
