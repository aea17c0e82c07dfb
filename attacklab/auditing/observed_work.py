"""Targets whose outputs come with the work that each one took: bits of randomness, or nanoseconds.

Each output is a record of two fields: the `output` itself, with every bit, and the `work`; see
`attacklab.model.work`. Where bits are counted, the claim covers them: output and work together keep it.

Counted work depends only on the seed. Measured time depends on the machine, and drifts: the referee draws one side of a
pair after the other, so judge time on trials that take turns (`interleaved`).

Sources: Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We There Yet? Timing and Floating-Point Attacks on
Differential Privacy Systems'.
"""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from typing import Any

import numpy as np

from attacklab.model.errors import UsageError
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Outputs, Target
from attacklab.model.work import Records, records


def with_bits_taken(target: Target) -> Target:
    """Observe how many random bits the target's sampler takes; the claim then covers them.

    Raises:
        UsageError: the target has no sampler.
    """
    if target.sampler is None:
        raise UsageError(f"{target.name} has no sampler that takes random bits; give it one with .exact(sampler)")
    return replace(target.covering_work(), name=f"{target.name} with bits taken")


def with_bits_drawn(target: Target) -> Target:
    """Observe how many bits the target's release draws from its generator, numpy's default; the claim covers them."""
    return replace(target.counting_bits_drawn(), name=f"{target.name} with bits drawn", sampler=None)


def with_time(target: Target) -> Target:
    """Observe how many nanoseconds the target's release takes for one output; the claim says nothing of them."""

    def release(input_: Any, trials: int, rng: np.random.Generator) -> Records:
        outputs, nanoseconds = [], []
        for _ in range(trials):
            taken = copy.deepcopy(input_)
            started = time.perf_counter_ns()
            outputs.append(target.release(taken, 1, rng)[0])
            nanoseconds.append(time.perf_counter_ns() - started)
        return records(outputs, nanoseconds)

    return replace(target, name=f"{target.name} with time", release=release, sampler=None)


def interleaved(
    target: Target, pair: NeighbouringPair, trials: int, rng: np.random.Generator
) -> tuple[Outputs, Outputs]:
    """Outputs of a target on both inputs of a pair, drawn in turns; which side goes first is random.

    Whatever slows the machine down then slows down both sides.

    Args:
        target: the implementation.
        pair: the inputs.
        trials: the number of outputs for each input.
        rng: the source of all randomness.

    Raises:
        TargetError: the target failed.
    """
    sides: tuple[list[Outputs], list[Outputs]] = [], []
    for second_first in rng.random(trials) < 0.5:
        for side in (1, 0) if second_first else (0, 1):
            sides[side].append(target.outputs((pair.first, pair.second)[side], 1, rng))
    return np.concatenate(sides[0]), np.concatenate(sides[1])
