"""`attacklab poc`: each script leaks on the naive twin alone, and what cannot be shown is refused."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attacklab.cli.audit import poc
from attacklab.model.errors import UsageError
from attacklab.model.findings import Verdict, read_record, record, to_text
from tests.cli.lines import TARGETS
from tests.running import run

pytestmark = pytest.mark.slow

NOISE = "--kind noise --epsilon 1"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.py").write_text(TARGETS)
    return tmp_path


ROWS = (("leaking --attack low_bit_laplace", "EVENT = Imported("), ("raising --attack special_values", "EVENT = "))


@pytest.mark.parametrize(("words", "event"), ROWS)
def test_a_script_leaks_on_the_naive_twin_alone(attacklab: Any, folder: Path, words: str, event: str) -> None:
    assert attacklab(f"audit t.py:{words} {NOISE} --trials 4000 --json f.json")[0] == 1
    status, script, _ = attacklab("poc f.json")
    assert (status, event in script) == (0, True)
    (folder / "shown.py").write_text(script, "utf-8")
    told = {}
    for other in ([], [f"t.py:sound {NOISE}"], ["t.py:missing " + NOISE]):
        done = run([sys.executable, "shown.py", *other], folder)
        told[done.returncode] = done.stdout + done.stderr
    assert list(told) == [1, 0, 2], told
    assert "BROKEN" in told[1]


def test_what_cannot_be_shown_is_refused_in_one_line(attacklab: Any, folder: Path) -> None:
    attacklab(f"audit t.py:leaking {NOISE} --attack low_bit_laplace --attack integer_cast --trials 2000 --json f.json")
    (finding, *_) = findings = read_record(folder / "f.json")["findings"]
    rare, rarer = (
        replace(finding, evidence=replace(finding.samples, first=replace(finding.samples.second, estimate=estimate)))
        for estimate in (finding.samples.second.estimate + 1e-9, finding.samples.second.estimate)
    )
    for attack, kept, said in (
        ("precision", findings, "no script can be written for precision"),
        (None, [replace(finding, verdict=Verdict.NOT_DETECTED)], "0 of 1 findings refute a claim"),
        *((None, [kept], "too rare to be seen again") for kept in (rare, rarer)),
    ):
        (folder / "kept.json").write_text(to_text(record(kept)))
        with pytest.raises(UsageError, match=said):
            poc(folder / "kept.json", attack)
