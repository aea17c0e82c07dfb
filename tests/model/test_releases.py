"""Functions and methods of one value as releases: bound methods, and signatures that do not fit."""

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab import Kind, Target, one_by_one
from attacklab.loading.targets import load_target
from attacklab.model.errors import UsageError
from attacklab.model.releases import as_release

RNG = np.random.default_rng(1)

MECHANISMS = """
import math
import random

class Laplace:
    def __init__(self, epsilon, sensitivity=1.0):
        self.scale = sensitivity / epsilon

    def randomise(self, value):
        u = random.random() - 0.5
        return value - self.scale * math.copysign(1.0, u) * math.log(1 - 2 * abs(u))

    def many(self, values, count, seed, key):
        return [self.randomise(value) for value in values]

class Holder:
    pass

mechanism = Laplace(1.0)
holder = Holder()
holder.inner = mechanism
"""

KIND = {"kind": Kind.NOISE, "epsilon": 1.0}


class Rounding:
    """A mechanism as libraries have them: one value a call."""

    def __init__(self) -> None:
        self.generator = random.Random(3)

    def randomise(self, value: float) -> float:
        return value + self.generator.choice([-1.0, 0.0, 1.0])

    def in_place(self, values: list[float]) -> float:
        values.append(1.0)
        return float(len(values))


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "mechanisms.py"
    path.write_text(MECHANISMS)
    return str(path)


def test_a_bound_method_is_called_once_a_trial_and_names_the_release() -> None:
    target = Target.noise(one_by_one(Rounding().randomise), epsilon=1.0)
    assert target.name == "randomise"
    outputs = target.outputs(0.5, 200, RNG)
    assert outputs.dtype == np.float64
    assert set(outputs) == {-0.5, 0.5, 1.5}


def test_each_call_has_an_input_of_its_own() -> None:
    target = Target.dataset(one_by_one(Rounding().in_place), epsilon=1.0)
    assert target.outputs([1.0, 2.0], 3, RNG).tolist() == [3.0, 3.0, 3.0]


def test_it_can_be_sent_to_a_worker() -> None:
    again = pickle.loads(pickle.dumps(one_by_one(Rounding().randomise)))  # noqa: S301 - our own
    assert len(again(0.0, 5, RNG)) == 5


@pytest.mark.parametrize("wrong", [lambda: 1, lambda one, two: one + two, 3])
def test_a_function_of_another_signature_is_told_with_the_right_one(wrong: Any) -> None:
    told = r"one_by_one (calls <lambda>\(value\), but|takes a function of one value, not 3)"
    with pytest.raises(TypeError, match=told):
        one_by_one(wrong)


@pytest.mark.parametrize("name", ["mechanism.randomise", "holder.inner.randomise"])
def test_a_method_is_a_target_by_its_name(name: str, file: str) -> None:
    target = load_target(f"{file}:{name}", **KIND)
    assert target.name == name
    outputs = target.outputs(0.5, 50, RNG)
    assert len(set(outputs)) == 50


MISFITS = [
    ("mechanism.rand", r"has no 'mechanism\.rand'"),
    ("Laplace.randomise", r"method of the class Laplace; .* = Laplace\(...\), and name mechanism.randomise"),
    ("mechanism.many", r"a release is called as .*many takes \(values, count, seed, key\)"),
]


@pytest.mark.parametrize(("name", "message"), MISFITS)
def test_a_name_or_a_method_that_does_not_fit_is_told(name: str, message: str, file: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_target(f"{file}:{name}", **KIND).outputs(0.0, 1, RNG)


@pytest.mark.parametrize(
    ("function", "is_release"),
    [
        (lambda value, scale=0.1, clip=1.0: (value, scale, clip), False),
        (lambda value, scale=0.1, rng=None: (value, scale, rng), False),
        (lambda value, trials=1, clip=1.0: (value, trials, clip), False),
        (lambda value, trials=1, rng=None: (value, trials, rng), True),
        (lambda value, n, rng=None: (value, n, rng), True),
        (lambda value, n, generator, clip=1.0: (value, n, generator, clip), True),
        (lambda *values: values, True),
        (lambda value, n, generator=None: (value, n, generator), True),
    ],
)
def test_parameters_with_defaults_are_settings_unless_they_are_named_as_those_of_a_release(
    function: Any, is_release: bool
) -> None:
    assert (as_release(function) is function) is is_release
