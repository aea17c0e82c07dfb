"""Theorems on the sparse vector technique accept the exact mechanisms and refuse what differs from them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from checker.core.certificate import Refused
from checker.kinds.threshold_rows import require_far_noise, require_released_rows, require_rows, require_unbounded
from checker.models.sparse_vector import SparseVector
from experiments.certificates import DRAFTS
from mechanisms.grid import Grid
from mechanisms.sparse_vector import exact, exact_fast
from tests.checker.conftest import Checked
from tests.checker.mutated_sources import mutate, rechecked
from tests.representatives import first_of_each

ABOVE, NUMERIC = "exact_above_threshold", "exact_numeric_sparse"
UNLIKE = "unlike_above_threshold"
REPORTS, RELEASES = "exact_above_threshold", "exact_numeric_sparse"
REPORTS_FAST, RELEASES_FAST = f"{REPORTS}_fast", f"{RELEASES}_fast"


@pytest.mark.slow
def test_above_threshold_is_private_for_every_pair(checked: Checked) -> None:
    assert checked(DRAFTS[ABOVE]()).statement.startswith("1-DP for any number of queries")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epsilon"), [(NUMERIC, "1"), (UNLIKE, "33/28"), ("unlike_numeric_sparse", "193/140")])
def test_the_exact_mechanism_is_private_for_every_pair(checked: Checked, name: str, epsilon: str) -> None:
    assert checked(DRAFTS[name]()).statement.startswith(f"{epsilon}-DP for any number of queries")


PARAMETERS = dict(DRAFTS[ABOVE]().parameters)
NUMERIC_PARAMETERS = dict(DRAFTS[NUMERIC]().parameters)

FALSE: list[tuple[str, dict[str, Any], str]] = [
    (ABOVE, {"claim": {"kind": "pure", "epsilon": "999999/1000000"}}, "more than 999999/1000000"),
    (ABOVE, {"claim": {"kind": "approximate", "epsilon": "1", "delta": "1/10"}}, "pure"),
    (ABOVE, {"neighbours": "answers at most the sensitivity apart"}, "neighbours are"),
    (ABOVE, {"parameters": {**PARAMETERS, "epsilon_answers": Fraction(501, 1000)}}, "more than 1"),
    (ABOVE, {"parameters": {**PARAMETERS, "threshold": Fraction(1, 2)}}, "the threshold is 1/2 steps"),
    (ABOVE, {"parameters": {**PARAMETERS, "positives": 0}}, "0 answers may be above"),
    (ABOVE, {"parameters": {**PARAMETERS, "positives": True}}, "positives must be of type int"),
    (ABOVE, {"parameters": {**PARAMETERS, "epsilon_threshold": Fraction(-1, 2)}}, "a scale that is not above 0"),
    (ABOVE, {"parameters": NUMERIC_PARAMETERS}, "unexpected keyword argument"),
    (ABOVE, {"functions": {"reference": exact.exact_above_threshold}}, "function 'fast'"),
    (NUMERIC, {"parameters": {**NUMERIC_PARAMETERS, "epsilon_values": 1}}, "more than 1"),
    (NUMERIC, {"parameters": PARAMETERS}, "epsilon_values"),
    (NUMERIC, {"theorem": "above_threshold", "parameters": PARAMETERS}, "epsilon_values"),
]


@pytest.mark.few(7)
@pytest.mark.parametrize(("name", "changes", "reason"), FALSE)
def test_what_is_false_is_refused(checked: Checked, name: str, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        checked(DRAFTS[name](), **changes)


VALUE = "grid.value(grid.nearest(answer) + bits.call(discrete_laplace, scale)) if above"

BROKEN = {
    "noise of answers halved": (ABOVE, "noise_scales", "/ (2 * positive_integer", "/ (positive_integer"),
    "noise of answers that does not grow": (ABOVE, "noise_scales", "(2 * positive_integer(", "(2 * bool("),
    "noise of the threshold halved": (ABOVE, "noise_scales", "discrete_scale(eps", "discrete_scale(2 * eps"),
    "noise a hair smaller": (ABOVE, "noise_scales", "/ (2 * pos", "* (1 + Fraction(1, 2**52)) / (2 * pos"),
    "the threshold's budget spent on answers": (
        UNLIKE,
        "noise_scales",
        "epsilon_answers) / (2",
        "epsilon_threshold) / (2",
    ),
    "the sensitivity left out": (UNLIKE, "noise_scales", "discrete_scale(each, sensitivity", "discrete_scale(each, 1"),
    "no noise on the threshold": (ABOVE, REPORTS, " + bits.call(discrete_laplace, threshold_scale)", ""),
    "noise on the threshold anew for each answer": (
        ABOVE,
        REPORTS,
        ">= noisy_threshold",
        ">= noisy_threshold + bits.call(discrete_laplace, threshold_scale)",
    ),
    "no noise on answers": (ABOVE, REPORTS, "whole + bits.call(discrete_laplace, answer_scale) >=", "whole >="),
    "one noise for all answers": (
        ABOVE,
        REPORTS,
        "left, reported = positives, []",
        "left, reported = positives, []\n    same = bits.call(discrete_laplace, answer_scale)\n"
        "    bits = type('', (), {'call': lambda *_: same})()",
    ),
    "one positive more": (ABOVE, REPORTS, "left > 0", "left >= 0"),
    "one positive less": (ABOVE, REPORTS, "left > 0", "left > 1"),
    "positives that are not counted": (ABOVE, REPORTS, "left -= above", "left -= 0"),
    "answers below counted": (ABOVE, REPORTS, "left -= above", "left -= not above"),
    "what is above said to be below": (ABOVE, REPORTS, "append(above)", "append(not above)"),
    "a strict comparison, which is not what is published": (ABOVE, REPORTS, ">= noisy", "> noisy"),
    "answers that are not rounded": (ABOVE, REPORTS, "grid.nearest(answer) for", "answer for"),
    "answers in another order": (ABOVE, REPORTS, "for answer in answers]", "for answer in [*answers][::-1]]"),
    "floats compared otherwise": (
        ABOVE,
        REPORTS,
        "grid.nearest(answer) for answer in answers",
        "grid.nearest(answer) + isinstance(answer, float) for answer in answers",
    ),
    "arrays compared otherwise": (
        ABOVE,
        REPORTS,
        "grid.nearest(answer) for answer in answers",
        "grid.nearest(answer) + hasattr(answers, 'dtype') for answer in answers",
    ),
    "an end after a thousand answers": (ABOVE, REPORTS, "for whole in wholes", "for whole in wholes[:1000]"),
    "answers numbered to the last positive": (
        ABOVE,
        REPORTS,
        "return tuple(reported)",
        "return tuple(reported[:5000])",
    ),
    "noise of values that does not grow": (NUMERIC, "value_scale", "/ positive_integer(", "/ bool("),
    "values without noise": (NUMERIC, RELEASES, VALUE, "grid.value(grid.nearest(answer)) if above"),
    "values that are not rounded": (NUMERIC, RELEASES, "grid.nearest(answer) + bits", "answer + bits"),
    "values of answers below": (NUMERIC, RELEASES, " if above else NOT_REPORTED", ""),
    "values with one noise": (
        NUMERIC,
        RELEASES,
        "    return tuple(",
        "    one = bits.call(discrete_laplace, scale)\n"
        "    bits = type('', (), {'call': lambda *_: one})()\n    return tuple(",
    ),
    "another stop where values are released": (NUMERIC, RELEASES, "positives=positives", "positives=positives + 1"),
    "another threshold where values are released": (
        NUMERIC,
        RELEASES,
        "threshold=threshold",
        "threshold=threshold + 1",
    ),
}


@pytest.mark.parametrize("name", first_of_each(BROKEN, lambda name: BROKEN[name][:2]))
def test_a_broken_reference_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    target, function, old, new = BROKEN[name]
    mutate(monkeypatch, exact, function, old, new)
    if function in vars(exact_fast):
        monkeypatch.setattr(exact_fast, function, vars(exact)[function])
    with pytest.raises(Refused):
        rechecked(target)


REUSED = """
def exact_numeric_sparse(answers, bits, *, threshold, positives, epsilon_threshold, epsilon_answers, grid, **_):
    threshold_scale, answer_scale = noise_scales(positives, epsilon_threshold, epsilon_answers, 1, grid)
    bar = grid.steps_of("threshold", threshold) + bits.call(discrete_laplace, threshold_scale)
    found = []
    for answer in answers:
        noisy = grid.nearest(answer) + bits.call(discrete_laplace, answer_scale)
        found.append(grid.value(noisy) if noisy >= bar else NOT_REPORTED)
    return tuple(found)
"""


def test_values_with_the_noise_that_was_compared_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As lecture notes of 2011 have it."""
    made: dict[str, Any] = {}
    exec(compile(REUSED, "<mutant>", "exec"), vars(exact), made)  # noqa: S102
    monkeypatch.setattr(exact, RELEASES, made[RELEASES])
    with pytest.raises(Refused, match="the algorithm"):
        rechecked(NUMERIC)


PUBLISHED = SparseVector(0, 5, Fraction(2), Fraction(20), None)
VALUES = Fraction(15)
SCALES = (Fraction(2), Fraction(20))


def compared_rows() -> int:
    fast = exact_fast.exact_above_threshold_fast
    return require_rows(fast, PARAMETERS, PUBLISHED) + require_far_noise(fast, PARAMETERS, PUBLISHED)


def released_rows() -> int:
    reports = {name: one for name, one in NUMERIC_PARAMETERS.items() if name != "epsilon_values"}
    fast = exact_fast.exact_numeric_sparse_fast
    return require_released_rows(fast, NUMERIC_PARAMETERS, {"sensitivity": 1, **reports}, VALUES)


def unbounded_noise() -> int:
    return require_unbounded(exact_fast.unbounded_laplace_many, SCALES)


@pytest.mark.parametrize("shown", [compared_rows, released_rows, unbounded_noise])
def test_each_part_of_the_fast_path_is_accepted(shown: Callable[[], int]) -> None:
    assert shown() > 100


UNBOUNDED = "unbounded_laplace_many"
BROKEN_FAST: dict[str, tuple[Callable[[], int], str, str, str]] = {
    "a strict comparison, which is not what is published": (
        compared_rows,
        REPORTS_FAST,
        ">= thresholds",
        "> thresholds",
    ),
    "one positive more": (compared_rows, REPORTS_FAST, "<= positives", "<= positives + 1"),
    "one positive less": (compared_rows, REPORTS_FAST, "<= positives", "< positives"),
    "no stop": (compared_rows, REPORTS_FAST, "above & (np.cumsum(above, axis=1) <= positives)", "above"),
    "trials counted, not queries": (compared_rows, REPORTS_FAST, "axis=1", "axis=0"),
    "answers after the last positive": (compared_rows, REPORTS_FAST, "return above & (", "return above | ("),
    "one threshold for all rows": (compared_rows, REPORTS_FAST, "thresholds[:, np.newaxis]", "thresholds[0]"),
    "thresholds without noise": (compared_rows, REPORTS_FAST, "thresholds[:, np.newaxis]", "threshold"),
    "thresholds with the noise of answers": (
        compared_rows,
        REPORTS_FAST,
        "unbounded_laplace_many(threshold_scale",
        "unbounded_laplace_many(answer_scale",
    ),
    "rows with one noise": (
        compared_rows,
        REPORTS_FAST,
        "trials * len(wholes), bits).reshape(trials, len(wholes))",
        "len(wholes), bits).reshape(1, len(wholes))",
    ),
    "answers in another order": (compared_rows, REPORTS_FAST, "noise + wholes", "noise + wholes[::-1]"),
    "answers without noise": (compared_rows, REPORTS_FAST, "noise + wholes", "np.array(wholes)"),
    "noise without answers": (compared_rows, REPORTS_FAST, "noise + wholes", "noise"),
    "noisy answers in narrow integers": (
        compared_rows,
        REPORTS_FAST,
        "noise + wholes",
        "(noise + wholes if noise.__class__.__name__ == '_Noise' else (noise + wholes).astype(np.int64))",
    ),
    "answers that were not rounded": (compared_rows, REPORTS_FAST, "grid.nearest(answer)", "answer"),
    "values in another order": (released_rows, RELEASES_FAST, "wholes[queries]", "wholes[queries[::-1]]"),
    "values of other answers": (released_rows, RELEASES_FAST, "np.nonzero(reported)[1]", "np.nonzero(reported)[0] * 0"),
    "values without noise": (
        released_rows,
        RELEASES_FAST,
        "wholes[queries] + discrete_laplace_many(scale, len(queries), bits)",
        "wholes[queries]",
    ),
    "values with less noise": (released_rows, RELEASES_FAST, "many(scale,", "many(scale / 2,"),
    "values with one noise": (released_rows, RELEASES_FAST, "len(queries), bits)", "1, bits)"),
    "values of answers that were not reported": (
        released_rows,
        RELEASES_FAST,
        "values[reported] =",
        "values[~reported] =",
    ),
    "values decided with another budget": (
        released_rows,
        RELEASES_FAST,
        "epsilon_answers=epsilon_answers",
        "epsilon_answers=2 * epsilon_answers",
    ),
    "values decided with another sensitivity": (released_rows, RELEASES_FAST, "=sensitivity,", "=sensitivity / 2,"),
    "noise that stays cut off": (unbounded_noise, UNBOUNDED, "if far:", "if False:"),
    "noise that goes on upward": (unbounded_noise, UNBOUNDED, "more if noise[place] > 0 else -more", "more"),
    "noise that goes on below the cut": (unbounded_noise, UNBOUNDED, "== GREATEST_NOISE", ">= GREATEST_NOISE - 1"),
    "noise that goes on at one end": (unbounded_noise, UNBOUNDED, "np.abs(noise) ==", "noise =="),
    "noise that goes on at the first place": (unbounded_noise, UNBOUNDED, "in far:", "in far[:1]:"),
    "noise that goes on in 64 bits": (unbounded_noise, UNBOUNDED, "noise.astype(object)", "noise.copy()"),
    "noise that goes on by half": (unbounded_noise, UNBOUNDED, "Fraction(0), scale", "Fraction(0), scale / 2"),
    "noise that goes on from one": (unbounded_noise, UNBOUNDED, "Fraction(0), scale", "Fraction(1), scale"),
    "noise of another scale": (unbounded_noise, UNBOUNDED, "many(scale, trials", "many(2 * scale, trials"),
}


@pytest.mark.parametrize("name", first_of_each(BROKEN_FAST, lambda name: BROKEN_FAST[name][0]))
def test_a_broken_fast_path_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    shown, function, old, new = BROKEN_FAST[name]
    mutate(monkeypatch, exact_fast, function, old, new)
    with pytest.raises((Refused, TypeError, AttributeError, ValueError, OverflowError, IndexError)):
        shown()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, (shown, *_) in BROKEN_FAST.items() if shown is not released_rows])
def test_a_broken_fast_path_is_refused_by_the_theorem(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    _, function, old, new = BROKEN_FAST[name]
    mutate(monkeypatch, exact_fast, function, old, new)
    with pytest.raises(Refused):
        rechecked(ABOVE)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, (shown, *_) in BROKEN_FAST.items() if shown is released_rows])
def test_a_broken_release_of_values_is_refused_by_the_theorem(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    _, function, old, new = BROKEN_FAST[name]
    mutate(monkeypatch, exact_fast, function, old, new)
    with pytest.raises(Refused):
        rechecked(NUMERIC)


@pytest.mark.slow
def test_another_grid_and_threshold_are_no_matter(checked: Checked) -> None:
    parameters = {**PARAMETERS, "grid": Grid(3), "threshold": -16, "positives": 1}
    assert checked(DRAFTS[ABOVE](), parameters=parameters).statement.startswith("1-DP")
