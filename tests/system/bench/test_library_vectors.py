"""Vectors against libraries: programs on small fakes of them, what may be shown, and the libraries that are built."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attacklab.libraries.environments import Environment, environments
from attacklab.model.errors import TargetError
from attacklab.vectors.checking import Budget
from bench.common import library_vectors
from bench.common.library_vectors import ASKED, KNOWN, ROOT, Asked, ask_library, library_rows
from tests.system.experiments.vector_files import vector_file

BUDGET = Budget(trials=40, alpha=1e-9, seed=0)
BY_LIBRARY = {one.library: one for one in ASKED}


def files() -> dict[str, Any]:
    return {name: vector_file(name) for name in ("law", "trace", "sum")}


DIFFPRIVLIB = {
    "__init__.py": "",
    "tools.py": """
        import numpy as np
        def sum(records, epsilon, bounds):
            assert epsilon == float("inf")
            return SUMMED(np.clip(records, *bounds))
        """,
    "mechanisms/__init__.py": """
        class Geometric:
            def __init__(self, epsilon, sensitivity, random_state): self.random_state = random_state
            def randomise(self, value): return value + int(8 * self.random_state.random())
        class GaussianDiscrete(Geometric):
            def __init__(self, epsilon, delta, random_state): self.random_state = random_state
        """,
    "mechanisms/base.py": """
        def bernoulli_neg_exp(gamma, source):
            while gamma > 1:
                gamma -= 1
                if not bernoulli_neg_exp(1, source):
                    return 0
            counter = 1
            while source.random() <= gamma / counter:
                counter += 1
            return counter % 2
        """,
}
TUMULT = {
    "__init__.py": "",
    "core/__init__.py": "",
    "core/random/__init__.py": "",
    "core/random/discrete_gaussian.py": """
        from fractions import Fraction
        def prng(): raise RuntimeError("the generator of the processor")
        def _sample_uniform(bound): return int.from_bytes(prng().bytes(32), "big") % bound
        def _sample_bernoulli(p): return int(_sample_uniform(p.denominator) < p.numerator)
        def _sample_bernoulli_exp(x):
            while x > 1:
                if not _sample_bernoulli_exp(Fraction(1)):
                    return 0
                x -= 1
            k = 1
            while _sample_bernoulli(ROUNDED(x / k)):
                k += 1
            return k % 2
        def _sample_dlaplace(scale): return _sample_uniform(3)
        def sample_dgauss(variance): return _sample_uniform(3)
        """,
}


def faked(folder: Path, name: str, modules: Mapping[str, str], **names: str) -> None:
    for place, text in modules.items():
        path = folder / name / place
        path.parent.mkdir(parents=True, exist_ok=True)
        content = textwrap.dedent(text)
        for word, value in names.items():
            content = content.replace(word, value)
        path.write_text(content, encoding="utf-8")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """This interpreter, in which the fakes stand for the libraries."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    return Environment("fake-1.0", "fake", "1.0", Path(sys.executable), is_missing=False)


def asked(library: str, type_: str, *mechanisms: str) -> Asked:
    driven = BY_LIBRARY[library].driven[type_]
    return replace(BY_LIBRARY[library], driven={type_: (driven[0], mechanisms or driven[1])}, trials=None)


def rows(library: str, environment: Environment, type_: str, *mechanisms: str) -> list[dict[str, Any]]:
    return ask_library(asked(library, type_, *mechanisms), environment, files(), BUDGET)


def test_comparing_with_a_double_is_a_request_for_a_coin_of_53_bits(tmp_path: Path, environment: Environment) -> None:
    faked(tmp_path, "diffprivlib", DIFFPRIVLIB)
    (row,) = rows("diffprivlib", environment, "trace")
    assert (row["driven"], row["asked"], row["wrong"], row["flags"]) == ("requests", 11, 11, ["Basic", "LongRun"])


@pytest.mark.parametrize(("summed", "is_wrong"), [("__import__('math').fsum", True), ("(lambda records: 0.0)", False)])
def test_a_sum_without_noise_is_held_to_the_sensitivity(
    tmp_path: Path, environment: Environment, summed: str, is_wrong: bool
) -> None:
    faked(tmp_path, "diffprivlib", DIFFPRIVLIB, SUMMED=summed)
    (row,) = rows("diffprivlib", environment, "sum", "forward_sum")
    assert row["asked"] > 5
    assert bool(row["wrong"]) is is_wrong


@pytest.mark.parametrize(("rounded", "wrong"), [("", 0), ("lambda p: Fraction(float(p))", 4)])
def test_requests_tell_an_exact_coin_from_a_rounded_one(
    tmp_path: Path, environment: Environment, rounded: str, wrong: int
) -> None:
    faked(tmp_path, "tmlt", TUMULT, ROUNDED=f"({rounded})" if rounded else "")
    (row,) = rows("tumult", environment, "trace")
    assert (row["asked"], row["wrong"] >= wrong, bool(row["wrong"])) == (11, True, bool(wrong))


def test_laws_are_drawn_from_a_seeded_generator(tmp_path: Path, environment: Environment) -> None:
    faked(tmp_path, "tmlt", TUMULT, ROUNDED="")
    first, again = (rows("tumult", environment, "law", "uniform_below", "bernoulli") for _ in range(2))
    assert [row["wrong"] for row in first] == [0, 0]
    for row, other in zip(first, again, strict=True):
        assert {**row, "measured": 0} == {**other, "measured": 0}


def test_a_program_that_does_not_answer_is_named(tmp_path: Path, environment: Environment) -> None:
    faked(tmp_path, "tmlt", {"__init__.py": "raise ImportError('broken')"})
    with pytest.raises(TargetError, match="case 1 of type trace"):
        rows("tumult", environment, "trace")


def row(**changed: Any) -> dict[str, Any]:
    known = {"library": "opendp", "version": "0.14.1", "type": "law", "mechanism": "discrete_laplace"}
    return {**known, "driven": "samples", "asked": 10, "wrong": 2, "flags": ["Basic"], **changed}


def test_rows_of_libraries_that_are_not_built_are_kept_and_only_what_is_public_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing = [replace(one, is_missing=True) for one in environments(ROOT)]
    monkeypatch.setattr(library_vectors, "environments", lambda _: missing)
    right = row(version="0.16.0", wrong=0, flags=[])
    kept = library_rows(files(), BUDGET, [row(), right], quick=False)
    assert [(one["version"], one["link"]) for one in kept["rows"]] == [
        ("0.14.1", KNOWN["opendp", "0.14.1", "law", "discrete_laplace"]),
        ("0.16.0", ""),
    ]
    assert "make .environments/tumult-0.20.0/.ready" in kept["absent"]
    with pytest.warns(UserWarning, match=r"opendp 0\.16\.0 fails law vectors .* the row is left out"):
        assert library_rows(files(), BUDGET, [row(version="0.16.0")], quick=False)["rows"] == []


def test_every_known_failure_is_asked_for_and_has_a_program() -> None:
    places = {
        (one.library, version, type_, name)
        for one in ASKED
        for version in one.versions
        for type_, (_, names) in one.driven.items()
        for name in names
    }
    assert KNOWN.keys() <= places
    assert all(one.program.is_file() for one in ASKED)
    assert {(one.library, version) for one in ASKED for version in one.versions} <= {
        (one.library, one.version) for one in environments(ROOT)
    }
