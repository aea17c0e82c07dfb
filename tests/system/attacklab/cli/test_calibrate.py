"""`attacklab calibrate`, in an app of its own."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from attacklab.calibration import QUANTITIES, read_record
from attacklab.cli.calibrate import command

HERE = Path(__file__).parents[1] / "calibration"
PROGRAM = shlex.join([sys.executable, str(HERE / "program.py")])

app = typer.Typer()
app.command("calibrate")(command)


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def formula(name: str) -> str:
    return f"{HERE / 'formulas.py'}:{name}"


def test_the_quantities_are_listed_with_their_signatures() -> None:
    status, output = run("list")
    assert (status, output) == run()
    assert status == 0
    for one in QUANTITIES:
        assert one.name in output


def test_the_exit_status_tells_refuted_safe_and_failed_apart() -> None:
    assert run("laplace_epsilon", formula("above"))[0] == 0
    status, output = run("laplace_epsilon", formula("nearest"))
    assert status == 1
    assert "violated laplace_epsilon(scale=" in output
    assert "40 sets of arguments: 17 violated, 23 proved" in output
    assert run("laplace_epsilon", formula("failing"))[0] == 2
    status, output = run("laplace_epsilon", formula("refusing"))
    assert status == 2
    assert "the formula refused all arguments" in output


def test_findings_are_written_as_a_record(tmp_path: Path) -> None:
    file = tmp_path / "findings.json"
    status, _ = run("laplace_epsilon", formula("nearest"), "--json", str(file))
    assert status == 1
    assert len(read_record(file)["findings"]) == 40
    status, output = run("laplace_epsilon", formula("nearest"), "--json", "-")
    assert status == 1
    assert json.loads(output)["findings"] == json.loads(file.read_text(encoding="utf-8"))["findings"]


def test_a_program_is_held_to_the_same_bounds() -> None:
    status, output = run("laplace_epsilon", "--exec", f"{PROGRAM} answer")
    assert status == 1
    assert "17 violated, 23 proved" in output
    assert run("laplace_epsilon", "--exec", f"{PROGRAM} decimal")[0] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["laplace_epsilon"], "give the formula of laplace_epsilon"),
        (["laplace_epsilon", "math:sqrt", "--exec", "true"], "give the formula"),
        (["laplace_epsilon", "--exec", "'"], "quote the command"),
        (["laplace"], "there is no quantity 'laplace'"),
        (["list", "math:sqrt"], "list takes no formula"),
        (["laplace_epsilon", formula("NUMBER")], "is an int, not a function"),
        (["laplace_epsilon", formula("missing")], "is None, not a function"),
        (["laplace_epsilon", "nothing"], "must be written"),
    ],
)
def test_a_usage_error_says_what_to_do(words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(*words)
