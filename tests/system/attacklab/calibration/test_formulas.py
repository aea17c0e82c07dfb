"""Every naive formula is found, and no sound one is accused, not even at the least double that is safe."""

from __future__ import annotations

import math

import pytest

from attacklab.calibration import QUANTITIES, Unsafe, calibrate, quantity
from attacklab.model.findings import Verdict
from experiments.common.calibration_formulas import NAIVE, SOUND

NAMES = [one.name for one in QUANTITIES]
SPARED = {"gaussian_sigma": 5, "gaussian_epsilon": 4, "zcdp_epsilon": 4, "gaussian_composed_epsilon": 2}
"""These quantities are slow: only every n-th set of their arguments is asked for."""

TIGHT = sorted(
    set(NAMES)
    - {"composed_delta", "composed_epsilon", "zcdp_epsilon", "zcdp_delta"}
    - {"discrete_gaussian_tail", "gaussian_threshold_delta", "gaussian_threshold"}
    - {"laplace_threshold"}
)
"""The quantities whose sound formula returns the least double that is safe."""


def grid(name: str) -> list[dict[str, object]]:
    return [dict(arguments) for arguments in quantity(name).grid[:: SPARED.get(name, 1)]]


@pytest.mark.parametrize("name", NAMES)
def test_a_naive_formula_is_found_and_a_sound_one_is_proved_safe(name: str) -> None:
    naive = calibrate(name, NAIVE[name], name="naive", grid=grid(name))
    assert Verdict.VIOLATED in {finding.verdict for finding in naive}
    assert Verdict.ERROR not in {finding.verdict for finding in naive}
    sound = calibrate(name, SOUND[name], name="sound", grid=grid(name))
    assert {finding.verdict for finding in sound} == {Verdict.PROVED}


@pytest.mark.parametrize("name", TIGHT)
def test_the_neighbour_of_the_best_safe_double_is_refuted(name: str) -> None:
    direction = -math.inf if quantity(name).unsafe is Unsafe.TOO_SMALL else math.inf
    known = calibrate(name, SOUND[name], name="sound", grid=grid(name)[::3])
    decided = 0
    for finding in known:
        beyond = math.nextafter(finding.returned, direction)
        again = calibrate(name, lambda beyond=beyond, **_: beyond, name="one less", grid=[finding.parameters])[0]
        assert again.verdict is not Verdict.PROVED
        decided += again.verdict is Verdict.VIOLATED
    assert decided >= 0.7 * len(known)


def test_the_classical_sigma_is_refuted_above_1_only() -> None:
    found = calibrate("gaussian_sigma", NAIVE["gaussian_sigma"], name="classical")
    refuted = {float(one.parameters["epsilon"]) for one in found if one.verdict is Verdict.VIOLATED}
    assert min(refuted) > 1
    assert 10.0 in refuted


def test_a_threshold_without_its_own_mass_is_refuted_by_a_factor() -> None:
    [finding] = calibrate(
        "laplace_threshold_delta",
        NAIVE["laplace_threshold_delta"],
        name="strictly above",
        grid=[{"scale": 1.0, "threshold": 5, "keys": 1}],
    )
    assert finding.bound is not None
    assert finding.returned is not None
    # P[X ≥ 4] = e^−4/(1 + e^−1); leaving out the mass at 4 divides it by e.
    assert finding.bound.above() == pytest.approx(math.exp(-4) / (1 + math.exp(-1)), rel=1e-14)
    assert finding.bound.below() / finding.returned == pytest.approx(math.e, rel=1e-12)


def test_a_conversion_from_zcdp_that_falls_short_by_one_rounding_is_refuted() -> None:
    known = quantity("zcdp_delta")
    arguments = {"rho": 0.005, "epsilon": 1.0}
    safe = SOUND["zcdp_delta"](**arguments)
    short = safe * (1 - 2.0**-48)
    verdicts = [
        calibrate(known, lambda number=number, **_: number, name="x", grid=[arguments])[0].verdict
        for number in (safe, short)
    ]
    assert verdicts == [Verdict.PROVED, Verdict.VIOLATED]
