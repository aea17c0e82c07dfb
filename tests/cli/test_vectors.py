"""`attacklab vectors`, in an app of its own."""

import json
import shlex
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from attacklab.cli.cases import vectors

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TAPES, CALIBRATIONS = (str(ROOT / "vectors" / f"{type_}.json") for type_ in ("tape", "calibration"))
EXAMPLE = shlex.join([sys.executable, str(ROOT / "examples" / "vectors" / "program.py")])
GIVEN_UP = "gave up after 5 errors in a row; 392 of 397 cases were not checked"

app = typer.Typer()
app.command("vectors")(vectors)


def answering(line: str) -> str:
    """A program that answers every request with this line."""
    return shlex.join([sys.executable, "-c", f"import sys\nfor line in sys.stdin: print({line!r}, flush=True)"])


@pytest.mark.parametrize(
    ("file", "program", "status", "said"),
    [
        (TAPES, f"{EXAMPLE} exact", 0, ["LongRun"]),
        (TAPES, f"{EXAMPLE} naive", 1, ["violated tape", "bernoulli_exp [", "it takes more bits than there are"]),
        (CALIBRATIONS, answering('{"skip": true}'), 2, ["nothing was checked"]),
        (CALIBRATIONS, answering("hello"), 2, ["not a line of JSON", GIVEN_UP]),
        (CALIBRATIONS, answering('{"value": 0.5}'), 2, ["write floats as hex strings", GIVEN_UP]),
        (CALIBRATIONS, answering('{"output": "1"}'), 2, ["holds value, not output", GIVEN_UP]),
        (CALIBRATIONS, answering('{"value": "one"}'), 2, ["is not a value of vectors", GIVEN_UP]),
        (CALIBRATIONS, f"{sys.executable} -c \"exit('no such thing')\"", 2, ["no such thing", GIVEN_UP]),
        (CALIBRATIONS, "/no/such/program", 2, ["/no/such/program"]),
    ],
)
def test_the_status_tells_right_wrong_and_useless_programs_apart(
    file: str, program: str, status: int, said: list[str], tmp_path: Path
) -> None:
    record = tmp_path / "findings.json"
    result = CliRunner().invoke(app, [file, "--exec", program, "--json", str(record)])
    assert result.exit_code == status
    assert all(words in result.output for words in said)
    assert ("violated" in result.output) is (status == 1)
    written = json.loads(record.read_text(encoding="utf-8"))
    assert written["schema"] == "attacklab/vectors/1"
    if status == 1:
        verdicts = {(row["mechanism"], row["verdict"]) for row in written["findings"]}
        assert verdicts >= {("discrete_laplace", "violated"), ("discrete_gaussian", "not applicable")}
