"""Low bits of Laplace noise: is y − f(D) a value that the sampler can produce at all?

Textbook samplers compute f(D) ± λ·log(v) for a v on the grid of multiples of 2^−p, where p is the number of significant
bits. Only some numbers y are such values for f(D), others for f(D′), and many for only one of the two. Seeing one of
those proves which dataset it came from.

The adversary knows λ (Δ/ε, unless the target states another) and guesses the sampler among the models in
`samplers.laplace`, which decide whether y is reachable; the choosing sample picks the model.

A negative result does not rule out a sampler that none of these models fits, nor one of them with answers so large
against λ that every number near them is reachable.

If v is any multiple of 2^−p, the advantage is about 0.60. The textbook's 1 − 2|U − ½| is always an even multiple, which
halves the numbers that can be reached; then it is about 0.80.

Source: Mironov 2012, 'On Significance of the Least Significant Bits for Differential Privacy', section 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from attacklab.attacks.base import Event, Probe, Scenario, laplace_scale, only_from, pair_of_answers
from attacklab.attacks.released_formats import released_format
from attacklab.attacks.samplers.laplace import MODELS, reachable
from attacklab.targets import Kind, Target


@dataclass(frozen=True)
class LowBitLaplace:
    """The attack.

    Attributes:
        answers: the two true answers; 0 and the sensitivity by default.
    """

    answers: tuple[float, float] | None = None
    name: str = "low_bit_laplace"
    flaw: str = "a Laplace sampler can reach some outputs from one true answer only"

    def applies_to(self, target: Target) -> bool:
        """Additive noise only."""
        return target.kind is Kind.NOISE

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """One pair, with a bet for each model."""
        pair, first, second = pair_of_answers(target, *(self.answers or (0.0, target.sensitivity)))
        released = released_format(probe, first)
        scale = laplace_scale(target)
        events = tuple(
            Event(
                f"reachable from {first!r} and not from {second!r} by {model.description}, scale {scale!r}",
                partial(
                    only_from,
                    here=first,
                    there=second,
                    reachable=partial(reachable, scale=scale, model=model, released=released),
                ),
            )
            for model in MODELS
        )
        yield Scenario(pair, events)
