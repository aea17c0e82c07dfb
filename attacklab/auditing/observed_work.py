"""Targets whose outputs come with the work that each one took: bits of randomness, or nanoseconds.

An observed target makes the claim of the target that it observes. Each of its outputs is a record of two fields: the
`output` itself, with every bit, and the `work`. The claim does not cover work: if outputs and work together break it,
that is a finding about an adversary who sees both.

Counted work depends only on the seed. Measured time depends on the machine, and drifts: the referee draws one side of a
pair after the other, so judge time on trials that take turns (`interleaved`).

Sources: Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We There Yet? Timing and Floating-Point Attacks on
Differential Privacy Systems'. How far apart two states of a generator are is told in `execution.words`.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.errors import UsageError
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import RandomBits, SeededBits
from attacklab.model.targets import Kind, Outputs, Target
from attacklab.processes.batches import words_between

Observe = Callable[[Any, np.random.Generator], tuple[Any, int]]

_WORD = 64


class CountedBits(SeededBits):
    """Reproducible bits that count the bits taken; see `SeededBits`."""

    words = RandomBits.words  # by `take`

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.taken = 0

    def take(self, count: int) -> int:
        """Draw an integer of `count` bits; see `SeededBits.take`."""
        count = index(count)  # 1 << count overflows for numpy integers
        drawn = super().take(count)
        self.taken += count
        return drawn


def with_bits_taken(target: Target) -> Target:
    """Observe how many random bits the target's sampler takes.

    Raises:
        UsageError: the target has no sampler.
    """
    sampler = target.sampler
    if sampler is None:
        raise UsageError(f"{target.name} has no sampler that takes random bits; give it one with .exact(sampler)")

    def observe(input_: Any, rng: np.random.Generator) -> tuple[Any, int]:
        bits = CountedBits(rng)
        return sampler(input_, bits), bits.taken

    return _observed(target, "bits taken", observe)


def with_bits_drawn(target: Target) -> Target:
    """Observe how many bits the target's release draws from its generator, which must be numpy's default."""

    def observe(input_: Any, rng: np.random.Generator) -> tuple[Any, int]:
        before = rng.bit_generator.state
        output = target.release(input_, 1, rng)[0]
        return output, bits_between(before, rng.bit_generator.state)

    return _observed(target, "bits drawn", observe)


def with_time(target: Target) -> Target:
    """Observe how many nanoseconds the target's release takes for one output."""

    def observe(input_: Any, rng: np.random.Generator) -> tuple[Any, int]:
        started = time.perf_counter_ns()
        output = target.release(input_, 1, rng)[0]
        return output, time.perf_counter_ns() - started

    return _observed(target, "time", observe)


def bits_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """How many bits a PCG64 generator produced between two of its states, fewer than 2^128 words apart.

    Args:
        before: the earlier `bit_generator.state`.
        after: the later one.

    Raises:
        UsageError: a state is not one of PCG64, or the states are not of the same generator.
    """
    for state in (before, after):
        if state["bit_generator"] != "PCG64":
            kind = state["bit_generator"]
            raise UsageError(f"bits are counted for PCG64 only, not for {kind}; use numpy.random.default_rng")
    if before["state"]["inc"] != after["state"]["inc"]:
        raise UsageError("before and after must be states of one generator")
    # Either state may hold half a word, left over from a draw of 32 bits.
    halves: int = before["has_uint32"] - after["has_uint32"]
    return _WORD * words_between(dict(before), dict(after)) + _WORD // 2 * halves


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


def _observed(target: Target, work: str, observe: Observe) -> Target:
    def release(input_: Any, trials: int, rng: np.random.Generator) -> NDArray[Any]:
        seen = [observe(copy.deepcopy(input_), rng) for _ in range(trials)]
        values = np.array([output for output, _ in seen])
        records = np.empty(trials, dtype=[("output", values.dtype, values.shape[1:]), ("work", np.int64)])
        records["output"], records["work"] = values, [amount for _, amount in seen]
        return records

    return replace(target, name=f"{target.name} with {work}", kind=Kind.DATASET, release=release, sampler=None)
