"""Low bits of Laplace noise: is y − f(D) a value that the sampler can produce at all?

Textbook samplers compute f(D) ± λ·log(v) for a v on the grid of multiples of 2^−p, where p is the number of significant
bits. Only some numbers y are such values for f(D), others for f(D′), and many for only one of the two. Seeing one of
those proves which dataset it came from.

The adversary knows λ (Δ/ε or a small multiple of it, unless the target states another) and guesses the sampler among
the models of `samplers`: uniforms on a fine grid, inverted; and any number times λ, a number of a
narrower format, or a multiple of 2^−53, as differences of two variates are. The numbers may be the whole output, or
stand in rows, dicts or text, and may have been rounded to a fine grid afterwards (see `noisy_numbers`). A
look at some outputs tells which guesses are worth a bet; fresh outputs judge them.

A negative result does not rule out a sampler that none of these models fits, nor one of them with answers so large
against λ, or a grid so coarse against it, that every number near them is reachable. In datasets it does not rule out a
number whose true answer or scale is not among the guesses. For a sum or quotient of logarithms, or the product of a
normal and a root, only the product with λ is tried, which shows nothing if λ is a power of two.

If v is any multiple of 2^−p, the advantage is about 0.60. The textbook's 1 − 2|U − ½| is always an even multiple, which
halves the numbers that can be reached; then it is about 0.80.

Source: Mironov 2012, 'On Significance of the Least Significant Bits for Differential Privacy', section 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from attacklab.attacks import samplers
from attacklab.attacks.base import OfKinds, Probe, Scenario, pairs_with_answers
from attacklab.attacks.low_bits import scenarios
from attacklab.attacks.noisy_numbers import View, noisy_numbers
from attacklab.attacks.samplers import PRODUCTS, Assumed, Bools, Model, SamplerModel
from attacklab.model.floats import Doubles, Floats
from attacklab.model.targets import Kind, Target


@dataclass(frozen=True)
class LowBitLaplace(OfKinds, kinds=set(Kind) - {Kind.SELECTION}):
    """The attack on the low bits of Laplace noise.

    Attributes:
        answers: the two true answers for additive noise; 0 and the sensitivity by default.
    """

    answers: tuple[float, float] | None = None
    name: str = "low_bit_laplace"
    flaw: str = "the low bits of some outputs can come from one true answer only"
    whole_outputs: ClassVar[bool] = True

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Yield the bets that look promising on a first sample of outputs."""
        epsilon = target.claim.nominal.epsilon

        def scale_of(sensitivity: float) -> tuple[float, float]:
            return sensitivity / epsilon, epsilon / sensitivity

        numbers = noisy_numbers(target, probe, pairs_with_answers(target, self.answers), scale_of, mean_deviation=1.0)
        yield from scenarios(target.claim, numbers, _models)


def _models(view: View) -> tuple[Model, ...]:  # noqa: ARG001 - all work in every format
    return MODELS


def _inverting(sampler: SamplerModel) -> Model:
    def reachable(outputs: Floats, half_widths: Doubles, answer: float, assumed: Assumed) -> Bools:
        return samplers.reachable(
            outputs, answer, assumed.scale, sampler, assumed.form, rate=assumed.rate, half_widths=half_widths
        )

    return Model(sampler.description, reachable)


MODELS = (*map(_inverting, samplers.MODELS), *PRODUCTS)
