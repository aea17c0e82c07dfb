"""The experiment on existing code: its rows against a series written down here, and those kept without the library."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest

from attacklab.laws.standard_random import passing_random
from attacklab.libraries.environments import environments
from attacklab.model.findings import read_record
from attacklab.reporting.experiment import Settings
from experiments import existing_code
from experiments.existing_code import GAMMAS, LIBRARY, ROOT, collect, distances, distances_in, site_packages

UNIT = Fraction(1, 1 << 53)


def success(threshold: float) -> Fraction:
    """The probability of `random() <= threshold`: multiples of 2^−53 from 0 on are counted."""
    return min((math.floor(Fraction(threshold) / UNIT) + 1) * UNIT, Fraction(1))


def unit_coin(gamma: float) -> Fraction:
    """The probability that the first failure among `random() <= gamma/k` has odd k, for γ ≤ 1, but for 2^−100."""
    total, reached = Fraction(1), Fraction(1)
    for k in range(1, 60):
        reached *= success(gamma / k)
        total += (-1) ** k * reached
    return total


def by_series(gamma: float) -> Fraction:
    return unit_coin(gamma) if gamma <= 1 else unit_coin(1.0) * by_series(gamma - 1)


def distance_by_series(gamma: float) -> float:
    with mpmath.workprec(200):
        exact = by_series(gamma)
        return float(mpmath.mpf(exact.numerator) / exact.denominator - mpmath.exp(-gamma))


def published_coin(gamma: float, rng: Any) -> int:
    """Canonne, Kamath and Steinke's coin on floats, written anew."""
    while gamma > 1:
        if not published_coin(1, rng):
            return 0
        gamma -= 1
    k = 1
    while rng.random() <= gamma / k:
        k += 1
    return k % 2


def test_a_coin_on_floats_has_the_distance_of_its_series() -> None:
    for row in distances(passing_random(published_coin), [0.0, 0.25, 0.7, 1.0, 1.25]):
        least, most = row["distance"]
        assert least - 1e-20 <= distance_by_series(row["gamma"]) <= most + 1e-20
        assert most - least < 1e-20


def test_a_coin_of_another_probability_is_told_apart() -> None:
    (row,) = distances(passing_random(lambda gamma, rng: rng.random() < 1 - gamma), [0.25])
    assert row["distance"][1] == pytest.approx(0.75 - math.exp(-0.25))


def test_the_committed_rows_of_the_library_are_those_of_the_series() -> None:
    rows = read_record(ROOT / "reports" / "measured" / "existing_code.json")["timings"]["rows"]
    published = {row["gamma"]: row["distance"] for row in rows if row["coin"] == LIBRARY}
    assert set(published) == set(GAMMAS)
    for gamma, (least, most) in published.items():
        assert least - 1e-20 <= distance_by_series(gamma) <= most + 1e-20


def test_without_the_environment_earlier_rows_of_the_library_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(existing_code, "site_packages", lambda _: None)
    row = {"coin": LIBRARY, "gamma": 0.5, "distance": [-1e-17, -1e-17], "measured": {"date": "2026-01-02"}}
    previous = {"timings": {"rows": [row, {**row, "coin": "exact"}]}}
    kept = collect(Settings(quick=True, previous=previous)).timings["rows"]
    assert [one for one in kept if one["coin"] == LIBRARY] == [row]
    assert len([one for one in kept if one["coin"] == "exact"]) == len(existing_code.QUICK_GAMMAS)
    alone = json.loads(json.dumps({"timings": collect(Settings(quick=True)).timings}))
    said = existing_code.explain_timings(alone)
    assert f"Not measured: {LIBRARY} (`make .environments/{LIBRARY}/.ready`)." in said
    assert len(existing_code.timing_table(alone)) == 1 + len(existing_code.QUICK_GAMMAS)
    assert [len(panel.series) for figure in existing_code.timing_figures(alone) for panel in figure.panels] == [1]


def packages() -> Path | None:
    return next(site_packages(one) for one in environments(ROOT) if one.name == LIBRARY)


@pytest.mark.skipif(packages() is None, reason=f"{LIBRARY} is not built")
def test_the_librarys_own_coin_has_the_distance_of_its_series() -> None:
    found = packages()
    assert found is not None
    for row in distances_in(found, [0.0, 0.3, 1.0, 1.75]):
        least, most = row["distance"]
        assert least - 1e-20 <= distance_by_series(row["gamma"]) <= most + 1e-20
