"""The attack on the low bits of Gaussian noise: models against exhaustive enumeration, and what it shows of targets."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from attacklab import Finding, PrivacyClaim, Target, Verdict
from attacklab.attacks import LowBitGaussian
from attacklab.attacks.low_bit_gaussian import textbook_sigma
from attacklab.attacks.samplers import ANY, BOX_MULLER, INVERSE_CDF, POLAR, POLAR_SECOND_FIRST, SEARCHED, Assumed, Model
from attacklab.auditing.referee import audit
from attacklab.model.floats import BFLOAT16, BINARY16, Format, format_of
from experiments.targets import gaussians as targets
from mechanisms.gaussian.naive import Sampler, box_muller, inverse_cdf, polar, ziggurat
from tests.narrow import EVERY_PATTERN, TYPES, carried

SIGMAS = (1.0, 4.844805262605389, 321.7)
ANSWERS = (0.0, 1.0, -7.3, 1e12)

HALF_BITS = 11
"""Significand bits of binary16, so that its uniforms are the multiples of 2^−11 and all pairs can be enumerated."""


def reaches(model: Model, outputs: NDArray[Any], answer: float, sigma: float) -> NDArray[np.bool_]:
    return model.reachable(outputs, np.zeros(outputs.shape), answer, Assumed(sigma, 1 / sigma, format_of(outputs)))


def _legacy(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.random.RandomState(int(rng.integers(2**32))).standard_normal(count)


@pytest.mark.parametrize(
    ("sampler", "model"),
    [
        (box_muller, BOX_MULLER),
        (partial(box_muller, dtype=np.float32), BOX_MULLER),
        (polar, POLAR),
        (_legacy, POLAR_SECOND_FIRST),
        (inverse_cdf, INVERSE_CDF),
        (inverse_cdf, ANY),
        (partial(ziggurat, dtype=np.float32), ANY),
    ],
)
@pytest.mark.parametrize(("sigma", "answer"), [*zip(SIGMAS, ANSWERS, strict=False), (SIGMAS[1], ANSWERS[3])])
def test_a_model_recognises_every_output_of_its_sampler(
    sampler: Sampler, model: Model, sigma: float, answer: float
) -> None:
    normals = sampler(2_000, np.random.default_rng(6))
    outputs = answer + sigma * normals
    if model.answers == 2:
        outputs = outputs.reshape(-1, 2)
    assert reaches(model, outputs, answer, sigma).all()


@pytest.mark.parametrize("answer", [0.0, 1.0, -0.37])
@pytest.mark.parametrize("sigma", [1.0, 1.39, 2.9])
@pytest.mark.parametrize("form", [BINARY16, BFLOAT16], ids=lambda form: form.name)
def test_products_with_sigma_are_what_every_16_bit_number_gives(form: Format, answer: float, sigma: float) -> None:
    number = TYPES[form]
    every = EVERY_PATTERN.view(number)
    finite = every[np.isfinite(carried(every))]
    with np.errstate(all="ignore"):
        reached = number(answer) + number(sigma) * finite
    found = reaches(ANY, carried(finite), answer, sigma)
    assert np.array_equal(found, np.isin(carried(finite), carried(reached)))


def _box_muller_pairs() -> NDArray[np.float16]:
    """All those in the fourth quadrant, where arctan2 is negative."""
    uniforms = np.arange(1 << HALF_BITS).astype(np.float16) / np.float16(1 << HALF_BITS)
    radius = np.sqrt(np.float16(-2) * np.log(np.float16(1) - uniforms))
    angle = np.float16(2 * math.pi) * uniforms[3 << (HALF_BITS - 2) :]
    return np.stack([np.multiply.outer(radius, np.cos(angle)), np.multiply.outer(radius, np.sin(angle))], axis=-1)


def _polar_pairs() -> NDArray[np.float16]:
    """All those in the fourth quadrant."""
    points = np.arange((1 << (HALF_BITS - 1)) + 1).astype(np.float16) / np.float16(1 << (HALF_BITS - 1))
    square = np.add.outer(points**2, points**2)
    with np.errstate(all="ignore"):
        factor = np.sqrt(np.float16(-2) * np.log(square) / square)
        pairs = np.stack([points[:, np.newaxis] * factor, -points[np.newaxis, :] * factor], axis=-1)
    return pairs[(square > 0) & (square < 1)]


@pytest.mark.parametrize(("model", "enumerated"), [(BOX_MULLER, _box_muller_pairs), (POLAR, _polar_pairs)])
@pytest.mark.parametrize(("answer", "sigma"), [(1.0, 1.39)])
def test_pairs_reached_are_the_ones_that_all_uniforms_of_binary16_give(
    model: Model, enumerated: Callable[[], NDArray[np.float16]], answer: float, sigma: float
) -> None:
    """Away from the axes: next to them a window has too many points to search, and every pair counts as reached."""

    def key(pairs: NDArray[np.float16]) -> NDArray[np.uint32]:
        return np.ascontiguousarray(pairs).view(np.uint32).ravel()

    noise = np.abs(np.random.default_rng(8).normal(size=(20_000, 2))) * [1, -1]
    tried = (answer + sigma * noise[(np.abs(noise) > 0.1).all(axis=1)]).astype(np.float16)
    expected = np.isin(key(tried), key((answer + sigma * enumerated()).reshape(-1, 2)))
    assert 0.02 < expected.mean() < 0.98
    assert np.array_equal(reaches(model, tried, answer, sigma), expected)


@pytest.mark.parametrize(("dtype", "bits"), [(np.float64, 53), (np.float32, 24)])
@pytest.mark.parametrize("near", [0.03, 0.4, 0.97])
@pytest.mark.parametrize("sigma", [1.0, 3.7])
def test_normals_reached_by_inverse_cdf_are_the_ones_that_all_nearby_uniforms_give(
    dtype: Any, bits: int, near: float, sigma: float
) -> None:
    uniforms = (np.arange(4_096) + round(near * 2**bits)).astype(np.float64) / 2.0**bits
    reached = sigma * special.ndtri(uniforms.astype(dtype))
    inside = reached[50:-50]
    start, end = np.array([inside.min(), inside.max()]).view(f"i{inside.itemsize}")
    between = np.arange(min(start, end), max(start, end), dtype=start.dtype).view(dtype)
    assert np.array_equal(reaches(INVERSE_CDF, between, 0.0, sigma), np.isin(between, reached))


def test_failures_and_infinities_are_reached_by_no_sampler() -> None:
    outputs = np.array([math.nan, math.inf, -math.inf, 0.5])
    for model in SEARCHED:
        rows = np.stack([outputs, np.full(4, 0.3)], axis=1) if model.answers == 2 else outputs
        assert not reaches(model, rows, 1.0, 2.0)[0]


def _audited(target: Target, trials: int = 20_000) -> dict[int, Finding]:
    findings = audit(target, [LowBitGaussian()], trials=trials, alpha=1e-9, spend_all=True)
    return {finding.samples.answers: finding for finding in findings}


@pytest.mark.parametrize(
    ("make", "answers", "advantage"),
    [
        (targets.naive_gaussian_box_muller, 2, 0.93),
        (targets.naive_gaussian_box_muller_binary32, 2, 0.93),
        (targets.naive_gaussian_polar, 2, 0.93),
        (targets.naive_gaussian_numpy_legacy, 2, 0.93),
        (targets.naive_gaussian_python, 2, 0.93),
        (targets.naive_gaussian_inverse_cdf, 1, 0.72),
    ],
)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_samplers_that_can_be_inverted_are_broken(
    make: Callable[[float], Target], answers: int, advantage: float, epsilon: float
) -> None:
    """The least advantage lies 8 standard deviations below the measured one: a chance failure is below 1e-14."""
    finding = _audited(make(epsilon), trials=4_000)[answers]
    assert finding.verdict is Verdict.VIOLATED
    assert abs(finding.shown.advantage.estimate) > advantage
    assert finding.shown.ceiling == pytest.approx(math.tanh(answers * epsilon / 2), abs=1e-4)


@pytest.mark.parametrize("make", [targets.naive_gaussian_ziggurat, targets.naive_gaussian_ziggurat_binary32])
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_the_holes_of_sigma_times_anything_break_the_ziggurat(make: Callable[[float], Target], epsilon: float) -> None:
    """The lower bounds are above twice the ideal advantage by 5 standard deviations beyond their own 1e-9."""
    finding = _audited(make(epsilon))[1]
    assert finding.verdict is Verdict.VIOLATED
    ideal = math.erf(1 / (math.sqrt(8) * targets.sigma_of(epsilon)))
    assert max(finding.shown.advantage.lower, -finding.shown.advantage.upper) > 2 * ideal


@pytest.mark.parametrize("epsilon", [0.013, 0.5, 0.99])
@pytest.mark.parametrize("sensitivity", [1.0, 0.3])
def test_the_assumed_sigma_is_that_of_the_naive_mechanism_to_the_last_bit(epsilon: float, sensitivity: float) -> None:
    textbook = sensitivity * math.sqrt(2 * math.log(1.25 / 1e-5)) / epsilon
    assert textbook_sigma(PrivacyClaim(epsilon, 1e-5), sensitivity) == textbook


def test_the_targets_own_noise_scale_replaces_the_textbooks() -> None:
    """A false alarm on the wrong σ has probability at most 1e-9."""

    def release(answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return answer + 6.3 * rng.normal(size=trials)

    told = Target.noise(release, epsilon=1.0, delta=1e-5, noise_scale=6.3, name="target")
    assert _audited(told)[1].verdict is Verdict.VIOLATED
    assert _audited(replace(told, noise_scale=None))[1].verdict is Verdict.NOT_DETECTED
