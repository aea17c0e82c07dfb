"""Implementations with known flaws: what their sources of bits do, and that the committed table is what is measured."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from attacklab.auditing.flaws import catalogue
from attacklab.model.errors import TargetError
from attacklab.model.findings import read_record
from attacklab.model.random_bits import TapedBits
from attacklab.vectors.checking import Budget, check
from bench import vector_types
from bench.common.library_vectors import counted
from bench.vector_types import CONTROL, NOT_A_FLAW, TYPES, caught, idle_flags
from experiments.vectors.flawed import IMPLEMENTATIONS, Flawed
from experiments.vectors.flawed_sources import DoubleCoins, FiftyThreeBits, OneAttempt, Remainders, TwisterBits
from experiments.vectors.recorded_bits import Recorder
from mechanisms.coins import bernoulli, uniform_below
from tests.system.experiments.records import Data, quick_record

ROOT = Path(__file__).parents[4]
CERTAIN = ("tape", "trace", "rounding", "sum")
"""Types whose answers are right or wrong, and asked in a second."""


@pytest.fixture(scope="module")
def record() -> Data:
    return read_record(ROOT / "reports" / "data" / "vector_types.json")


def named(name: str) -> Flawed:
    return next(one for one in IMPLEMENTATIONS if one.name == name)


def rows(record: Data) -> dict[str, Any]:
    return {row["name"]: row for row in record["measured"]["implementations"]}


def test_every_flag_of_every_type_catches_an_implementation(record: Data, files: Mapping[str, Any]) -> None:
    assert record["measured"]["flags"] == {name: sorted(files[name]["notes"]) for name in TYPES}
    assert idle_flags(record) == []


def test_the_exact_twins_are_asked_about_every_case_and_get_none_wrong(record: Data, files: Mapping[str, Any]) -> None:
    cells = rows(record)[CONTROL]["types"]
    assert {name: one["wrong"] for name, one in cells.items()} == dict.fromkeys(TYPES, 0)
    left_out = {name: files[name]["cases"] - one["asked"] for name, one in cells.items()}
    assert left_out == {**dict.fromkeys(TYPES, 0), "pair": 12}  # the ideal noise of the mean is continuous


def test_every_flaw_of_the_list_has_an_implementation() -> None:
    stood_for = {flaw for one in IMPLEMENTATIONS for flaw in one.flaws}
    assert stood_for == catalogue().keys() - set(NOT_A_FLAW)


def test_the_table_lists_every_implementation_once_and_only_what_is_measured(record: Data) -> None:
    names = [one.name for one in IMPLEMENTATIONS]
    assert len(set(names)) == len(names)
    assert list(rows(record)) == [CONTROL, *names, " ".join(vector_types.EXAMPLE)]
    page = (ROOT / "reports" / "vector_types.md").read_text("utf-8")
    for name, row in rows(record).items():
        assert page.count(f"\n| {name} |") == (name != CONTROL)
        assert (f"| {name} | {row['wrong']} | nothing |" in page) == (
            not any(one["asked"] for one in row["types"].values())
        )


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS, ids=lambda one: one.name)
def test_cells_of_types_without_samples_are_measured_again(
    record: Data, files: Mapping[str, Any], implementation: Flawed
) -> None:
    asked = {type_ for type_, _ in implementation.answers}
    for type_, committed in rows(record)[implementation.name]["types"].items():
        if type_ not in asked:
            assert committed == {"asked": 0, "wrong": 0, "flags": []}
        elif type_ in CERTAIN:
            found = counted(list(check([files[type_]], implementation.answer, Budget(1, 1e-9, 0))))
            assert found == committed, type_


def test_a_quick_run_measures_every_implementation_and_its_page_says_what_is_seen(
    files: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_types, "read_file", lambda path: files[path.stem])
    data = quick_record(vector_types)
    measured = rows(data)
    assert len(measured) == len(IMPLEMENTATIONS) + 2
    assert not caught(measured[CONTROL])
    for name in ("coins of doubles, on bits", "sum that refuses", "other formulas in doubles", "weights in bfloat16"):
        assert caught(measured[name]), name
    (figure,) = vector_types.figures(data)
    assert len(figure.panels) == 1
    paragraph = vector_types.explain(data)
    assert not {"{", "}"} & set(paragraph)
    assert "the exact ones have no wrong cases" in " ".join(paragraph.split())
    assert "; none were measured" in " ".join(vector_types.explain_timings(data).split())
    assert len(vector_types.timing_table(data)) == 1


def test_remainders_favour_small_integers() -> None:
    drawn = [Remainders(TapedBits(value, 2)).call(uniform_below, 3) for value in range(4)]
    assert drawn == [0, 1, 2, 0]


def test_a_coin_of_a_double_is_another_request() -> None:
    recorder = Recorder(lambda _: 1)
    for wrap in (DoubleCoins, Remainders):
        assert wrap(recorder).call(bernoulli, Fraction(1, 3)) is True
    requests = [one["request"] for one in recorder.requests]
    assert requests == ["coin 6004799503160661 18014398509481984", "coin 1 3"]


def test_a_coin_of_53_bits_shows_heads_at_its_threshold() -> None:
    half = 1 << 52
    tosses = [FiftyThreeBits(TapedBits(value, 53)).call(bernoulli, Fraction(1, 2)) for value in (half, half + 1)]
    assert tosses == [True, False]


def test_one_attempt_fails_where_a_sound_source_draws_again() -> None:
    bits = TapedBits(0b11_01, 4)
    with pytest.raises(ArithmeticError, match="first attempt was rejected"):
        OneAttempt(bits).call(uniform_below, 3)
    assert OneAttempt(bits).call(uniform_below, 3) == 1


def test_the_twister_gives_as_many_bits_as_it_is_asked_for() -> None:
    bits = TwisterBits(3)
    assert bits.take(0) == 0
    assert {bits.take(1) for _ in range(64)} == {0, 1}
    assert max(bits.take(100) for _ in range(64)) >> 90


def test_exact_laws_are_asked_where_one_uniform_number_decides() -> None:
    request = {"type": "law", "mechanism": "randomized_response", "parameters": {"epsilon": "1"}, "input": True}
    law = dict(map(tuple, named("randomized response").answer(request)["law"]))
    keep = Fraction(law[True])
    assert keep + Fraction(law[False]) == 1
    assert (keep * 2**53).denominator == 1
    assert abs(keep - Fraction(2.718281828459045 / 3.718281828459045)) < Fraction(1, 2**50)


def test_an_answer_that_is_not_one_ends_the_measurement(files: Mapping[str, Any]) -> None:
    with pytest.raises(TargetError, match="case 1 of type trace"):
        counted(list(check([files["trace"]], lambda *_: {"requests": "none", "output": "1"}, Budget(1, 1e-9, 0))))


def test_bits_of_one_seed_make_every_output_equal() -> None:
    request = {
        "type": "law",
        "mechanism": "discrete_laplace",
        "parameters": {"scale": "20"},
        "input": None,
        "trials": 20,
        "seed": 5,
    }
    assert len(set(named("one seed for all").answer(request)["outputs"])) == 1
    assert len(set(named("seeds of 16 bits").answer(request)["outputs"])) > 5
