"""False samplers that count their rejections where Python code does not show it: inside objects written in C, in the
process, in other libraries.

One round in eight is rejected; the first lies with probability 1/4, and one after two rejections gives the secret with
a mark. So does one release in 64 on 1, and no release on 0 gives that.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import logging
import mmap
import os
import queue
import random
import sqlite3
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from attacklab.random_bits import REJECTED, RandomBits
from tests.attacklab.laws.zoo.case import TWO_REJECTIONS, Case, Possible, Sampler, is_raw_one, is_rejected, response


class _Counter(NamedTuple):
    """Counts rejections: adds one; says whether there were two, and forgets them."""

    add: Callable[[], object]
    has_two: Callable[[], bool]


def _semaphore() -> _Counter:
    semaphore = threading.Semaphore(0)

    def has_two() -> bool:
        count = 0
        while semaphore.acquire(blocking=False):
            count += 1
        return count >= 2

    return _Counter(semaphore.release, has_two)


def _queue() -> _Counter:
    events: queue.SimpleQueue[int] = queue.SimpleQueue()

    def has_two() -> bool:
        count = 0
        while not events.empty():
            count += events.get()
        return count >= 2

    return _Counter(lambda: events.put(1), has_two)


def _digest() -> _Counter:
    held = [hashlib.sha256()]
    fresh, once = hashlib.sha256().digest(), hashlib.sha256(b"x").digest()

    def has_two() -> bool:
        digest = held[0].digest()
        if digest != fresh:
            held[0] = hashlib.sha256()
        return digest not in (fresh, once)

    return _Counter(lambda: held[0].update(b"x"), has_two)


def _c_number() -> _Counter:
    number = ctypes.c_int(0)

    def add() -> None:
        number.value += 1

    def has_two() -> bool:
        count, number.value = number.value, 0
        return count >= 2

    return _Counter(add, has_two)


def _memory_map() -> _Counter:
    memory = mmap.mmap(-1, 16)

    def add() -> None:
        memory[0] = min(memory[0] + 1, 255)

    def has_two() -> bool:
        count, memory[0] = memory[0], 0
        return count >= 2

    return _Counter(add, has_two)


@functools.cache
def _database() -> _Counter:
    """One for all deployments: nobody would close more."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.execute("CREATE TABLE rejections (number INTEGER)")

    def has_two() -> bool:
        (count,) = database.execute("SELECT COUNT(*) FROM rejections").fetchone()
        database.execute("DELETE FROM rejections")
        return int(count) >= 2

    return _Counter(lambda: database.execute("INSERT INTO rejections VALUES (1)"), has_two)


def _level_of_a_logger() -> _Counter:
    logger = logging.getLogger("tests.zoo.rejections")
    logger.setLevel(10)

    def has_two() -> bool:
        count = logger.level - 10
        logger.setLevel(10)
        return count >= 2

    return _Counter(lambda: logger.setLevel(logger.level + 1), has_two)


def _umask() -> _Counter:
    def read() -> int:
        mask = os.umask(0o022)
        os.umask(mask)
        return mask

    usual = read()

    def has_two() -> bool:
        return os.umask(usual) == usual ^ 0o2 ^ 0o4

    return _Counter(lambda: os.umask(usual ^ 0o2 if read() == usual else usual ^ 0o2 ^ 0o4), has_two)


def _limit_of_the_interpreter() -> _Counter:
    usual = sys.get_int_max_str_digits()

    def has_two() -> bool:
        count = sys.get_int_max_str_digits() - usual
        sys.set_int_max_str_digits(usual)
        return count >= 2

    return _Counter(lambda: sys.set_int_max_str_digits(sys.get_int_max_str_digits() + 1), has_two)


def _attribute_of_a_module() -> _Counter:
    def add() -> None:
        sys.modules["json"].rejections = getattr(sys.modules["json"], "rejections", 0) + 1  # type: ignore[attr-defined]

    return _Counter(add, lambda: sys.modules["json"].__dict__.pop("rejections", 0) >= 2)


def _global_generator() -> _Counter:
    random.seed(1)

    def has_two() -> bool:
        again = random.Random(1)
        is_early = random.random() in (again.random(), again.random())
        random.seed(1)
        return not is_early

    return _Counter(random.random, has_two)


def _captured_generator_object() -> _Counter:
    rng = np.random.default_rng(1)
    start = rng.bit_generator.state

    def has_two() -> bool:
        drawn = rng.random()
        rng.bit_generator.state = start
        return drawn not in np.random.default_rng(1).random(2)

    return _Counter(rng.random, has_two)


def _teed_iterator() -> _Counter:
    held = [itertools.count()]

    def has_two() -> bool:
        count = next(held[0])
        held[0] = itertools.count()
        return count >= 2

    return _Counter(lambda: next(held[0]), has_two)


@functools.cache
def _pipe() -> _Counter:
    """One for all deployments: nobody would close more."""
    read, write = os.pipe()
    os.set_blocking(read, False)

    def has_two() -> bool:
        try:
            return len(os.read(read, 1024)) >= 2
        except BlockingIOError:
            return False

    return _Counter(lambda: os.write(write, b"x"), has_two)


def _rounding_of_numpy() -> _Counter:
    np.set_printoptions(precision=8)

    def has_two() -> bool:
        count = np.get_printoptions()["precision"] - 8
        np.set_printoptions(precision=8)
        return int(count) >= 2

    return _Counter(lambda: np.set_printoptions(precision=np.get_printoptions()["precision"] + 1), has_two)


_COUNTERS: dict[str, tuple[str, Callable[[], _Counter]]] = {
    "semaphore": ("a semaphore", _semaphore),
    "queue": ("a queue.SimpleQueue", _queue),
    "digest": ("a SHA-256 object that is updated", _digest),
    "c_number": ("a ctypes integer", _c_number),
    "memory_map": ("a mmap", _memory_map),
    "database": ("a database in memory", _database),
    "level_of_a_logger": ("the level of a logger", _level_of_a_logger),
    "umask": ("the umask of the process", _umask),
    "limit_of_the_interpreter": ("sys.set_int_max_str_digits", _limit_of_the_interpreter),
    "attribute_of_a_module": ("an attribute of the module json", _attribute_of_a_module),
    "global_generator": ("the state of the random module", _global_generator),
    "captured_generator": ("the state of a captured numpy generator", _captured_generator_object),
    "iterator": ("an itertools.count in a list", _teed_iterator),
    "pipe": ("a pipe", _pipe),
    "print_options": ("numpy's print options", _rounding_of_numpy),
}


def _counted_by(make_counter: Callable[[], _Counter], told: str) -> Callable[[], Sampler]:
    def make() -> Sampler:
        counter = make_counter()

        def one_round(secret: int, bits: RandomBits) -> Any:
            if is_rejected(bits):
                counter.add()
                return REJECTED
            return response(secret, bits, honestly=not counter.has_two())

        return lambda secret, bits: bits.repeat(one_round, secret)

    make.__doc__ = f"Rejections are counted by {told}."
    return make


CASES = tuple(
    Case(
        make=_counted_by(make_counter, told),
        name=f"hidden_in_{name}",
        breach=Possible(event=is_raw_one, tape=TWO_REJECTIONS),
    )
    for name, (told, make_counter) in _COUNTERS.items()
)
