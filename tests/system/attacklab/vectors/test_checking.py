"""What answers to each type are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from attacklab.model.errors import TargetError
from attacklab.model.findings import Severity, Verdict
from attacklab.vectors.checking import FAILURES_IN_A_ROW, Budget, CaseFinding, check
from attacklab.vectors.program import Failed, Skipped

BUDGET = Budget(trials=4, alpha=0.01, seed=5)

LAW = {
    "parameters": {"p": "1/4"},
    "input": None,
    "law": [[True, "1/4"], [False, {"lower": "37/50", "upper": "4/5"}]],
    "rest": "1/100",
    "tails": [],
}
PAIR = {
    "parameters": {"epsilon": "0"},
    "first": "1",
    "second": "0",
    "claim": {"epsilon": "0", "delta": "1/8"},
    "event": {"outcomes": ["1"]},
}
TAPE = {"parameters": {}, "input": "3", "bits": "0110", "output": "-2", "bits_used": "3"}
TRACE: dict[str, Any] = {
    "parameters": {},
    "input": None,
    "requests": [{"request": "coin 1 3", "reply": "0"}, {"request": "below 5", "reply": "4"}],
    "output": "4",
}
SPECIAL = {"parameters": {}, "first": "nan", "second": "0", "severity": "robustness"}
CALIBRATION = {"parameters": {"epsilon": "0x1p+0"}, "limit": "0x1p+0", "unsafe": "too small"}
ROUNDING = {
    "value": "1/3",
    "terms": [],
    "format": "binary16",
    "nearest": "0x1.554p-2",
    "toward_zero": "0x1.554p-2",
    "upward": "0x1.558p-2",
    "downward": "0x1.554p-2",
}
SUM = {
    "bounds": ["0", "1"],
    "relation": "substitute",
    "order": "forward",
    "format": "binary64",
    "first": ["1", "0"],
    "second": ["1", "1"],
    "sensitivity": "1",
}


def judged(type_: str, case: Mapping[str, Any], *answers: Any) -> CaseFinding:
    """The finding, if the program gives these answers (or raises them) in turn."""
    replies = iter(answers)

    def ask(request: Mapping[str, Any], *forms: Sequence[str]) -> Any:
        assert (request["vectors"], request["type"], request["mechanism"]) == (1, type_, "thing")
        assert request.get("parameters") == case.get("parameters")
        answer = next(replies)
        if isinstance(answer, Exception):
            raise answer
        assert set(answer) in map(set, forms)
        return answer

    file = {
        "type": type_,
        "cases": 1,
        "groups": [{"mechanism": "thing", "cases": [{"id": 1, "flags": ["Basic"], **case}]}],
    }
    (finding,) = check([file], ask, BUDGET)
    return finding


def law(*pairs: Any) -> dict[str, Any]:
    return {"law": [list(pair) for pair in pairs]}


def rounded(*values: str) -> list[Any]:
    return [{"value": value} for value in values]


RIGHT: Sequence[tuple[str, Mapping[str, Any], Sequence[Any]]] = (
    ("law", LAW, [law((True, "1/4"), (False, "3/4"))]),
    ("law", LAW, [law((True, {"lower": "1/5", "upper": "1/4"}), (False, "3/4"), ("7", "1/200"))]),
    ("pair", PAIR, [{"probability": "5/8"}, {"probability": "1/2"}]),
    ("tape", TAPE, [{"output": "-2", "bits_used": "3"}]),
    ("trace", TRACE, [{"requests": ["coin 1 3", "below 5"], "output": "4"}]),
    ("special", SPECIAL, [{"outputs": ["3"]}, {"outputs": ["0"]}]),
    ("special", SPECIAL, [Failed("NaN"), Failed("refused")]),
    ("special", SPECIAL, [{"outputs": ["nan"]}, {"outputs": [None]}]),
    ("calibration", CALIBRATION, [{"value": "0x1p+0"}]),
    ("calibration", CALIBRATION, [{"value": "2"}]),
    ("calibration", {**CALIBRATION, "unsafe": "too large"}, [{"value": "0x1p+0"}]),
    ("rounding", ROUNDING, rounded("0x1.554p-2", "0x1.554p-2", "0x1.558p-2", "0x1.554p-2")),
    ("sum", SUM, [{"value": "1"}, {"value": "0x1p+1"}]),
)
WRONG: Sequence[tuple[str, Mapping[str, Any], Sequence[Any], str]] = (
    ("law", LAW, [law((True, "1/3"), (False, "2/3"))], "P[True] is 0.333333, not 0.25"),
    ("law", LAW, [law((True, "1/4"))], "P[False] is 0, not 0.74"),
    (
        "law",
        LAW,
        [law((True, {"lower": "1/5", "upper": "1/4"}), (False, "37/50"), ("7", "1/50"))],
        "other outcomes have probability 0.02, not 0.01",
    ),
    ("law", LAW, [law((True, "1/2"), (False, "3/4"))], "its probabilities sum to 1.25"),
    ("law", LAW, [Failed("overflow")], "it failed: overflow"),
    ("pair", PAIR, [{"probability": "2/3"}, {"probability": "1/2"}], "0.666667 at least, and 0.625 is allowed"),
    ("tape", TAPE, [{"output": "2", "bits_used": "3"}], "its output is '2', not '-2'"),
    ("tape", TAPE, [{"output": "-2", "bits_used": "4"}], "its bits used is '4', not '3'"),
    ("tape", TAPE, [{"output": "-0x1p+1", "bits_used": "3"}], "its output is '-0x1p+1', not '-2'"),
    ("trace", TRACE, [{"requests": ["coin 1 2", "below 5"], "output": "4"}], "request 1 is 'coin 1 2', not 'coin 1 3'"),
    ("trace", TRACE, [{"requests": ["coin 1 3"], "output": "4"}], "it makes 1 requests, not 2"),
    ("trace", TRACE, [{"requests": ["coin 1 3", "below 5"], "output": "3"}], "its output is '3', not '4'"),
    (
        "special",
        SPECIAL,
        [Failed("NaN"), {"outputs": ["0"]}],
        "it answers one input only: NaN on the first, 0 on the second",
    ),
    ("special", SPECIAL, [{"outputs": ["1"]}, {"outputs": ["nan"]}], "1 on the first, nan on the second"),
    (
        "calibration",
        CALIBRATION,
        [{"value": "0x1.fffffffffffffp-1"}],
        "0.9999999999999999 is too small: the limit is 1.0",
    ),
    ("calibration", CALIBRATION, [{"value": "nan"}], "its value is NaN"),
    ("calibration", {**CALIBRATION, "unsafe": "too large"}, [{"value": "2"}], "2.0 is too large"),
    ("rounding", ROUNDING, rounded("0x1.558p-2"), "value rounded nearest is '0x1.558p-2'"),
    ("rounding", ROUNDING, rounded("0x1.554p-2", "0x1.554p-2", "0x1.554p-2"), "value rounded upward"),
    ("sum", SUM, [{"value": "1"}, {"value": "0x1.0000000000001p+1"}], "lie 1 times the sensitivity apart"),
    ("sum", SUM, [{"value": "inf"}, {"value": "1"}], "its sums are inf and 1"),
    ("sum", SUM, [{"value": "9" * 400}, {"value": "1"}], "a huge number times the sensitivity"),
)
UNREADABLE: Sequence[tuple[str, Mapping[str, Any], Sequence[Any], str]] = (
    ("law", LAW, [{"outputs": [True]}], "outputs must be a list of 4 values"),
    ("law", LAW, [{"outputs": ["x"] * 4}], "not written as a value"),
    ("law", LAW, [{"law": [[True]]}], "law must be a list of pairs"),
    ("law", LAW, [law((True, "1/4"), (True, "1/4"))], "law names an outcome twice"),
    ("law", LAW, [law((True, "5/4"))], "'5/4' is not a probability"),
    ("law", LAW, [law((True, "0x1p-2"))], "'0x1p-2' is not a rational number"),
    ("pair", PAIR, [{"probability": None}], "'None' is not a rational number"),
    ("pair", PAIR, [Failed("refused")], "it failed: refused"),
    ("tape", TAPE, [{"output": "minus two", "bits_used": "3"}], "not written as a value"),
    ("trace", TRACE, [{"requests": "coin 1 3", "output": "4"}], "requests must be a list"),
    ("special", SPECIAL, [{"outputs": []}], "outputs must be a list of 1 values"),
    ("calibration", CALIBRATION, [{"value": "1/3"}], "must be a double or an integer of at most 53 bits"),
    ("calibration", CALIBRATION, [{"value": "9" * 400}], "not a huge number"),
    ("calibration", CALIBRATION, [{"value": True}], "'True' is not a number"),
    ("sum", SUM, [{"value": ["1"]}], "is not a number"),
    ("sum", SUM, [TargetError("it died")], "it died"),
)


@pytest.mark.parametrize(("type_", "case", "answers"), RIGHT)
def test_right_answers_are_proved(type_: str, case: Mapping[str, Any], answers: Sequence[Any]) -> None:
    assert judged(type_, case, *answers).verdict is Verdict.PROVED


@pytest.mark.parametrize(("type_", "case", "answers", "reason"), WRONG)
def test_wrong_answers_are_violations(type_: str, case: Mapping[str, Any], answers: Sequence[Any], reason: str) -> None:
    finding = judged(type_, case, *answers)
    assert finding.verdict is Verdict.VIOLATED
    assert reason in finding.reason
    assert finding.severity is (Severity.ROBUSTNESS if type_ == "special" else Severity.CLAIM)


@pytest.mark.parametrize(("type_", "case", "answers", "reason"), UNREADABLE)
def test_answers_that_say_nothing_are_errors(
    type_: str, case: Mapping[str, Any], answers: Sequence[Any], reason: str
) -> None:
    finding = judged(type_, case, *answers)
    assert finding.verdict is Verdict.ERROR
    assert reason in finding.reason


def test_what_a_program_does_not_have_is_not_applicable() -> None:
    assert judged("tape", TAPE, Skipped()).verdict is Verdict.NOT_APPLICABLE
    assert judged("calibration", CALIBRATION, Failed("epsilon is too large")).verdict is Verdict.NOT_APPLICABLE


def test_samples_refute_only_what_they_show() -> None:
    """4 trials at α = 0.01 show nothing; 400 do."""
    few = {"outputs": [True] * 3 + [False]}
    assert judged("law", LAW, few).verdict is Verdict.NOT_DETECTED
    assert judged("pair", PAIR, {"outputs": ["1"] * 4}, {"outputs": ["0"] * 4}).verdict is Verdict.NOT_DETECTED

    def ask(request: Mapping[str, Any], *_: Sequence[str]) -> dict[str, Any]:
        return {"outputs": [True] * 300 + [False] * 100 if request["type"] == "law" else [request["input"]] * 400}

    cases = (("law", LAW), ("pair", PAIR))
    files = [
        {
            "type": type_,
            "cases": 1,
            "groups": [{"mechanism": "thing", "cases": [{"id": 1, "flags": ["Basic"], **case}]}],
        }
        for type_, case in cases
    ]
    found = list(check(files, ask, Budget(trials=400, alpha=1e-9, seed=0)))
    assert [one.verdict for one in found] == [Verdict.VIOLATED] * 2


def test_an_outcome_that_no_law_lists_and_a_heavy_tail_are_seen_in_samples() -> None:
    def verdict(output: str, **changed: Any) -> Verdict:
        case = {**LAW, "law": [["0", "1/1000"]], "rest": "1", **changed}
        file = {
            "type": "law",
            "cases": 1,
            "groups": [{"mechanism": "thing", "cases": [{"id": 1, "flags": ["Basic"], **case}]}],
        }
        (finding,) = check([file], lambda *_: {"outputs": [output] * 400}, Budget(400, 1e-9, 0))
        return finding.verdict

    assert verdict("7") is Verdict.NOT_DETECTED
    assert verdict("7", rest="1/100") is Verdict.VIOLATED
    assert verdict("7", tails=[["5", "1/100"]]) is Verdict.VIOLATED
    assert verdict("-7", tails=[["5", "1/2"]]) is Verdict.VIOLATED
    assert verdict("7", tails=[["8", "1/100"]]) is Verdict.NOT_DETECTED


def test_a_program_that_keeps_failing_is_asked_no_more() -> None:
    asked = []

    def ask(request: Mapping[str, Any], *_: Sequence[str]) -> Any:
        asked.append(request)
        raise TargetError("it died")

    cases = [{"id": number, "flags": ["Basic"], **TAPE} for number in range(1, 20)]
    file = {"type": "tape", "cases": len(cases), "groups": [{"mechanism": "thing", "cases": cases}]}
    assert len(list(check([file], ask, BUDGET))) == len(asked) == FAILURES_IN_A_ROW
