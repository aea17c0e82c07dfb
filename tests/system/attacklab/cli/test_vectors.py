"""`attacklab vectors`, in an app of its own."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from attacklab.cli.vectors import command
from attacklab.model.errors import UsageError

ROOT = Path(__file__).parents[4]
TAPES = str(ROOT / "vectors" / "tape.json")
CALIBRATIONS = str(ROOT / "vectors" / "calibration.json")

app = typer.Typer()
app.command("vectors")(command)


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def example(implementation: str) -> str:
    return shlex.join([sys.executable, str(ROOT / "examples" / "vectors" / "program.py"), implementation])


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


def test_a_sound_program_passes() -> None:
    status, output = run("check", TAPES, "--exec", example("exact"))
    assert status == 0
    assert "violated" not in output
    assert "LongRun" in output


def test_a_broken_program_is_refuted_and_its_findings_are_written(tmp_path: Path) -> None:
    record = tmp_path / "findings.json"
    status, output = run("check", TAPES, "--exec", example("naive"), "--json", str(record))
    assert status == 1
    assert "violated tape" in output
    assert "bernoulli_exp [" in output
    assert "it takes more bits than there are" in output
    written = json.loads(record.read_text(encoding="utf-8"))
    assert written["schema"] == "attacklab/vectors/1"
    verdicts = {(one["mechanism"], one["verdict"]) for one in written["findings"]}
    assert ("discrete_laplace", "violated") in verdicts
    assert ("discrete_gaussian", "not applicable") in verdicts


def test_a_program_that_has_no_mechanism_shows_nothing() -> None:
    skipping = "import sys\nfor line in sys.stdin: print('{\"skip\": true}', flush=True)"
    status, output = run("check", CALIBRATIONS, "--exec", python(skipping))
    assert status == 2
    assert "nothing was checked" in output


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit('no such thing')", "no such thing"),
        ("import sys\nfor line in sys.stdin: print('hello', flush=True)", "not a line of JSON"),
        ("import sys\nfor line in sys.stdin: print('{\"value\": 0.5}', flush=True)", "write floats as hex strings"),
        ('import sys\nfor line in sys.stdin: print(\'{"output": "1"}\', flush=True)', "holds value, not output"),
        ('import sys\nfor line in sys.stdin: print(\'{"value": "one"}\', flush=True)', "not written as a value"),
    ],
)
def test_a_program_that_answers_nothing_useful_is_an_error_and_given_up(code: str, message: str) -> None:
    status, output = run("check", CALIBRATIONS, "--exec", python(code))
    assert status == 2
    assert message in output
    assert "gave up after 5 errors in a row; 347 of 352 cases were not checked" in output


def test_a_program_that_does_not_start_is_an_error() -> None:
    status, output = run("check", CALIBRATIONS, "--exec", "/no/such/program")
    assert status == 2
    assert "/no/such/program" in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check", CALIBRATIONS], "--exec COMMAND"),
        (["check", CALIBRATIONS, "--exec", "'open"], "quote the command"),
        (["check", CALIBRATIONS, "--exec", ""], "--exec COMMAND"),
        (["check", "absent.json", "--exec", "true"], "absent.json: No such file"),
        (["check", "--exec", "true"], "no files of vectors in vectors/"),
        (["write", "--exec", "true"], "write takes --output only"),
        (["write"], "run it from a checkout of the lab"),
    ],
)
def test_wrong_usage_is_one_clear_line(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        run(*words)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
