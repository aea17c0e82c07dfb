"""The pages on proofs: their files prove and refute what they say, in the words that they show."""

import doctest
import re
import shlex
import sys
from pathlib import Path

import pytest

from attacklab import cli
from attacklab.laws import sampling_check

pytestmark = pytest.mark.slow

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
PAGES = {name: (ROOT / "docs" / "how_to" / f"{name}.md").read_text("utf-8") for name in ("proving", "exact_mechanisms")}
PAGE = PAGES["proving"]
FILES = {
    name: code
    for page in PAGES.values()
    for name, code in re.findall(r"<!-- (\w+\.py)[^>]*-->\n```python\n(.*?)```", page, flags=re.DOTALL)
}
SHOWN = [
    command
    for page in PAGES.values()
    for command in re.findall(r"```text\n\$ attacklab ([^\n]*)\n(.*?)```", page, flags=re.DOTALL)
]
COLUMNS = "110"
"""The width of the terminal that the pages show."""

RUNS = sampling_check.RUNS


@pytest.fixture(autouse=True)
def plain_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page shows a proof with all its plain runs, on a machine that has time for them."""
    monkeypatch.setattr(sampling_check, "RUNS", RUNS)
    monkeypatch.setattr(sampling_check, "SECONDS", 60.0)


@pytest.fixture(autouse=True)
def _files_of_the_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(FILES) == {"counts.py", "test_counts.py", "survey.py"}
    for name, code in FILES.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    (tmp_path / "checker").symlink_to(ROOT / "checker")
    monkeypatch.chdir(tmp_path)


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


def test_the_mechanisms_of_the_page_release_what_it_shows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "survey", raising=False)
    (session,) = re.findall(r"```pycon\n(.*?)```", PAGES["exact_mechanisms"], flags=re.DOTALL)
    example = doctest.DocTestParser().get_doctest(session, {}, "exact_mechanisms.md", None, None)
    assert len(example.examples) > 5
    assert doctest.DocTestRunner().run(example).failed == 0
    monkeypatch.delitem(sys.modules, "survey")


def test_the_tests_of_the_page_end_as_it_says(pytester: pytest.Pytester) -> None:
    for name, code in FILES.items():
        (pytester.path / name).write_text(code, encoding="utf-8")
    result = pytester.runpytest_inprocess("-n", "0", "-p", "no:cacheprovider")
    ((passed, failed),) = re.findall(r"<!-- test_counts.py: (\d) passed, (\d) failed -->", PAGE)
    result.assert_outcomes(passed=int(passed), failed=int(failed))
    result.stdout.fnmatch_lines(["FAIL  hasty_count   test_counts.py::*", "*ε ≥ 1.38", "  inputs: 0 and 1"])
