"""Formulas are held to certified bounds: naive ones are found and sound ones are not accused."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from attacklab.calibration import QUANTITIES, CalibrationFinding, Unsafe, calibrate, quantity
from attacklab.cli.calibrate import command
from attacklab.model.findings import Verdict
from experiments.common.calibration_formulas import NAIVE, SOUND

NAMES = [known.name for known in QUANTITIES]
SPARED = {"gaussian_sigma": 5, "gaussian_epsilon": 4, "zcdp_epsilon": 4, "gaussian_composed_epsilon": 2}
"""These quantities are slow: only every n-th set of their arguments is asked for."""
LOOSE = {
    *("composed_delta", "composed_epsilon", "zcdp_epsilon", "zcdp_delta", "laplace_threshold"),
    *("discrete_gaussian_tail", "gaussian_threshold_delta", "gaussian_threshold"),
}
"""The quantities whose sound formula may return more than the least double that is safe."""
THIRD = [{"scale": 3.0, "sensitivity": 1.0}]


@pytest.mark.parametrize("name", NAMES)
def test_a_naive_formula_is_found_and_a_sound_one_is_proved_safe(name: str) -> None:
    """The sound ones are computed by mpmath or in rationals; the best of them cannot be one double less."""
    grid = quantity(name).grid[:: SPARED.get(name, 1)]
    assert {tuple(arguments) for arguments in grid} == {quantity(name).arguments}
    naive = {finding.verdict for finding in calibrate(name, NAIVE[name], name="naive", grid=grid)}
    assert Verdict.VIOLATED in naive
    assert Verdict.ERROR not in naive
    sound = calibrate(name, SOUND[name], name="sound", grid=grid)
    assert {finding.verdict for finding in sound} == {Verdict.PROVED}
    if name in LOOSE:
        return
    decided, direction = 0, -math.inf if quantity(name).unsafe is Unsafe.TOO_SMALL else math.inf
    for finding in sound[::3]:
        beyond = math.nextafter(float(finding.returned or 0.0), direction)
        (again,) = calibrate(name, lambda beyond=beyond, **_: beyond, name="one less", grid=[finding.parameters])
        assert again.verdict is not Verdict.PROVED
        decided += again.verdict is Verdict.VIOLATED
    assert decided >= 0.7 * len(sound[::3])


def test_a_conversion_from_zcdp_that_falls_short_by_one_rounding_is_refuted() -> None:
    arguments = {"rho": 0.005, "epsilon": 1.0}
    safe = SOUND["zcdp_delta"](**arguments)
    for number, verdict in ((safe, Verdict.PROVED), (safe * (1 - 2.0**-48), Verdict.VIOLATED)):
        (finding,) = calibrate("zcdp_delta", lambda number=number, **_: number, name="x", grid=[arguments])
        assert finding.verdict is verdict


def judged(function: Callable[..., object]) -> CalibrationFinding:
    (finding,) = calibrate("laplace_epsilon", function, name="ours", grid=THIRD)
    return finding


def raising(error: Exception) -> Callable[..., object]:
    def formula(**_: float) -> float:
        raise error

    return formula


def test_a_refuted_number_deviates_by_a_part_of_the_bound() -> None:
    half = judged(lambda scale, sensitivity: sensitivity / scale / 2)
    assert "0.16666666666666666 is too small" in half.reason
    assert half.deviation == pytest.approx(0.5, rel=1e-12)
    assert judged(lambda **_: 1 / 3).verdict is Verdict.VIOLATED
    written = half.to_json()
    assert (written["returned"], written["parameters"]["scale"]) == ((1 / 6).hex(), "0x1.8000000000000p+1")
    assert [float.fromhex(end) for end in written["bound"]] == [1 / 3, 1 / 3]


@pytest.mark.parametrize("answer", [math.nan, "0.5", None, True, 1j, 10**400, 2**53 + 1], ids=repr)
def test_an_answer_that_is_not_one_double_is_an_error(answer: object) -> None:
    assert judged(lambda **_: answer).verdict is Verdict.ERROR
    assert "must return one double" in judged(lambda **_: answer).reason


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        *((lambda given=given, **_: given, Verdict.PROVED) for given in (1, np.float32(0.5), math.inf)),
        (lambda **_: math.nextafter(1 / 3, 1), Verdict.PROVED),
        (raising(ValueError("only above 5")), Verdict.NOT_APPLICABLE),
        (raising(KeyError("x")), Verdict.ERROR),
    ],
)
def test_whatever_a_formula_does_is_judged(answer: Callable[..., object], verdict: Verdict) -> None:
    assert judged(answer).verdict is verdict


def test_where_the_best_number_is_unknown_nothing_is_concluded_between() -> None:
    grid = [{"rho": 1.0, "epsilon": 1.0}]
    known = quantity("zcdp_delta").bound(grid[0])
    between = (known.below() + known.above()) / 2
    (finding,) = calibrate("zcdp_delta", lambda **_: between, name="between", grid=grid)
    assert finding.verdict is Verdict.INCONCLUSIVE


# The command

app = typer.Typer()
app.command("calibrate")(command)

FORMULAS = """
import json, math, sys
NUMBER = 3
def nearest(scale, sensitivity): return sensitivity / scale
def above(scale, sensitivity): return math.nextafter(sensitivity / scale, math.inf)
def refusing(scale, sensitivity): raise ValueError("nothing is known")
def failing(scale, sensitivity): raise KeyError(scale)
for line in sys.stdin if __name__ == "__main__" else ():
    given = {name: float.fromhex(text) for name, text in json.loads(line)["arguments"].items()}
    if sys.argv[1] == "crash" and given["scale"] == 3.0: sys.exit(3)
    answers = {"decimal": {"value": 0.5}, "text": {"value": "half"}, "wide": {"value": "0x1.00000000000001p0"}}
    answers |= {"other": {"outputs": []}, "refuse": {"error": "not for this"}, "integer": {"value": 1000000}}
    print(json.dumps(answers.get(sys.argv[1], {"value": nearest(**given).hex()})), flush=True)
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    (tmp_path / "formulas.py").write_text(FORMULAS)
    monkeypatch.chdir(tmp_path)

    def ran(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, list(words))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output

    return ran


def program(how: str) -> list[str]:
    return ["laplace_epsilon", "--exec", f"{shlex.quote(sys.executable)} formulas.py {how}"]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["list"], 0, "gaussian_sigma(epsilon, delta, sensitivity)"),
        (["laplace_epsilon", "formulas.py:above"], 0, "40 proved"),
        (["laplace_epsilon", "formulas.py:nearest"], 1, "40 sets of arguments: 17 violated, 23 proved"),
        (["laplace_epsilon", "formulas.py:failing"], 2, "the formula raised KeyError"),
        (["laplace_epsilon", "formulas.py:refusing"], 2, "the formula refused all arguments"),
        (program("answer"), 1, "17 violated, 23 proved"),
        (program("integer"), 0, "40 proved"),
        (program("refuse"), 2, "the formula refused all arguments"),
        (program("decimal"), 2, "0.5 is not exact: write floats as hex strings"),
        (program("text"), 2, "value must be a hex float"),
        (program("wide"), 2, "is not a binary64 number"),
        (program("other"), 2, "an answer holds value or error, not outputs"),
        (program("crash"), 2, "status 3"),
    ],
)
def test_the_exit_status_tells_refuted_safe_and_failed_apart(
    run: Callable[..., tuple[int, str]], words: list[str], status: int, message: str
) -> None:
    ended, output = run(*words)
    assert ended == status
    assert message in output


def test_findings_are_written_as_a_record(run: Callable[..., tuple[int, str]]) -> None:
    assert run("laplace_epsilon", "formulas.py:nearest", "--json", "findings.json")[0] == 1
    written = json.loads(Path("findings.json").read_text())
    assert (written["schema"], len(written["findings"])) == ("attacklab/calibration/1", 40)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["laplace_epsilon"], "give the formula of laplace_epsilon"),
        (["laplace_epsilon", "math:sqrt", "--exec", "true"], "give the formula"),
        (["laplace"], "there is no quantity 'laplace'"),
        (["gauss_sigma", "math:sqrt"], "did you mean 'gaussian_sigma'"),
        (["list", "math:sqrt"], "list takes no formula"),
        (["laplace_epsilon", "formulas.py:NUMBER"], "is an int, not a function"),
    ],
)
def test_a_usage_error_says_what_to_do(run: Callable[..., tuple[int, str]], words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(*words)
