"""What a formula may answer, what is made of it, and the record of that."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from attacklab.calibration import QUANTITIES, CalibrationFinding, calibrate, quantity, read_record, record
from attacklab.model.findings import Verdict, to_text

EPSILON = [{"scale": 3.0, "sensitivity": 1.0}]


def judged(function: Callable[..., object], grid: list[dict[str, float]] = EPSILON) -> CalibrationFinding:
    [finding] = calibrate("laplace_epsilon", function, name="ours", grid=grid)
    return finding


def test_a_number_on_the_unsafe_side_is_a_finding_with_both_numbers() -> None:
    finding = judged(lambda scale, sensitivity: sensitivity / scale)
    assert finding.verdict is Verdict.VIOLATED
    assert finding.returned == 1 / 3
    assert finding.bound is not None
    assert finding.bound.lower > 1 / 3
    assert "0.3333333333333333 is too small" in finding.reason
    assert finding.parameters == EPSILON[0]


def test_a_refuted_number_deviates_by_a_part_of_the_bound() -> None:
    half = judged(lambda scale, sensitivity: sensitivity / scale / 2)
    assert half.deviation == pytest.approx(0.5, rel=1e-12)
    assert judged(lambda **_: 1.0).deviation == 0.0
    spent = {"total": 1.0, "parts": (0.5, 0.5)}
    [nothing_left] = calibrate("budget_remaining", lambda **_: 0.1, name="x", grid=[spent])
    assert nothing_left.verdict is Verdict.VIOLATED
    assert nothing_left.deviation == math.inf


def test_the_neighbour_above_is_proved_safe() -> None:
    finding = judged(lambda scale, sensitivity: math.nextafter(sensitivity / scale, 1))
    assert finding.verdict is Verdict.PROVED
    assert judged(lambda **_: math.inf).verdict is Verdict.PROVED


def test_where_the_unsafe_side_is_above_a_larger_number_is_refuted() -> None:
    [exact] = calibrate("budget_share", lambda **_: 0.25, name="x", grid=[{"total": 1.0, "releases": 4}])
    [more] = calibrate("budget_share", lambda **_: 0.2500001, name="x", grid=[{"total": 1.0, "releases": 4}])
    assert (exact.verdict, more.verdict) == (Verdict.PROVED, Verdict.VIOLATED)
    assert "too large" in more.reason


@pytest.mark.parametrize("answer", [math.nan, "0.5", None, True, 1j, 10**400, 2**53 + 1], ids=repr)
def test_an_answer_that_is_not_one_double_is_an_error(answer: object) -> None:
    finding = judged(lambda **_: answer)
    assert finding.verdict is Verdict.ERROR
    assert "must return one double" in finding.reason
    assert finding.returned is None


@pytest.mark.parametrize("answer", [1, np.float64(0.5), np.float32(0.5)], ids=repr)
def test_any_real_number_that_is_a_double_is_an_answer(answer: object) -> None:
    assert judged(lambda **_: answer).verdict is Verdict.PROVED


def test_a_value_error_refuses_and_any_other_exception_is_an_error() -> None:
    def refuses(**_: float) -> float:
        raise ValueError("only for scales above 5")

    def fails(**_: float) -> float:
        return 1 / 0

    assert judged(refuses).verdict is Verdict.NOT_APPLICABLE
    assert "only for scales above 5" in judged(refuses).reason
    assert judged(fails).verdict is Verdict.ERROR
    assert "ZeroDivisionError" in judged(fails).reason


def test_where_the_best_number_is_unknown_nothing_is_concluded_between() -> None:
    grid = [{"rho": 1.0, "epsilon": 1.0}]
    known = quantity("zcdp_delta").bound(grid[0])
    between = (known.below() + known.above()) / 2
    [finding] = calibrate("zcdp_delta", lambda **_: between, name="between", grid=grid)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.bound is not None
    assert finding.bound.lower < between < finding.bound.upper


def test_unknown_quantities_and_arguments_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="did you mean 'gaussian_sigma'"):
        calibrate("gauss_sigma", math.sqrt, name="x")
    with pytest.raises(ValueError, match=r"laplace_epsilon\(scale, sensitivity\) cannot be asked for scale"):
        calibrate("laplace_epsilon", lambda **_: 1.0, name="x", grid=[{"scale": 1.0}])


def test_grids_are_deterministic_and_of_one_signature() -> None:
    for one in QUANTITIES:
        assert len(one.grid) >= 20
        assert {tuple(arguments) for arguments in one.grid} == {one.arguments}
        distinct = {json.dumps({name: repr(value) for name, value in arguments.items()}) for arguments in one.grid}
        assert len(distinct) == len(one.grid)


def test_findings_come_back_from_their_record_bit_by_bit(tmp_path: Path) -> None:
    findings = calibrate("budget_total", lambda parts: math.fsum(parts), name="fsum")
    findings += calibrate("composed_epsilon", lambda **_: math.inf, name="none")[:5]
    findings += calibrate("laplace_epsilon", lambda **_: math.nan, name="NaN")[:2]
    file = tmp_path / "record.json"
    file.write_text(to_text(record(findings)), encoding="utf-8")
    read = read_record(file)
    assert read["findings"] == findings
    assert read["schema"] == "attacklab/calibration/1"
    ends = json.loads(file.read_text(encoding="utf-8"))["findings"][0]["bound"]
    assert [float.fromhex(end) for end in ends] == [0.1, 0.1]


def test_a_malformed_record_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    good = record(calibrate("laplace_epsilon", lambda **_: 1.0, name="one", grid=EPSILON))
    for change, message in (
        ({"schema": "attacklab/1"}, "not a record of schema attacklab/calibration/1"),
        ({"findings": [{}]}, "malformed finding"),
        ({"findings": [{**good["findings"][0], "verdict": "fine"}]}, "malformed finding"),
        ({"findings": [{**good["findings"][0], "bound": ["0x1", "0x1p0"]}]}, "malformed finding"),
        ({"findings": [{**good["findings"][0], "more": 1}]}, "its fields must be"),
    ):
        file.write_text(json.dumps({**good, **change}), encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            read_record(file)
    assert quantity("laplace_epsilon").bound(EPSILON[0]).above() == math.nextafter(1 / 3, 1)
