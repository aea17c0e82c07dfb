"""The attacks, one file a flaw; `ATTACKS` and `ON_REQUEST` are the registry."""

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
from attacklab.targets import Kind, Target

__all__ = [
    "ATTACKS",
    "ON_REQUEST",
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
    "default_attacks",
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
)

ON_REQUEST: tuple[Attack, ...] = (BlackBox(),)
"""Attacks that run only when they are named, or where a target declares what they try (see `default_attacks`): they
draw many times as many outputs as the others."""


def default_attacks(target: Target) -> tuple[Attack, ...]:
    """The attacks that run where none is named.

    They are `ATTACKS`, and the black box on what only it can try: pairs that the target declares, or follow from the
    shape of its domain.
    """
    if not target.pairs and target.kind is not Kind.DATASET:
        return ATTACKS
    return (*ATTACKS, *(attack for attack in ON_REQUEST if attack.applies_to(target)))
