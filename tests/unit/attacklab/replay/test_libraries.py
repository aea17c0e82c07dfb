"""The mechanisms and samplers of libraries are watched by what their adapters read off a call."""

from __future__ import annotations

import itertools
import random
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from attacklab import libraries
from attacklab.libraries import samplers
from attacklab.model.findings import Verdict
from attacklab.replay import hooks, replay, sources
from attacklab.replay.laws import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE, SHIFT_LAWS, TABLE, Law, tails_of

PAIR = (np.array([1.0, 1.0]), np.array([1.0]))
COUNTED: list[int] = []


class Mechanism:
    """A mechanism of a library whose sampler no hook reaches."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def randomise(self, value: Any) -> Any:
        COUNTED.append(1)
        return value + self.scale * len(COUNTED)


ORIGINAL = Mechanism.randomise


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = ModuleType("a_library")
    module.Mechanism = Mechanism  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "a_library", module)

    def table(read: Any) -> None:
        monkeypatch.setattr(hooks, "samplers", lambda: {"a_library:Mechanism.randomise": read})

    yield table
    assert Mechanism.randomise is ORIGINAL


def _release(x: Any) -> Any:
    return Mechanism(0.5).randomise(float(x.sum()))


def test_a_mechanism_is_judged_by_what_its_adapter_reads(library: Any) -> None:
    library(lambda mechanism, value: {"law": "Laplace", "value": value, "scale": mechanism.scale})
    worst = replay(_release, [PAIR], epsilon=1.0)[0]
    assert worst.refutes
    assert worst.epsilon_lower == 2.0
    assert replay(_release, [PAIR], epsilon=2.0)[0].verdict is Verdict.NOT_DETECTED


def test_a_call_that_cannot_be_read_is_named_and_never_passed_over(library: Any) -> None:
    library(lambda _mechanism, _value: None)
    finding = replay(lambda x: Mechanism(1.0).randomise(x.sum()), [PAIR], epsilon=1.0)[0]
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "a_library.Mechanism.randomise" in finding.reason


def test_a_selection_that_keeps_the_same_is_named_too_where_it_draws_unseen(library: Any) -> None:
    library(lambda _mechanism, _value: None)

    def release(x: Any) -> Any:
        Mechanism(0.0).randomise(0.0)
        return float(x.sum()) + np.random.laplace(0, 1)

    finding = replay(release, [PAIR], epsilon=1.0)[0]
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "a_library.Mechanism.randomise draws in a way that cannot be read" in finding.reason
    selections = [place for place in samplers() if place.startswith("pydp.algorithms.partition_selection:")]
    assert len(selections) == 4
    assert all(samplers()[place](1.0, 1e-5, 1) is None for place in selections)


LATE = """
import itertools
import random

NAME = random.choices("abc")  # a first run sees this draw, and no later one
COUNTED = itertools.count()


def randomise(value):
    return value + next(COUNTED)
"""


def test_a_library_that_the_function_imports_itself_is_watched_from_its_first_run_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        hooks,
        "samplers",
        lambda: {"a_late_library:randomise": lambda value: {"law": "Laplace", "value": value, "scale": 0.5}},
    )
    (tmp_path / "a_late_library.py").write_text(LATE)
    monkeypatch.syspath_prepend(tmp_path)

    def release(x: Any) -> Any:
        import a_late_library  # type: ignore[import-not-found]

        return a_late_library.randomise(float(x.sum()))

    for claimed, verdict in ((1.9, Verdict.VIOLATED), (2.1, Verdict.NOT_DETECTED)):
        monkeypatch.delitem(sys.modules, "a_late_library", raising=False)
        assert replay(release, [PAIR], epsilon=claimed)[0].verdict is verdict


def test_choices_and_orders_of_anything_are_drawn_as_python_and_numpy_draw_them() -> None:
    def release(x: Any, rng: Any) -> Any:
        rows = [{"a": 1}, {"b": 2}, {"c": 3}]
        assert random.choice("abc") in "abc"
        assert rng.choice([-1, 1], 4).shape == (4,)
        assert rng.choice(5, p=[0, 0, 0, 1, 0]) == 3
        assert rng.choice([1, 2, 3], 3, replace=False).sum() == 6
        assert random.sample(rows, 2)[0] in rows
        assert random.choices(["a", "b"], [1, 0], k=2) == ["a", "a"]
        assert sorted(rng.permutation(x=[3, 1, 2])) == [1, 2, 3]
        random.shuffle(rows)
        assert len(rows) == 3
        filled = np.empty(3)
        rng.standard_normal(out=filled)
        assert filled.any()
        assert rng.random(2, dtype=np.float32).dtype == np.float32
        assert np.random.rand(2, 3).shape == (2, 3)
        assert np.random.normal(np.zeros(3), 1.0).shape == (3,)
        return x.sum() + rng.laplace(0, 1)

    assert replay(release, [PAIR], epsilon=1.0)[0].verdict is Verdict.NOT_DETECTED


def test_every_adapter_names_laws_that_are_judged() -> None:
    assert {place.partition(":")[0].partition(".")[0] for place in samplers()} >= {
        *("diffprivlib", "opendp", "pydp", "tmlt", "torch", "jax")
    }
    assert all(callable(read) for read in samplers().values())
    assert {*sources.DRAWN} == {*SHIFT_LAWS, "geometric", "sign"} - {TABLE}
    assert libraries.library("torch").mechanisms


@pytest.mark.parametrize("scale", [0.5, 3.0])
@pytest.mark.parametrize("law", [DISCRETE_LAPLACE, DISCRETE_GAUSSIAN])
def test_tails_of_integer_noise_are_sums_of_its_probabilities(law: str, scale: float) -> None:
    at = np.arange(-200, 201)
    weights = np.exp(-np.abs(at) / scale if law == DISCRETE_LAPLACE else -((at / scale) ** 2) / 2)
    weights /= weights.sum()
    for step, offset in itertools.product((Fraction(1), Fraction(1, 10)), (-2.5, -1.0, 0.0, 0.3, 4.0)):
        noise = Law(law, scale=Fraction(scale) * step, step=step)
        below, above = tails_of(noise, np.array([offset * float(step)]))
        assert below[0] == pytest.approx(weights[at <= offset].sum(), rel=1e-9)
        assert above[0] == pytest.approx(weights[at > offset].sum(), rel=1e-9)


def test_what_a_table_carries_besides_its_numbers_is_part_of_the_output() -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas")

    def table(x: Any, **held: Any) -> Any:
        return pandas.DataFrame({"n": [len(x) + np.random.laplace(0, 1)], **held})

    def attributes(x: Any) -> Any:
        made = table(x)
        made.attrs["size"] = len(x)
        return made

    def name_of_rows(x: Any) -> Any:
        return table(x).rename_axis(f"of {len(x)}")

    def name_of_a_column(x: Any) -> Any:
        return table(x)["n"].rename(f"of {len(x)}")

    def categories(x: Any) -> Any:
        return table(x, kind=pandas.Categorical(["a"], ["a", *"bc"[: len(x)]]))

    for release in (attributes, name_of_rows, name_of_a_column, categories):
        assert replay(release, [PAIR], epsilon=1.0)[0].refutes, release
    assert not replay(lambda x: table(x, kind=pandas.Categorical(["a"], [*"abc"])), [PAIR], epsilon=1.0)[0].refutes
