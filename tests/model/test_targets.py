"""Targets: what they accept, and what a misbehaving release is told."""

import asyncio
import functools
import itertools
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab import Domain, Records, Target, Verdict
from attacklab.auditing.referee import audit
from attacklab.model.errors import TargetError
from attacklab.model.targets import Failure, are_numbers

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(1)


def constant(value: Any) -> Callable[..., Any]:
    def release(input_: Any, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - the form of a release
        return value

    return release


def noise(value: Any) -> Target:
    return Target.noise(constant(value), epsilon=1.0, name="stub")


def selection(value: Any) -> Target:
    return Target.selection(constant(value), epsilon=1.0, name="stub")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (noise(np.zeros(4)), "stub returned 4 outputs for 3 trials"),
        (noise(np.zeros(2)), "stub returned 2 outputs for 3 trials"),
        (noise([]), "stub returned 0 outputs for 3 trials"),
        (noise(None), "stub returned None, not a list or an array, one output a trial"),
        (noise(np.ma.masked_all(3)), "stub returned a MaskedArray, not a list or an array, one output a trial"),
        (noise(0.5), "stub returned a float, not a list or an array"),
        (noise(np.float64(0.5)), "stub returned a float64, not a list or an array"),
        (noise({1.0, 2.0, 3.0}), "stub returned a set, not a list or an array"),
        (noise(np.zeros(3, dtype=np.longdouble)), "not numbers of up to 64 bits"),
        (selection(np.array([0.0, 1.0, 0.0])), "outputs of type float64, not indices"),
        (selection(np.zeros((3, 2), dtype=int)), r"outputs of type int64 and shape \(2,\), not indices"),
        (selection(["a", 1, None]), "outputs of type object, not indices"),
        (selection(np.array([0, 2, 1])), "indices from 0 to 2 of 2 outcomes"),
        (selection([None, -1, 1]), "indices from -1 to 1 of 2 outcomes"),
    ],
)
def test_malformed_outputs_are_told_in_one_line(target: Target, message: str) -> None:
    with pytest.raises(TargetError, match=message) as raised:
        target.outputs(np.zeros(2), 3, RNG)
    assert "\n" not in str(raised.value)


ROWS = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("released", "numbers"),
    [
        (np.arange(3.0), True),
        ([1.0, np.float32(2.5), np.array(3.0)], True),
        ([1, 2, 1 << 70], True),
        ([None, Fraction(1, 3), Decimal(2)], True),
        (ROWS, False),
        (ROWS.tolist(), False),
        ([[1.0], [1.0, 2.0], 3.0], False),
        ([{"count": 1}] * 3, False),
        (np.array(["a", "b", "c"]), False),
        (["a", 1.0, None], False),
        (np.zeros(3, dtype=complex), False),
        (np.array([True, False, True]), False),
    ],
    ids=str,
)
def test_outputs_of_any_form_are_taken_as_they_are(released: Any, numbers: bool) -> None:
    outputs = noise(released).outputs(0.0, 3, RNG)
    assert len(outputs) == 3
    assert are_numbers(outputs) is numbers
    assert [type(output) for output in outputs] == [type(output) for output in released]


class Panic(BaseException):
    """As PyO3 raises it: an exception that is not an Exception."""


@pytest.mark.parametrize("error", [Panic("index out of bounds"), asyncio.CancelledError(), GeneratorExit()])
@pytest.mark.parametrize("while_giving", [True, False])
def test_an_exception_that_is_not_an_exception_is_a_failure_like_others(
    error: BaseException, while_giving: bool
) -> None:
    def giving() -> Iterator[float]:
        yield 0.0
        raise error

    def release(*_: object) -> Iterator[float]:
        if while_giving:
            return giving()
        raise error

    target = Target.noise(release, epsilon=1.0)
    with pytest.raises(TargetError, match=f"^release raised {type(error).__name__}"):
        target.outputs(0.0, 2, RNG)
    if not while_giving:
        assert isinstance(target.outputs(0.0, 1, RNG, sees_failures=True)[0], Failure)


@pytest.mark.parametrize("error", [KeyboardInterrupt, pytest.skip.Exception])
def test_what_ends_the_run_or_the_test_goes_through(error: type[BaseException]) -> None:
    def release(*_: object) -> None:
        raise error

    with pytest.raises(error):
        Target.noise(release, epsilon=1.0).outputs(0.0, 1, RNG)


def test_a_release_that_works_in_place_spoils_no_later_call() -> None:
    seen = []

    def release(utilities: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG001
        seen.append(utilities.copy())
        utilities -= utilities.max()
        return np.zeros(trials, dtype=int)

    target, utilities = Target.selection(release, epsilon=1.0), np.array([3.0, 5.0])
    for _ in range(2):
        target.outputs(utilities, 1, RNG)
    assert utilities.tolist() == [3.0, 5.0]
    assert [one.tolist() for one in seen] == [[3.0, 5.0], [3.0, 5.0]]


BAD: tuple[tuple[dict[str, list[Any]], type[Exception], str], ...] = (
    ({"epsilon": [0.0, -1.0, math.nan, math.inf, 10**400]}, ValueError, "epsilon must be"),
    ({"delta": [-0.1, 1.0, math.nan]}, ValueError, r"delta must lie in \[0, 1\)"),
    (
        {"sensitivity": [0.0, -1.0, math.nan, math.inf, 10**400]},
        ValueError,
        "sensitivity must be finite and greater than 0",
    ),
    ({"noise_scale": [0.0, -1.0, math.nan, math.inf]}, ValueError, "noise_scale must be finite and greater than 0"),
    ({"noise_scale": [True, "1"]}, TypeError, "noise_scale must be a number"),
    ({"bounds": [(1.0, 1.0), (2.0, 1.0), (math.nan, 1.0), (0.0, 10**400)]}, ValueError, "finite and lower < upper"),
    ({"bounds": [None]}, TypeError, "^a (sum|mean) target needs bounds"),
    ({"bounds": [3, (1.0,), (1.0, 2.0, 3.0), ("low", "high")]}, TypeError, "^bounds must be two numbers, lower"),
    ({"release": [5]}, TypeError, r"release must be callable as release\(input, trials, rng\), not 5"),
    ({"surprise": [1]}, TypeError, "takes no surprise"),
)


def test_parameters_out_of_range_are_refused_by_name() -> None:
    for wrong, error, message in BAD:
        for name, value in ((name, value) for name, values in wrong.items() for value in values):
            kinds: dict[str, list[Any]] = {
                "bounds": [Target.sum, Target.mean],
                "sensitivity": [Target.noise, Target.selection],
            }
            for made in kinds.get(name, [Target.noise]):
                with pytest.raises(error, match=message):
                    made(**{"release": constant(1), "epsilon": 1.0, name: value})


NUMBERS = {
    "NaN": np.array([math.nan]),
    "half NaN": np.array([math.nan, 0.0, math.nan, 1.0]),
    "rarely NaN": np.append(np.zeros(99), math.nan),
    "infinities": np.array([math.inf, -math.inf, math.nan, 1.0]),
    "a negative zero": np.array([0.0, -0.0]),
    "the ends": np.array([1.7e308, -1.7e308, 5e-324, math.nan]),
}

FORMS: dict[str, Callable[[NDArray[np.float64]], Any]] = {
    "float64": lambda values: values,
    "float16": lambda values: values.astype(np.float16),
    "a list": lambda values: values.tolist(),
    "None": lambda values: [None if math.isnan(value) else value for value in values.tolist()],
    "integers": lambda values: [int(value) if math.isfinite(value) else value for value in values.tolist()],
    "decimals": lambda values: list(map(Decimal, values.tolist())),
}

KINDS = {
    "noise": functools.partial(Target.noise),
    "noise with a delta": functools.partial(Target.noise, delta=1e-6),
    "sum": functools.partial(Target.sum, bounds=(0.0, 1.0)),
    "mean": functools.partial(Target.mean, bounds=(0.0, 1.0)),
    "dataset": functools.partial(Target.dataset, domain=Domain(shape=Records(), bounds=(0, 1))),
}


@np.errstate(all="ignore")
@pytest.mark.parametrize(
    ("numbers", "form", "kind"),
    [(*pair, list(KINDS)[place % len(KINDS)]) for place, pair in enumerate(itertools.product(NUMBERS, FORMS))],
)
def test_no_attack_fails_on_an_output_that_is_nan_or_infinite(numbers: str, form: str, kind: str) -> None:
    """They are drawn whatever the input, so no claim is broken either."""

    def release(_input: Any, trials: int, rng: np.random.Generator) -> Any:
        return FORMS[form](rng.choice(NUMBERS[numbers], trials))

    findings = audit(KINDS[kind](release, epsilon=1.0, name="stub"), trials=200)
    assert not [one for one in findings if one.verdict in (Verdict.ERROR, Verdict.VIOLATED)]


FORKING = """
import os
from attacklab import Target, audit

def release(answer, trials, rng):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    elif {raises}:
        raise ValueError("in the copy")
    return answer + rng.laplace(size=trials)

findings = audit(Target.noise(release, epsilon=1.0, name="stub"), trials=100)
print(*sorted({{str(finding.verdict) for finding in findings}}))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("raises", [False, True])
def test_a_copy_that_a_release_forks_does_not_come_back_from_the_call(raises: bool) -> None:
    """A copy that went on would print a line of its own."""
    code = FORKING.format(raises=raises)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    (verdicts,) = done.stdout.splitlines()
    assert "error" not in verdicts
