"""Targets whose output includes the work, which an adversary can see: (output, number of random bits drawn).

The bits are counted in the sampler's source or, for a target without a sampler, in the PCG64 generator of the lab.

Source: Ratliff and Vadhan, 'A Framework for Differential Privacy Against Timing Attacks' (arXiv 2409.05623).
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import index
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from attacklab.model.errors import TargetError, UsageError
from attacklab.model.random_bits import REJECTED, RandomBits, SeededBits
from attacklab.model.targets import Kind, Target

Outcome = TypeVar("Outcome")


def seeing_work(target: Target) -> Target:
    """Return the target with outputs (output, random bits drawn). A selection becomes a DATASET target, with its pairs.

    Raises:
        UsageError: the target draws from a generator of its own; let it return (output, work) itself.
    """
    if target.sampler is None and getattr(target.release, "draws_elsewhere", False):
        raise UsageError(f"the draws of {target.name} cannot be counted here; let your function return (output, work)")
    return replace(
        target,
        name=f"seeing_work({target.name})",
        kind=Kind.DATASET if target.kind is Kind.SELECTION else target.kind,
        release=_Counted(target.release, target.sampler),
        sampler=None if target.sampler is None else partial(with_bits, target.sampler),
        certificate=None,
    )


@dataclass(frozen=True)
class _Counted:
    release: Callable[[Any, int, np.random.Generator], Any]
    sampler: Callable[[Any, Any], Any] | None

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> list[tuple[Any, int]]:
        if self.sampler is not None:
            bits = SeededBits(rng)
            return [with_bits(self.sampler, copy.deepcopy(input_), bits) for _ in range(trials)]
        seen = [self._drawn(input_, rng) for _ in range(trials)]
        if len({repr(output) for output, _ in seen}) > 1 and not any(bits for _, bits in seen):
            raise TargetError(
                "the outputs differ from call to call, although your function drew nothing from the generator that it "
                "was given; draw from that generator only, or let your function return (output, work)"
            )
        return seen

    def _drawn(self, input_: Any, rng: np.random.Generator) -> tuple[Any, int]:
        before = rng.bit_generator.state
        (output,) = self.release(copy.deepcopy(input_), 1, rng)
        return output, bits_between(before, rng.bit_generator.state)


class CountedBits(RandomBits):
    """Counts the bits taken from another source, `bits`, also in called samplers and rejected rounds.

    Attributes:
        taken: the number of bits taken.
    """

    def __init__(self, bits: RandomBits) -> None:
        self._bits, self.taken = bits, 0

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        self.taken += index(count)
        return self._bits.take(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw words; see `RandomBits.words`."""
        self.taken += 64 * index(count)
        return self._bits.words(count)

    def call(self, sampler: Callable[..., Outcome], *arguments: object) -> Outcome:
        """Run a sampler, and count the bits that it takes. A proof finds the joint law of outcome and count."""
        outcome: Outcome
        outcome, taken = self._bits.call(with_bits, sampler, *arguments)
        self.taken += taken
        return outcome

    def repeat(self, sampler: Callable[..., Outcome | None], *arguments: object) -> Outcome:
        """Run a rejection loop, in batches of 1, 2, 4, … rounds, so that a proof can reuse the laws of batches."""
        for doublings in itertools.count():
            outcome: Outcome | None = self.call(_rounds, doublings, sampler, *arguments)
            if outcome is not REJECTED:
                return outcome
        raise AssertionError


def _rounds(doublings: int, sampler: Callable[..., Outcome | None], *arguments: Any) -> Outcome | None:
    """Run at most 2^doublings rounds of a rejection loop. The last argument is the source of bits."""
    *rest, bits = arguments
    if not doublings:
        return sampler(*rest, bits)
    first: Outcome | None = bits.call(_rounds, doublings - 1, sampler, *rest)
    return bits.call(_rounds, doublings - 1, sampler, *rest) if first is REJECTED else first


def with_bits(sampler: Callable[..., Outcome], *arguments: Any) -> tuple[Outcome, int]:
    """Return the outcome of `sampler(*arguments)` and the number of bits taken from the source, the last argument."""
    counted = CountedBits(arguments[-1])
    return sampler(*arguments[:-1], counted), counted.taken


def bits_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """Return the number of bits that a PCG64 generator produced between two states, fewer than 2^128 words apart.

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
    return 64 * words_between(before, after) + 32 * halves


_FACTOR: Final = 0x2360ED051FC65DA44385DF649FCCF645
_MASK: Final = (1 << 128) - 1


def words_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """Return the number of 64-bit words that a `PCG64` generator produced between two states.

    Each word is one step s -> a·s + c mod 2^128 of the state s. Bit i of a state changes with a period of
    2^(i+1) steps, so the number of steps between two states is found bit by bit.

    Args:
        before: the earlier `bit_generator.state` of numpy.
        after: a later state.

    Source: O'Neill 2014, 'PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
        Generation', section 4.3.1; the search is its jump-ahead (Brown 1994) backwards.
    """
    state, end, step = before["state"]["state"], after["state"]["state"], before["state"]["inc"]
    factor, words, bit = _FACTOR, 0, 1
    while state != end and bit <= _MASK:
        if (state ^ end) & bit:
            state = (state * factor + step) & _MASK
            words |= bit
        step = (factor + 1) * step & _MASK
        factor = factor * factor & _MASK
        bit <<= 1
    return words
