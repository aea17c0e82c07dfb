"""What every model of a sampler has in common: what the adversary assumes of the noise, and a decision an output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from attacklab.attacks.samplers.grid_points import Bools
from attacklab.model.floats import BINARY64, Doubles, Floats, Format


@dataclass(frozen=True, slots=True)
class Assumed:
    """What is assumed of the noise besides its sampler.

    Attributes:
        scale: λ of Laplace or σ of Gaussian noise, in the unit of the outputs.
        rate: what a sampler that divides divides by.
        form: the format in which it computes.
    """

    scale: float
    rate: float
    form: Format = BINARY64


Reachable: TypeAlias = Callable[[Floats, Doubles, float, Assumed], Bools]
"""`reachable(outputs, half_widths, answer, assumed)`: which outputs a sampler produces for a true answer. Outputs have
the shape (n,), or (n, 2) where two answers come from the same uniforms. Each may lie as far from what the sampler
produced as its half-width says, because it was rounded or moved afterwards."""


@dataclass(frozen=True, slots=True)
class Model:
    """How a sampler computes.

    Attributes:
        description: the sampler in words.
        reachable: which outputs it produces.
        answers: how many outputs in a row come from the same uniforms.
        coarse: whether it produces so few numbers that they can be told apart after coarse rounding.
        flaw: what a bet on it shows, where that is another flaw than its attack looks for.
    """

    description: str
    reachable: Reachable
    answers: int = 1
    coarse: bool = False
    flaw: str = ""
