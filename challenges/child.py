"""The program that runs a student's file: it answers requests, one line of JSON each, until its input ends.

It never learns which of its outputs belong to which input, nor what they are wanted for.
"""

from __future__ import annotations

import base64
import io
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.errors import UsageError
from attacklab.model.random_bits import RandomBits, SeededBits
from attacklab.model.targets import in_one_line
from challenges.catalogue import CHALLENGES, Challenge
from challenges.laws import first_unproved, with_bits
from challenges.rules import parsed

PARTS = ("challenge", "pair", "event", "pairs", "repair", "verdict")
BLOCK = 500
"""A mechanism that draws many outputs at once is always asked for so many, so that it cannot tell what for."""


class Spoiled(Exception):
    """The student's code failed; the message is for the student."""


class Counting(RandomBits):
    """Bits of another source, counted."""

    def __init__(self, source: RandomBits) -> None:
        self._source, self.taken = source, 0

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        drawn = self._source.take(count)
        self.taken += count
        return drawn


def dumped(message: Mapping[str, Any]) -> str:
    """A message as JSON in one line, every bit of its arrays of numbers kept."""
    return json.dumps(message, default=_packed)


def loaded(line: str | bytes) -> dict[str, Any]:
    """The message that `dumped` was given."""
    message: dict[str, Any] = json.loads(line, object_hook=_unpacked)
    return message


def _packed(array: Any) -> Any:
    if isinstance(array, np.generic):
        return array.item()
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return {"npy": base64.b64encode(file.getvalue()).decode("ascii")}


def _unpacked(value: dict[str, Any]) -> Any:
    return np.load(io.BytesIO(base64.b64decode(value["npy"])), allow_pickle=False) if "npy" in value else value


def plain(input_: Any) -> Any:
    """An input in Python's own numbers and lists."""
    return input_.tolist() if isinstance(input_, np.ndarray | np.generic) else input_


def draw(
    challenge: Challenge, mechanism: Callable[..., Any], input_: Any, size: int, seed: int
) -> tuple[NDArray[Any], NDArray[np.int64], float]:
    """Outputs of a mechanism, the bits that each took (0 where it takes none), and the seconds that they took.

    They are a function of the input, the size and the seed, if the mechanism keeps nothing from call to call.

    Raises:
        Spoiled: it does not give one output for each that is asked for, all of one type.
    """
    input_ = plain(input_)
    seeds = np.random.SeedSequence(seed).generate_state(-(-size // BLOCK), np.uint64).tolist()
    began = time.perf_counter()
    blocks = [_block(challenge, mechanism, input_, np.random.default_rng(block)) for block in seeds]
    seconds = time.perf_counter() - began
    outputs, bits = ([block[part] for block in blocks] for part in range(2))
    shapes = {(block.dtype, block.shape[1:]) for block in outputs}
    if len(shapes) > 1 or any(len(block.shape) < 1 or len(block) != BLOCK for block in outputs):
        raise Spoiled(
            f"{mechanism.__name__} must return numbers of one type: one output for each answer that is asked for"
        )
    return np.concatenate(outputs)[:size], np.concatenate(bits)[:size], seconds


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


def main() -> None:
    """Answer requests on the standard input."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what the student's code prints is not an answer
    student = _Student(Path(sys.argv[1]))
    for line in sys.stdin:
        try:
            answer = student.answer(loaded(line))
        except Spoiled as error:
            answer = {"error": str(error)}
        answers.write(dumped(answer) + "\n")
        answers.flush()


class _Student:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._module = ModuleType("handed_in")

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        do: Callable[..., dict[str, Any]] = getattr(self, f"_{request.pop('do')}")
        return do(**request)

    def _load(self) -> dict[str, Any]:
        code = compile(parsed(self._path.read_text("utf-8")), self._path.name, "exec")
        self._called("the file", lambda: exec(code, vars(self._module)))  # noqa: S102 - running it is the purpose
        known = {part: getattr(self._module, part) for part in PARTS if hasattr(self._module, part)}
        plain = {part: value for part, value in known.items() if isinstance(value, str | int)}
        return {"parts": list(known), "plain": plain}

    def _pair(self) -> dict[str, Any]:
        message = "pair() must return two inputs"
        pair = _sequence(self._called("pair", self._module.pair), message)
        if len(pair) != 2:
            raise Spoiled(message)
        return {"pair": [_plain(side) for side in pair]}

    def _pairs(self) -> dict[str, Any]:
        message = "pairs() must return a list of pairs"
        pairs = _sequence(self._called("pairs", self._module.pairs), message)
        return {"pairs": [[_plain(side) for side in _sequence(pair, message)] for pair in pairs]}

    def _event(self, outputs: NDArray[Any]) -> dict[str, Any]:
        mask = np.asarray(self._called("event", self._module.event, outputs))
        if mask.dtype != np.bool_ or mask.shape != (len(outputs),):
            raise Spoiled(
                f"event(outputs) must return one bool an output: {len(outputs)} bools, "
                f"not an array of {mask.dtype} of shape {mask.shape}"
            )
        return {"mask": mask}

    def _draw(self, number: int, input_: Any, size: int, seed: int) -> dict[str, Any]:
        outputs, bits, seconds = self._called(
            "repair", draw, CHALLENGES[number - 1], self._module.repair, input_, size, seed
        )
        if outputs.dtype.kind not in "biuf":
            raise Spoiled(f"repair must return numbers, not {outputs.dtype}")
        return {"outputs": outputs, "taken": bits, "seconds": seconds}

    def _prove(self, number: int, pairs: list[Any]) -> dict[str, Any]:
        claim = CHALLENGES[number - 1].claim
        return {"unproved": self._called("repair", first_unproved, self._module.repair, claim.epsilon, pairs)}

    def _called(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                return function(*arguments)
        except Spoiled:
            raise
        except UsageError as error:
            raise Spoiled(str(error)) from error
        except BaseException as error:
            raise Spoiled(f"{name} raised {in_one_line(error)}") from error


def _sequence(value: Any, message: str) -> Any:
    if not isinstance(value, tuple | list):
        raise Spoiled(message)
    return value


def _plain(value: Any) -> Any:
    """An input as JSON values."""
    value = plain(value)
    if isinstance(value, tuple | list):
        if len(value) > 100_000:
            raise Spoiled(f"an input has {len(value)} numbers; that is too many")
        return [_plain(part) for part in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Spoiled(f"inputs are made of numbers, not of {type(value).__name__}")
    if not abs(value) <= 1e15:
        raise Spoiled(f"inputs are made of finite numbers up to 1e15, not {value}")
    return value


if __name__ == "__main__":
    main()
