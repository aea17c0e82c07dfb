"""What a command leaves behind whatever the target, the terminal and the files are: nothing lost, nothing destroyed."""

import json
import os
import sys
from pathlib import Path

import pytest

from attacklab.model.findings import Verdict, read_record
from tests.cli import forked
from tests.cli.forked import Done
from tests.cli.lines import TARGETS

PRINTING = """
def printing(answer, trials, rng):
    print('{"printed": 1}')
    os.write(1, b"written\\n")
    return leaking(answer, trials, rng)
"""

MOVING = "import os\nos.makedirs('elsewhere', exist_ok=True)\nos.chdir('elsewhere')\n"

LEAKING = "audit targets.py:leaking --kind noise --epsilon 1 --attack low_bit_laplace --trials 2000 --workers 1"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "targets.py").write_text(TARGETS + PRINTING)
    (tmp_path / "moving.py").write_text(MOVING + TARGETS)
    (tmp_path / "nowhere.py").write_text("import sys\nsys.path.clear()\n" + TARGETS)
    return tmp_path


def run(folder: Path, line: str, *, output: int | None = None, env: dict[str, str] | None = None) -> Done:
    return forked.run(folder, *line.split(), output=output, env=env)


def verdicts(text: bytes) -> list[str]:
    return [finding["verdict"] for finding in json.loads(text)["findings"]]


def test_findings_are_in_their_files_whether_or_not_the_table_is_read(folder: Path) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    done = run(folder, f"{LEAKING} --json out.json --sarif out.sarif", output=writes)
    os.close(writes)
    assert (done.returncode, done.stderr) == (1, b"")
    assert [finding.verdict for finding in read_record(folder / "out.json")["findings"]] == [Verdict.VIOLATED]
    assert len(json.loads((folder / "out.sarif").read_text())["runs"][0]["results"]) == 1


def test_a_terminal_without_greek_letters_shows_the_rest_and_json_has_all(folder: Path) -> None:
    done = run(folder, LEAKING, env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"claims ? = 1.0" in done.stdout
    done = run(folder, f"{LEAKING} --json -", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 1
    assert "ε" in done.stdout.decode("utf-8")
    assert verdicts(done.stdout) == ["violated"]


def test_a_full_disk_takes_the_table_or_a_file_and_nothing_else(folder: Path) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - as the shell opens it
        done = run(folder, f"{LEAKING} --json out.json", output=full.fileno())
    assert done.returncode == 2
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr
    assert verdicts((folder / "out.json").read_bytes()) == ["violated"]
    done = run(folder, f"{LEAKING} --json /dev/full --sarif out.sarif")
    assert (done.returncode, done.stderr) == (2, b"attacklab: cannot write to /dev/full: No space left on device\n")
    assert b"FAIL" in done.stdout
    assert (folder / "out.sarif").is_file()


def test_the_page_for_people_is_written_beside_the_findings(folder: Path) -> None:
    for _ in range(2):  # the second one replaces the first
        done = run(folder, f"{LEAKING} --json out.json --html deep/out.html")
        assert done.returncode == 1
        assert "low_bit_laplace" in (folder / "deep" / "out.html").read_text(encoding="utf-8")
    assert b"--html needs the name of a file" in run(folder, f"{LEAKING} --html -").stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_target_prints_is_not_among_the_findings(folder: Path, workers: int) -> None:
    line = LEAKING.replace(":leaking", ":printing").replace("--workers 1", f"--workers {workers}")
    done = run(folder, f"{line} --json -")
    assert done.returncode == 1
    assert verdicts(done.stdout) == ["violated"]
    assert b'{"printed": 1}' in done.stderr
    assert b"written" in done.stderr
    assert b"printed" not in run(folder, line).stdout


def test_a_target_that_changes_where_modules_are_found_loses_no_finding(folder: Path) -> None:
    done = run(folder, LEAKING.replace("targets.py", "nowhere.py") + " --json f.json --sarif f.sarif")
    assert done.returncode == 1, done.stderr
    assert any(finding.refutes for finding in read_record(folder / "f.json")["findings"])
    assert json.loads((folder / "f.sarif").read_text())["runs"][0]["results"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_target_that_goes_elsewhere_takes_no_file_with_it(folder: Path, workers: int) -> None:
    line = LEAKING.replace("targets.py", "moving.py").replace("--workers 1", f"--workers {workers}")
    done = run(folder, f"{line} --json out.json --sarif deep/out.sarif")
    assert (done.returncode, b"attacklab:" in done.stderr) == (1, False)
    assert verdicts((folder / "out.json").read_bytes()) == ["violated"]
    assert (folder / "deep" / "out.sarif").is_file()
    assert not list((folder / "elsewhere").iterdir())


@pytest.mark.parametrize("forced", [{}, {"FORCE_COLOR": "1"}])
def test_without_a_terminal_no_line_is_wrapped(folder: Path, forced: dict[str, str]) -> None:
    done = run(folder, f"{LEAKING.replace('leaking', 'sound')} -v", env={"COLUMNS": "", **forced})
    assert any(
        line.startswith("    not refuted; ") and line.endswith(" the claim allows 0.462")
        for line in done.stdout.decode().splitlines()
    )
