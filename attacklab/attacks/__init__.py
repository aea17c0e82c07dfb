"""The attacks, one file a flaw; `ATTACKS` is the registry."""

from __future__ import annotations

from attacklab.attacks.base import Attack
from attacklab.attacks.local_sensitivity import LocalSensitivity
from attacklab.attacks.low_bit_gaussian import LowBitGaussian
from attacklab.attacks.low_bit_laplace import LowBitLaplace
from attacklab.attacks.precision import Precision
from attacklab.attacks.truncated_addition import TruncatedAddition
from attacklab.attacks.zero_rounding import ZeroRounding

__all__ = [
    "ATTACKS",
    "Attack",
    "LocalSensitivity",
    "LowBitGaussian",
    "LowBitLaplace",
    "Precision",
    "TruncatedAddition",
    "ZeroRounding",
]

ATTACKS: tuple[Attack, ...] = (
    ZeroRounding(),
    TruncatedAddition(),
    LowBitLaplace(),
    LowBitGaussian(),
    Precision(),
    LocalSensitivity(),
)
