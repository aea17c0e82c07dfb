"""The samplers that languages and libraries ship are recognised, whatever carries or moves their noise; sound ones not.

Wherever a verdict of violation is asserted, a missed one means that a bet with an advantage of 0.1 or more lost on
10,000 trials.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab import Domain, LowBitLaplace, PrivacyClaim, Target, Verdict
from attacklab.attacks import INTEGER_CAST, Attack, LowBitGaussian, Precision, low_bit_laplace
from attacklab.attacks.samplers import Assumed
from attacklab.auditing.referee import audit
from attacklab.model.floats import Format
from mechanisms.core.grid import Grid
from mechanisms.laplace.exact import exact_rounded_laplace
from tests.attacks import known_samplers as samplers
from tests.attacks.making import exactly
from tests.ideal import two_sided_geometric
from tests.narrow import NARROW, exact_laplace_in

TRIALS = 10_000
DELTA = 1e-5

EPSILONS = (0.7, 1.0)

Release = Callable[[Any, int, np.random.Generator], Any]


def sigma_of(epsilon: float) -> float:
    return math.sqrt(2 * math.log(1.25 / DELTA)) / epsilon


def verdicts(target: Target, *attacks: Attack, trials: int = TRIALS) -> list[Verdict]:
    return [finding.verdict for finding in audit(target, attacks, trials=trials)]


def target_of(sampler: samplers.Sampler, epsilon: float, delta: float = 0.0) -> Target:
    """With Laplace noise, or Gaussian noise where there is a δ."""

    def release(answer: float, trials: int, rng: np.random.Generator) -> NDArray[Any]:
        return sampler(answer, sigma_of(epsilon) if delta else 1 / epsilon, trials, rng)

    return Target.noise(release, epsilon=epsilon, delta=delta)


@pytest.mark.parametrize("sampler", samplers.LAPLACE.values(), ids=samplers.LAPLACE)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_noise_of_every_known_sampler_is_refuted(sampler: samplers.Sampler, epsilon: float) -> None:
    assert Verdict.VIOLATED in verdicts(target_of(sampler, epsilon), LowBitLaplace())


@pytest.mark.parametrize("sampler", samplers.GAUSSIAN.values(), ids=samplers.GAUSSIAN)
def test_gaussian_noise_of_every_known_sampler_is_refuted(sampler: samplers.Sampler) -> None:
    assert Verdict.VIOLATED in verdicts(target_of(sampler, 0.7, DELTA), LowBitGaussian())


@pytest.mark.parametrize(
    ("target", "words", "least"),
    [
        (target_of(samplers.LAPLACE["signed_expovariate"], 0.7), "divided by ε/Δ", 0.5),
        (target_of(samplers.LAPLACE["cpp_exponential"], 0.7), "divided by ε/Δ", 0.5),
        (target_of(samplers.LAPLACE["drand48"], 0.7), "48 bits", 0.9),
        (target_of(samplers.GAUSSIAN["sum_of_twelve"], 0.7, DELTA), "multiple of 2^−5", 0.9),
        (target_of(samplers.GAUSSIAN["random_gauss"], 0.7, DELTA), "Box–Muller", 0.9),
        (target_of(samplers.GAUSSIAN["java_next_gaussian"], 0.7, DELTA), "polar method", 0.9),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_the_right_model_is_found_and_wins_as_often_as_it_can(target: Target, words: str, least: float) -> None:
    """The least advantage lies 8 standard deviations of 2,000 trials below the measured one."""
    attack = LowBitGaussian() if target.claim.nominal.delta else LowBitLaplace()
    finding = audit(target, [attack], trials=2_000, spend_all=True)[0]
    assert words in finding.shown.event
    assert finding.shown.advantage.estimate > least


def numpys_laplace(answer: float, trials: int, rng: np.random.Generator, epsilon: float = 0.7) -> NDArray[np.float64]:
    return answer + rng.laplace(0.0, 1 / epsilon, trials)


AFTERWARDS: dict[str, Release] = {
    "binary16 as doubles": lambda answer, trials, rng: (
        np.float16(answer) + rng.laplace(0.0, 1 / 0.7, trials).astype(np.float16)
    ).astype(np.float64),
    "binary32 variates scaled as doubles": lambda answer, trials, rng: (
        answer + 1 / 0.7 * rng.laplace(size=trials).astype(np.float32).astype(np.float64)
    ),
    "clipped": lambda *given: np.maximum(numpys_laplace(*given), 0.0),
    "15 significant digits": lambda *given: [float(f"{number:.15g}") for number in numpys_laplace(*given)],
}


@pytest.mark.parametrize("release", AFTERWARDS.values(), ids=AFTERWARDS)
def test_noise_is_recognised_whatever_happens_to_it_afterwards(release: Release) -> None:
    target = Target.noise(release, epsilon=0.7)
    assert Verdict.VIOLATED in verdicts(target, LowBitLaplace(), Precision())


def gridded(answer: float, trials: int, rng: np.random.Generator, step: float, scale: float) -> NDArray[Any]:
    return step * (round(answer / step) + two_sided_geometric(rng, trials, step / scale))


def exact_laplace(epsilon: float) -> Release:
    return exactly(exact_rounded_laplace(epsilon=epsilon, grid=Grid(-20)).many)


EXACT = exact_laplace(0.75)
SOUND: dict[str, Release] = {
    "exact": EXACT,
    "exact, as binary32": lambda *given: EXACT(*given).astype(np.float32),
    "exact, as binary32 in doubles": lambda *given: EXACT(*given).astype(np.float32).astype(np.float64),
    "exact, printed with 15 digits": lambda *given: [float(f"{one:.15g}") for one in EXACT(*given)],
    "exact, in per cent": lambda *given: 100 * EXACT(*given),
    "exact, a third": lambda *given: EXACT(*given) / 3,
    "exact, 2 decimals": lambda *given: np.round(EXACT(*given), 2),
    "a coarse grid": partial(gridded, step=0.25, scale=1 / 0.75),
    "a fine grid": partial(gridded, step=2.0**-40, scale=1 / 0.75),
    "integers": lambda answer, trials, rng: gridded(answer, trials, rng, 1.0, 1 / 0.75).astype(np.int64),
}
"""Mechanisms that keep a claim of ε = 1 with noise for 0.75, to leave room for the answer's rounding to a grid."""


@pytest.mark.parametrize(("name", "delta"), [*((name, DELTA) for name in SOUND), ("exact", 0.0)])
def test_sound_noise_is_not_accused(name: str, delta: float) -> None:
    """A false alarm has probability at most 1e-9."""
    target = Target.noise(SOUND[name], epsilon=1.0, delta=delta, domain=Domain(bounds=(-1024, 1024)))
    attacks = [LowBitLaplace(), LowBitGaussian(), Precision(), INTEGER_CAST]
    findings = audit(target, attacks, trials=TRIALS // 4, alpha=1e-9)
    assert {finding.verdict for finding in findings} <= {Verdict.NOT_DETECTED, Verdict.NOT_APPLICABLE}, findings


@pytest.mark.parametrize("form", NARROW, ids=lambda form: form.name)
def test_an_exact_mechanism_rounded_to_a_narrower_format_is_not_accused(form: Format) -> None:
    """A false alarm has probability at most 1e-9."""
    target = exact_laplace_in(form)
    with_delta = replace(target, claim=PrivacyClaim(1.0, DELTA))
    for tried, attack in ((target, LowBitLaplace()), (target, Precision()), (with_delta, LowBitGaussian())):
        findings = audit(tried, [attack], trials=TRIALS // 2, alpha=1e-9, spend_all=True)
        assert {finding.verdict for finding in findings} == {Verdict.NOT_DETECTED}, findings
        assert None not in {finding.samples.smallest_detectable for finding in findings}


@pytest.mark.parametrize(
    ("sampler", "words"),
    [
        (samplers.LAPLACE["normal_times_root"], "any number, times the scale"),
        (samplers.LAPLACE["by_rate"], "any number, divided by the rate"),
        (samplers.GAUSSIAN["sum_of_twelve"], "any multiple of 2^−53, times the scale"),
        (samplers.LAPLACE["drand48"], "the C library's log of a uniform of 48 bits"),
    ],
)
def test_a_model_reaches_every_output_of_its_sampler_from_its_answer(sampler: samplers.Sampler, words: str) -> None:
    (model,) = [model for model in low_bit_laplace.MODELS if model.description == words]
    for answer, scale in [(0.0, 1.0), (1.0, 5.7), (-7.3, 1.0), (-7.3, 5.7)]:
        outputs = sampler(answer, scale, 600, np.random.default_rng(4))
        assert model.reachable(outputs, np.zeros(600), answer, Assumed(scale, 1 / scale)).all()
        assert not model.reachable(np.full(600, math.nan), np.zeros(600), answer, Assumed(scale, 1 / scale)).any()
