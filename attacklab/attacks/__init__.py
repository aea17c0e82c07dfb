"""The attacks, one file a flaw; `ATTACKS` is the registry."""

from __future__ import annotations

from attacklab.attacks.base import Attack
from attacklab.attacks.generator_state import GeneratorSeed
from attacklab.attacks.local_sensitivity import LocalSensitivity
from attacklab.attacks.low_bit_gaussian import LowBitGaussian
from attacklab.attacks.low_bit_laplace import LowBitLaplace
from attacklab.attacks.precision import Precision
from attacklab.attacks.sum_sensitivity import IntegerCast, SumSensitivity
from attacklab.attacks.textbook import DoubleBudget, MissingClip, PositionChunks
from attacklab.attacks.truncated_addition import TruncatedAddition
from attacklab.attacks.zero_rounding import ZeroRounding

__all__ = [
    "ATTACKS",
    "Attack",
    "DoubleBudget",
    "GeneratorSeed",
    "IntegerCast",
    "LocalSensitivity",
    "LowBitGaussian",
    "LowBitLaplace",
    "MissingClip",
    "PositionChunks",
    "Precision",
    "SumSensitivity",
    "TruncatedAddition",
    "ZeroRounding",
]

ATTACKS: tuple[Attack, ...] = (
    ZeroRounding(),
    TruncatedAddition(),
    LowBitLaplace(),
    LowBitGaussian(),
    Precision(),
    IntegerCast(),
    GeneratorSeed(),
    SumSensitivity(),
    LocalSensitivity(),
    PositionChunks(),
    MissingClip(),
    DoubleBudget(),
)
