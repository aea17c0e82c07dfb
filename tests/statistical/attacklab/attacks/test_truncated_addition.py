"""Truncated addition: light outcomes lost in a short accumulator are caught; sound targets are not accused."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import ml_dtypes
import numpy as np
import pytest

from attacklab.attacks.truncated_addition import TruncatedAddition
from attacklab.auditing.referee import audit
from attacklab.model.findings import Verdict
from attacklab.model.floats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format
from mechanisms.exponential.naive import naive_exponential_low_precision
from tests.statistical.attacklab.attacks.making import Release, selection_of
from tests.unit.attacklab.ideal import ideal_exponential

TYPES = {BINARY64: np.float64, BINARY32: np.float32, BINARY16: np.float16, BFLOAT16: ml_dtypes.bfloat16}


def accumulating(dtype: type) -> Release:
    """One uniform against a running sum that is kept in the given format, added up by a plain loop."""

    def release(
        utilities: np.ndarray, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float
    ) -> np.ndarray:
        weights = np.exp(epsilon * (utilities - utilities.max()) / (2 * sensitivity)).astype(dtype)
        sums, running = [], dtype(0)
        for weight in weights:
            running = dtype(running + weight)
            sums.append(float(running))
        return np.searchsorted(sums, rng.random(trials) * sums[-1], side="right")

    return release


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@pytest.mark.parametrize(
    ("epsilon", "sensitivity"), [(0.01, 1.0), (0.5, 3.7), (1.0, 1.0), (8.0, 0.3), (1e-9, 1e-290), (50.0, 1e306)]
)
def test_light_weights_are_lost_on_one_side_and_count_on_the_other(
    form: Format, epsilon: float, sensitivity: float
) -> None:
    target = selection_of(accumulating(TYPES[form]), epsilon, sensitivity)
    pair = TruncatedAddition.scenario(target, form, 4).pair

    def ratio(utilities: np.ndarray) -> float:
        """Light over heavy weight, in units of half an ulp of the heavy one's binade."""
        nats = epsilon * (utilities[0] - utilities[1]) / (2 * sensitivity)
        return math.exp(form.significand_bits * math.log(2) - nats)

    assert ratio(pair.second) <= 1 < ratio(pair.first)
    gap = pair.second[0] - pair.first[0]
    assert gap > 0
    assert (pair.first[1:] - pair.second[1:] == gap).all()
    for first, second in zip(pair.first.tolist(), pair.second.tolist(), strict=True):
        assert abs(Fraction(first) - Fraction(second)) <= Fraction(sensitivity)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("form", [BINARY16, BFLOAT16], ids=lambda form: form.name)
@pytest.mark.parametrize("family", ["loop", "cumulative sum"])
def test_short_accumulators_are_caught(family: str, form: Format, epsilon: float) -> None:
    low_precision = partial(naive_exponential_low_precision, dtype=TYPES[form])
    release = accumulating(TYPES[form]) if family == "loop" else low_precision
    attack = TruncatedAddition(formats=(form,))
    (finding,) = audit(selection_of(release, epsilon), [attack], trials=20_000, seed=3, spend_all=True)
    assert finding.verdict is Verdict.VIOLATED
    assert finding.counts.second == 0
    assert finding.counts.first > 1_000


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_ideal_mechanism_is_not_accused_at_any_format(epsilon: float) -> None:
    """Each of the findings is a false alarm with probability at most 1e-6 / 4, at this fixed seed."""
    attack = TruncatedAddition(formats=FORMATS)
    findings = audit(selection_of(ideal_exponential, epsilon), [attack], trials=20_000, seed=3, spend_all=True)
    assert len(findings) == len(FORMATS)
    assert {finding.verdict for finding in findings} == {Verdict.NOT_DETECTED}


def test_binary64_loses_outcomes_but_no_sample_shows_it() -> None:
    target = selection_of(accumulating(np.float64), 1.0)
    scenario = TruncatedAddition.scenario(target, BINARY64, 1 << 10)
    running = 1.0
    for utility in scenario.pair.second[1:].tolist():
        assert running + math.exp(utility / 2) == running
    counted = math.exp(scenario.pair.first[0] / 2)
    assert counted + math.exp(scenario.pair.first[1] / 2) > counted
    attack = TruncatedAddition(most_outcomes=1 << 10, formats=(BINARY64,))
    (finding,) = audit(target, [attack], trials=5_000)
    assert finding.verdict is Verdict.NOT_DETECTED


def test_number_of_light_outcomes_follows_the_format_up_to_the_limit() -> None:
    target = selection_of(accumulating(np.float64), 1.0)

    def never(*_: object) -> np.ndarray:
        raise AssertionError("needs no look at the outputs")

    attack = TruncatedAddition(1 << 12, formats=FORMATS)
    sizes = [len(scenario.pair.first) - 1 for scenario in attack.scenarios(target, never)]
    assert sizes == [1 << 12, 1 << 12, 1 << 12, 1 << 10]
