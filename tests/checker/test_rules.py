"""Each rule accepts the claim that is true and refuses one that is stronger by a part of 10^9."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from checker import rules
from checker.check import main
from tests.checker.making import TERMS, accepted, at, edited, leaves, rational, refusal, written

STRONGER = 1 - Fraction(1, 10**9)


def _stronger(name: str) -> list[Any]:
    """Return certificates with each positive number of the claim a little smaller."""
    whole = written(name)
    found = []
    for place, _ in leaves(whole["claim"], ("claim",)):
        if place[-1] == "rational" and Fraction(at(whole, place)) > 0:
            found.append(edited(whole, place[:-1], rational(Fraction(at(whole, place)) * STRONGER)))
    return found


@pytest.mark.parametrize("name", TERMS)
def test_a_true_claim_is_accepted_and_a_stronger_one_refused(name: str) -> None:
    accepted(written(name))
    stronger = _stronger(name)
    assert stronger
    for each in stronger:
        assert "not seen to keep" in refusal(each)


WORSE: dict[str, list[tuple[Any, ...]]] = {
    "discrete_laplace": [("query", "sensitivity", 3), ("query", "grid", "exponent", -1), ("law", "scale", 1)],
    "counts": [("law", "scale", Fraction(1, 2))],
    "sum": [("query", "lower", -4), ("query", "upper", 4), ("query", "grid", "exponent", -2)],
    "column": [("query", "query", "lower", -4), ("query", "query", "grid", "exponent", -2)],
    "sum_above": [("query", "lower", Fraction(1, 2)), ("query", "grid", "exponent", -4)],
    "rounded_gaussian": [("law", "variance", 2), ("query", "sensitivity", 3)],
    "threshold": [("positives", 3), ("answer", "sensitivity", 3), ("threshold_law", "scale", 1)],
    "values": [("positives", 3), ("value_law", "scale", 1), ("answer_law", "scale", 1)],
    "keys": [("threshold", 6), ("law", "scale", 2)],
    "select": [("epsilon", Fraction(1, 2))],
    "select_zcdp": [("epsilon", Fraction(1, 2))],
    "permute": [("epsilon", Fraction(1, 2))],
    "base2_monotone": [("ratio", Fraction(1, 2)), ("query", "monotone", False)],
    "fixed_work_monotone": [("steps", 3), ("ratio", Fraction(1, 2)), ("spare", 7), ("query", "monotone", False)],
    "kernel": [("query", "sensitivity", 3), ("query", "grid", "exponent", -2), ("rows", 2, [1, 3, 4])],
    "kernel_approximate": [("epsilon", Fraction(1, 3)), ("rows", 0, [7, 1, 0]), ("epsilon", None)],
    "distances": [("ratio", Fraction(1, 2))],
    "snapped": [("epsilon", Fraction(1, 2))],
    "response": [("epsilon", Fraction(1, 2))],
    "rational_response": [("flip", Fraction(1, 4))],
    "shuffled": [("flip", Fraction(1, 9)), ("people", 3), ("epsilon", Fraction(9, 10))],
    "poisson": [("rate", Fraction(1, 3))],
    "fixed_sample": [("size", 3), ("records", 4)],
    "session": [("budget", 1)],
    "mean": [("mechanism", "parts", 1, "query", "upper", 3)],
    "chunks": [("query", "upper", Fraction(10, 3)), ("query", "grid", "exponent", -1)],
    "numbered": [("query", "lower", -1), ("query", "named", True)],
    "median": [("bound", 3), ("threshold", 8), ("query", "upper", 1)],
    "smooth": [("epsilon", Fraction(1, 4)), ("epsilon", Fraction(1, 2)), ("smoothing", 19)],
    "restated": [("promised", "epsilon", Fraction(99, 100)), ("mechanism", "query", "sensitivity", 3)],
    "restated_rounded": [("mechanism", "query", "grid", "exponent", -1)],
    "restated_profile": [("promised", "points", 1, "epsilon", Fraction(199, 100))],
    "tested": [("bound", 3), ("threshold", 8), ("law", "scale", 2), ("test", "scale", 2)],
}
"""Fields whose change makes the loss larger, with the new value last."""


@pytest.mark.parametrize("name", WORSE)
def test_a_term_that_loses_more_is_refused(name: str) -> None:
    for *place, new in WORSE[name]:
        value = rational(new) if isinstance(new, Fraction) else new
        assert refusal(edited(written(name), ("term", *place), value)), place


UNREAD = [
    {"is": "zzz"},
    {"is": ""},
    {"is": "zzz", "sha256": None},
    {"is": "Quotient", "lower": 0, "upper": {"function": "here:there", "sha256": None}, "origin": 0},
    {"is": "here:There", "sha256": "0" * 64, "inner": {"function": "here:<lambda>"}},
    {"is": "here:There", "sha256": "0" * 63},
    {"function": "here:<lambda>", "sha256": None},
    {"function": "", "sha256": None},
    {"function": "here:there\n", "sha256": None},
]
"""Functions that nobody can have read."""

WRONG: dict[str, list[tuple[Any, ...]]] = {
    "discrete_laplace": [
        ("query", "sensitivity", 0),
        ("query", "grid", "exponent", 971),
        ("query", "grid", "exponent", True),
        ("law", "scale", rational(Fraction(2**46 + 1))),
        ("law", "is", "Laplace"),
        ("is", "Quiet"),
        ("query", "is", "Utilities"),
    ],
    "sum": [("query", "lower", rational(Fraction(1, 3))), ("query", "upper", -1), ("query", "relation", "edge")],
    "sum_above": [("query", "lower", rational(Fraction(1, 3)))],
    "column": [
        ("query", "number", {"function": "here:<lambda>", "sha256": None}),
        ("query", "number", {"function": "here:number"}),
        ("query", "number", {"is": "Quotient", "lower": 0, "upper": 1, "origin": 0}),
        ("query", "query", {"is": "Counts"}),
        ("query", "query", "is", "Count"),
    ],
    "histogram": [("query", "cells", ["a", "a"]), ("query", "cells", [1, True]), ("query", "cells", [])],
    "mean": [("mechanism", "parts", []), ("function", "mean"), *(("function", function) for function in UNREAD)],
    "size": [("mechanism", "parts", 1, "query", "relation", "add-remove")],
    "session": [("neighbours", "answers"), ("budget", 0), *(("ask", function) for function in UNREAD)],
    "threshold": [
        ("answer", "is", "Counts"),
        ("positives", 0),
        ("answer_law", {"is": "RoundedGaussian", "variance": rational(Fraction(10**9))}),
    ],
    "keys": [("threshold", 1)],
    "select": [("query", "lower", 9), ("query", "monotone", 1), ("epsilon", rational(Fraction(1, 2**901)))],
    "noisy_max": [("epsilon", rational(Fraction(1, 2**46)))],
    "base2": [("ratio", rational(Fraction(2, 3))), ("ratio", 1)],
    "fixed_work": [("spare", 1), ("steps", 0), ("precision", 0)],
    "kernel": [
        ("query", {"is": "Counts"}),
        ("lower", 1 << 53),
        ("rows", 0, [5, 2, 2]),
        ("rows", 0, [5, 3]),
        ("rows", 0, [9, -2, 1]),
        ("rows", 0, [5, True, 2]),
        ("rows", 0, 8),
        ("rows", [[3, 2, 1]] * 3),
        ("rows", [[1 << 63]]),
        ("rows", []),
    ],
    "kernel_approximate": [("epsilon", 0)],
    "distances": [("query", "last", rational(Fraction(7, 4))), ("query", "last", -1), ("query", "last", 1 << 20)],
    "snapped": [("bound", 0), ("sensitivity", 0)],
    "rational_response": [("flip", rational(Fraction(2, 3)))],
    "shuffled": [("people", 0), ("people", 65)],
    "poisson": [("rate", rational(Fraction(5, 4))), ("mechanism", {"is": "Size"})],
    "fixed_sample": [("size", 6)],
    "quantile": [("query", "quantile", 2), ("query", "last", 0), ("query", "first", rational(Fraction(1, 2)))],
    "chunks": [("query", "chunks", 0), ("query", "key", "key"), ("query", "upper", 3)],
    "numbered": [("query", "named", 0)],
    "smooth": [("smoothing", 5), ("query", "is", "Counts"), ("query", "lower", rational(Fraction(1, 2)))],
    "median": [("query", "upper", -1), ("query", "lower", rational(Fraction(1, 2))), ("query", "is", "RankScores")],
    "tested": [("bound", 5), ("bound", 0), ("threshold", 0), ("query", {"is": "Counts"})],
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_term_is_refused(name: str) -> None:
    for *place, new in WRONG[name]:
        assert refusal(edited(written(name), ("term", *place), new)), place


@pytest.mark.parametrize("name", TERMS)
def test_a_missing_and_an_unknown_field_is_refused(name: str) -> None:
    whole = written(name)
    places = {place[:depth] for place, _ in leaves(whole["term"], ("term",)) for depth in range(1, len(place))}
    for place in (place for place in places if isinstance(at(whole, place), dict) and "function" not in place):
        fields = at(whole, place)
        assert refusal(edited(whole, place, fields | {"more": 1})), place
        for field in fields:
            assert refusal(edited(whole, place, {key: fields[key] for key in fields if key != field})), (place, field)


def test_parts_about_different_answers_are_refused() -> None:
    part = written("discrete_laplace")["term"]
    other = edited(part, ("query", "sensitivity"), rational(Fraction(1, 2)))
    whole = written("discrete_laplace") | {"term": {"is": "Both", "parts": [part, other]}}
    whole["claim"]["epsilon"] = 100
    assert "different neighbours" in refusal(whole)
    whole["term"]["parts"] = [part, part]
    accepted(whole)


TINY = rational(3 * Fraction(1, 2 * 10**400))

NOTHING_DERIVED: list[tuple[str, tuple[Any, ...], Any, str]] = [
    ("discrete_laplace", ("law",), {"is": "DiscreteLaplace", "scale": TINY}, "not seen to keep"),
    ("keys", ("law", "scale"), TINY, "not seen to keep"),
    ("discrete_gaussian", ("law", "variance"), TINY, "not seen to keep"),
    ("restated_rounded", ("mechanism", "law", "variance"), TINY, "rule of Restated|not seen to keep"),
    ("threshold", ("answer",), {"is": "Histogram", "cells": ["a"], "relation": "substitute"}, "looks at queries' answ"),
    ("threshold", ("answer",), {"is": "Histogram", "cells": [{}], "relation": "substitute"}, "cells of a histogram"),
    ("threshold", ("threshold",), rational(Fraction(1, 3)), "a point of the answers' grid"),
    ("mean", ("function", "lower"), {"float": False}, "float of lower of Quotient must be str|must be str"),
    ("mean", ("function", "lower"), {"float": "answers"}, "derives nothing|must be a number"),
    ("kernel", ("rows",), [], "must not be empty"),
    ("base2", ("ratio",), rational(Fraction(1, 2**4000)), "not seen to keep"),
]
"""What ran for ever or ended in a traceback, or nearly did."""


@pytest.mark.parametrize(("name", "place", "new", "said"), NOTHING_DERIVED)
def test_what_is_not_derived_is_refused_with_its_reason(name: str, place: Any, new: Any, said: str) -> None:
    whole = edited(written(name), ("term", *place), new)
    assert re.search(said, refusal(whole))


def test_the_rest_of_a_batch_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ratio = edited(written("discrete_laplace"), ("term", "law", "scale"), TINY)
    paths = [tmp_path / f"{name}.json" for name in ("empty", "ratio", "true")]
    for path, text in zip(paths, ("{}", json.dumps(ratio), json.dumps(written("response"))), strict=True):
        path.write_text(text, "utf-8")
    assert main(list(map(str, paths))) == 1
    assert [line[:15] for line in capsys.readouterr().out.splitlines()[:3]] == [
        "REFUSED   empty", "REFUSED   ratio", "ACCEPTED  true:",
    ]  # fmt: skip


def test_functions_of_somebody_else_are_named_and_their_files_compared() -> None:
    """The file of one that is in the folder of the code must be the file that the certificate was written with."""
    for name, condition in (
        ("session", "if `tests.checker.making:asked` is a function of what was released"),
        ("column", "if `tests.checker.making:doubled` is a function of one record"),
        ("chunks", "if `tests.checker.making:asked` is a function of the values of one chunk"),
    ):
        assert accepted(written(name)).statement.endswith(f", {condition}")
    for digest in (None, "0" * 64):
        changed = edited(written("session"), ("term", "ask", "sha256"), digest)
        assert "making.py is not the file of" in refusal(changed)
    elsewhere = edited(written("session"), ("term", "ask"), {"function": "else.where:asks", "sha256": None})
    assert accepted(elsewhere).statement.endswith("if `else.where:asks` is a function of what was released")
    assert "if" not in accepted(written("mean")).statement


def test_a_certificate_that_other_code_wrote_is_refused() -> None:
    for name in ("releasing", "entropy", "library", "laplace/exact"):
        path = f"mechanisms/{name}.py"
        assert path in refusal(edited(written("response"), ("code", path), "0" * 64))
        code = {file: digest for file, digest in written("response")["code"].items() if file != path}
        assert path in refusal(written("response") | {"code": code})
    assert "mechanisms/x.py" in refusal(edited(written("response"), ("code", "mechanisms/x.py"), "0" * 64))


def test_a_table_that_nothing_is_drawn_by_is_refused() -> None:
    table = written("discrete_laplace")["tables"][0] | {"limit": 0, "open": []}
    assert "below half of all words" in refusal(written("discrete_laplace") | {"tables": [table]})


def test_what_keys_lose_is_said_for_people_of_one_key() -> None:
    assert "people who have one key each" in accepted(written("keys")).statement


def test_a_replaced_record_moves_two_counts() -> None:
    histogram = {"is": "Histogram", "cells": ["a"], "relation": "add-remove or substitute"}
    assert rules.query(histogram).moves == (1, 1)
