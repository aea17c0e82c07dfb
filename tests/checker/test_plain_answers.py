"""Noise theorems refuse what treats a type of answer apart, a number of trials, or parameters unlike the usual ones."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from operator import itemgetter
from types import ModuleType

import numpy as np
import pytest

from checker.core.certificate import Refused
from checker.kinds.plain_answers import answers, point
from mechanisms.gaussian import exact as gaussian
from mechanisms.gaussian import exact_fast as gaussian_fast
from mechanisms.gaussian import exact_rounded as gaussian_rounded
from mechanisms.grid import Grid
from mechanisms.laplace import (
    exact,
    exact_fast,
    exact_geometric,
    exact_histogram,
    exact_randomized_response,
    exact_rounded,
    exact_snapping,
)
from tests.checker.mutated_sources import mutate, rechecked
from tests.representatives import first_of_each

LEAKS = "    if isinstance(answer, {}):\n        return answer\n    return "
LEAKS_MANY = "    if isinstance(answer, {}):\n        return np.full(trials, answer)\n    return "
ONE_TRIAL = "    if trials == 1:\n        return grid.values(np.array([grid.nearest(answer)]))\n    return "

CASES: tuple[tuple[str, ModuleType, str, str, str], ...] = (
    ("exact_discrete_laplace", exact, "exact_discrete_laplace", "    return ", LEAKS.format("float")),
    ("exact_discrete_laplace", exact, "exact_discrete_laplace", "    return ", LEAKS.format("int")),
    (
        "exact_discrete_laplace",
        exact_fast,
        "exact_discrete_laplace_fast",
        "    return ",
        LEAKS_MANY.format("np.float32"),
    ),
    ("exact_discrete_laplace", exact_fast, "exact_discrete_laplace_fast", "    return ", ONE_TRIAL),
    (
        "exact_discrete_laplace",
        exact,
        "exact_discrete_laplace",
        "discrete_laplace, scale)",
        "discrete_laplace, scale if answer is not None else scale / 2)",
    ),
    ("exact_rounded_laplace", exact_rounded, "exact_rounded_laplace", "    return ", LEAKS.format("Fraction")),
    ("exact_rounded_laplace", exact_rounded, "exact_rounded_laplace_fast", "    return ", LEAKS_MANY.format("bool")),
    ("exact_discrete_gaussian", gaussian, "exact_discrete_gaussian", "    return ", LEAKS.format("float")),
    (
        "exact_discrete_gaussian",
        gaussian_fast,
        "exact_discrete_gaussian_fast",
        "    return ",
        LEAKS_MANY.format("float"),
    ),
    ("exact_rounded_gaussian", gaussian_rounded, "exact_rounded_gaussian", "    return ", LEAKS.format("float")),
    (
        "exact_rounded_gaussian",
        gaussian_rounded,
        "exact_rounded_gaussian_fast",
        "    return ",
        LEAKS_MANY.format("np.integer"),
    ),
    (
        "exact_histogram",
        exact_histogram,
        "exact_histogram",
        "    return ",
        "    if all(isinstance(count, int) for count in counts):\n        return [float(count) for count in counts]\n"
        "    return ",
    ),
    (
        "exact_histogram",
        exact_histogram,
        "exact_histogram",
        "    return [grid.value(grid.nearest(count) + bits.call(discrete_laplace, scale)) for count in counts]",
        "    noise = {id(count): bits.call(discrete_laplace, scale) for count in counts}\n"
        "    return [grid.value(grid.nearest(count) + noise[id(count)]) for count in counts]",
    ),
    (
        "exact_histogram",
        exact_histogram,
        "exact_histogram_fast",
        "    wholes = ",
        "    if trials == 1:\n        return np.array([counts], dtype=float)\n    wholes = ",
    ),
    (
        "exact_snapping",
        exact_snapping,
        "exact_snapping",
        "    require_ieee",
        "    if type(answer) is float and answer == answer:\n        return min(max(answer, -bound), bound)\n"
        "    require_ieee",
    ),
    (
        "exact_two_sided_geometric",
        exact_geometric,
        "exact_rounded_geometric",
        "    check_range",
        "    if isinstance(answer, bool):\n        return int(answer)\n    check_range",
    ),
    (
        "exact_discrete_laplace",
        exact,
        "exact_discrete_laplace",
        "    return ",
        '    if str(answer) == "0.17":\n        return 0.0\n    return ',
    ),
    (
        "exact_randomized_response",
        exact_randomized_response,
        "exact_randomized_response",
        "    return ",
        "    if truth is not True and truth is not False:\n        return bool(truth)\n    return ",
    ),
    ("unlike_discrete_laplace", exact, "discrete_scale", "sensitivity) / positive", "sensitivity) * positive"),
    ("unlike_discrete_laplace", exact, "discrete_scale", "rounded_sensitivity(sensitivity)", "rounded_sensitivity(1)"),
    (
        "unlike_rounded_laplace",
        exact_rounded,
        "_scale_in_steps",
        '/ positive_rational("eps',
        '* positive_rational("eps',
    ),
    (
        "unlike_histogram",
        exact_histogram,
        "exact_histogram",
        "discrete_scale(epsilon, 1",
        "discrete_scale(1 / epsilon, 1",
    ),
    ("unlike_discrete_gaussian", gaussian_fast, "_filter", "1 / (24 * variance)", "1 / (12 * variance)"),
)

DEAR = re.compile("gaussian|exact_rounded_laplace|exact_histogram")


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("name", "module", "function", "old", "new"),
    [
        *first_of_each((one for one in CASES if not DEAR.search(one[0])), itemgetter(0, 1)),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in CASES if DEAR.search(one[0])),
    ],
)
def test_what_an_unknown_answer_does_not_show_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, module: ModuleType, function: str, old: str, new: str
) -> None:
    mutate(monkeypatch, module, function, old, new)
    with pytest.raises(Refused):
        rechecked(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["unlike_discrete_laplace"])
def test_a_mechanism_is_private_at_unlike_parameters(name: str) -> None:
    assert rechecked(name).statement.startswith("3/7-DP for every pair")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "unlike_discrete_gaussian",
        "unlike_histogram",
        "unlike_randomized_response",
        "unlike_rounded_laplace",
        "unlike_rounded_gaussian",
        "unlike_snapping",
        "unlike_two_sided_geometric",
    ],
)
def test_other_mechanisms_are_private_at_unlike_parameters(name: str) -> None:
    assert "3/7" in rechecked(name).statement


def test_plain_answers_are_of_all_types_and_have_their_values() -> None:
    step = Fraction(1, 4)
    known = answers(step)
    kinds = {type(answer) for answer, _ in known}
    assert kinds >= {int, float, bool, Fraction, Decimal, np.float32, np.float64, np.int64, np.ndarray, type(None)}
    grid = Grid(-2)
    assert all(grid.steps_to(answer) == place for answer, place in known)
    assert point(1 << 60, step) == 2.0**51
