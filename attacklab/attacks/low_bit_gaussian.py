"""Low bits of Gaussian noise: is y − f(D) a value that the sampler, times σ, can produce at all?

This is the counterpart of `low_bit_laplace`. A sampler of normals maps finitely many uniforms through rounded
functions. Some numbers can be reached from one true answer only, and seeing one of those proves which dataset it came
from.

The adversary knows σ to the last bit (from the textbook's formula or a small multiple of it, unless the target states
another) and guesses the sampler among the models of `samplers`: the product of any number with σ, of a number of a
narrower format, or of a multiple of 2^−53, as sums of uniforms are; the inverse CDF, Box–Muller and the polar method,
inverted in binary64 and binary32. Box–Muller and the polar method make two normals from the
same uniforms, so the adversary sees two answers one after the other and attacks the claim composed of two. Where the
numbers stand, and what is done to them afterwards, is guessed as in `low_bit_laplace`; the choosing sample picks the
model.

A negative result does not rule out any other sampler, or one of these in another build of numpy, SciPy or the C
library, or with a different σ or more than one rounding. Nor does it rule out a leak in answers that are rounded to a
coarse grid afterwards, or in pairs of normals that are not released one after the other. For a ziggurat, a ratio of
uniforms, or one normal of a pair without the other, only the product with σ is tried. Its advantage depends on the
significand of σ: if σ is just above a power of two, products reach almost every number.

Source: Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We There Yet? Timing and Floating-Point Attacks on
Differential Privacy Systems'.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from attacklab.attacks.base import OfKinds, Probe, Scenario, pairs_with_answers
from attacklab.attacks.low_bits import scenarios
from attacklab.attacks.noisy_numbers import View, noisy_numbers
from attacklab.attacks.samplers import PRODUCTS, SEARCHED, Model
from attacklab.model.claims import PrivacyClaim
from attacklab.model.floats import BINARY32, BINARY64
from attacklab.model.targets import Kind, Target

MEAN_DEVIATION = math.sqrt(2 / math.pi)  # the mean deviation of a standard normal


@dataclass(frozen=True)
class LowBitGaussian(OfKinds, kinds=set(Kind) - {Kind.SELECTION}):
    """The attack on the low bits of Gaussian noise.

    Attributes:
        answers: the two true answers for additive noise; 0 and the sensitivity by default.
        sigma: standard deviation of the noise; by default the target's `noise_scale`, or else the textbook's. Without
            `sigma`, a claim with δ = 0 is not attacked.
    """

    answers: tuple[float, float] | None = None
    sigma: float | None = None
    name: str = "low_bit_gaussian"
    flaw: str = "the low bits of some outputs can come from one true answer only, by a sampler of normals"
    whole_outputs: ClassVar[bool] = True

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Yield the bets that look promising on a first sample; nothing if `sigma` is None and the claim has δ = 0."""
        if self.sigma is None and target.claim.nominal.delta == 0:
            return
        # A numpy number would widen the arithmetic of narrower outputs; a Python float takes their format.
        declared = float(self.sigma or target.noise_scale or 0.0)

        def scale_of(sensitivity: float) -> tuple[float, float]:
            sigma = declared or textbook_sigma(target.claim.nominal, sensitivity)
            return sigma, 1 / sigma

        numbers = noisy_numbers(target, probe, pairs_with_answers(target, self.answers), scale_of, MEAN_DEVIATION)
        yield from scenarios(target.claim, numbers, _models)


def textbook_sigma(claim: PrivacyClaim, sensitivity: float) -> float:
    """Return the textbook's standard deviation Δ·√(2·ln(1.25/δ))/ε, computed in the order in which it is written.

    Args:
        claim: an (ε, δ) claim with ε and δ greater than 0.
        sensitivity: Δ.

    Source:
        Dwork and Roth 2014, theorem 3.22.
    """
    return sensitivity * math.sqrt(2 * math.log(1.25 / claim.delta)) / claim.epsilon


def _models(view: View) -> tuple[Model, ...]:
    searched = SEARCHED if view.released.form in (BINARY64, BINARY32) else ()
    return (*PRODUCTS, *searched)
