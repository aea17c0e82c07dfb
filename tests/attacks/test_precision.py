"""The precision attack: the sets that addition leaves out, and what they show of broken and sound targets."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.attacks.precision import Precision, reachable
from attacklab.auditing.referee import audit
from attacklab.model.findings import Finding, Verdict
from attacklab.model.floats import BFLOAT16, BINARY16, Format, format_of
from attacklab.model.targets import Target
from experiments.precision import left_out
from mechanisms.laplace.naive import naive_laplace_inverse_cdf, naive_laplace_numpy
from tests.narrow import EVERY_PATTERN, NARROW, TYPES, carried, naive_laplace_in

BAND = 0.0104  # 2·exp(−2·100 000·BAND²) < 1e-9


@pytest.mark.parametrize("form", [BINARY16, BFLOAT16], ids=lambda form: form.name)
@pytest.mark.parametrize("answer", [0.0, 1.0, 0.9995, -3.0, 1e-7, 6.1e-05, 1000.0, -40000.0])
def test_reachable_agrees_with_adding_every_number_of_a_format(answer: float, form: Format) -> None:
    every = EVERY_PATTERN.view(TYPES[form])
    finite = every[np.isfinite(carried(every))]
    with np.errstate(over="ignore"):
        sums = TYPES[form](answer) + finite
    assert sums.dtype == finite.dtype
    assert np.array_equal(reachable(carried(finite), answer, form), np.isin(carried(finite), carried(sums)))


@pytest.mark.parametrize(("dtype", "bits"), [(np.float64, 53), (np.float32, 24), (np.float16, 11)])
def test_one_gives_only_multiples_of_half_an_ulp_and_zero_gives_everything(dtype: Any, bits: int) -> None:
    outputs = np.random.default_rng(3).normal(size=5_000).astype(dtype)
    odd = np.array([Fraction(float(y)) % Fraction(1, 1 << bits) != 0 for y in outputs])
    assert odd.any()
    assert not (reachable(outputs, 1.0, format_of(outputs)) & odd).any()
    assert reachable(outputs, 0.0, format_of(outputs)).all()


def _audited(release: Callable[..., NDArray[Any]], epsilon: float, attack: Precision) -> list[Finding]:
    target = Target.noise(release, epsilon=epsilon, name="target")
    return audit(target, [attack], trials=100_000, seed=4, spend_all=True)


def _answers(finding: Finding) -> tuple[float, float]:
    return float(finding.pair["first"]["readable"][0]), float(finding.pair["second"]["readable"][0])


@pytest.mark.parametrize("release", [naive_laplace_inverse_cdf, naive_laplace_numpy])
@pytest.mark.parametrize(("epsilon", "least"), [(1.0, 7.5), (0.125, 6.0)])
def test_naive_laplace_tells_0_from_1_as_often_as_the_sum_over_binades_says(
    release: Callable[..., Any], epsilon: float, least: float
) -> None:
    """By Hoeffding's inequality each of the two rates misses its band with probability below 1e-9."""
    no_multiple, any_left_out = left_out(epsilon)
    outputs = release(0.0, 100_000, np.random.default_rng(9), epsilon=epsilon)
    assert np.mean(np.ldexp(outputs, 53) % 1 != 0) == pytest.approx(no_multiple, abs=BAND)
    (finding,) = _audited(partial(release, epsilon=epsilon), epsilon, Precision((0.0, 1.0)))
    assert (finding.verdict, finding.samples.counts.second) == (Verdict.VIOLATED, 0)
    assert finding.samples.counts.first / finding.samples.counts.trials == pytest.approx(any_left_out, abs=BAND)
    assert finding.shown.epsilon_lower > least


@pytest.mark.parametrize("epsilon", [1e-3, 0.05, 3.0])
def test_two_answers_one_ulp_apart_are_told_apart_at_any_noise(epsilon: float) -> None:
    """The least rate below lies BAND below the truth, so each case fails by chance with probability 1e-9."""
    *_, finding = _audited(partial(naive_laplace_numpy, epsilon=epsilon), epsilon, Precision())
    assert finding.verdict is Verdict.VIOLATED
    second, first = sorted(_answers(finding))
    assert second == math.nextafter(first, 0)
    # For 2^k within a factor 1.5 of the median, t = 2^k·ε is in [0.46, 1.04], where (e^−t − e^−2t)/2 > 0.113.
    assert abs(finding.shown.advantage.estimate) > 0.113 - BAND


@pytest.mark.parametrize("form", NARROW, ids=lambda form: form.name)
def test_outputs_of_narrower_formats_are_judged_on_their_own_grid(form: Format) -> None:
    findings = audit(naive_laplace_in(form), [Precision()], trials=100_000, seed=4, spend_all=True)
    assert [finding.verdict for finding in findings] == [Verdict.VIOLATED] * 2
    assert findings[0].samples.counts.second == 0
    assert findings[0].shown.epsilon_lower > 7.0
    second, first = sorted(_answers(findings[1]))
    assert first - second == first * 2.0**-form.significand_bits


@pytest.mark.parametrize("step", [1.0, 0.1, 0.7, 2.0**-10, 1e-6])
def test_noise_on_a_grid_tells_an_answer_off_the_grid(step: float) -> None:
    def release(answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return answer + step * np.rint(rng.laplace(0.0, 10.0, trials) / step)

    *_, finding = _audited(release, 0.1, Precision())
    assert (finding.verdict, finding.shown.advantage.estimate) == (Verdict.VIOLATED, 1.0)


def test_a_sum_off_the_grid_of_its_noise_is_told() -> None:
    def release(records: Any, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.clip(records, 0, 5).sum() + np.rint(rng.laplace(0.0, 5.0, trials))

    target = Target.sum(release, bounds=(0, 5), epsilon=1.0)
    *_, finding = audit(target, [Precision()], trials=1_000)
    assert finding.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("step", [1.0, 0.1, 2.0**-10])
def test_an_answer_that_is_moved_to_the_grid_first_shows_no_grid(step: float) -> None:
    def release(answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return step * (round(answer / step) + np.rint(rng.laplace(0.0, 10.0, trials) / step))

    assert all("on the multiples of" not in one.shown.event for one in _audited(release, 0.1, Precision()))
