"""What the documents show runs as it stands, prints what they say, and what they link is there."""

import fnmatch
import json
import os
import random
import re
import sys
from pathlib import Path

import pytest

from attacklab.attacks import ATTACKS
from attacklab.model.claims import PrivacyClaim, claim_from_json
from attacklab.model.findings import Verdict, read_record
from attacklab.reporting.experiment import load_experiments
from corpus.pipelines import PIPELINES
from experiments import targets
from tests.running import run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "experiments/**/*.md", "mechanisms/**/*.md", "reports/**/*.md")
    for path in ROOT.glob(pattern)
)


def test_the_example_of_the_readme_refutes_its_naive_mechanism(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"<!-- runs as a test -->\n```python\n(.*?)```", README.read_text("utf-8"), flags=re.DOTALL)
    assert 5 <= len([line for line in example.splitlines() if line]) <= 15
    random.seed(1)
    exec(compile(example, "README.md", "exec"), {"__name__": "my_library"})  # noqa: S102 - our own example
    assert capsys.readouterr().out == ""
    exec(compile(example, "README.md", "exec"), {"__name__": "__main__"})  # noqa: S102 - our own example
    printed = capsys.readouterr().out
    assert printed.startswith("FAIL  ")
    assert "  AL04 low bits  " in printed


def test_the_example_of_claims_keeps_the_true_one_and_refutes_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "reference" / "claims.md").read_text("utf-8")
    example, of_work = re.findall(r"<!-- runs as a test -->\n```python\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(of_work, "claims.md", "exec"), {})  # noqa: S102 - our own example
    refuting = capsys.readouterr().out.splitlines()
    assert "black_box" in {line.split()[0] for line in refuting}
    exec(compile(example, "claims.md", "exec"), {})  # noqa: S102 - our own example
    printed = capsys.readouterr().out.splitlines()
    assert {line for line in printed if "ρ = 0.5" in line} == {"ρ-zCDP with ρ = 0.5 not detected"}
    assert "ρ-zCDP with ρ = 0.05 violated" in printed


@pytest.mark.parametrize(
    ("page", "name", "needed"), [("alignment.md", "mean.py", "numpy"), ("alignment.md", "visits.py", "pandas")]
)
def test_an_example_of_existing_code_prints_what_its_page_says(
    tmp_path: Path, page: str, name: str, needed: str
) -> None:
    pytest.importorskip(needed, reason=f"needs {needed}, which `make docs` installs")
    text = (ROOT / "docs" / "how_to" / page).read_text("utf-8")
    ((code, said),) = re.findall(
        rf"<!-- {re.escape(name)} -->\n```python\n(.*?)```\n\n```text\n(.*?)```", text, flags=re.DOTALL
    )
    (tmp_path / name).write_text(code, "utf-8")
    done = run([sys.executable, name], tmp_path, PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    expected = ".*".join(map(re.escape, said.split("...")))
    assert re.fullmatch(expected, done.stdout.replace(f"{tmp_path}{os.sep}", "")), done.stdout


def test_the_claims_that_a_document_shows_in_json_are_read_and_written_as_they_stand() -> None:
    shown = re.findall(
        r'(?m)^    (\{"(?:epsilon|kind)": .*\})$', (ROOT / "docs" / "reference" / "claims.md").read_text("utf-8")
    )
    assert len(shown) == 5
    for line in shown:
        assert claim_from_json(json.loads(line)).to_json() == json.loads(line)


def test_the_figures_that_the_readme_quotes_are_those_of_the_record() -> None:
    text = " ".join(README.read_text("utf-8").split())
    (ceiling, advantage) = re.findall(
        r"At ε = 0\.01 the claim allows an advantage of ([\d.]+) .*? give ([\d.]+),", text
    )[0]
    assert float(ceiling) == round(PrivacyClaim(0.01).ceiling, 3)
    findings = read_record(ROOT / "reports" / "data" / "low_bit_laplace.json")["findings"]
    naive = [
        finding.shown.advantage.estimate
        for finding in findings
        if finding.claim == PrivacyClaim(0.01) and finding.target.startswith("naive")
    ]
    assert naive
    assert {round(estimate, 1) for estimate in naive} == {float(advantage)}


def test_every_link_between_documents_leads_somewhere() -> None:
    for document in DOCUMENTS:
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", _prose(document)):
            path, _, heading = link.partition("#")
            linked = document.parent / path if path else document
            assert linked.exists(), (document, link)
            assert not heading or heading in _anchors(linked), (document, link)


def test_every_file_folder_and_target_that_a_document_names_is_there() -> None:
    """Except files that a how-to tells the reader to make, which its own code blocks or capitals show."""
    here = set(targets.__all__)
    for document in DOCUMENTS:
        text = document.read_text("utf-8")
        assert set(re.findall(r"experiments\.targets:([a-z]\w*)", text)) <= here, document
        made = set(re.findall(r"<!-- (\w+\.py) -->", text))
        named = re.findall(rf"`((?:{'|'.join(_folders())})/[\w./-]*)`", _prose(document))
        for name in named if document.name != "CHANGELOG.md" else ():
            if Path(name).name not in made and not re.search(r"[A-Z]{4}", Path(name).stem):
                assert (ROOT / name).exists(), (document, name)


def test_the_page_of_findings_has_a_row_for_every_verdict() -> None:
    text = (ROOT / "docs" / "reference" / "findings.md").read_text("utf-8")
    (table,) = re.findall(r"\| verdict \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", text)
    assert set(re.findall(r"(?m)^\| ([\w ]+) \|", table)) == set(Verdict)


def test_the_page_on_nist_sp_800_226_names_every_attack_and_only_what_there_is() -> None:
    text = (ROOT / "docs" / "reference" / "nist_sp_800_226.md").read_text("utf-8")
    columns = re.findall(r"(?m)^\| (?!hazard|---)(?:.*?) \| (.*?) ?\| .*?\|$", text)
    everywhere, *named = (set(re.findall(r"`([a-z_0-9]+)`", part)) for part in (text, *columns))
    attacks, broken = {attack.name for attack in ATTACKS}, {pipeline.name for pipeline in PIPELINES if pipeline.broken}
    others = {"dataset", "delta_lower", "naive_randomized_response", "seeing_work"}
    assert everywhere - others <= attacks | broken | set(load_experiments(ROOT))
    assert attacks <= set().union(*named)
    assert [bool(broken & names) for names in named] == ["alignment" in tests for tests in columns]


def test_the_readme_is_short() -> None:
    assert len(README.read_text("utf-8").split()) <= 450


def test_make_help_lists_every_command() -> None:
    (phony,) = re.findall(r"(?m)^\.PHONY: (.*)$", (ROOT / "Makefile").read_text("utf-8"))
    done = run(["make", "-s", "help"])
    assert {line.split()[1] for line in done.stdout.splitlines()} == set(phony.split())


def _folders() -> list[str]:
    """The folders at the top that are neither hidden nor made by a tool."""
    made = [line.strip("/") for line in (ROOT / ".gitignore").read_text("utf-8").splitlines()]
    found = (path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))
    return sorted(name for name in found if not any(fnmatch.fnmatch(name, pattern) for pattern in made))


def _prose(document: Path) -> str:
    return re.sub(r"```.*?```", "", document.read_text("utf-8"), flags=re.DOTALL)


def _anchors(document: Path) -> set[str]:
    headings = re.findall(r"(?m)^#+ (.*)$", _prose(document))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
