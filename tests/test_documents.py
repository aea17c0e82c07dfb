"""What the documents show runs as it stands, prints what they say, and what they link is there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from attacklab.claims import PrivacyClaim

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
MECHANISMS = sorted(ROOT.glob("mechanisms/*/README.md"))
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "experiments/**/*.md", "mechanisms/**/*.md", "reports/**/*.md")
    for path in ROOT.glob(pattern)
)


def test_the_example_of_the_readme_refutes_its_naive_mechanism(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"<!-- runs as a test -->\n```python\n(.*?)```", README.read_text("utf-8"), flags=re.DOTALL)
    assert 5 <= len([line for line in example.splitlines() if line]) <= 10
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102 - our own example
    printed = capsys.readouterr().out
    assert "low_bit_laplace violated" in printed
    assert "zero_rounding not applicable" in printed


def test_the_figures_that_the_readme_quotes_are_those_of_the_record() -> None:
    text = " ".join(README.read_text("utf-8").split())
    (ceiling, advantage) = re.findall(
        r"At ε = 0\.01 the claim allows an advantage of ([\d.]+) .*? give ([\d.]+),", text
    )[0]
    assert float(ceiling) == round(PrivacyClaim(0.01).ceiling, 3)
    data = json.loads((ROOT / "reports" / "data" / "low_bit_laplace.json").read_text("utf-8"))
    naive = [
        finding["advantage"]["estimate"]
        for finding in data["findings"]
        if finding["claim"]["epsilon"] == 0.01 and finding["target"].startswith("naive")
    ]
    assert naive
    assert {round(estimate, 1) for estimate in naive} == {float(advantage)}


@pytest.mark.parametrize("document", MECHANISMS, ids=lambda path: path.parent.name)
def test_each_family_of_mechanisms_shows_its_flaw_in_ten_lines_that_print_what_is_said(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = document.read_text("utf-8")
    ((code, said),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, flags=re.DOTALL)
    body = [line for line in code.splitlines() if line and not line.startswith(("import ", "from "))]
    assert len(body) <= 10
    exec(compile(code, str(document), "exec"), {})  # noqa: S102 - our own example
    assert capsys.readouterr().out == said


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_between_documents_leads_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", _prose(document)):
        path, _, heading = link.partition("#")
        linked = document.parent / path if path else document
        assert linked.exists(), link
        if heading:
            assert heading in _anchors(linked), link


def _prose(document: Path) -> str:
    return re.sub(r"```.*?```", "", document.read_text("utf-8"), flags=re.DOTALL)


def _anchors(document: Path) -> set[str]:
    headings = re.findall(r"(?m)^#+ (.*)$", _prose(document))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
