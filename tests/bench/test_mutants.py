"""Mutants of the mechanisms: how they are made, run and judged; a handful of them, and in a slow test all."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

from attacklab.reporting.experiment import Settings
from bench import mutations
from bench.mutants import running
from bench.mutants.kept import KEPT, KEPT_IN
from bench.mutants.listing import QUOTAS, ROOT, mutants
from bench.mutants.mutant import Mutant, Written
from bench.mutants.operators import edits
from bench.mutants.reach import reached, touched
from bench.mutants.running import Journal, Whole, check_mutants, run_whole
from bench.mutants.score import escaped, row_of
from bench.mutants.written import WRITTEN

TARGET = "exact_randomized_response"
RESPONSE = "laplace/exact_randomized_response"
SOURCE = '''
LIMIT = 7


def clamped(value: int, low: int = -5) -> int:
    """Clamp to ±7."""
    if low > LIMIT:
        raise ValueError(f"low must be at most {LIMIT + 0}")
    return min(max(value, low), LIMIT)
'''


def made(module: str, function: str, before: str, after: str) -> Mutant:
    written = Written(module, function, before, after, "a test")
    return written.applied_to((ROOT / f"mechanisms/{module}.py").read_text("utf-8"))


@pytest.fixture(scope="module")
def listed() -> list[Mutant]:
    return mutants()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole")


@pytest.fixture(scope="module")
def whole(folder: Path) -> Whole:
    return run_whole(folder, [TARGET])


def test_operators_edit_code_and_leave_messages_validation_and_types_alone() -> None:
    found = {(before, after) for _, before, after, _ in edits(SOURCE)}
    assert found == {
        ("LIMIT = 7", "LIMIT = 8"),
        ("LIMIT = 7", "LIMIT = 6"),
        ("return min(max(value, low), LIMIT)", "return max(max(value, low), LIMIT)"),
        ("return min(max(value, low), LIMIT)", "return min(min(value, low), LIMIT)"),
    }


def test_every_edit_is_one_of_valid_source() -> None:
    for _, before, after, text in edits(SOURCE):
        assert before != after
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(SOURCE))


def test_an_edit_keeps_its_name_when_code_moves() -> None:
    moved = SOURCE.replace("LIMIT = 7", "OTHER = 1\nLIMIT = 7", 1)
    names = [{(function, before, after) for function, before, after, _ in edits(text)} for text in (SOURCE, moved)]
    assert names[0] < names[1]


def test_every_mutant_is_valid_and_named_once(listed: list[Mutant]) -> None:
    assert len({mutant.key for mutant in listed}) == len(listed) >= 100
    assert sum(mutant.thought_up for mutant in listed) == len(WRITTEN) >= 15
    assert {mutant.module for mutant in listed} >= set(QUOTAS)
    for mutant in listed:
        assert mutant.text != (ROOT / mutant.path).read_text("utf-8")
        ast.parse(mutant.text)


def test_every_reason_names_a_mutant_and_says_what_is_kept(listed: list[Mutant]) -> None:
    keys = {mutant.key for mutant in listed}
    reasons = [
        *KEPT.values(),
        *(reason for _, reason in KEPT_IN.values()),
        *(one.keeps for one in WRITTEN if one.keeps),
    ]
    assert {*KEPT, *KEPT_IN} <= keys
    assert all(reason.startswith(("law: ", "claim: ")) for reason in reasons)


def test_a_written_mutant_that_no_longer_applies_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 times"):
        made("coins", "bernoulli", "no such text", "other")
    with pytest.raises(ValueError, match="there is no"):
        made("coins", "no_such_function", "bits", "bits")


def test_a_mutant_touches_what_its_function_is_run_by(whole: Whole, folder: Path) -> None:
    places = reached(json.loads((folder / f"{TARGET}.json").read_text("utf-8")), ROOT)
    assert touched(made(RESPONSE, "enclose_logistic", "1 << precision", "2 << precision"), places)
    assert touched(made("laplace/exact", "", "1 << 61", "1 << 60"), {("laplace/exact", "INTEGER_LIMIT")})
    assert not touched(made(RESPONSE, "randomized_response", "bool(truth)", "truth"), places)
    assert whole.targets_of(made("gaussian/exact", "_kept_proposal", "** 2", "** 3")) == []


@pytest.mark.ci
def test_mutants_are_refused_and_one_that_keeps_its_claim_is_not(whole: Whole, folder: Path) -> None:
    broken = made(RESPONSE, "decide_logistic", "leading + 1 <= below", "leading <= below")
    subtle = made(RESPONSE, "logistic_coin", "gamma, 0, 0", "gamma * (1 - Fraction(1, 1 << 52)), 0, 0")
    harmless = made(RESPONSE, "decide_logistic", "precision <= length", "precision < length")
    found = check_mutants([broken, subtle, harmless], whole, folder, Journal(None))
    assert [found[one.key][0]["outcome"] for one in (broken, subtle, harmless)] == ["refused", "refused", "accepted"]
    rows = [row_of(one, found[one.key], None) for one in (broken, subtle, harmless)]
    assert [row["key"] for row in escaped(rows)] == [harmless.key]
    assert row_of(replace(harmless, keeps="claim: …"), found[harmless.key], None)["escapes"] == []


def test_a_mutant_that_fails_when_it_is_imported_is_not_accepted(whole: Whole, folder: Path) -> None:
    mutant = made(RESPONSE, "", "from mechanisms.coins", "1 / 0\nfrom mechanisms.coins")
    ((outcome,),) = check_mutants([mutant], whole, folder, Journal(None)).values()
    assert outcome["outcome"] == "unwritten"
    assert "ZeroDivisionError" in outcome["reason"]


@pytest.mark.ci
def test_a_mutant_that_does_not_end_is_stopped(whole: Whole, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "LEAST_SECONDS", 1.0)
    brief = replace(whole, outcomes={TARGET: whole.outcomes[TARGET] | {"seconds": 0.1}})
    mutant = made(RESPONSE, "logistic_coin", "return", "while True:\n        pass\n    return")
    ((outcome,),) = check_mutants([mutant], brief, folder, Journal(None)).values()
    assert outcome["outcome"] == "timed out"


def test_the_journal_gives_back_what_it_kept_until_something_changes(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first = Journal(path).recalled("a mutant", "digest", lambda: {"outcome": "refused"})
    path.write_text(path.read_text("utf-8") + '{"of": "a mut', "utf-8")  # a process was killed
    again = Journal(path)
    assert again.recalled("a mutant", "digest", lambda: pytest.fail("it ran again")) == first
    assert again.recalled("a mutant", "other digest", lambda: {"outcome": "accepted"})["outcome"] == "accepted"


@pytest.mark.slow
def test_no_mutant_escapes_the_checker_unless_a_reason_says_that_it_may() -> None:
    data = mutations.collect(Settings()).measured
    assert [(row["module"], row["before"], row["after"], row["escapes"]) for row in escaped(data["mutants"])] == []
