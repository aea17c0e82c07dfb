"""Repeated noise: found whatever makes it repeat and whatever form outputs have; sound twins are not judged at all."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from attacklab import Domain, Finding, NeighbouringPair, Records, Relation, Target, Verdict
from attacklab.attacks import RepeatedNoise
from attacklab.auditing.referee import audit
from tests.ideal import two_sided_geometric

Draw = Callable[[tuple[int, ...], np.random.Generator], np.ndarray]
Form = Callable[[float, float], Any]

PAIR = NeighbouringPair.records(np.array([1.0, 0.0]), np.array([1.0, 1.0]), Relation.SUBSTITUTE)
NUMBERS = Domain(shape=Records(), bounds=(0, 1))
TABLE = np.random.default_rng(4).laplace(size=1 << 12)


def fresh(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Sound: what the others are compared with."""
    return rng.laplace(size=shape)


def constant_seed(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:  # noqa: ARG001 - the flaw
    return np.random.default_rng(0).laplace(size=shape)


def few_seeds(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return np.random.default_rng(rng.integers(0, 60)).laplace(size=shape)


def from_a_table(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return TABLE[rng.integers(0, len(TABLE), shape)]


def no_noise(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:  # noqa: ARG001 - the flaw
    return np.zeros(shape)


def first(noisy: float, _other: float) -> Any:
    return noisy


def released(true: Any, trials: int, rng: np.random.Generator, *, draw: Draw, form: Form = first) -> list[Any]:
    return [form(*(np.sum(true) + noise)) for noise in draw((trials, 2), rng)]


def refusing(release: Callable[..., Any], *, size: int, make: Callable[..., Target], **rest: Any) -> Target:
    def some_sizes_only(records: np.ndarray, trials: int, rng: np.random.Generator) -> Any:
        if len(records) == size:
            raise ValueError("too few or too many records")
        return release(records, trials, rng)

    return make(some_sizes_only, **rest)


def index(utilities: np.ndarray, trials: int, rng: np.random.Generator, *, draw: Draw) -> np.ndarray:
    return np.asarray(np.argmax(utilities + 2 * draw((trials, len(utilities)), rng), axis=1))


def attacked(target: Target) -> list[Finding]:
    return audit(target, [RepeatedNoise()], trials=2_000, alpha=1e-9)


FORMS: list[Form] = [
    first,
    lambda noisy, other: [noisy, other],
    lambda noisy, _: {"sum": noisy, "unit": "m"},
    lambda noisy, _: f"sum = {noisy!r}",
]


@pytest.mark.parametrize("draw", [constant_seed, few_seeds, from_a_table, fresh])
@pytest.mark.parametrize("form", FORMS)
def test_noise_that_repeats_is_found_in_outputs_of_any_form_and_fresh_noise_is_not_judged(
    form: Form, draw: Draw
) -> None:
    findings = attacked(Target.noise(partial(released, draw=draw, form=form), epsilon=1.0))
    if draw is fresh:
        assert [finding.verdict for finding in findings] == [Verdict.NOT_APPLICABLE]
    else:
        assert findings[0].verdict is Verdict.VIOLATED
        assert "gave this very" in findings[0].shown.event


@pytest.mark.parametrize(("draw", "found"), [(constant_seed, True), (fresh, False)])
@pytest.mark.parametrize(
    "make",
    [
        partial(Target.sum, bounds=(0.0, 1.0)),
        partial(Target.sum, bounds=(0.0, 1.0), relation="add-remove"),
        partial(Target.mean, bounds=(2.0, 3.0)),
        partial(refusing, size=1, make=Target.mean, bounds=(0.0, 1.0), relation="substitute"),
        partial(Target.dataset, pairs=[PAIR]),
        partial(Target.dataset, domain=NUMBERS),
        partial(refusing, size=2, make=Target.dataset, domain=NUMBERS, pairs=[PAIR, PAIR]),
        partial(Target.noise, domain=Domain(integers=True)),
    ],
)
def test_it_is_found_on_targets_of_every_kind(make: Callable[..., Target], draw: Draw, found: bool) -> None:
    findings = attacked(make(partial(released, draw=draw), epsilon=1.0))
    assert (findings[0].verdict is Verdict.VIOLATED) is found


@pytest.mark.parametrize("draw", [constant_seed, no_noise])
def test_a_selection_that_always_selects_the_same_is_found_at_the_step_where_it_changes(draw: Draw) -> None:
    (finding,) = attacked(Target.selection(partial(index, draw=draw), epsilon=1.0))
    assert finding.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_integer_noise_at_the_edge_of_its_claim_is_not_judged(epsilon: float) -> None:
    """Its outputs come up again and again, and the rarest are seen from one input only."""

    def release(answer: float, trials: int, rng: np.random.Generator) -> np.ndarray:
        return int(answer) + two_sided_geometric(rng, trials, epsilon)

    (finding,) = attacked(Target.noise(release, epsilon=epsilon, domain=Domain(integers=True)))
    assert finding.verdict is Verdict.NOT_APPLICABLE
