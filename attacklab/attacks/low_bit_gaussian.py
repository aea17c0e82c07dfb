"""Low bits of Gaussian noise: is y − f(D) a value that the sampler, times σ, can produce at all?

This is the counterpart of `low_bit_laplace`. A sampler of normals maps finitely many uniforms through rounded
functions. Some numbers can be reached from one true answer only, and seeing one of those proves which dataset it came
from.

The adversary knows σ to the last bit (from the textbook's formula, unless the target states another) and guesses the
sampler among the models in `samplers.gaussian`; the choosing sample picks the model. In formats of 16 bits (a look at
some outputs tells) the only model is that of any sampler times σ. If a sampler makes two normals from the same
uniforms, as Box–Muller and the polar method do, the adversary sees two answers one after the other and attacks the
claim composed of two.

A negative result does not rule out any other sampler, or one of these in another build of numpy, SciPy or the C
library, or with a different σ or more than one rounding. Nor does it rule out a leak in answers that are rounded
afterwards, or in pairs of normals that are not released one after the other. If only σ is known, the advantage depends
on the significand of σ: if σ is just above a power of two, products with σ reach almost every number, and the attack
sees little.

Source: Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We There Yet? Timing and Floating-Point Attacks on
Differential Privacy Systems'.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from attacklab.attacks.base import Event, Probe, Scenario, only_from, pair_of_answers
from attacklab.attacks.released_formats import released_format
from attacklab.attacks.samplers.gaussian import MODELS, SamplerModel
from attacklab.claims import PrivacyClaim
from attacklab.targets import Kind, Target


@dataclass(frozen=True)
class LowBitGaussian:
    """The attack.

    Attributes:
        answers: the two true answers; 0 and the sensitivity by default.
        sigma: standard deviation of the noise; by default the target's own, or else the textbook's, which a claim with
            δ = 0 does not have.
    """

    answers: tuple[float, float] | None = None
    sigma: float | None = None
    name: str = "low_bit_gaussian"
    flaw: str = "a Gaussian sampler can reach some outputs from one true answer only"

    def applies_to(self, target: Target) -> bool:
        """Additive noise only."""
        return target.kind is Kind.NOISE

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """One pair of answers, seen once and seen twice, with a bet for each model; nothing if σ is not known."""
        if self.sigma is None and target.claim.nominal.delta == 0:
            return
        pair, first, second = pair_of_answers(target, *map(float, self.answers or (0.0, target.sensitivity)))
        # A numpy number would widen the arithmetic of narrower outputs; a Python float takes their format.
        sigma = float(self.sigma or target.noise_scale or textbook_sigma(target.claim.nominal, target.sensitivity))
        models = MODELS[released_format(probe, first)]
        for answers in sorted({model.answers for model in models}):
            events = (_bet(first, second, sigma, model) for model in models if model.answers == answers)
            yield Scenario(pair, tuple(events), answers)


def textbook_sigma(claim: PrivacyClaim, sensitivity: float) -> float:
    """The textbook's standard deviation Δ·√(2·ln(1.25/δ))/ε, rounded in the order in which it is written.

    Args:
        claim: with ε and δ greater than 0.
        sensitivity: Δ.

    Source:
        Dwork and Roth 2014, theorem 3.22.
    """
    return sensitivity * math.sqrt(2 * math.log(1.25 / claim.delta)) / claim.epsilon


def _bet(first: float, second: float, sigma: float, model: SamplerModel) -> Event:
    return Event(
        f"reachable from {first!r} and not from {second!r} by {model.description}, σ = {sigma!r}",
        partial(
            only_from,
            here=first,
            there=second,
            reachable=lambda outputs, answer: model.reachable(outputs, answer, sigma),
        ),
    )
