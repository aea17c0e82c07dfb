"""A function that releases nothing is an error before anything is audited, and one that seldom varies is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attacklab import NeighbouringPair, Relation, Target
from attacklab.auditing.first_outputs import NAME, without_variety
from attacklab.model.findings import Verdict
from attacklab.model.releases import one_by_one

RNG = np.random.default_rng(1)
KEYS = [NeighbouringPair(["a"], [], Relation.ADD_REMOVE)]


def forgets(answer: float) -> None:
    """Add noise, and return nothing."""
    answer + RNG.laplace()


def each(output: Callable[[Any, np.random.Generator], object]) -> Callable[..., list[object]]:
    return lambda input_, trials, rng: [output(input_, rng) for _ in range(trials)]


def hidden(answer: float, rng: np.random.Generator) -> float | None:
    noisy = answer + rng.laplace()
    return noisy if noisy > 50 else None


ROWS: dict[str, tuple[Target, str]] = {
    "no return": (Target.noise(one_by_one(forgets), epsilon=1), "returned None"),
    "no return in a release": (Target.dataset(each(lambda *_: None), epsilon=1, pairs=KEYS), "returned None"),
    "a constant": (Target.noise(each(lambda *_: 7.0), epsilon=1), "gave the same output"),
    "a constant beside noise": (Target.noise(each(lambda _, rng: 0 * rng.laplace() + 3), epsilon=1), "gave the same"),
    "the same rows": (Target.dataset(each(lambda *_: [("a", 1)]), epsilon=1, pairs=KEYS), "gave the same output"),
    "noise": (Target.noise(lambda answer, trials, rng: answer + rng.laplace(0, 1, trials), epsilon=1), ""),
    "no noise": (Target.noise(each(lambda answer, _: answer), epsilon=1), ""),
    "a threshold that small answers pass rarely": (Target.noise(each(hidden), epsilon=1), ""),
    "a key that is kept once in a thousand times": (
        Target.dataset(each(lambda keys, rng: keys if rng.random() < 1e-3 else []), epsilon=1, pairs=KEYS),
        "",
    ),
    "a choice that is nearly sure": (Target.selection(each(lambda _, rng: int(rng.random() < 1e-3)), epsilon=9), ""),
    "it raises for 0": (Target.noise(each(lambda answer, rng: 1 / answer + rng.laplace()), epsilon=1), ""),
    "no pair": (Target.dataset(each(lambda *_: None), epsilon=1), ""),
}


def test_a_function_that_always_raises_is_an_error_with_its_line() -> None:
    finding = without_variety(Target.noise(each(lambda *_: 1 / 0), epsilon=1, name="boom"), 0)
    assert finding is not None
    assert finding.reason.startswith("boom raised ZeroDivisionError: division by zero at test_first_outputs.py:")


@pytest.mark.parametrize("name", ROWS)
def test_only_a_function_without_any_variety_is_an_error(name: str) -> None:
    target, said = ROWS[name]
    finding = without_variety(target, 0)
    assert (finding is None) is (said == "")
    if finding is not None:
        assert (finding.verdict, finding.attack) == (Verdict.ERROR, NAME)
        assert f" {said}" in finding.reason
        assert "on both inputs: is this the function you mean?" in finding.reason
