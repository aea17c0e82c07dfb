"""The theorem on histograms accepts the exact one and refuses what differs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from checker.core.certificate import Refused
from experiments.certificates import DRAFTS
from mechanisms.grid import Grid
from mechanisms.laplace import exact_histogram as module
from mechanisms.laplace.exact_fast import discrete_laplace_many
from tests.checker.conftest import Checked

HISTOGRAM = DRAFTS["exact_histogram"]()


@pytest.mark.slow
def test_a_noisy_histogram_is_private_for_every_pair(checked: Checked) -> None:
    assert checked(HISTOGRAM).statement == "1-DP for every pair of histograms that differ by 1 in one count"


@pytest.mark.slow
def test_a_coarser_grid_needs_no_less_noise(checked: Checked) -> None:
    assert checked(HISTOGRAM, parameters={"epsilon": Fraction(1, 2), "grid": Grid(3)}).statement.startswith("1/2-DP")


@pytest.mark.parametrize(
    "change",
    [
        {"claim": {"kind": "pure", "epsilon": "999/1000"}},
        {"neighbours": "any two counts 1 apart"},
        {"parameters": {"epsilon": Fraction(2), "grid": Grid(0)}},
        {"functions": {"reference": module.exact_histogram}},
    ],
)
def test_what_is_false_is_refused(checked: Checked, change: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        checked(HISTOGRAM, **change)


def wholes(counts: Any, grid: Any) -> list[Any]:
    return [grid.nearest(count) for count in counts]


def rows(noise: Any, trials: int, counts: Any) -> Any:
    return noise.reshape(trials, len(counts))


FAST: dict[str, Callable[..., Any]] = {
    "one noise for all cells": lambda c, n, t, grid: grid.values(n[:t].reshape(t, 1) + wholes(c, grid)),
    "counts in another order": lambda c, n, t, grid: grid.values(rows(n, t, c) + wholes(c, grid)[::-1]),
    "counts that are not rounded": lambda c, n, t, grid: grid.values(rows(n, t, c) + list(c)),
    "counts added twice": lambda c, n, t, grid: grid.values(rows(n, t, c) + wholes(c, grid) + wholes(c, grid)),
    "noise clamped alone": lambda c, n, t, grid: grid.values(rows(n, t, c)) + wholes(c, grid),
    "counts without noise": lambda c, n, t, grid: grid.values((0 * n).reshape(t, len(c)) + wholes(c, grid)),
}


def replaced(monkeypatch: pytest.MonkeyPatch, release: Callable[..., Any]) -> dict[str, Any]:
    """The functions of the certificate with another fast path."""

    def exact_histogram_fast(counts: Any, trials: int, bits: Any, *, epsilon: Any, grid: Any) -> Any:
        noise = discrete_laplace_many(module.discrete_scale(epsilon, 1, grid), trials * len(counts), bits)
        return release(counts, noise, trials, grid)

    exact_histogram_fast.__module__, exact_histogram_fast.__qualname__ = module.__name__, "exact_histogram_fast"
    monkeypatch.setattr(module, "exact_histogram_fast", exact_histogram_fast)
    return {**HISTOGRAM.functions, "fast": exact_histogram_fast}


@pytest.mark.parametrize("name", FAST)
def test_a_broken_fast_path_is_refused(checked: Checked, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with pytest.raises(Refused):
        checked(HISTOGRAM, functions=replaced(monkeypatch, FAST[name]))


@pytest.mark.slow
def test_another_way_to_write_the_same_fast_path_is_accepted(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    def release(counts: Any, noise: Any, trials: int, grid: Any) -> Any:
        return grid.values(rows(noise, trials, counts) + wholes(counts, grid))

    assert checked(HISTOGRAM, functions=replaced(monkeypatch, release))
