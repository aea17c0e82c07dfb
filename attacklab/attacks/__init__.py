"""The attacks, one file a flaw; `ATTACKS` is the registry."""

from __future__ import annotations

from attacklab.attacks.base import Attack
from attacklab.attacks.black_box import BlackBox
from attacklab.attacks.double_budget import DoubleBudget
from attacklab.attacks.failing_size import FailingSize
from attacklab.attacks.generator_seed import GeneratorSeed
from attacklab.attacks.generator_state import GeneratorState
from attacklab.attacks.integer_cast import IntegerCast
from attacklab.attacks.local_sensitivity import LocalSensitivity
from attacklab.attacks.low_bit_gaussian import LowBitGaussian
from attacklab.attacks.low_bit_laplace import LowBitLaplace
from attacklab.attacks.missing_clip import MissingClip
from attacklab.attacks.position_chunks import PositionChunks
from attacklab.attacks.precision import Precision
from attacklab.attacks.repeated_noise import RepeatedNoise
from attacklab.attacks.score_overflow import ScoreOverflow
from attacklab.attacks.special_values import SpecialValues
from attacklab.attacks.sum_sensitivity import SumSensitivity
from attacklab.attacks.truncated_addition import TruncatedAddition
from attacklab.attacks.zero_rounding import ZeroRounding

__all__ = [
    "ATTACKS",
    "Attack",
    "BlackBox",
    "DoubleBudget",
    "FailingSize",
    "GeneratorSeed",
    "GeneratorState",
    "IntegerCast",
    "LocalSensitivity",
    "LowBitGaussian",
    "LowBitLaplace",
    "MissingClip",
    "PositionChunks",
    "Precision",
    "RepeatedNoise",
    "ScoreOverflow",
    "SpecialValues",
    "SumSensitivity",
    "TruncatedAddition",
    "ZeroRounding",
    "sized",
]

ATTACKS: tuple[Attack, ...] = (
    ZeroRounding(),
    TruncatedAddition(),
    ScoreOverflow(),
    LowBitLaplace(),
    LowBitGaussian(),
    Precision(),
    IntegerCast(),
    GeneratorSeed(),
    GeneratorState(),
    SumSensitivity(),
    LocalSensitivity(),
    PositionChunks(),
    MissingClip(),
    DoubleBudget(),
    FailingSize(),
    SpecialValues(),
    RepeatedNoise(),
    BlackBox(),
)
"""All of them run where none is named."""


def sized(attack: Attack, trials: int) -> Attack:
    """The attack as an audit of so many trials runs it: the black box learns from as many outputs as that warrants."""
    return attack.within(trials) if isinstance(attack, BlackBox) else attack
