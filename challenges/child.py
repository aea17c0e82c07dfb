"""What runs a student's file, in a process that answers requests until its input ends.

It never learns which of its outputs belong to which input, nor what they are wanted for.
"""

from __future__ import annotations

import base64
import os
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.errors import UsageError, in_one_line
from attacklab.model.random_bits import RandomBits, SeededBits
from challenges.catalogue import CHALLENGES, Challenge
from challenges.laws import first_unproved, with_bits
from challenges.rules import parsed

PARTS = ("challenge", "pair", "event", "pairs", "repair", "verdict")
BLOCK = 500
"""A mechanism that draws many outputs at once is always asked for so many, so that it cannot tell what for."""


class Counting(RandomBits):
    """Bits of another source, counted."""

    def __init__(self, source: RandomBits) -> None:
        self._source, self.taken = source, 0

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        drawn = self._source.take(count)
        self.taken += count
        return drawn


def plain(input_: Any) -> Any:
    """An input in Python's own numbers and lists."""
    return input_.tolist() if isinstance(input_, np.ndarray | np.generic) else input_


def draw(
    challenge: Challenge, mechanism: Callable[..., Any], input_: Any, seeds: Sequence[int]
) -> tuple[NDArray[Any], NDArray[np.int64], float]:
    """`BLOCK` outputs of a mechanism for each seed, the bits that each took (0 where it takes none), and the seconds.

    Raises:
        UsageError: it does not give one output for each that is asked for, all of one type.
    """
    input_ = plain(input_)
    began = time.perf_counter()
    blocks = [_block(challenge, mechanism, input_, np.random.default_rng(seed)) for seed in seeds]
    seconds = time.perf_counter() - began
    outputs, bits = ([block[part] for block in blocks] for part in range(2))
    shapes = {(block.dtype, block.shape[1:]) for block in outputs}
    if len(shapes) > 1 or any(len(block.shape) < 1 or len(block) != BLOCK for block in outputs):
        raise UsageError(
            f"{mechanism.__name__} must return numbers of one type: one output for each answer that is asked for"
        )
    return np.concatenate(outputs), np.concatenate(bits), seconds


def _block(
    challenge: Challenge, mechanism: Callable[..., Any], input_: Any, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    bits = np.zeros(BLOCK, dtype=np.int64)
    if not challenge.takes_bits:
        return np.asarray(mechanism(input_, BLOCK, rng)), bits
    source, released = SeededBits(rng), []
    for trial in range(BLOCK):
        counting = Counting(source)
        released.append(with_bits(mechanism, input_, counting))
        bits[trial] = counting.taken
    return np.asarray(released), bits


def dumped(message: object) -> bytes:
    """A message in one line."""
    return base64.b64encode(pickle.dumps(message)) + b"\n"


def loaded(line: bytes) -> Any:
    """The message that `dumped` was given."""
    return pickle.loads(base64.b64decode(line))  # noqa: S301 - the judge and its child run the student's code anyway


def main() -> None:
    """Answer requests on the standard input: a function of this module and its arguments."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what the student's code prints is not an answer
    for line in sys.stdin.buffer:
        function, arguments = loaded(line)
        try:
            answer = "answered", function(*arguments)
        except UsageError as error:
            answer = "failed", str(error)
        answers.write(dumped(answer))


def load(source: str) -> tuple[set[str], dict[str, str | int]]:
    """Which parts a file defines, and those that are texts or numbers."""
    module = _loaded(source)
    known = {part: getattr(module, part) for part in PARTS if hasattr(module, part)}
    return set(known), {part: value for part, value in known.items() if isinstance(value, str | int)}


def pair(source: str) -> list[Any]:
    """The two inputs of an attack."""
    message = "pair() must return two inputs"
    two = _sequence(_called("pair", _loaded(source).pair), message)
    if len(two) != 2:
        raise UsageError(message)
    return [_plain(side) for side in two]


def pairs(source: str) -> list[list[Any]]:
    """The pairs that go with a verdict."""
    message = "pairs() must return a list of pairs"
    listed = _sequence(_called("pairs", _loaded(source).pairs), message)
    return [[_plain(side) for side in _sequence(two, message)] for two in listed]


def members(source: str, outputs: NDArray[Any]) -> NDArray[np.bool_]:
    """Which outputs lie in the event."""
    mask = np.asarray(_called("event", _loaded(source).event, outputs))
    if mask.dtype != np.bool_ or mask.shape != (len(outputs),):
        raise UsageError(
            f"event(outputs) must return one bool an output: {len(outputs)} bools, "
            f"not an array of {mask.dtype} of shape {mask.shape}"
        )
    return mask


def repaired(
    source: str, number: int, input_: Any, seeds: Sequence[int]
) -> tuple[NDArray[Any], NDArray[np.int64], float]:
    """What `draw` gives of the repair."""
    outputs, bits, seconds = _called("repair", draw, CHALLENGES[number - 1], _loaded(source).repair, input_, seeds)
    if outputs.dtype.kind not in "biuf":
        raise UsageError(f"repair must return numbers, not {outputs.dtype}")
    return outputs, bits, seconds


def unproved(source: str, number: int, listed: Sequence[Any]) -> Any | None:
    """The first pair for which exact laws do not prove the claim of the repair; None if they do for all."""
    pairs = [[plain(side) for side in two] for two in listed]
    return _called("repair", first_unproved, _loaded(source).repair, CHALLENGES[number - 1].claim.epsilon, pairs)


@cache
def _loaded(source: str) -> ModuleType:
    module = ModuleType("handed_in")
    code = compile(parsed(source), "handed_in.py", "exec")
    _called("the file", exec, code, vars(module))
    return module


def _called(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return function(*arguments)
    except UsageError:
        raise
    except BaseException as error:
        raise UsageError(f"{name} raised {in_one_line(error)}") from error


def _sequence(value: Any, message: str) -> Any:
    if not isinstance(value, tuple | list):
        raise UsageError(message)
    return value


def _plain(value: Any) -> Any:
    """An input as Python's numbers and lists, all of them finite."""
    value = plain(value)
    if isinstance(value, tuple | list):
        if len(value) > 100_000:
            raise UsageError(f"an input has {len(value)} numbers; that is too many")
        return [_plain(part) for part in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"inputs are made of numbers, not of {type(value).__name__}")
    if not abs(value) <= 1e15:
        raise UsageError(f"inputs are made of finite numbers up to 1e15, not {value}")
    return value
