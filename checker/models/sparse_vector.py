"""The sparse vector technique, as its papers define it, on answers that may be unknown.

Sources: Lyu, Su and Li 2017, Algorithm 7; Dwork and Roth 2014, Algorithms 1 to 3. The noise of values comes after the
last comparison here, none of which depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class SparseVector:
    """The algorithm with its public parameters; lengths are in steps of a grid.

    Args:
        threshold: what answers are compared with.
        positives: c, how many of them are above before it stops.
        threshold_scale: of the threshold's noise.
        answer_scale: of the noise of each answer that is compared.
        value_scale: of the noise of each value that is released; None where none is.
    """

    threshold: int
    positives: int
    threshold_scale: Fraction
    answer_scale: Fraction
    value_scale: Fraction | None

    @property
    def scales(self) -> tuple[Fraction, ...]:
        """All scales."""
        return (self.threshold_scale, self.answer_scale, *([] if self.value_scale is None else [self.value_scale]))

    def loss(self, distance: int) -> Fraction:
        """Return what answers lose that move by a distance at most (lemma `sparse-vector`)."""
        lost = distance / self.threshold_scale + 2 * self.positives * distance / self.answer_scale
        return lost if self.value_scale is None else lost + self.positives * distance / self.value_scale

    def reported(self, answers: Sequence[Any], noise: Any, bits: Any) -> tuple[bool, ...]:
        """Say of each answer in turn whether it is above one noisy threshold, until so many of them were.

        Args:
            answers: in steps.
            noise: what `bits.call` draws noise by, for a scale.
            bits: the source of randomness.
        """
        bar = self.threshold + bits.call(noise, self.threshold_scale)
        found, said = 0, []
        for answer in answers:
            above = found < self.positives and bool(answer + bits.call(noise, self.answer_scale) >= bar)
            found += above
            said.append(above)
        return tuple(said)

    def run(self, answers: Sequence[Any], value: Callable[[Any], Any], noise: Any, bits: Any) -> tuple[Any, ...]:
        """Say which answers are above; or release those that are, each with new noise, and −∞ for the others.

        Args:
            answers: in steps.
            value: makes of a number of steps what is released.
            noise: what `bits.call` draws noise by, for a scale.
            bits: the source of randomness.
        """
        said = self.reported(answers, noise, bits)
        if self.value_scale is None:
            return said
        return tuple(
            value(answer + bits.call(noise, self.value_scale)) if above else -float("inf")
            for answer, above in zip(answers, said, strict=True)
        )
