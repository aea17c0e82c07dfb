"""What an audit draws beside the outputs that it judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.auditing.referee import audit
from attacklab.model.findings import Verdict
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Outputs, Target
from mechanisms.core.grid import Grid
from mechanisms.exponential.naive import Selections, naive_exponential_stabilised
from mechanisms.laplace.exact import exact_discrete_laplace

TRIALS = 100_000


TERM = exact_discrete_laplace(epsilon=1, grid=Grid(-2))


def on_grid(answer: float, trials: int, rng: np.random.Generator) -> NDArray[Any]:
    return TERM.many(answer, trials, SeededBits(rng))


def chosen(utilities: NDArray[np.float64], trials: int, rng: np.random.Generator) -> Selections:
    return naive_exponential_stabilised(utilities, trials, rng, epsilon=1.0)


@pytest.mark.parametrize(
    "target",
    [Target.noise(on_grid, epsilon=1.0, name="noise"), Target.selection(chosen, epsilon=1.0, name="selection")],
    ids=lambda target: target.name,
)
def test_a_default_audit_draws_no_more_outputs_to_look_and_to_choose_than_it_judges(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Counter[str]()
    outputs: Callable[..., Outputs] = Target.outputs

    def counting(self: Target, input_: Any, trials: int, *arguments: Any, **options: Any) -> Outputs:
        drawn["all"] += trials
        return outputs(self, input_, trials, *arguments, **options)

    monkeypatch.setattr(Target, "outputs", counting)
    findings = audit(target, trials=TRIALS)
    judged = sum(2 * one.counts.trials * one.answers for one in findings if one.counts is not None)
    assert Verdict.ERROR not in {one.verdict for one in findings}
    assert judged > 2 * TRIALS
    assert drawn["all"] <= 2 * judged
