"""Releases that misbehave, each in one way, for the tests of isolation; only a child process ever calls them.

It imports numpy and the standard library alone, as a target in a foreign environment does.
"""

import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rng = np.random.Generator

MXCSR_OFFSET, FLUSH_BITS = 28, 0x8040
"""Where glibc's fenv_t keeps the control register of SSE on x86-64, and its bits FTZ and DAZ."""

FE_UPWARD = 0x800


def sound(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    return answer + rng.laplace(size=trials)


def echo(input_: Any, trials: int, rng: Rng) -> list[Any]:  # noqa: ARG001
    return list(input_)


def works_in_place(records: NDArray[np.float64], trials: int, rng: Rng) -> list[float]:  # noqa: ARG001
    total = float(records.sum())
    records += 1
    return [total] * trials


def type_of_input(input_: Any, trials: int, rng: Rng) -> list[Any]:  # noqa: ARG001
    return [[ord(letter) for letter in f"{type(input_).__name__} {getattr(input_, 'dtype', '')}"]] * trials


def legacy_sampler(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:  # noqa: ARG001
    return answer + np.random.laplace(size=trials) + random.random()


def prints(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    print('{"outputs": []}', flush=True)
    os.write(1, b"rubbish\n")
    return sound(answer, trials, rng)


def reads_input(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    assert sys.stdin.read() == ""
    return sound(answer, trials, rng)


def chatters(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    sys.stderr.write("x" * 1_000_000)
    return sound(answer, trials, rng)


def raises(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:  # noqa: ARG001
    raise ZeroDivisionError("of\nall things")


class Silent(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


def raises_silently(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:  # noqa: ARG001
    raise Silent


def exits(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:  # noqa: ARG001
    sys.exit(3)


def vanishes(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:  # noqa: ARG001
    sys.stderr.write("something\nout of cheese\n")
    sys.stderr.flush()
    os._exit(3)


def segfaults(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    if answer != 0:
        os.kill(os.getpid(), signal.SIGSEGV)
    return sound(answer, trials, rng)


def hangs(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    time.sleep(1000)
    return sound(answer, trials, rng)


def computes_forever(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:  # noqa: ARG001
    while True:
        answer += 1


def nothing(answer: float, trials: int, rng: Rng) -> None:  # noqa: ARG001
    return None


def code(answer: float, trials: int, rng: Rng) -> list[Any]:  # noqa: ARG001
    return [code] * trials


def rounds_upward(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    ctypes.CDLL(None).fesetround(FE_UPWARD)
    return sound(answer, trials, rng)


def flushes_to_zero(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    libm = ctypes.CDLL("libm.so.6")
    environment = (ctypes.c_ubyte * 64)()
    libm.fegetenv(environment)
    mxcsr = ctypes.c_uint32.from_buffer(environment, MXCSR_OFFSET)
    mxcsr.value |= FLUSH_BITS
    libm.fesetenv(environment)
    return sound(answer, trials, rng)


def leaves_a_process(answer: float, trials: int, rng: Rng) -> NDArray[np.int64]:  # noqa: ARG001
    left = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # noqa: S607
    return np.full(trials, left.pid)


def process_id(answer: float, trials: int, rng: Rng) -> NDArray[np.int64]:  # noqa: ARG001
    return np.full(trials, os.getpid())


def of_any_form(input_: Any, trials: int, rng: Rng) -> list[Any]:  # noqa: ARG001
    numbers: list[Any] = [0.5, 3, 10**30, np.float32(0.1), True, 2j, None, np.array([1.0, 0.0]), [1.0], [1.0, 2.0]]
    return [*numbers, (1.5, "a"), {"count": 2}, {3}, "text", b"\x00\x01", [None, {"of": (b"\x00", [1.0, "text"])}]]


def generated(input_: Any, trials: int, rng: Rng) -> Iterator[Any]:
    yield from of_any_form(input_, trials, rng)
