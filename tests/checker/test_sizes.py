"""Mechanisms that behave otherwise beyond a size that few runs reach are refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from checker.core.certificate import Refused
from checker.kinds.local_sensitivity import require_smooth_bound
from checker.kinds.stateless import require_stateless
from mechanisms.local_sensitivity.smooth import exact as smooth
from tests.checker.mutated_sources import mutate

FIRST = "    first = "
RESULT = "    return Fraction("


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (
            "smooth_sensitivity",
            RESULT,
            "    if count > 5000:\n        return Fraction(local_sensitivity(count, width))\n" + RESULT,
        ),
        ("smooth_sensitivity", "range(1, count + 1)", "range(1, min(count, 10**9) + 1)"),
        ("smooth_sensitivity", "range(1, count + 1)", "range(1, count + 1 + (count >= 2**40))"),
        ("smooth_sensitivity", FIRST, "    width += count == 5000\n" + FIRST),
        ("smooth_sensitivity", "partial(smoothed,", "partial(smoothed if count < 10**6 else max,"),
        ("smoothed", "bound - bound //", "bound - (size > 10**6) - bound //"),
        ("smoothed", "    return", "    smoothed.calls = vars(smoothed).get('calls', 0) + 1\n    return"),
    ],
)
def test_a_smooth_bound_that_changes_beyond_a_number_of_records_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str
) -> None:
    mutate(monkeypatch, smooth, name, old, new)
    with pytest.raises((Refused, TypeError)):
        require_smooth_bound(smooth.smooth_sensitivity, 100 << 14, 21)


def _remembers(step: int, calls: list[int] = []) -> int:  # noqa: B006 # what it remembers calls by
    calls.append(step)
    return len(calls)


def _counts() -> Any:
    calls = 0

    def count(step: int) -> int:
        nonlocal calls
        calls += 1
        return step + calls

    return count


@pytest.mark.parametrize("function", [_remembers, _counts(), [].append, iter([1, 2]).__next__, print])
def test_a_function_that_can_remember_its_calls_is_refused(function: Any) -> None:
    with pytest.raises(Refused):
        require_stateless(function)


def test_a_function_of_its_arguments_is_not_refused() -> None:
    require_stateless(smooth.smoothed)
    assert require_smooth_bound(smooth.smooth_sensitivity, 100 << 14, 21)[0] == Fraction(100 << 14)
