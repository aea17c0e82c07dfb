"""The method of others: bounds that hold, the right side found, DP-Sniper's event, and the same outputs for all."""

import math

import numpy as np
import pytest

from corpus.common.peer_methods import LEAST, METHODS, Drawn, Recorder, attack_on, fitted

ALPHA = 1e-9
"""The probability that a bound here is too large."""

LEARNING, JUDGING = 20_000, 50_000


def noisy_bit(rng: np.random.Generator, trials: int, *, ones: float) -> np.ndarray:
    """A bit that is 1 with a probability, between two numbers that say nothing."""
    bits = (rng.random(trials) < ones).astype(np.float64)
    return np.column_stack([rng.standard_normal(trials), bits, rng.laplace(0.0, 5.0, trials)])


def drawn(first: float, second: float) -> Drawn:
    rng = np.random.default_rng(1)
    learning, judging = (
        (noisy_bit(rng, trials, ones=first), noisy_bit(rng, trials, ones=second)) for trials in (LEARNING, JUDGING)
    )
    return Drawn(learning, judging)


EXPECTED = {"DP-Sniper": 0.6}
"""The share of ln 3 that it proves at least.

Its event has a probability of 1 %, of which two bounds of six standard errors take off 0.4.
"""


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("swapped", [False, True])
def test_each_method_proves_much_of_what_a_bit_loses_and_never_more(name: str, swapped: bool) -> None:
    """3 to 1, whichever input shows the 1; each bound is too large with probability at most 1e-9."""
    ones = (0.25, 0.75) if swapped else (0.75, 0.25)
    bound = METHODS[name](drawn(*ones), ALPHA, np.random.default_rng(2))
    assert EXPECTED[name] * math.log(3) < bound <= math.log(3)


@pytest.mark.parametrize("name", METHODS)
def test_no_method_proves_anything_where_the_inputs_are_alike(name: str) -> None:
    """Each bound is above 0 with probability at most 1e-9."""
    assert METHODS[name](drawn(0.5, 0.5), ALPHA, np.random.default_rng(2)) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("values", [1, 7, 10_000])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_event_of_dp_sniper_has_its_probability_exactly_however_many_scores_are_tied(
    values: int, sign: float
) -> None:
    scores = (np.arange(10_000) % values).astype(np.float64)
    attack = attack_on(scores, sign)
    above, tied = (sign * scores > attack.threshold).mean(), (sign * scores == attack.threshold).mean()
    assert above + attack.at_threshold * tied == pytest.approx(LEAST)


def test_symbols_among_numbers_are_flags_of_the_regression() -> None:
    """−1000 stands for "below"; as a number it would hide that only 0 and 1 differ. A standard error is 0.02."""
    rng = np.random.default_rng(3)
    first, second = (
        np.column_stack(
            [np.where(rng.random(20_000) < 0.5, -1000.0, mean + rng.standard_normal(20_000)), np.ones(20_000)]
        )
        for mean in (1.0, 0.0)
    )
    model = fitted(first, second)
    slope = model(np.array([[1.0, 1.0]])) - model(np.array([[0.0, 1.0]]))
    assert slope[0] == pytest.approx(1.0, abs=0.2)


def test_what_an_audit_drew_last_is_what_others_are_judged_by() -> None:
    counter = iter(range(1000))
    recorder = Recorder(lambda answers, trials, _: np.array([answers[0] + 1000 * next(counter) for _ in range(trials)]))
    rng, (one, two, three) = np.random.default_rng(), np.arange(1.0, 4.0)[:, np.newaxis]
    for answers, trials in ((three, 5), (one, 3), (two, 4), (three, 5), (two, 2), (one, 2)):
        recorder(answers, trials, rng)
    seen = recorder.drawn(2)
    assert [(side % 1000).tolist() for side in seen.judging] == [[2, 2], [1, 1]]
    assert [(side // 1000).tolist() for side in seen.judging] == [[17, 18], [19, 20]]
    assert [(side // 1000).tolist() for side in seen.learning] == [[9, 10, 11], [5, 6, 7]]
