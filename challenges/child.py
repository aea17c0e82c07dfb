"""The program that runs a student's file: it answers requests, one line of JSON each, until its input ends.

It never learns which of its outputs belong to which input, nor what they are wanted for.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.errors import LabError
from attacklab.laws import Decision, Law, Limits, certify, enumerate_law
from attacklab.random_bits import RandomBits, SeededBits
from attacklab.targets import in_one_line
from challenges.catalogue import CHALLENGES, Challenge
from challenges.rules import parsed

PARTS = ("challenge", "pair", "event", "pairs", "repair", "verdict")
LIMITS = Limits(seconds=20.0)
"""What the enumeration of one law may take."""


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


def packed(array: NDArray[Any]) -> dict[str, Any]:
    """An array of numbers as JSON values, every bit of it kept."""
    contiguous = np.ascontiguousarray(array)
    data = base64.b64encode(contiguous.tobytes()).decode("ascii")
    return {"type": contiguous.dtype.str, "shape": list(array.shape), "data": data}


def unpacked(message: Mapping[str, Any]) -> NDArray[Any]:
    """The array that `packed` made into JSON values.

    Raises:
        ValueError: it did not.
    """
    flat = np.frombuffer(base64.b64decode(message["data"]), dtype=np.dtype(message["type"]))
    return flat.reshape(message["shape"]).copy()


def draw(
    challenge: Challenge, mechanism: Callable[..., Any], given: Any, size: int, seed: int
) -> tuple[NDArray[Any], NDArray[np.int64], float]:
    """Outputs of a mechanism, the bits that each took (0 where it takes none), and the seconds that they took."""
    given = given.tolist() if isinstance(given, np.ndarray | np.generic) else given
    rng = np.random.default_rng(seed)
    taken = np.zeros(size, dtype=np.int64)
    began = time.perf_counter()
    if challenge.takes_bits:
        source, released = SeededBits(rng), []
        for trial in range(size):
            bits = Counting(source)
            released.append(mechanism(given, bits))
            taken[trial] = bits.taken
    else:
        released = mechanism(given, size, rng)
    seconds = time.perf_counter() - began
    return np.asarray(released), taken, seconds


def main() -> None:
    """Answer requests on the standard input."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what the student's code prints is not an answer
    student = _Student(Path(sys.argv[1]))
    for line in sys.stdin:
        try:
            answer = student.answer(json.loads(line))
        except Spoiled as error:
            answer = {"error": str(error)}
        answers.write(json.dumps(answer) + "\n")
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
        two = self._called("pair", self._module.pair)
        if not isinstance(two, tuple | list) or len(two) != 2:
            raise Spoiled("pair() must return two inputs")
        return {"pair": [_plain(side) for side in two]}

    def _pairs(self) -> dict[str, Any]:
        listed = self._called("pairs", self._module.pairs)
        if not isinstance(listed, tuple | list) or any(not isinstance(two, tuple | list) for two in listed):
            raise Spoiled("pairs() must return a list of pairs")
        return {"pairs": [[_plain(side) for side in two] for two in listed]}

    def _event(self, outputs: Mapping[str, Any]) -> dict[str, Any]:
        seen = unpacked(outputs)
        mask = np.asarray(self._called("event", self._module.event, seen))
        if mask.dtype != np.bool_ or mask.shape != (len(seen),):
            raise Spoiled(
                f"event(outputs) must return one bool an output: {len(seen)} bools, "
                f"not an array of {mask.dtype} of shape {mask.shape}"
            )
        return {"mask": packed(mask)}

    def _draw(self, number: int, given: Any, size: int, seed: int, original: bool) -> dict[str, Any]:
        challenge = CHALLENGES[number - 1]
        mechanism = challenge.mechanism if original else self._module.repair
        outputs, taken, seconds = self._called(mechanism.__name__, draw, challenge, mechanism, given, size, seed)
        if outputs.dtype.kind not in "biuf" or len(outputs) != size:
            raise Spoiled(f"{mechanism.__name__} must return numbers: one output for each answer that is asked for")
        return {"outputs": packed(outputs), "taken": packed(taken), "seconds": seconds}

    def _prove(self, number: int, pairs: list[Any], original: bool) -> dict[str, Any]:
        challenge = CHALLENGES[number - 1]
        sampler = challenge.mechanism if original else self._module.repair
        laws: dict[str, Law] = {}

        def law_of(given: Any) -> Law:
            if str(given) not in laws:
                laws[str(given)] = enumerate_law(partial(sampler, given), limits=LIMITS)
            return laws[str(given)]

        for first, second in pairs:
            try:
                certificate = certify(challenge.claim.epsilon, 0, law_of(first), law_of(second))
            except LabError as error:
                raise Spoiled(
                    f"{sampler.__name__} has no exact law on {first} or {second}: {in_one_line(error)}"
                ) from None
            if certificate.decision is not Decision.PROVED:
                return {"proved": False, "pair": [first, second]}
        return {"proved": True}

    def _called(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                return function(*arguments)
        except BaseException as error:
            raise Spoiled(f"{what} raised {in_one_line(error)}") from error


def _plain(value: Any) -> Any:
    """An input as JSON values."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, tuple | list):
        if len(value) > 100_000:
            raise Spoiled(f"an input has {len(value)} numbers; that is too many")
        return [_plain(one) for one in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Spoiled(f"inputs are made of numbers, not of {type(value).__name__}")
    if not abs(value) <= 1e15:
        raise Spoiled(f"inputs are made of finite numbers up to 1e15, not {value}")
    return value


if __name__ == "__main__":
    main()
