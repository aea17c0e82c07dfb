"""Watched versions of Python's generators: `random`, with every `random.Random`, and `secrets`.

Methods without a reader here draw from those that have one.
"""

from __future__ import annotations

import functools
import importlib
import os
import random
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from attacklab.draws.laws import Law
from attacklab.draws.numpys import is_number, picked
from attacklab.draws.places import NOWHERE, here
from attacklab.draws.record import Asked, Recorder, current
from attacklab.model.random_bits import SeededBits, SystemBits

_seed, _getstate, _setstate = random.Random.seed, random.Random.getstate, random.Random.setstate

FEW_BITS = 4
"""A draw of at most this many bits may be a decision, like a coin. A longer draw is a seed or part of a number."""

Call = Callable[..., Any]


def _random(call: Call) -> Asked:
    return Asked(Law.UNIFORM, call)


def _uniform(call: Call, a: float, b: float) -> Asked:
    return Asked(Law.UNIFORM, lambda: call(0.0, 1.0), then=lambda share: a + (b - a) * share)


def _gauss(call: Call, mu: float = 0.0, sigma: float = 1.0) -> Asked:
    return Asked(Law.GAUSSIAN, lambda: call(0.0, sigma), sigma, then=lambda noise: mu + noise)


def _expovariate(call: Call, lambd: float = 1.0) -> Asked:
    return Asked(Law.EXPONENTIAL, lambda: call(lambd), 1.0 / lambd)


def _choice(call: Call, seq: Any) -> Asked:
    count = len(seq)
    return Asked(
        Law.CHOICE,
        lambda: call(range(count)),
        parameters=(count,),
        among=range(count),
        then=lambda place: picked(seq, place),
    )


def _choices(call: Call, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> Asked:
    count = len(population)
    odds = weights if cum_weights is None else np.diff([0, *cum_weights])
    shares = (count,) if odds is None else tuple((np.asarray(odds, dtype=float) / np.sum(odds)).tolist())
    sample = functools.partial(call, range(count), weights, cum_weights=cum_weights, k=k)
    return Asked(
        Law.CHOICE,
        lambda: np.array(sample()),
        parameters=shares,
        among=range(count),
        then=lambda places: [picked(population, place) for place in places.tolist()],
    )


def _sample(call: Call, population: Any, k: int) -> Asked:
    items = list(population)
    return Asked(
        Law.ORDER,
        lambda: np.array(call(range(len(items)), k)),
        parameters=(len(items), k),
        then=lambda places: [picked(items, place) for place in places.tolist()],
    )


def _shuffle(call: Call, x: Any) -> Asked:
    def sample() -> Any:
        order = list(range(len(x)))
        call(order)
        return np.array(order)

    def then(order: Any) -> None:
        x[:] = [picked(list(x), place) for place in order.tolist()]

    return Asked(Law.ORDER, sample, parameters=(len(x),), then=then)


def _randint(call: Call, a: int, b: int) -> Asked:
    return Asked(Law.CHOICE, lambda: call(a, b), parameters=(a, b), among=range(a, b + 1))


def _randrange(call: Call, *args: int) -> Asked:
    return Asked(Law.CHOICE, lambda: call(*args), parameters=args, among=range(*args))


def _bits(call: Call, count: int) -> Asked:
    return bits_asked(lambda: call(count), count)


def bits_asked(sample: Call, count: Any) -> Asked:
    """Describe a draw of `count` random bits: its law is `CHOICE` up to `FEW_BITS` bits, else `BITS`."""
    among = range(1 << count if isinstance(count, int) and 0 <= count <= FEW_BITS else 0)
    return Asked(Law.CHOICE if among else Law.BITS, sample, parameters=(count,), among=among)


READERS: Mapping[str, Callable[..., Asked]] = {
    "random": _random,
    "uniform": _uniform,
    "gauss": _gauss,
    "normalvariate": _gauss,
    "expovariate": _expovariate,
    "choice": _choice,
    "choices": _choices,
    "sample": _sample,
    "shuffle": _shuffle,
    "randint": _randint,
    "randrange": _randrange,
    "getrandbits": _bits,
    "randbytes": _bits,
}
"""For each method whose law is known, the function that turns its arguments into an `Asked`."""


def methods() -> Iterator[tuple[Any, str, Call]]:
    """Yield (class, name, watched method) for each method of a generator that draws, seeds, gets or sets a state."""
    for kind in (random.Random, random.SystemRandom):
        for name in READERS:
            if kind is random.Random or name in vars(kind):
                yield kind, name, _watched_method(name, getattr(kind, name))
    yield random.Random, "seed", _watched_seed
    yield random.Random, "setstate", _watched_setstate
    yield random.Random, "getstate", _watched_getstate


def functions() -> Iterator[tuple[Any, str, Call]]:
    """Yield (module or class, name, watched function) for each function that draws bits of the system."""
    yield secrets, "randbits", _watched_bits(secrets.randbits, _integer_of)
    yield secrets, "randbelow", _watched_bits(secrets.randbelow, lambda rng, most: _integer_of(rng, 256) % most)
    yield secrets, "token_bytes", _watched_bits(secrets.token_bytes, lambda rng, count=32: rng.bytes(count))
    yield secrets, "token_hex", _watched_bits(secrets.token_hex, lambda rng, count=32: rng.bytes(count).hex())
    yield os, "urandom", _watched_bits(os.urandom, lambda rng, count: rng.bytes(count))
    for kind in (SeededBits, SystemBits):
        yield kind, "take", _watched_bits(kind.take, lambda rng, _, count: _integer_of(rng, count))
        yield kind, "words", _watched_bits(kind.words, lambda rng, _, count: rng.bit_generator.random_raw(count))
    seeding: Any = importlib.import_module("numpy.random.bit_generator")
    yield seeding, "randbits", _seeds_of(seeding.randbits)  # numpy asks it for seeds


def _integer_of(rng: Any, bits: int) -> int:
    return int.from_bytes(rng.bytes(-(-bits // 8)), "big") >> (-bits % 8)


def _seeds_of(original: Call) -> Call:
    """Return the function that numpy asks for seeds. In a run it draws from the run's seed, without a record."""

    def randbits(count: int) -> int:
        recorder = current()
        return original(count) if recorder is None else _integer_of(recorder.fresh, count)

    return randbits


def _watched_bits(original: Call, fresh: Call) -> Call:
    """Return a version of `original`, a source of system bits, that calls `fresh(rng, ...)` and records the draw."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        recorder = current()
        if recorder is None:
            return original(*args, **kwargs)
        name, rng = original.__name__, recorder.fresh
        if name == "randbelow":
            asked = Asked(Law.CHOICE, lambda: fresh(rng, *args), parameters=args, among=range(args[0]))
        else:
            is_counted = name in ("randbits", "take")
            asked = bits_asked(lambda: fresh(rng, *args, **kwargs), args[-1] if is_counted else args[-1:])
        return recorder.draw(name, asked)

    return function


def _watched_method(name: str, original: Call) -> Call:
    reader = READERS[name]

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = current()
        if recorder is None:
            return original(self, *args, **kwargs)
        known = _begin(self, recorder)
        with recorder.inside():
            asked = reader(functools.partial(original, self), *args, **kwargs)
        is_systems = isinstance(self, random.SystemRandom)
        state = None if is_systems or not recorder.tells_states else hash(_getstate(self))
        held = {} if is_systems else vars(self)
        seeded, may_be_fixed = held.get("_seeded", NOWHERE), held.get("_may_be_fixed", False)
        return recorder.draw(
            f"random.{name}", asked, state=state, may_be_fixed=may_be_fixed, is_known=known, seeded=seeded
        )

    return method


def _begin(generator: random.Random, recorder: Recorder) -> bool:
    """At first use in a run, reset a generator. Return whether code may have seeded it before all runs."""
    if isinstance(generator, random.SystemRandom):
        return False
    held, is_own = vars(generator), generator is random._inst
    if id(generator) not in recorder.begun:
        recorder.begun.add(id(generator))
        held.setdefault("_first_state", None)
        if held["_first_state"] is None:
            with recorder.inside():
                _seed(generator, int(recorder.fresh.integers(1 << 62)))
            held.update(_seeded=NOWHERE, _may_be_fixed=False)
        else:
            _setstate(generator, held["_first_state"])
    return not is_own and "_made" not in held


def _watched_seed(self: Any, a: Any = None, version: int = 2) -> None:
    recorder = current()
    if recorder is None or isinstance(self, random.SystemRandom):
        _seed(self, a, version)
        return
    with recorder.inside():
        _seed(self, int(recorder.fresh.integers(1 << 62)) if a is None else a, version)
    recorder.begun.add(id(self))
    held = vars(self)
    held["_made"], held["_seeded"], held["_may_be_fixed"] = True, NOWHERE if a is None else here(), a is not None
    if self is not random._inst and (is_number(a) or isinstance(a, str | bytes)):
        held["_first_state"] = _getstate(self)


def _watched_setstate(self: Any, state: Any) -> None:
    _setstate(self, state)
    recorder = current()
    if recorder is not None:
        recorder.begun.add(id(self))
        vars(self).update(_seeded=here(), _may_be_fixed=True)


def _watched_getstate(self: Any) -> Any:
    recorder = current()
    if recorder is not None:
        _begin(self, recorder)
        vars(self)["_may_be_fixed"] = True
    return _getstate(self)
