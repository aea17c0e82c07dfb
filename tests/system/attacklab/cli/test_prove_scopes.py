"""`attacklab prove --inputs` and `--all`: scopes in what is printed and written, statuses, and options that clash."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from attacklab.model.findings import read_record

SAMPLERS = """
from attacklab.model.targets import Target

def third(bits):
    drawn = bits.take(2)
    return None if drawn == 3 else int(drawn)

def parity(answer, bits):
    return int(answer) % 2 ^ (bits.repeat(third) == 0)

def size(records, bits):
    return parity(len(records), bits)

def best(utilities, bits):
    return parity(sum(utilities), bits)

def to_four(answer, bits):
    return parity(answer, bits) if answer < 4 else 2

def release(answer, trials, rng):
    return [0] * trials

certified = Target.noise(release, epsilon=1.0, name="odd name/1").certified(lambda: {
    "schema": "exact-term/1",
    "name": "odd name/1",
    "term": {"is": "Noisy", "query": {"is": "Answer", "sensitivity": {"rational": "1"}}},
    "relation": "answers",
    "claim": {"is": "ApproximateDP", "epsilon": {"rational": "1"}, "delta": {"rational": "0"}},
    "tables": [],
})
"""
ACCEPTS = """
print("ACCEPTED  odd_name_1: 1-DP for all answers")
print("          checked 12 cells of tables; readings grid")
"""
REFUSES = "import sys; print('REFUSED   odd_name_1: a cell is missing'); sys.exit(1)"


@pytest.fixture(autouse=True)
def samplers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("s", SAMPLERS), ("accepts", ACCEPTS), ("refuses", REFUSES)):
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "deeper").mkdir()
    monkeypatch.delitem(sys.modules, "s", raising=False)


@pytest.mark.parametrize(
    ("line", "scope"),
    [
        ("s.py:parity --kind noise --inputs 0,1,2", "3 inputs (2 pairs)"),
        ("s.py:parity --kind noise --inputs 0..3", "4 inputs (3 pairs)"),
        ("s.py:parity --kind noise --inputs '[0, 1]'", "2 inputs (1 pair)"),
        ("s.py:size --kind dataset --relation add-remove --inputs 'up to 2 of 0..1'", "7 inputs (8 pairs)"),
        ("s.py:size --kind dataset --relation add-remove --inputs '[[], [\"a\"]]'", "2 inputs (1 pair)"),
        ("s.py:best --kind selection --inputs 'up to 1 of 0,1,2'", "3 inputs (2 pairs)"),
    ],
)
def test_every_pair_among_inputs_is_proved(line: str, scope: str, attacklab: Any) -> None:
    status, out, _ = attacklab(f"prove {line} --epsilon 0.7")
    assert status == 0
    assert out.startswith("PROVED ")
    assert f"for every pair of neighbours among {scope} " in f"{' '.join(out.split())} "


def _in_one_line(out: str) -> str:
    return " ".join(out.replace("\\\n", " ").split())


def test_a_pair_among_inputs_that_breaks_the_claim_is_shown_and_the_line_replays_it(attacklab: Any) -> None:
    status, out, _ = attacklab("prove s.py:to_four --kind noise --epsilon 0.7 --inputs 0..6")
    assert status == 1
    assert "  inputs: 3.0 and 4.0\n" in out
    assert "Run again attacklab prove s.py:to_four --kind noise --epsilon 0.7 --inputs 0..6" in _in_one_line(out)


def test_an_accepted_certificate_proves_every_pair(attacklab: Any, tmp_path: Path) -> None:
    status, out, _ = attacklab("prove s.py:certified --all --checker accepts.py --output here --json f.json")
    assert status == 0
    said = " ".join(out.split())
    assert re.match(
        r"PROVED odd name/1 s\.py:\d+ claims ε = 1\.0, for every pair of neighbours \(answers\) 1-DP for all", said
    )
    assert "checked: 12 cells of tables; its code is as it was read" in said
    assert json.loads((tmp_path / "here" / "odd_name_1.json").read_text("utf-8"))["name"] == "odd name/1"
    (finding,) = read_record(tmp_path / "f.json")["findings"]
    assert str(finding.scope) == "every pair of neighbours (answers)"
    assert finding.replay == "attacklab prove s.py:certified --all --checker accepts.py --output here"


def test_the_checker_is_sought_from_the_working_directory_upwards(
    attacklab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "checker").mkdir()
    (tmp_path / "checker" / "check.py").write_text(ACCEPTS)
    monkeypatch.chdir(tmp_path / "deeper")
    assert attacklab(f"prove {tmp_path / 's.py'}:certified --all")[0] == 0
    assert [path.name for path in (tmp_path / "deeper" / "reports" / "proofs").iterdir()] == ["odd_name_1.json"]


def test_a_refused_certificate_is_neither_a_proof_nor_a_refutation(attacklab: Any, tmp_path: Path) -> None:
    status, out, _ = attacklab("prove s.py:certified --all --checker refuses.py --sarif f.sarif")
    assert status == 2
    assert out.startswith("NOT PROVED ")
    assert "the checker refused the certificate: a cell is missing; mend" in " ".join(out.split())
    (run,) = json.loads((tmp_path / "f.sarif").read_text("utf-8"))["runs"]
    assert run["results"] == []
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"].startswith("certificate on odd name/1: inconclusive: the checker refused")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("s.py:parity --kind noise --epsilon 1 --all --checker accepts.py", "parity brings no certificate for"),
        ("s.py:certified --all", "there is no checker/check.py in "),
        ("s.py:certified --all --checker nowhere.py", "the checker nowhere.py was not found; check the path"),
        ("s.py:certified --all --first 0 --second 1", "--all and --first, --second exclude each other; leave one out"),
        ("s.py:certified --all --inputs 0,1", "--all and --inputs exclude each other; leave one out"),
        ("s.py:certified --all --runs 5", "--all and --runs exclude each other"),
        ("s.py:certified --output here", "--checker and --output go with --all; add it"),
        ("s.py:parity --kind noise --epsilon 1 --inputs 0,1 --first 0", "--inputs and --first exclude each other"),
        ("s.py:parity --kind noise --epsilon 1 --inputs 'up to 3 of 0..8'", "is one number; write --inputs 0..8"),
        ("s.py:parity --kind noise --epsilon 1 --inputs 'up to 3'", "--inputs must be JSON, or numbers separated by"),
        ("s.py:parity --kind noise --epsilon 1 --inputs 0,9", "no two of these 2 inputs are neighbours"),
        (
            "s.py:best --kind selection --epsilon 1 --inputs 'up to 9 of 0..9'",
            "vectors of up to 9 of 10 values; take f",
        ),
    ],
)
def test_what_cannot_be_proved_is_told_in_one_line(line: str, said: str, attacklab: Any) -> None:
    status, out, err = attacklab(f"prove {line}")
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
