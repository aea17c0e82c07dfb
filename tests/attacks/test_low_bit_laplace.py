"""Low bits: membership against brute force on a small grid, then against the samplers themselves on the real one."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab import Finding, LowBitLaplace, Target, Verdict
from attacklab.attacks import samplers
from attacklab.attacks.samplers import MODELS, NUMPY, SIGNED, TEXTBOOK, TEXTBOOK_LIBRARY, SamplerModel, reachable
from attacklab.auditing.referee import audit
from attacklab.model.floats import BFLOAT16, BINARY16, FORMATS, Format
from mechanisms.laplace.naive import naive_laplace_inverse_cdf, naive_laplace_numpy, naive_laplace_numpy_legacy
from tests.narrow import EVERY_PATTERN, TYPES, carried

Release = Callable[..., NDArray[np.float64]]

SMALL_GRID = 1 << 10


def image(answer: float, scale: float, model: SamplerModel) -> NDArray[np.float64]:
    """Everything that the sampler can produce from a grid of SMALL_GRID points, one point after another."""
    outputs = []
    for numerator in range(1, SMALL_GRID + 1):
        logarithm = float(model.log(np.array([numerator / SMALL_GRID]))[0])
        magnitude = logarithm / (1 / scale) if model.divides else scale * logarithm
        as_array = np.array([numerator])
        if model.positive(as_array)[0]:
            outputs.append(answer - magnitude)
        if model.negative(as_array)[0]:
            outputs.append(answer + magnitude)
    return np.unique(np.array(outputs))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.description)
@pytest.mark.parametrize(
    ("here", "there", "scale"),
    [
        (0.0, 1.0, 100.0),
        (1.0, 0.0, 1.0),
        (3.7, 4.2, 0.7),
        (-2.5, -3.5, 1e-3),
        (0.0, 1e-9, 1e-9),
        (1e6, 1e6 + 1, 1.0),
        (1e6, 1e6 + 2.0**-30, 1e-9),  # the doubles near the answer are as coarse as the noise
        (1e6, 1e6 + 2.0**-33, 1e-11),  # and coarser
    ],
)
def test_membership_agrees_with_enumerating_the_whole_grid(
    model: SamplerModel, here: float, there: float, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samplers, "grid_of", lambda _: float(SMALL_GRID))
    from_here, from_there = image(here, scale, model), image(there, scale, model)
    # Outputs that it can produce, that the neighbour can, the doubles next to both, and some that neither can.
    candidates = [from_here, from_there, np.array([here, there])]
    candidates += [np.nextafter(one, towards) for one in (from_here, from_there) for towards in (-math.inf, math.inf)]
    candidates.append(here + scale * np.linspace(-50, 50, 999))
    outputs = np.unique(np.concatenate(candidates))
    expected = np.isin(outputs, from_here)
    assert expected.any()
    np.testing.assert_array_equal(reachable(outputs, here, scale, model), expected)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.description)
@pytest.mark.parametrize("form", [BINARY16, BFLOAT16], ids=lambda form: form.name)
@pytest.mark.parametrize(("answer", "scale"), [(0.0, 1.0), (1.0, 1.0), (3.75, 0.7), (-2.5, 100.0), (1.0, 1e-3)])
def test_membership_of_every_16_bit_number_agrees_with_enumerating_the_grid(
    model: SamplerModel, form: Format, answer: float, scale: float
) -> None:
    number = TYPES[form]
    numerators = np.arange(1, (1 << form.significand_bits) + 1)
    logarithms = model.log(numerators / (1 << form.significand_bits)).astype(np.float32).astype(number)
    magnitudes = logarithms / number(1 / scale) if model.divides else number(scale) * logarithms
    above = number(answer) - magnitudes[model.positive(numerators)]
    below = number(answer) + magnitudes[model.negative(numerators)]
    expected = np.unique(carried(np.concatenate([above, below])))
    every = carried(EVERY_PATTERN.view(number))
    every = every[np.isfinite(every)].astype(np.float64)
    found = np.unique(every[reachable(every, answer, scale, model, form)])
    if scale < 0.1:  # the numbers near the answer are as coarse as the noise
        assert np.isin(expected, found).all()
    else:
        assert np.array_equal(found, expected)


def jaxs_laplace(form: Format) -> Release:
    """As `jax.random.laplace` computes it, except that the logarithm is correctly rounded."""

    def release(
        answer: float, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float
    ) -> NDArray[np.float64]:
        number, bits = TYPES[form], form.significand_bits
        least = number(-1 + 2.0**-bits)
        halves = rng.integers(0, 1 << (bits - 1), trials) / (1 << (bits - 1))
        uniform = np.maximum(halves.astype(number) * (number(1) - least) + least, least)
        noise = (np.sign(uniform.astype(float)) * np.log1p(-np.abs(uniform.astype(float)))).astype(number)
        outputs: NDArray[np.float64] = carried(number(answer) + number(sensitivity / epsilon) * noise)
        return outputs

    return release


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@pytest.mark.parametrize("epsilon", [0.125, 1.0])
def test_jaxs_sampler_is_caught_in_every_format(form: Format, epsilon: float) -> None:
    """With 10 000 trials 0.035 is 7 standard deviations: the advantage is missed with probability below 1e-11."""
    finding = judged(jaxs_laplace(form), epsilon)
    assert finding.verdict is Verdict.VIOLATED
    assert abs(finding.shown.advantage.estimate) > 0.8 - 0.035
    assert "JAX" in finding.shown.event


def test_infinities_and_failures_are_not_members() -> None:
    outputs = np.array([math.nan, math.inf, -math.inf, 1e308])
    for model in MODELS:
        assert not reachable(outputs, 0.5, 2.0, model).any()
    assert reachable(np.array([]), 0.5, 2.0, TEXTBOOK).shape == (0,)


def textbook(answer: float, scale: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    uniform = rng.random(trials) - 0.5
    return answer - scale * np.sign(uniform) * np.log(1 - 2 * np.abs(uniform))


def textbook_in_c(answer: float, scale: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    uniforms = (rng.random(trials) - 0.5).tolist()
    return np.array([answer - scale * math.copysign(1, u) * math.log(1 - 2 * abs(u)) for u in uniforms])


def every_multiple(answer: float, scale: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    uniform = rng.integers(1, 2**53, trials, endpoint=True) / 2**53
    return answer + rng.choice([-1.0, 1.0], trials) * (scale * np.log(uniform))


def legacy(rng: np.random.Generator) -> np.random.RandomState:
    return np.random.RandomState(int(rng.integers(2**32)))


SAMPLERS: list[tuple[Callable[..., NDArray[np.float64]], SamplerModel]] = [
    (textbook, TEXTBOOK),
    (textbook_in_c, TEXTBOOK_LIBRARY),
    (every_multiple, SIGNED),
    (lambda answer, scale, trials, rng: answer + rng.laplace(0.0, scale, trials), NUMPY),
    (lambda answer, scale, trials, rng: rng.laplace(answer, scale, trials), NUMPY),
    (lambda answer, scale, trials, rng: answer + legacy(rng).laplace(0.0, scale, trials), NUMPY),
]


@pytest.mark.parametrize(("sampler", "model"), SAMPLERS)
@pytest.mark.parametrize("epsilon", [1e-3, 0.01, 1.0, 7.3, 50.0])
@pytest.mark.parametrize("answer", [0.0, 1.0, 3.7, 4.2, -17.25, 1e6])
def test_every_output_of_a_sampler_is_found_reachable(
    sampler: Callable[..., NDArray[np.float64]], model: SamplerModel, epsilon: float, answer: float
) -> None:
    scale = 1.0 / epsilon
    outputs = sampler(answer, scale, 3_000, np.random.default_rng(11))
    assert reachable(outputs, answer, scale, model).all()


def judged(release: Release, epsilon: float, *, answers: tuple[float, float] = (0.0, 1.0), **rest: float) -> Finding:
    sensitivity = abs(answers[1] - answers[0])
    bound = partial(release, epsilon=epsilon, sensitivity=sensitivity, **rest)
    target = Target.noise(bound, epsilon=epsilon, sensitivity=sensitivity)
    (finding,) = audit(target, [LowBitLaplace(answers)], trials=10_000, seed=5, spend_all=True)
    return finding


def named(sampler: Callable[..., NDArray[np.float64]]) -> Release:
    def release(
        answer: float, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float
    ) -> NDArray[np.float64]:
        return sampler(answer, sensitivity / epsilon, trials, rng)

    return release


@pytest.mark.parametrize(
    ("release", "advantage"),
    [
        (named(every_multiple), 0.60),
        (named(textbook), 0.80),
        (naive_laplace_inverse_cdf, 0.80),
        (naive_laplace_numpy, 0.80),
        (naive_laplace_numpy_legacy, 0.80),
    ],
)
def test_advantage_at_epsilon_one_hundredth_is_as_expected(release: Release, advantage: float) -> None:
    """With 10 000 trials 0.035 is 7 standard deviations: a false alarm has probability below 1e-11."""
    finding = judged(release, 0.01)
    assert finding.verdict is Verdict.VIOLATED
    assert finding.shown.ceiling == pytest.approx(0.005, abs=1e-6)
    assert abs(finding.shown.advantage.estimate) == pytest.approx(advantage, abs=0.035)
    assert min(finding.samples.counts.first, finding.samples.counts.second) == 0


@pytest.mark.parametrize("by", [2.0, 3.0, 4.0, 0.5])
def test_a_small_multiple_of_the_textbooks_scale_is_guessed(by: float) -> None:
    def release(answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return answer + rng.laplace(0.0, by / 0.7, trials)

    (finding,) = audit(Target.noise(release, epsilon=0.7), [LowBitLaplace()], trials=10_000)
    assert finding.verdict is Verdict.VIOLATED
    assert f"numpy's C code, log(U + U) and log((2.0 − U) − U), scale {by * (1 / 0.7)!r}" in finding.shown.event
