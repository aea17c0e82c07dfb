"""Lattice bias: noise that favours some points of its grid is caught, and noise that favours none is not accused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from attacklab.attacks.lattice_bias import LatticeBias
from attacklab.auditing.referee import audit
from attacklab.model.findings import Finding, Verdict
from attacklab.model.targets import Target
from mechanisms.laplace.naive import naive_laplace_numpy
from tests.unit.attacklab.ideal import lattice_laplace

Moved = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def noisy(moved: Moved, *, epsilon: float, step: float = 1.0, name: str = "biased") -> Target:
    """Discrete Laplace noise on the multiples of a step, some of it moved."""

    def release(answer: float, trials: int, rng: np.random.Generator) -> np.ndarray:
        steps = lattice_laplace(0.0, trials, rng, epsilon=epsilon, step=step) / step
        return answer + step * moved(steps, rng)

    return Target.noise(release, epsilon=epsilon, name=name)


def one_less(every: int, chance: float) -> Moved:
    """Multiples of a number, other than 0, are sometimes made one nearer to 0, as a wrong remainder would."""

    def moved(steps: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        hit = (steps != 0) & (steps % every == 0) & (rng.random(len(steps)) < chance)
        return np.where(hit, steps - np.sign(steps), steps)

    return moved


def as_it_is(steps: np.ndarray, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG001 - as others of its kind
    return steps


def judged(target: Target, **settings: int | float) -> list[Finding]:
    return audit(target, [LatticeBias()], **settings)


@pytest.mark.parametrize(
    ("every", "epsilon", "step"), [(3, 1 / 3, 1.0), (7, 1 / 9, 1.0), (5, 0.1, 0.25), (2, 1.0, 1.0), (4, 1.0, 0.5)]
)
def test_noise_that_favours_some_points_is_caught(every: int, epsilon: float, step: float) -> None:
    (finding,) = judged(noisy(one_less(every, 0.25), epsilon=epsilon, step=step))
    assert finding.verdict is Verdict.VIOLATED


@pytest.mark.parametrize(("epsilon", "step"), [(1.0, 1.0), (1 / 3, 1.0), (1 / 9, 1.0), (0.05, 1.0), (0.5, 0.25)])
def test_noise_that_favours_none_is_not_accused(epsilon: float, step: float) -> None:
    """Each audit raises a false alarm with probability at most 1e-9, at this fixed seed."""
    (finding,) = judged(noisy(as_it_is, epsilon=epsilon, step=step), alpha=1e-9)
    assert finding.verdict in (Verdict.NOT_APPLICABLE, Verdict.NOT_DETECTED)


def test_noise_on_no_coarse_grid_is_left_alone() -> None:
    (finding,) = judged(Target.noise(partial(naive_laplace_numpy, epsilon=1.0), epsilon=1.0))
    assert finding.verdict is Verdict.NOT_APPLICABLE
