"""Formulas are held to certified bounds: naive ones are found and sound ones are not accused."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from attacklab.calibration import QUANTITIES, CalibrationFinding, Unsafe, calibrate, quantity
from attacklab.cli.cases import calibrate as command
from attacklab.model.errors import UsageError
from attacklab.model.findings import Verdict
from experiments.common.calibration_formulas import NAIVE, SOUND

pytestmark = pytest.mark.slow

SPARED = {
    "gaussian_sigma": 5,
    "gaussian_epsilon": 4,
    "zcdp_epsilon": 8,
    "zcdp_delta": 12,
    "gaussian_composed_epsilon": 2,
}
SPARED |= {"sampled_gaussian_epsilon": 5, "threshold_gaussian": 4}
"""These quantities are slow: only every n-th set of their arguments is asked for."""
LOOSE = {
    *("composed_delta", "composed_epsilon", "zcdp_epsilon", "zcdp_delta", "threshold_laplace"),
    *("discrete_gaussian_tail", "gaussian_threshold_delta", "threshold_gaussian", "selection_delta"),
    *("group_delta", "sampled_gaussian_epsilon", "rdp_epsilon"),
}
"""The quantities whose sound formula may return more than the least double that is safe."""


@pytest.mark.parametrize("name", [known.name for known in QUANTITIES])
def test_a_naive_formula_is_found_and_a_sound_one_is_proved_safe(name: str) -> None:
    """The sound ones are computed by mpmath or in rationals; the best of them cannot be one double less."""
    grid = quantity(name).grid[:: SPARED.get(name, 1)]
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


@pytest.mark.parametrize("alpha", [1.5, 4.0, 30.0])
@pytest.mark.parametrize("sigma", [0.5, 2.0, 9.0])
def test_what_renyi_divergence_implies_holds_of_gaussian_noise(alpha: float, sigma: float) -> None:
    for delta in (1e-12, 1e-5, 1e-2):
        implied = quantity("rdp_epsilon").bound({"alpha": alpha, "rdp": alpha / (2 * sigma**2), "delta": delta})
        lost = quantity("gaussian_epsilon").bound({"sigma": sigma, "delta": delta, "sensitivity": 1.0})
        assert lost.lower <= implied.upper
        assert 0 <= implied.lower <= implied.upper


def judged(formula: Callable[..., object]) -> CalibrationFinding:
    (finding,) = calibrate("laplace_epsilon", formula, name="ours", grid=[{"scale": 3.0, "sensitivity": 1.0}])
    return finding


def raising(error: Exception) -> Callable[..., object]:
    def formula(**_: float) -> float:
        raise error

    return formula


def test_a_refuted_number_deviates_by_a_part_of_the_bound() -> None:
    half = judged(lambda scale, sensitivity: sensitivity / scale / 2)
    assert "0.16666666666666666 is 2 times too small" in half.reason
    assert half.deviation == pytest.approx(0.5, rel=1e-12)
    written = half.to_json()
    assert (written["returned"], written["parameters"]["scale"]) == ((1 / 6).hex(), "0x1.8000000000000p+1")
    assert [float.fromhex(end) for end in written["bound"]] == [1 / 3, 1 / 3]


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (1, Verdict.PROVED),
        (np.float32(0.5), Verdict.PROVED),
        (math.inf, Verdict.PROVED),
        (math.nextafter(1 / 3, 1), Verdict.PROVED),
        (1 / 3, Verdict.VIOLATED),
        *((answer, Verdict.ERROR) for answer in (math.nan, "0.5", None, True, 1j, 10**400, 2**53 + 1)),
        (ValueError("only above 5"), Verdict.NOT_APPLICABLE),
        (KeyError("x"), Verdict.ERROR),
    ],
    ids=repr,
)
def test_whatever_a_formula_does_is_judged(answer: object, verdict: Verdict) -> None:
    finding = judged(raising(answer) if isinstance(answer, Exception) else lambda **_: answer)
    assert finding.verdict is verdict
    if verdict is Verdict.ERROR and not isinstance(answer, Exception):
        assert "must return one double" in finding.reason


def test_where_the_best_number_is_unknown_nothing_is_concluded_between() -> None:
    grid = [{"rho": 1.0, "epsilon": 1.0}]
    known = quantity("zcdp_delta").bound(grid[0])
    between = (known.below() + known.above()) / 2
    (finding,) = calibrate("zcdp_delta", lambda **_: between, name="between", grid=grid)
    assert finding.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("rdp_epsilon", {"alpha": 0.5, "rdp": 1.0, "delta": 0.1}),
        ("rdp_epsilon", {"alpha": 2.0, "rdp": 1.0, "delta": 0.0}),
        ("discrete_laplace_tail", {"scale": 1.0, "tail": 1.5}),
        ("laplace_tail", {"scale": 1.0, "tail": -1.0}),
        ("laplace_threshold_delta", {"scale": 1.0, "threshold": 2.5, "keys": 1}),
        ("composed_delta", {"delta": 1.5, "releases": 2}),
        ("threshold_gaussian", {"epsilon": 0.2, "delta": 0.9, "l0": 1}),
        ("budget_total", {"parts": (0.1, math.inf)}),
        ("budget_share", {"total": 1.0, "releases": 2.5}),
    ],
)
def test_arguments_out_of_range_are_refused(name: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="must be"):
        quantity(name).bound(arguments)


# The command

app = typer.Typer()
app.command("calibrate")(command)

FORMULAS = """
import math
NUMBER = 3
def nearest(scale, sensitivity): return sensitivity / scale
def above(scale, sensitivity): return math.nextafter(sensitivity / scale, math.inf)
def half(scale, sensitivity): return sensitivity / scale / 2
def importing(scale, sensitivity): import nothing_of_this_name
def refusing(scale, sensitivity): raise ValueError("nothing is known")
def failing(scale, sensitivity): raise KeyError(scale)
"""


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ("", 0, "gaussian_sigma(epsilon, delta, sensitivity)"),
        ("laplace_epsilon formulas.py:above", 0, "40 proved"),
        ("laplace_epsilon formulas.py:nearest --json written", 0, "17 violated by rounding alone, 23 proved"),
        ("laplace_epsilon formulas.py:half", 1, "is 2 times too small"),
        ("laplace_epsilon formulas.py:importing", "usage", "cannot be called: ModuleNotFoundError"),
        ("laplace_epsilon formulas.py:failing", 2, "the formula raised KeyError"),
        ("laplace_epsilon formulas.py:refusing", 2, "the formula refused all arguments"),
        ("laplace_epsilon", "usage", "name the function that computes laplace_epsilon"),
        ("laplace math:sqrt", "usage", "there is no quantity 'laplace'"),
        ("gauss_sigma math:sqrt", "usage", "did you mean 'gaussian_sigma'"),
        ("laplace_epsilon formulas.py:NUMBER", "usage", "is an int, not a function"),
    ],
)
def test_the_exit_status_tells_refuted_safe_and_failed_apart_and_a_message_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, status: int | str, message: str
) -> None:
    (tmp_path / "formulas.py").write_text(FORMULAS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    result = CliRunner().invoke(app, words.split())
    is_usage = isinstance(result.exception, UsageError)
    assert message in (str(result.exception) if is_usage else result.output)
    assert ("usage" if is_usage else result.exit_code) == status
    if "--json" in words:
        written = json.loads(Path("written").read_text())
        assert (written["schema"], len(written["findings"])) == ("attacklab/calibration/1", 40)
