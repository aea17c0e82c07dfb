"""`attacklab poc`: which finding it shows, and what it says where there is none."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from attacklab import Kind
from attacklab.auditing.attacks import IntegerCast, LowBitLaplace, ZeroRounding
from attacklab.auditing.referee import audit
from attacklab.cli.poc import command
from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, Verdict, record, to_text
from attacklab.model.loading import load_target
from attacklab.model.targets import Target
from attacklab.processes.targets import external

ROOT = Path(__file__).parents[4]
FILE = str(ROOT / "tests" / "system" / "attacklab" / "poc" / "file_targets.py")
SPEC = f"{FILE}:naive_laplace --kind noise --epsilon 1"

app = typer.Typer()
app.command("poc")(command)


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0
    return result.output


def refused(*words: str) -> str:
    with pytest.raises(UsageError) as caught:
        run(*words)
    (line,) = str(caught.value).splitlines()
    return line


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    target = load_target(f"{FILE}:naive_laplace", kind=Kind.NOISE, epsilon=1.0)
    return audit(target, [ZeroRounding(), LowBitLaplace(), IntegerCast()], trials=2_000, spec=SPEC)


def file_of(folder: Path, findings: list[Finding]) -> str:
    path = folder / "findings.json"
    path.write_text(to_text(record(findings)), encoding="utf-8")
    return str(path)


def test_the_finding_on_the_most_ordinary_inputs_is_taken(findings: list[Finding], tmp_path: Path) -> None:
    file = file_of(tmp_path, findings)
    assert "numpy's C code" in run(file)  # the answers 0 and 1, not 2^60
    assert "the answer exceeds 1152921504606847104" in run(file, "--attack", "integer_cast")
    assert "the answer exceeds 1152921504606847104" in run(file, "--finding", "3")


def test_a_script_is_written_to_a_file_and_over_an_older_one_only(findings: list[Finding], tmp_path: Path) -> None:
    file, script = file_of(tmp_path, findings), tmp_path / "shown.py"
    for _ in range(2):
        run(file, "--output", str(script))
        assert script.read_text("utf-8") == run(file)
    script.write_text("print('mine')\n")
    assert str(script) in refused(file, "--output", str(script))
    assert script.read_text("utf-8") == "print('mine')\n"


def test_what_cannot_be_shown_is_refused_in_one_line(findings: list[Finding], tmp_path: Path) -> None:
    file = file_of(tmp_path, findings)
    assert "not violated but not applicable" in refused(file, "--finding", "1")
    assert "no finding of zero_rounding is violated" in refused(file, "--attack", "zero_rounding")
    assert "no finding of low_bits" in refused(file, "--attack", "low_bits")
    assert "there is no finding 9; the file has 3" in refused(file, "--finding", "9")
    assert "not of integer_cast" in refused(file, "--attack", "integer_cast", "--finding", "2")
    kept = [replace(findings[1], verdict=Verdict.NOT_DETECTED)]
    assert "no finding is violated (not detected)" in refused(file_of(tmp_path, kept))
    assert "no findings" in refused(file_of(tmp_path, []))
    older = [replace(findings[1], code=None)]
    assert "does not hold its event as Python source" in refused(file_of(tmp_path, older))
    assert "names no pair" in refused(file_of(tmp_path, [replace(findings[1], pair=None)]))
    (tmp_path / "findings.json").write_text('{"a": 1}')
    assert "not a record" in refused(file)


def test_an_event_goes_through_json_and_an_unknown_field_of_it_is_refused(findings: list[Finding]) -> None:
    data: dict[str, Any] = json.loads(json.dumps(findings[1].to_json()))
    assert Finding.from_json(data).code == findings[1].code
    data["code"]["more"] = 1
    with pytest.raises(UsageError, match="not a finding"):
        Finding.from_json(data)


def shown(target: Target, spec: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = file_of(folder, audit(target, [LowBitLaplace()], trials=2_000, spec=spec))
    script = folder / "shown.py"
    run(file, "--output", str(script))
    return subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)  # noqa: S603


def test_a_program_is_asked_over_the_protocol(tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / "examples" / "exec_laplace.py")]
    target = external(program, kind=Kind.NOISE, epsilon=1.0)
    spec = f"--exec {shlex.quote(shlex.join(program))} --kind noise --epsilon 1.0"
    done = shown(target, spec, tmp_path)
    assert (done.returncode, "BROKEN" in done.stdout) == (1, True), done.stderr


def test_a_library_is_called_as_its_adapter_calls_it(tmp_path: Path) -> None:
    done = shown(load_target("numpy:laplace"), "numpy:laplace", tmp_path)
    assert (done.returncode, "BROKEN" in done.stdout) == (1, True), done.stderr
    assert ".laplace(0.0, 1 / epsilon, trials)" in (tmp_path / "shown.py").read_text("utf-8")
