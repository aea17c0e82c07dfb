"""The README of each family answers the same questions in the same order, and its ten lines print what it says."""

import re
from pathlib import Path

import pytest

import mechanisms

ROOT = Path(mechanisms.__file__).parent
FAMILIES = sorted(path.parent for path in ROOT.glob("*/__init__.py") if path.parent.name != "core")
TEN = "Ten lines that show it"
SECTIONS = ["Definition", "The flaw", TEN, "The exact mechanism", "What remains observable", "Sources"]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda path: path.name)
def test_each_family_has_the_same_sections_in_the_same_order_in_sixty_lines(family: Path) -> None:
    text = (family / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 60
    assert re.findall(r"(?m)^## (.*)$", text) == SECTIONS
    example = text.partition("```python")[0]
    assert re.findall(r"(?m)^## (.*)$", example)[-1] == TEN


@pytest.mark.parametrize("family", FAMILIES, ids=lambda path: path.name)
def test_the_ten_lines_print_what_stands_below_them(family: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (family / "README.md").read_text("utf-8")
    ((code, printed),) = re.findall(r"```python\n(.*?)```\s*```text\n(.*?)```", text, flags=re.DOTALL)
    exec(code, {})  # noqa: S102 # our own
    assert capsys.readouterr().out == printed
