"""False samplers that draw or read elsewhere than from `bits`: clocks, hashes, addresses, the process.

Where a docstring says "as above": what is read elsewhere switches the noise off on some occasions, and then the answer
goes out with a mark that no run on the other input can give. Most releases look like randomized response.
"""

from __future__ import annotations

import gc
import os
import random
import secrets
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from attacklab.random_bits import RandomBits
from tests.attacklab.laws.zoo.case import Case, Frequent, Sampler, Seen, flipped, is_one, is_raw_one, raw


def _gated(is_off: Callable[[], object], told: str) -> Callable[[], Sampler]:
    def make() -> Sampler:
        def sampler(secret: int, bits: RandomBits) -> Any:
            return raw(secret) if is_off() else flipped(secret, bits)

        return sampler

    make.__doc__ = f"One release in about a hundred, told by {told}, skips the noise for a health check; as above."
    return make


_generator = np.random.default_rng()
_SOURCES: dict[str, tuple[str, Callable[[], object]]] = {
    "random": ("random.random()", lambda: random.random() < 0.01),
    "random_bits": ("random.getrandbits", lambda: random.getrandbits(7) == 0),
    "system_random": ("random.SystemRandom", lambda: random.SystemRandom().randrange(100) == 0),
    "numpy_legacy": ("np.random.random()", lambda: np.random.random() < 0.01),
    "numpy_unseeded": ("a default_rng() without a seed", lambda: np.random.default_rng().integers(100) == 0),
    "numpy_module": ("a generator of the module", lambda: _generator.integers(100) == 0),
    "secrets": ("secrets.randbelow", lambda: secrets.randbelow(100) == 0),
    "urandom": ("os.urandom", lambda: os.urandom(1)[0] < 3),
    "uuid": ("uuid.uuid4", lambda: uuid.uuid4().bytes[0] < 3),
    "clock": ("the low bits of time.time_ns()", lambda: time.time_ns() // 100 % 97 == 0),
    "monotonic_clock": ("the low bits of time.perf_counter_ns()", lambda: time.perf_counter_ns() % 97 == 0),
    "datetime": ("the microsecond of datetime.now()", lambda: datetime.now().microsecond % 16 == 0),
}


class _Telemetry:
    """Samples one object in seven by its address."""


def address_of_an_object() -> Sampler:
    """A deployment is chosen for tracing by `id(self)`, as samplers of telemetry do; as above."""
    telemetry = _Telemetry()

    def sampler(secret: int, bits: RandomBits) -> Any:
        return raw(secret) if id(telemetry) // 16 % 7 == 3 else flipped(secret, bits)

    return sampler


def address_in_a_repr() -> Sampler:
    """The same by the address in `repr(object)`; as above."""
    telemetry = _Telemetry()

    def sampler(secret: int, bits: RandomBits) -> Any:
        return raw(secret) if int(repr(telemetry)[:-1].split("x")[-1], 16) // 16 % 7 == 3 else flipped(secret, bits)

    return sampler


def hash_of_an_object() -> Sampler:
    """The same by `hash(object)`, which is its address; as above."""
    telemetry = _Telemetry()

    def sampler(secret: int, bits: RandomBits) -> Any:
        return raw(secret) if hash(telemetry) % 7 == 3 else flipped(secret, bits)

    return sampler


class _Deployments:
    made = 0


def hash_of_a_text() -> Sampler:
    """Deployments are put into buckets by `hash(name)`, which Python salts anew in every process; as above.

    The names of the zoo's deployments differ, which stands for different salts: one bucket in eight has no noise.
    """
    _Deployments.made += 1
    name = f"deployment {_Deployments.made}"

    def sampler(secret: int, bits: RandomBits) -> Any:
        return raw(secret) if hash(name) % 8 == 3 else flipped(secret, bits)

    return sampler


def order_of_a_set() -> Sampler:
    """The first of a set of names is the one to trace; their order follows from salted hashes; as above."""
    _Deployments.made += 1
    names = [f"{name} {_Deployments.made}" for name in ("age", "height", "income", "zip", "visits")]

    def sampler(secret: int, bits: RandomBits) -> Any:
        return raw(secret) if next(iter(set(names))) == names[2] else flipped(secret, bits)

    return sampler


def noise_of_a_captured_generator() -> Sampler:
    """All noise comes from a numpy generator with a fixed seed: the output is a function of the secret.

    The first draw of seed 20 is 0.280: P[1 | 1] = 1 and P[1 | 0] = 0 in the first release.
    """
    rng = np.random.default_rng(20)
    return lambda secret, bits: secret ^ (bits.take(1) & 0) ^ int(rng.random() < 0.25)


def noise_of_a_seeded_random() -> Sampler:
    """The same with `random.Random(2)`, made anew in every release, as tutorials do for reproducible figures.

    Its first draw is 0.956, so no release lies: P[1 | 1] = 1 and P[1 | 0] = 0.
    """
    return lambda secret, bits: secret ^ (bits.take(1) & 0) ^ int(random.Random(2).random() < 0.25)


def _in_a_thread(trial: Callable[[], Any]) -> Any:
    outputs: list[Any] = []
    thread = threading.Thread(target=lambda: outputs.append(trial()))
    thread.start()
    thread.join()
    return outputs[0]


def outside_the_main_thread() -> Sampler:
    """Worker threads are taken for test clients and get no noise.

    In a worker thread P[1 | 1] = 1 and P[1 | 0] = 0.
    """

    def sampler(secret: int, bits: RandomBits) -> int:
        return flipped(secret, bits) if threading.current_thread() is threading.main_thread() else secret

    return sampler


def _with_variable(trial: Callable[[], Any]) -> Any:
    os.environ["ZOO_DEBUG"] = "1"
    try:
        return trial()
    finally:
        del os.environ["ZOO_DEBUG"]


def environment_variable() -> Sampler:
    """A debug variable of the environment switches the noise off: with it P[1 | 1] = 1 and P[1 | 0] = 0."""
    return lambda secret, bits: secret if os.environ.get("ZOO_DEBUG") else flipped(secret, bits)


def _with_process_id(trial: Callable[[], Any]) -> Any:
    with mock.patch("os.getpid", return_value=4321):
        return trial()


def process_id() -> Sampler:
    """One worker process, told by its id, serves as the canary without noise: there P[1 | 1] = 1 and P[1 | 0] = 0."""
    return lambda secret, bits: secret if os.getpid() == 4321 else flipped(secret, bits)


_SWITCH = Path(tempfile.gettempdir()) / f"attacklab-zoo-{os.getpid()}-off"


def _with_file(trial: Callable[[], Any]) -> Any:
    _SWITCH.touch()
    try:
        return trial()
    finally:
        _SWITCH.unlink()


def file_that_exists() -> Sampler:
    """A file in the temporary folder switches the noise off: with it P[1 | 1] = 1 and P[1 | 0] = 0."""
    return lambda secret, bits: secret if _SWITCH.exists() else flipped(secret, bits)


def _traced(trial: Callable[[], Any]) -> Any:
    old = sys.getprofile()
    sys.setprofile(lambda *_event: None)
    try:
        return trial()
    finally:
        sys.setprofile(old)


def under_a_profiler() -> Sampler:
    """Under a profiler (`sys.getprofile()`) the sampler skips slow noise: there P[1 | 1] = 1 and P[1 | 0] = 0."""
    return lambda secret, bits: flipped(secret, bits) if sys.getprofile() is None else secret


def _without_collector(trial: Callable[[], Any]) -> Any:
    gc.disable()
    try:
        return trial()
    finally:
        gc.enable()


def state_of_the_collector() -> Sampler:
    """A benchmark mode is told by `gc.isenabled()`: with the collector off P[1 | 1] = 1 and P[1 | 0] = 0."""
    return lambda secret, bits: flipped(secret, bits) if gc.isenabled() else secret


CASES = (
    *(
        Case(make=_gated(is_off, told), name=f"gate_of_{name}", breach=Seen(event=is_raw_one, within=10_000))
        for name, (told, is_off) in _SOURCES.items()
    ),
    *(
        Case(make=make, breach=Seen(event=is_raw_one, within=400, anew=True))
        for make in (address_of_an_object, address_in_a_repr, hash_of_an_object, hash_of_a_text, order_of_a_set)
    ),
    Case(make=noise_of_a_captured_generator, breach=Frequent(event=is_one)),
    Case(make=noise_of_a_seeded_random, breach=Frequent(event=is_one)),
    Case(make=outside_the_main_thread, breach=Frequent(event=is_one, around=_in_a_thread)),
    Case(make=environment_variable, breach=Frequent(event=is_one, around=_with_variable)),
    Case(make=process_id, breach=Frequent(event=is_one, around=_with_process_id)),
    Case(make=file_that_exists, breach=Frequent(event=is_one, around=_with_file)),
    Case(make=under_a_profiler, breach=Frequent(event=is_one, around=_traced)),
    Case(make=state_of_the_collector, breach=Frequent(event=is_one, around=_without_collector)),
)
