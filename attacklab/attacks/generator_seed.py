"""Generator seed: noise from a generator that is reseeded for every answer takes as few values as there are seeds.

A generator may be seeded anew for each answer from a clock, or from anything else that takes few values. Its first draw
then takes no more values than the seed. The adversary tries all seeds and sees from which of the two answers y comes.

The adversary knows λ (Δ/ε, unless the target states another), the sampler (numpy's Laplace) and the candidates for the
seed. It bets that y is one answer, and not the other, plus the first draw from one of these seeds.

A negative result does not rule out other generators, other samplers, other seeds, or draws after the first.

Source: Garfinkel and Leclerc 2020, 'Randomness Concerns When Deploying Differential Privacy'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, OfKinds, Probe, Scenario, as_released, pair_of_answers
from attacklab.model.floats import Doubles
from attacklab.model.targets import Kind, Outputs, Target

Draws: TypeAlias = Callable[[int, int], Doubles]
"""`draws(seed, count)` returns the first `count` Laplace draws of scale 1 from a generator with that seed."""

_RESEEDED = np.random.RandomState()
"""One generator for all seeds: making a generator costs twenty times as much as seeding it."""


def legacy_draws(seed: int, count: int) -> Doubles:
    """Return Laplace draws of scale 1 from the legacy generator (`np.random.seed`, `RandomState`) with this seed."""
    _RESEEDED.seed(seed)
    return _RESEEDED.laplace(size=count)


def modern_draws(seed: int, count: int) -> Doubles:
    """Return Laplace draws of scale 1 from a `default_rng` with this seed."""
    return np.random.default_rng(seed).laplace(size=count)


SEEDED = (("np.random.seed", legacy_draws), ("np.random.default_rng", modern_draws))


@dataclass(frozen=True)
class GeneratorSeed(OfKinds, kinds={Kind.NOISE}):
    """The attack on a generator that is reseeded for every answer.

    Attributes:
        seeds: the candidate seeds; by default 0 to 4095, as people type them. To try a clock, give a range of seconds.
    """

    seeds: range = range(1 << 12)
    name: str = "generator_seed"
    flaw: str = "noise from a generator with few seeds takes few values"

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002 - needs no look at outputs
        """Yield the pair of answers Δ and 0, with a bet for each of numpy's two generators."""
        scale = target.noise_scale or target.sensitivity / target.claim.nominal.epsilon
        pair, first, second = pair_of_answers(target, target.sensitivity, 0.0)
        noises = [(seeding, scale * _first_draws(draws, self.seeds)) for seeding, draws in SEEDED]
        events = tuple(
            Event(
                f"{first!r}, not {second!r}, plus a first draw after {seeding}(s) for some s in {self.seeds}, "
                f"scale {scale!r}",
                partial(_is_only_from, here=first + noise, there=second + noise),
            )
            for seeding, noise in noises
        )
        yield Scenario(pair, events)


def recover_seed(
    answers: Sequence[float],
    truths: Sequence[float],
    *,
    scale: float,
    seeds: Iterable[int],
    draws: Draws = legacy_draws,
) -> list[int]:
    """Find the seeds that give all of a generator's first answers; one answer is nearly always enough.

    Args:
        answers: the first answers after seeding.
        truths: the true answers, one for each.
        scale: the scale λ of the noise, in the unit of the answers.
        seeds: the candidate seeds.
        draws: draws from the generator by its sampler; see `Draws`.

    Returns:
        The candidates that give every answer to the last bit.
    """
    return [
        seed
        for seed in seeds
        if np.array_equal(np.asarray(truths) + scale * draws(seed, len(answers)), np.asarray(answers))
    ]


@cache
def _first_draws(draws: Draws, seeds: range) -> Doubles:
    return np.array([draws(seed, 1)[0] for seed in seeds])


def _is_only_from(outputs: Outputs, *, here: Doubles, there: Doubles) -> NDArray[np.bool_]:
    """Return which outputs are among the doubles `here` but not among the doubles `there`."""
    values = as_released(outputs)
    return np.isin(values, here) & ~np.isin(values, there)
