"""The attacks, one file a flaw (`known_pairs` has several); `ATTACKS` and `ALL_ATTACKS` are the registry."""

from __future__ import annotations

from attacklab.attacks.alignment import AlignmentAttack
from attacklab.attacks.base import Attack, Learning
from attacklab.attacks.black_box import BlackBox
from attacklab.attacks.generator_seed import GeneratorSeed
from attacklab.attacks.generator_state import GeneratorState
from attacklab.attacks.known_pairs import (
    DOUBLE_BUDGET,
    FAILING_SIZE,
    INTEGER_CAST,
    MISSING_CLIP,
    POSITION_CHUNKS,
    SPECIAL_VALUES,
    SUM_SENSITIVITY,
)
from attacklab.attacks.local_sensitivity import LocalSensitivity
from attacklab.attacks.low_bit_gaussian import LowBitGaussian
from attacklab.attacks.low_bit_laplace import LowBitLaplace
from attacklab.attacks.no_noise import BARE_PART, NO_NOISE
from attacklab.attacks.precision import Precision
from attacklab.attacks.rare_keys import RARE_KEYS
from attacklab.attacks.repeated_noise import RepeatedNoise
from attacklab.attacks.score_overflow import ScoreOverflow
from attacklab.attacks.truncated_addition import TruncatedAddition
from attacklab.attacks.zero_rounding import ZeroRounding

__all__ = [
    "ALL_ATTACKS",
    "ATTACKS",
    "BARE_PART",
    "DOUBLE_BUDGET",
    "FAILING_SIZE",
    "INTEGER_CAST",
    "MISSING_CLIP",
    "NO_NOISE",
    "POSITION_CHUNKS",
    "RARE_KEYS",
    "SPECIAL_VALUES",
    "SUM_SENSITIVITY",
    "AlignmentAttack",
    "Attack",
    "BlackBox",
    "GeneratorSeed",
    "GeneratorState",
    "LocalSensitivity",
    "LowBitGaussian",
    "LowBitLaplace",
    "Precision",
    "RepeatedNoise",
    "ScoreOverflow",
    "TruncatedAddition",
    "ZeroRounding",
    "sized",
]

ATTACKS: tuple[Attack, ...] = (
    NO_NOISE,
    BARE_PART,
    ZeroRounding(),
    TruncatedAddition(),
    ScoreOverflow(),
    LowBitLaplace(),
    LowBitGaussian(),
    Precision(),
    INTEGER_CAST,
    GeneratorSeed(),
    GeneratorState(),
    SUM_SENSITIVITY,
    LocalSensitivity(),
    POSITION_CHUNKS,
    MISSING_CLIP,
    DOUBLE_BUDGET,
    FAILING_SIZE,
    SPECIAL_VALUES,
    RARE_KEYS,
    RepeatedNoise(),
    BlackBox(),
)
"""The attacks that an audit runs if none is named."""

ALL_ATTACKS: tuple[Attack, ...] = (*ATTACKS, AlignmentAttack())
"""`ATTACKS` and the alignment, which runs only if it is named, and has no scenarios."""


def sized(attack: Attack, trials: int) -> Attack:
    """Return the attack with a learning sample, if it has one, whose size suits an audit of this number of trials."""
    return attack.within(trials) if isinstance(attack, Learning) else attack
