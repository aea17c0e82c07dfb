"""Low bits of Gaussian noise: is y − f(D) a value that the sampler, times σ, can produce at all?

The counterpart of `low_bit_laplace`. A sampler of normals maps finitely many uniforms through rounded functions; some
numbers can be reached from one true answer only, and seeing one of those proves which database it came from.

The adversary knows σ to the last bit (the textbook's formula, unless the target says another) and, out of the models in
`gaussian_samplers`, guesses the sampler: the choosing sample picks the model. Where two normals come of the same
uniforms, as in Box–Muller and the polar method, it sees two answers one after the other, and the claim that it attacks
is the one composed of two. A negative result shows only that none of these samplers, as this build of numpy, SciPy and
the C library computes it, adds its normals times this σ to these answers in one rounding each. It says nothing of an
answer that is rounded afterwards, or of pairs that do not come one after the other.

Where nothing but σ is known of the sampler, the advantage depends on σ's significand: close to a power of two from
above, products with σ reach almost everything. No more is known in formats of 16 bits (a look at some outputs tells).

Source: Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We There Yet? Timing and Floating-Point Attacks on
Differential Privacy Systems'.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from attacklab.attacks.base import Event, Probe, Scenario, only_from, released_format
from attacklab.attacks.samplers.gaussian import MODELS, SamplerModel
from attacklab.claims import PrivacyClaim
from attacklab.neighbours import NeighbouringPair
from attacklab.targets import Kind, Target


@dataclass(frozen=True)
class LowBitGaussian:
    """The attack.

    Attributes:
        answers: the two true answers; 0 and the sensitivity by default.
        sigma: standard deviation of the noise; by default what the target says, or else the textbook's. A claim of
            δ = 0 has none.
    """

    answers: tuple[float, float] | None = None
    sigma: float | None = None
    name: str = "low_bit_gaussian"
    flaw: str = "some numbers can be reached by a Gaussian sampler from one true answer only"

    def applies_to(self, target: Target) -> bool:
        """Additive noise only."""
        return target.kind is Kind.NOISE

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """One pair of answers seen once and twice, a bet for every model of either kind; none where σ is not known."""
        if self.sigma is None and target.claim.delta == 0:
            return
        first, second = map(float, self.answers or (0.0, target.sensitivity))
        # A numpy number would widen the arithmetic of narrower outputs; a Python float takes their format.
        sigma = float(self.sigma or target.noise_scale or textbook_sigma(target.claim, target.sensitivity))
        pair = NeighbouringPair.answers(first, second, sensitivity=target.sensitivity)
        models = MODELS[released_format(probe, first)]
        for answers in sorted({model.answers for model in models}):
            events = (_bet(first, second, sigma, model) for model in models if model.answers == answers)
            yield Scenario(pair, tuple(events), answers)


def textbook_sigma(claim: PrivacyClaim, sensitivity: float) -> float:
    """The textbook's standard deviation Δ·√(2·ln(1.25/δ))/ε, rounded as it is written.

    Args:
        claim: ε > 0 and δ > 0.
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
