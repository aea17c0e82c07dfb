"""The source of an event decides as `contains` does: of models of samplers, of all attacks, and copied code."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.auditing.attacks import BlackBox, LatticeBias, LostWeights, RepeatedNoise, ScoreOverflow, SpecialValues
from attacklab.auditing.attacks.base import Attack, Event, Scenario
from attacklab.auditing.attacks.common.failures import FAILS
from attacklab.auditing.attacks.common.half_lines import half_line
from attacklab.auditing.attacks.low_bit_laplace import MODELS
from attacklab.auditing.attacks.plain import ANYWHERE, OF_NUMBERS
from attacklab.auditing.attacks.precision import ANY_NUMBER, NARROWER
from attacklab.auditing.attacks.samplers.model import Assumed, Model
from attacklab.model.findings import EventCode
from attacklab.model.floats import BINARY32
from attacklab.model.source_bundle import NotSelfContained, source_bundle
from attacklab.model.targets import Failure, Target
from attacklab.processes.batches import Bench

WRITTEN = [model for model in (*MODELS, ANY_NUMBER, NARROWER[BINARY32]) if model.source]
ANSWERS = ((0.0, 1.0), (1.0, 1.0), (0.3, 0.7), (-5.5, 0.1))


def decided(code: EventCode, outputs: Any) -> NDArray[np.bool_]:
    """What a source says of outputs, run as a script runs it."""
    module: dict[str, Any] = {"__name__": "script", "Failure": Failure, "math": math, "np": np}
    exec(compile(code.source, "script.py", "exec", dont_inherit=True), module)  # noqa: S102 - our own text
    if code.of_many:
        return np.asarray(module["events"](outputs))
    return np.array([module["event"](output) for output in outputs], dtype=bool)


@pytest.mark.parametrize("model", WRITTEN, ids=lambda model: str(model.description))
def test_a_model_and_its_source_reach_the_same_numbers(model: Model) -> None:
    rng = np.random.default_rng(1)
    module: dict[str, Any] = {"math": math, "np": np}
    exec(compile(model.source, "model.py", "exec", dont_inherit=True), module)  # noqa: S102 - our own text
    held = []
    for answer, scale in ANSWERS:
        uniforms = rng.integers(1, 1 << 53, 150) / (1 << 53)
        noise = rng.choice([-1, 1], 150) * scale * np.log(uniforms)
        ends = [answer, math.inf, -math.inf, math.nan, 0.0, -0.0]
        outputs = np.concatenate([answer + noise, rng.normal(answer, scale, 50), ends])
        reached = model.reachable(outputs, np.zeros(len(outputs)), answer, Assumed(scale, 1 / scale))
        again = [module["reached"](float(output), answer, scale, 1 / scale) for output in outputs]
        assert reached.tolist() == again
        held.append(reached.mean())
    assert 0 <= min(held) <= max(held) < 1


def biased(answer: float, trials: int, rng: np.random.Generator) -> Any:
    return np.floor(answer) + np.where(rng.random(trials) < 0.5, 2.0 * rng.integers(-2, 3, trials), 0.0)


def repeated(answer: float, trials: int, _rng: np.random.Generator) -> Any:
    return answer + np.random.default_rng(7).laplace(size=trials)


def as_dicts(answer: float, trials: int, rng: np.random.Generator) -> Any:
    return [{"mean": answer + float(noise), "words": "ab"} for noise in rng.laplace(size=trials)]


def as_rows(answer: float, trials: int, rng: np.random.Generator) -> Any:
    return answer + rng.laplace(size=(trials, 3)) * [1.0, 5.0, 5.0]


def weighed(utilities: Any, trials: int, rng: np.random.Generator) -> Any:
    weights = np.exp(np.asarray(utilities, dtype=np.float16) / 2)
    return rng.choice(
        len(weights),
        size=trials,
        p=(weights / weights.sum()).astype(float) / np.sum(weights / weights.sum(), dtype=float),
    )


def failing(answer: float, trials: int, rng: np.random.Generator) -> Any:
    return [float("nan") if answer > 2.0**40 else answer + float(noise) for noise in rng.laplace(size=trials)]


def scenarios(target: Target, attack: Attack) -> tuple[Scenario, ...]:
    bench = Bench(target, [attack], 0)
    bench.outlines(0)
    return bench._scenarios[0]


TARGETS: tuple[tuple[Callable[..., Any], Callable[..., Target], Attack], ...] = (
    (biased, Target.noise, LatticeBias(learning=512)),
    (repeated, Target.noise, RepeatedNoise()),
    (failing, Target.noise, SpecialValues()),
    (weighed, Target.selection, LostWeights(learning=128, most_outcomes=256)),
    (weighed, Target.selection, ScoreOverflow()),
    (biased, Target.noise, BlackBox(learning=128, kept=1)),
    (as_rows, Target.noise, BlackBox(learning=128, kept=1)),
    (as_dicts, Target.noise, BlackBox(learning=64, kept=1)),
)


@pytest.mark.parametrize(("release", "kind", "attack"), TARGETS)
def test_every_event_of_an_attack_and_its_source_hold_the_same_outputs(
    release: Callable[..., Any], kind: Callable[..., Target], attack: Attack
) -> None:
    target, seen = kind(release, epsilon=1.0), 0
    for scenario in scenarios(target, attack):
        for side in (scenario.pair.first, scenario.pair.second):
            outputs = target.outputs(side, 64, np.random.default_rng(2), sees_failures=scenario.sees_failures)
            for event in scenario.events:
                plain = outputs.dtype.kind in "biuf"
                code = event.code(instead=OF_NUMBERS if plain else ANYWHERE)
                assert "attacklab" not in code.source
                assert decided(code, outputs).tolist() == event.contains(outputs).tolist()
                seen += 1
    assert seen >= 2


def test_failures_and_exact_numbers_are_decided_alike() -> None:
    failures = np.array([1.0, None, Failure("ValueError", "no"), math.nan, np.float32(0.5)], dtype=object)
    assert (
        decided(FAILS.code(), failures).tolist()
        == FAILS.contains(failures).tolist()
        == [False, True, True, True, False]
    )
    exact = np.array([Fraction(1, 3), Fraction(1, 2), 0.25], dtype=object)
    event = half_line(1 / 3)
    assert decided(event.code(), exact).tolist() == event.contains(exact).tolist() == [True, True, False]


def test_a_closure_is_copied_with_what_it_holds() -> None:
    known, names = np.arange(100.0), {"a": (1, 2.5)}

    def contains(outputs: Any) -> NDArray[np.bool_]:
        return np.isin(outputs, known) & (outputs > names["a"][1])

    outputs = np.array([2.0, 3.0, 3.5, 200.0])
    assert (
        decided(Event("", contains).code(), outputs).tolist()
        == contains(outputs).tolist()
        == [False, True, False, False]
    )
    either = Event("", lambda outputs: (outputs == 1) | contains(outputs))
    assert decided(either.code(), outputs).tolist() == [False, True, False, False]


def test_what_has_no_source_is_refused() -> None:
    opened = iter(())

    def contains(_outputs: Any) -> Any:
        return opened

    with pytest.raises(NotSelfContained, match="has no source"):
        source_bundle(contains, "events")
