"""Values keep every bit, files that break a rule are refused, and what answers to each type are made of."""

import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacklab.laws import Bounds
from attacklab.model.errors import TargetError, UsageError
from attacklab.model.findings import Verdict
from attacklab.vectors import BadVectors, read_file, read_value, written
from attacklab.vectors.checking import FAILURES_IN_A_ROW, Budget, CaseFinding, Failed, Skipped, check
from attacklab.vectors.files import MOST_BYTES

pytestmark = pytest.mark.slow

LAW: dict[str, Any] = {"parameters": {"p": "1/4"}, "input": None, "rest": "1/100", "tails": []}
LAW["law"] = [[True, "1/4"], [False, {"lower": "37/50", "upper": "4/5"}]]
PAIR: dict[str, Any] = {"parameters": {"epsilon": "0"}, "first": "1", "second": "0", "event": {"outcomes": ["1"]}}
PAIR["claim"] = {"epsilon": "0", "delta": "1/8"}
TAPE = {"parameters": {}, "input": "3", "bits": "0110", "output": "-2", "bits_used": "3"}
LEAST = {"parameters": {"epsilon": "0x1p+0"}, "limit": "0x1p+0", "unsafe": "too small"}
MOST = {**LEAST, "unsafe": "too large"}
SUM = {"bounds": ["0", "1"], "relation": "substitute", "order": "forward", "format": "binary64", "sensitivity": "1"}
SUM |= {"first": ["1", "0"], "second": ["1", "1"]}
CASES: Mapping[str, Any] = {"law": LAW, "pair": PAIR, "tape": TAPE, "calibration": LEAST, "limit": MOST, "sum": SUM}
TINY = {**LAW, "law": [["0", "1/1000"]], "rest": "1"}


def judged(name: str, case: Mapping[str, Any], ask: Callable[..., Any], trials: int = 4) -> CaseFinding:
    type_ = {"limit": "calibration"}.get(name, name)
    cases = [{"id": 1, "flags": ["Basic"], **case}]
    file = {"type": type_, "cases": 1, "groups": [{"mechanism": "thing", "cases": cases}]}
    (finding,) = check([file], ask, Budget(trials, 0.01 if trials == 4 else 1e-9, 5))
    return finding


def in_turn(*answers: Any) -> Callable[..., Any]:
    """Gives these answers, or raises them, in turn."""
    replies = iter(answers)

    def ask(request: Mapping[str, Any], *forms: Sequence[str]) -> Any:
        assert (request["vectors"], request["mechanism"]) == (1, "thing")
        answer = next(replies)
        if isinstance(answer, Exception):
            raise answer
        assert set(answer) in map(set, forms)
        return answer

    return ask


def law(*pairs: Any) -> dict[str, Any]:
    return {"law": [list(pair) for pair in pairs]}


def values(*texts: Any) -> list[Any]:
    return [{"value": text} for text in texts]


RIGHT, WRONG, ERROR, SKIPPED = Verdict.PROVED, Verdict.VIOLATED, Verdict.ERROR, Verdict.NOT_APPLICABLE
QUARTER = (True, {"lower": "1/5", "upper": "1/4"})
ROWS: Sequence[tuple[str, Sequence[Any], Verdict, str]] = (
    ("law", [law((True, "1/4"), (False, "3/4"))], RIGHT, ""),
    ("law", [law(QUARTER, (False, "3/4"), ("7", "1/200"))], RIGHT, ""),
    ("pair", [{"probability": "5/8"}, {"probability": "1/2"}], RIGHT, ""),
    ("tape", [{"output": "-2", "bits_used": "3"}], RIGHT, ""),
    ("calibration", values("0x1p+0"), RIGHT, ""),
    ("limit", values("0x1p+0"), RIGHT, ""),
    ("sum", values("1", "0x1p+1"), RIGHT, ""),
    ("law", [law((True, "1/3"), (False, "2/3"))], WRONG, "P[True] is 0.333333, not 0.25"),
    ("law", [law((True, "1/4"))], WRONG, "P[False] is 0, not 0.74"),
    ("law", [law(QUARTER, (False, "37/50"), ("7", "1/50"))], WRONG, "other outcomes have probability 0.02, not 0.01"),
    ("law", [law((True, "1/2"), (False, "3/4"))], WRONG, "its probabilities sum to 1.25"),
    ("law", [Failed("overflow")], WRONG, "it failed: overflow"),
    ("pair", [{"probability": "2/3"}, {"probability": "1/2"}], WRONG, "at least 0.666667, but the claim allows 0.625"),
    ("tape", [{"output": "2", "bits_used": "3"}], WRONG, "its output is '2', not '-2'"),
    ("tape", [{"output": "-2", "bits_used": "4"}], WRONG, "its bits used is '4', not '3'"),
    ("calibration", values("0x1.fffffffffffffp-1"), WRONG, "0.9999999999999999 is too small: the limit is 1.0"),
    ("calibration", values("nan"), WRONG, "its value is NaN"),
    ("limit", values("2"), WRONG, "2.0 is too large"),
    ("sum", values("1", "0x1.0000000000001p+1"), WRONG, "lie 1 times the sensitivity apart"),
    ("sum", values("inf", "1"), WRONG, "its sums are inf and 1"),
    ("sum", values("9" * 400, "1"), WRONG, "a huge number times the sensitivity"),
    ("law", [{"outputs": [True]}], ERROR, "outputs must be a list of 4 values"),
    ("law", [law((True, "1/4"), (True, "1/4"))], ERROR, "law names an outcome twice"),
    ("law", [law((True, "5/4"))], ERROR, "'5/4' is not a probability"),
    ("pair", [Failed("refused")], ERROR, "it failed: refused"),
    ("tape", [{"output": "minus two", "bits_used": "3"}], ERROR, "is not a value of vectors"),
    ("calibration", values("1/3"), ERROR, "must be a double or an integer of at most 53 bits"),
    ("calibration", values(True), ERROR, "'True' is not a number"),
    ("sum", [TargetError("it died")], ERROR, "it died"),
    ("tape", [Skipped()], SKIPPED, "no such mechanism"),
    ("calibration", [Failed("epsilon is too large")], SKIPPED, "epsilon is too large"),
)


@pytest.mark.parametrize(("name", "answers", "verdict", "reason"), ROWS)
def test_an_answer_has_its_verdict_and_reason(name: str, answers: Sequence[Any], verdict: Verdict, reason: str) -> None:
    finding = judged(name, CASES[name], in_turn(*answers))
    assert finding.verdict is verdict
    assert reason in finding.reason


def test_samples_refute_only_what_they_show() -> None:
    """4 trials at α = 0.01 show nothing; 400 do, tails and outcomes that no law lists included."""
    assert judged("law", LAW, in_turn({"outputs": [True] * 3 + [False]})).verdict is Verdict.NOT_DETECTED
    few = in_turn({"outputs": ["1"] * 4}, {"outputs": ["0"] * 4})
    assert judged("pair", PAIR, few).verdict is Verdict.NOT_DETECTED
    assert judged("law", LAW, lambda *_: {"outputs": [True] * 300 + [False] * 100}, 400).verdict is WRONG
    assert judged("pair", PAIR, lambda request, *_: {"outputs": [request["input"]] * 400}, 400).verdict is WRONG
    for output, changed, is_wrong in (
        ("7", {}, False),
        ("7", {"rest": "1/100"}, True),
        ("7", {"tails": [["5", "1/100"]]}, True),
        ("-7", {"tails": [["5", "1/2"]]}, True),
        ("7", {"tails": [["8", "1/100"]]}, False),
    ):
        answers = in_turn({"outputs": [output] * 400})
        assert (judged("law", {**TINY, **changed}, answers, 400).verdict is WRONG) is is_wrong


def test_a_program_that_keeps_failing_is_asked_no_more() -> None:
    cases = [{"id": number, "flags": ["Basic"], **TAPE} for number in range(1, 20)]
    file = {"type": "tape", "cases": len(cases), "groups": [{"mechanism": "thing", "cases": cases}]}
    failures = in_turn(*[TargetError("it died")] * FAILURES_IN_A_ROW)
    assert len(list(check([file], failures, Budget(4, 0.01, 5)))) == FAILURES_IN_A_ROW


FOLDER = Path(__file__).parents[2] / "vectors"
NUMBERS = st.integers() | st.fractions() | st.floats(allow_nan=False)


@given(st.recursive(st.none() | st.booleans() | NUMBERS, lambda values: st.lists(values, max_size=4), max_leaves=8))
def test_a_value_is_read_back_with_its_type_and_every_bit(value: Any) -> None:
    def described(value: Any) -> Any:
        if isinstance(value, list):
            return [described(part) for part in value]
        return repr(int(value) if isinstance(value, Fraction) and value.denominator == 1 else value)

    assert described(read_value(written(value))) == described(value)


def test_values_of_numpy_and_gmpy2_are_written_and_other_objects_are_not() -> None:
    values = (gmpy2.mpq(6, 4), np.int64(-3), np.float32(0.1), math.nan, np.bool_(True), np.array([1, 2]))
    assert [*map(written, values)] == ["3/2", "-3", "0x1.99999a0000000p-4", "nan", True, ["1", "2"]]
    assert written(Bounds(gmpy2.mpq(1, 3), gmpy2.mpq(1, 2))) == {"lower": "1/3", "upper": "1/2"}
    for value in ("1", b"1", object(), 1j):
        with pytest.raises(UsageError, match="test vectors cannot hold"):
            written(value)


def test_floats_are_read_as_c_writes_them_and_text_that_would_be_rounded_is_refused() -> None:
    texts = ("0x1p+0", "0x1p-1074", "0x0.8p-1073", "0x1.fffffffffffffp+1023")
    assert [*map(read_value, texts)] == [1.0, 5e-324, 5e-324, 1.7976931348623157e308]
    for text in (
        *("", "1.5", "01", "+1", "1/0", "1/-2", "-", "1e3", " 1", "1 ", "1\n", "١", "1/2/3", "NaN", "Infinity", "-nan"),
        *("0x1.8", "0x1.8P+1", "0x1.8p1", "0X1.8p+1", "0x2p+0", "0x1.p+0"),
        *("0x1p+1024", "0x1.8p-1074", "0x1p-1075", "0x1.00000000000001p+0", "0x1p+99999", "9" * 5000, "word"),
        *(1, 1.5, {"lower": "1"}, {"lower": "1", "upper": "2", "middle": "3"}, {"lower": "2", "upper": "1"}),
        *({"lower": None, "upper": "1"}, {"lower": "0x1p+0", "upper": "0x1p+1"}, ["1", "x"]),
    ):
        with pytest.raises(UsageError, match="is not a value of vectors"):
            read_value(text)


IDLE = {"bug_type": "BASIC", "description": "d", "effect": "e", "links": []}


@pytest.mark.parametrize(
    ("part", "changed", "message"),
    [
        ("file", {"version": 2}, "version 2; this program reads version 1"),
        ("file", {"type": "unheard"}, "no schema"),
        ("file", {"type": "common"}, "no schema"),
        ("file", {"cases": 1}, "cases are not numbered from 1 to 1"),
        ("case", {"id": 2}, "cases are not numbered"),
        ("case", {"flags": ["Unknown"]}, "the flag Unknown has no note"),
        ("case", {"flags": []}, "groups/0/cases/0/flags"),
        ("notes", {"Idle": IDLE}, "no case has the flag Idle"),
        ("case", {"bits": "0120"}, "groups/0/cases/0/bits"),
        ("case", {"bits_used": 4}, "groups/0/cases/0/bits_used"),
        ("note", {"bug_type": "UNHEARD"}, "notes/LongRun/bug_type"),
        ("note", {"links": ["ftp://example.org"]}, "notes/LongRun/links/0"),
    ],
)
def test_each_rule_of_a_file_is_checked(tmp_path: Path, part: str, changed: dict[str, Any], message: str) -> None:
    shutil.copytree(FOLDER / "schema", tmp_path / "schema")
    file = json.loads((FOLDER / "tape.json").read_bytes())
    case, notes = file["groups"][0]["cases"][0], file["notes"]
    {"file": file, "case": case, "note": notes["LongRun"], "notes": notes}[part].update(changed)
    require_refused(tmp_path / "tape.json", json.dumps(file).encode(), message)


def require_refused(path: Path, content: bytes, *messages: str) -> None:
    path.write_bytes(content)
    with pytest.raises(BadVectors) as caught:
        read_file(path)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert "\n" not in said
    assert any(message in said for message in messages)


def test_other_content_is_refused(tmp_path: Path) -> None:
    for content in (b"", b'{"version": 1', b"\xff\xfe", b"[" * 100_000, b"[]", b"1", b" " * (MOST_BYTES + 1)):
        messages = "is not JSON", "it has no type", "more than 1,000,000 bytes"
        require_refused(tmp_path / "file.json", content, *messages)
