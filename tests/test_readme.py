"""The README's example runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_the_example_of_the_readme_refutes_its_naive_mechanism(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"<!-- runs as a test -->\n```python\n(.*?)```", README.read_text("utf-8"), flags=re.DOTALL)
    assert 5 <= len([line for line in example.splitlines() if line]) <= 10
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102 - our own example
    printed = capsys.readouterr().out
    assert "low_bit_laplace violated" in printed
    assert "zero_rounding not applicable" in printed


def test_every_file_that_the_readme_links_is_there() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", README.read_text("utf-8"))
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
