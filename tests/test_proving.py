"""The page on proofs: its files prove and refute what it says, in the words that it shows."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from attacklab import cli
from attacklab.laws import net

pytest_plugins = ["pytester"]

PAGE = (Path(__file__).parent.parent / "docs" / "how_to" / "proving.md").read_text("utf-8")
FILES = dict(re.findall(r"<!-- (\w+\.py)[^>]*-->\n```python\n(.*?)```", PAGE, flags=re.DOTALL))
SHOWN = re.findall(r"```text\n\$ attacklab ([^\n]*)\n(.*?)```", PAGE, flags=re.DOTALL)
COLUMNS = "110"
"""The width of the terminal that the page shows."""


RUNS = net.RUNS


@pytest.fixture(autouse=True)
def plain_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page shows a proof with all its plain runs, on a machine that has time for them."""
    monkeypatch.setattr(net, "RUNS", RUNS)
    monkeypatch.setattr(net, "SECONDS", 60.0)


@pytest.fixture(autouse=True)
def _files_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(FILES) == {"counts.py", "test_counts.py"}
    for name, code in FILES.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def test_the_library_of_the_page_imports_nothing_of_the_lab() -> None:
    assert "import attacklab" not in FILES["counts.py"]
    assert "from attacklab" not in FILES["counts.py"]
    module: dict[str, object] = {}
    exec(compile(FILES["counts.py"], "counts.py", "exec"), module)  # noqa: S102 - our own example
    assert isinstance(module["released"](3), int)  # type: ignore[operator] # a function of the page


def test_the_page_shows_a_proof_one_with_slack_and_a_refutation() -> None:
    assert len(SHOWN) == 4
    assert [" proved " in said for _, said in SHOWN] == [True, True, False, True]
    assert ["proved with slack" in said for _, said in SHOWN] == [False, True, False, True]
    assert ["violated" in said for _, said in SHOWN] == [False, False, True, False]
    assert ["scope: this pair" in said for _, said in SHOWN] == [True, True, False, False]
    assert "scope: every pair of neighbours among 5 inputs (4 pairs)" in SHOWN[3][1]


@pytest.mark.parametrize(("line", "said"), SHOWN, ids=[line.split()[1] + line.split()[-1] for line, _ in SHOWN])
def test_each_command_prints_what_the_page_shows(
    line: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", COLUMNS)
    monkeypatch.setattr(sys, "argv", ["attacklab", *shlex.split(line)])
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().out == said


@pytest.mark.ci
def test_the_tests_of_the_page_end_as_it_says(pytester: pytest.Pytester) -> None:
    for name, code in FILES.items():
        (pytester.path / name).write_text(code, encoding="utf-8")
    result = pytester.runpytest_inprocess("-n", "0", "-p", "no:cacheprovider")
    ((passed, failed),) = re.findall(r"<!-- test_counts.py: (\d) passed, (\d) failed -->", PAGE)
    result.assert_outcomes(passed=int(passed), failed=int(failed))
    result.stdout.fnmatch_lines(
        [
            "hasty_count does not keep its claim (ε = 0.7)",
            "  pair: 0 and 1",
            "  event: first input likelier than allowed: 0, *",
            "  ε ≥ 1.38 by the exact laws",
        ]
    )
