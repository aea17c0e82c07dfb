"""The sources of randomness that a run watches, and how: one table for each library that draws.

The hooks are put in place for a run and taken away after it. What was imported by name before (`from numpy.random import
laplace`), and generators made before, are exchanged where the user's modules, closures and objects hold them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import os
import random
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from attacklab.model.random_bits import SeededBits, SystemBits
from attacklab.replay import laws
from attacklab.replay.laws import CATEGORICAL, UNKNOWN
from attacklab.replay.session import _USER, Affine, Session, _kind_of, here
from attacklab.replay.traced import GEOMETRIC, SIGN, combined, plain, wrapped

BITS, SAMPLING, OTHER = "bits", "sampling", "other"
"""Draws that are not noise by themselves: raw bits, records or their order, and what has no law here."""

BASE_GENERATOR, BASE_STATE = np.random.Generator, np.random.RandomState

LOCATED = {"laplace": laws.LAPLACE, "normal": laws.GAUSSIAN, "gumbel": laws.GUMBEL, "logistic": laws.LOGISTIC}
"""numpy's distributions with a location and a scale."""

STANDARD = {
    "standard_normal": laws.GAUSSIAN,
    "standard_exponential": laws.EXPONENTIAL,
    "standard_cauchy": laws.CAUCHY,
    "random": laws.UNIFORM,
    "random_sample": laws.UNIFORM,
    "ranf": laws.UNIFORM,
    "sample": laws.UNIFORM,
    "rand": laws.UNIFORM,
    "randn": laws.GAUSSIAN,
}
"""Those without."""

RAW = ("bytes", "integers", "randint", "random_integers", "tomaxint")

UNLIKE = (
    *("beta", "binomial", "chisquare", "dirichlet", "f", "gamma", "hypergeometric", "logseries", "lognormal"),
    *("multinomial", "multivariate_hypergeometric", "multivariate_normal", "negative_binomial", "noncentral_chisquare"),
    *("noncentral_f", "pareto", "poisson", "power", "rayleigh", "standard_gamma", "standard_t", "triangular"),
    *("vonmises", "wald", "weibull", "zipf"),
)
"""Distributions whose draws are kept, but whose law is not judged."""

SCIPY = {
    "laplace": laws.LAPLACE,
    "norm": laws.GAUSSIAN,
    "gumbel_r": laws.GUMBEL,
    "logistic": laws.LOGISTIC,
    "expon": laws.EXPONENTIAL,
    "uniform": laws.UNIFORM,
    "cauchy": laws.CAUCHY,
}


def watched() -> Session | None:
    """The run that is to see the draw being made; nobody's where a source draws from another."""
    session = Session.current
    return None if session is None or session.inside else session


@contextlib.contextmanager
def _inside(session: Session) -> Iterator[None]:
    session.inside += 1
    try:
        yield
    finally:
        session.inside -= 1


def noise(sampler: str, family: str, real: Callable[[], Any], loc: Any, scale: Any, stream: Any = None) -> Any:
    """A draw of noise with a location and a scale, as a traced value."""
    session = Session.current
    assert session is not None  # noqa: S101 - the caller has asked
    parameters = (("loc", plain(loc)), ("scale", plain(scale)))
    with _inside(session):
        raw, ids = session.draw(sampler, family, real, scale=plain(scale), parameters=parameters, stream=stream)
    traced = wrapped(raw, Affine(ids), session)
    if np.ndim(loc) == 0 and not isinstance(loc, np.ndarray) and plain(loc) == 0:
        return traced
    return combined("add", (traced, loc), plain(raw) + plain(loc))


def other(sampler: str, family: str, real: Callable[[], Any], parameters: Sequence[Any] = (), **rest: Any) -> Any:
    """A draw of anything else, as a plain value."""
    session = Session.current
    assert session is not None  # noqa: S101 - the caller has asked
    with _inside(session):
        named = tuple(enumerate(map(plain, parameters)))
        return session.draw(sampler, family, real, parameters=named, **rest)[0]


class _Everywhere(type):
    """The type of what stands for a class of numpy's: whatever is one of those is one of these."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.__mro__[1] if cls.__mro__[1] in (BASE_GENERATOR, BASE_STATE) else cls.__mro__[2])


class WatchedGenerator(BASE_GENERATOR, metaclass=_Everywhere):
    """numpy's generator, watched."""

    stream: Any = None
    drawn = 0


class WatchedState(BASE_STATE, metaclass=_Everywhere):
    """numpy's legacy generator, watched."""

    stream: Any = None
    drawn = 0


def _state_of(session: Session, generator: Any) -> Any:
    """What draws in place of a generator, so that a run depends on nothing but its own seed."""
    if isinstance(generator, WatchedGenerator):
        return session.rng
    if not hasattr(session, "legacy"):
        with _inside(session):  # a generator without a seed asks the system for one first
            session.legacy = BASE_STATE(session.seed % (1 << 32))  # type: ignore[attr-defined]
    return session.legacy  # type: ignore[attr-defined]


def _method(name: str, base: Any) -> Callable[..., Any]:
    original = getattr(base, name)
    label = f"numpy.random.{'Generator' if base is BASE_GENERATOR else 'RandomState'}.{name}"

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        session = watched()
        if session is None:
            return original(self, *args, **kwargs)
        state = _state_of(session, self)
        stream = None
        if self.stream is not None:
            self.drawn += 1
            stream = (self.stream, self.drawn, name)
        draw = functools.partial(getattr(state, name))
        if name in LOCATED:
            loc, scale, size = _bound(args, kwargs, ("loc", "scale", "size"), (0.0, 1.0, None))
            size = np.broadcast(plain(loc), plain(scale)).shape or None if size is None else size
            return noise(label, LOCATED[name], lambda: draw(0.0, plain(scale), size), loc, scale, stream)
        if name == "exponential":
            scale, size = _bound(args, kwargs, ("scale", "size"), (1.0, None))
            return noise(label, laws.EXPONENTIAL, lambda: draw(plain(scale), size), 0.0, scale, stream)
        if name == "uniform":
            low, high, size = _bound(args, kwargs, ("low", "high", "size"), (0.0, 1.0, None))
            width = plain(high) - plain(low)
            size = np.shape(width) or None if size is None else size
            return noise(label, laws.UNIFORM, lambda: draw(0.0, width, size), low, width, stream)
        if name == "geometric":
            p, size = _bound(args, kwargs, ("p", "size"), (None, None))
            scale = -1 / np.log1p(-np.asarray(plain(p), dtype=float)) if np.all(np.asarray(p) < 1) else 0.0
            return noise(label, GEOMETRIC, lambda: draw(plain(p), size), 0, scale, stream)
        if name in STANDARD:
            if kwargs.get("out") is not None:
                kwargs["out"][...] = plain(method(self, kwargs["out"].shape))
                return kwargs["out"]
            return noise(label, STANDARD[name], lambda: draw(*args, **kwargs), 0.0, 1.0, stream)
        if name == "choice":
            return _chosen(label, state, args, kwargs, stream)
        if name in ("permutation", "permuted", "shuffle"):
            return _shuffled(label, name, state, args, kwargs)
        family = BITS if name in RAW else OTHER
        return other(label, family, lambda: draw(*map(plain, args), **kwargs), (*args, *kwargs.values()), stream=stream)

    return method


def _bound(args: Sequence[Any], kwargs: dict[str, Any], names: Sequence[str], defaults: Sequence[Any]) -> list[Any]:
    given = dict(zip(names, args, strict=False)) | kwargs
    return [given.get(name, default) for name, default in zip(names, defaults, strict=True)]


def _chosen(label: str, state: Any, args: Any, kwargs: Any, stream: Any) -> Any:
    among, size, replace, p = _bound(args, kwargs, ("a", "size", "replace", "p"), (None, None, True, None))
    weights = None if p is None else np.asarray(plain(p), dtype=float)
    items = None if np.ndim(among) == 0 else np.asarray(plain(among))
    count = int(plain(among)) if items is None else len(items)
    signs = items is not None and p is None and count == 2 and set(items.tolist()) == {-1, 1}
    if signs:
        return noise(label, SIGN, lambda: state.choice(items, size), 0, 1, stream)
    family = SAMPLING if p is None else CATEGORICAL
    given = () if weights is None else tuple(weights.tolist())
    drawn = other(
        label, family, lambda: state.choice(count, size, replace, weights), (count, size), weights=given, stream=stream
    )
    drawn = np.minimum(drawn, count - 1) if isinstance(drawn, np.ndarray) else min(int(drawn), count - 1)
    session = Session.current
    if weights is not None and session is not None:
        session.add_seen("categorical", label, np.asarray([session.calls[-1].first]), (weights, drawn), 0)
    if items is None:
        return drawn
    chosen = items[drawn]
    return (
        type(among[0])(chosen)
        if isinstance(among, list) and isinstance(among[0], int | str) and not np.ndim(drawn)
        else chosen
    )


def _shuffled(label: str, name: str, state: Any, args: Any, kwargs: Any) -> Any:
    values = args[0] if args else kwargs["x"]
    count = int(values) if np.ndim(values) == 0 else len(values)
    order = other(label, SAMPLING, lambda: state.permutation(count), (count,))
    if name == "shuffle":
        moved = [values[place] for place in order]
        for place, value in enumerate(moved):
            values[place] = value
        return None
    return order if np.ndim(values) == 0 else np.asarray(plain(values))[order]


for _base, _watched in ((BASE_GENERATOR, WatchedGenerator), (BASE_STATE, WatchedState)):
    for _name in (*LOCATED, *STANDARD, *RAW, *UNLIKE, "exponential", "uniform", "geometric", "choice", "shuffle"):
        if hasattr(_base, _name):
            setattr(_watched, _name, _method(_name, _base))
    for _name in ("permutation", "permuted"):
        if hasattr(_base, _name):
            setattr(_watched, _name, _method(_name, _base))


def watch(generator: Any, stream: Any = None) -> Any:
    """The same generator, watched."""
    if isinstance(generator, WatchedGenerator) and type(generator) is WatchedGenerator:
        return generator
    if type(generator) is BASE_GENERATOR:
        made: Any = WatchedGenerator(generator.bit_generator)
    elif type(generator) is BASE_STATE:
        made = WatchedState(generator._bit_generator)  # type: ignore[attr-defined]
    else:
        return generator
    made.stream = stream
    return made


def _seeded(what: str, seed: Any) -> Any:
    """Keep what a generator is seeded with; gives what makes its draws those of another of the same seed."""
    session = watched()
    if session is None or seed is None:
        return None
    bits = getattr(seed, "seed_seq", seed)
    value = getattr(bits, "entropy", bits)
    if isinstance(value, int) and (1 << 96) <= value < (1 << 128) and value is not seed:
        return None  # the operating system's
    if isinstance(value, np.random.BitGenerator | BASE_GENERATOR | BASE_STATE):
        return None
    value = plain(value)
    value = tuple(np.ravel(value).tolist()) if isinstance(value, list | tuple | np.ndarray) else value
    session.seeds.append((here(), what, value))
    try:
        hash(value)
    except TypeError:
        return None
    return (what, value)


def _default_rng(seed: Any = None) -> Any:
    stream = _seeded("default_rng", seed)
    if isinstance(seed, BASE_GENERATOR):
        return watch(seed)
    return watch(np.random.Generator.__mro__[1](_bits(seed)), stream) if watched() else _ORIGINAL_RNG(seed)


def _bits(seed: Any) -> Any:
    return _ORIGINAL_RNG(plain(seed)).bit_generator


_ORIGINAL_RNG = np.random.default_rng


class _MadeGenerator(WatchedGenerator):
    """What `numpy.random.Generator` is while a run is watched."""

    def __init__(self, bit_generator: Any) -> None:
        super().__init__(bit_generator)
        self.stream = _seeded("Generator", bit_generator)


class _MadeState(WatchedState):
    """What `numpy.random.RandomState` is while a run is watched."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(seed)
        self.stream = _seeded("RandomState", seed)


def _python(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """A method of Python's generators, watched."""
    label = f"random.{name}"

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        session = watched()
        if session is None:
            return original(self, *args, **kwargs)
        if not hasattr(session, "python"):
            session.python = random.Random(session.seed)  # type: ignore[attr-defined]
        state = session.python  # type: ignore[attr-defined]
        stream = None
        if getattr(self, "stream", None) is not None:
            self.drawn = getattr(self, "drawn", 0) + 1
            stream = (self.stream, self.drawn, name)

        def real(*values: Any, **named: Any) -> Any:
            return _ORIGINAL_PYTHON[name](state, *map(plain, values), **named)

        if name == "random":
            return noise(label, laws.UNIFORM, real, 0.0, 1.0, stream)
        if name in ("gauss", "normalvariate"):
            loc, scale = _bound(args, kwargs, ("mu", "sigma"), (0.0, 1.0))
            return noise(label, laws.GAUSSIAN, lambda: real(0.0, scale), loc, scale, stream)
        if name == "uniform":
            low, high = _bound(args, kwargs, ("a", "b"), (0.0, 1.0))
            return noise(label, laws.UNIFORM, lambda: real(0.0, plain(high) - plain(low)), low, high - low, stream)
        if name == "expovariate":
            rate = _bound(args, kwargs, ("lambd",), (1.0,))[0]
            return noise(label, laws.EXPONENTIAL, lambda: real(rate), 0.0, 1 / plain(rate), stream)
        if name in ("choice", "choices", "sample", "shuffle"):
            return _drawn(label, name, state, args, kwargs)
        family = BITS if name in ("getrandbits", "randbytes", "randrange", "randint") else OTHER
        return other(label, family, lambda: real(*args, **kwargs), (*args, *kwargs.values()), stream=stream)

    return method


def _drawn(label: str, name: str, state: Any, args: Any, kwargs: Any) -> Any:
    values = args[0]
    if name == "choice":
        if len(values) == 2 and set(values) == {-1, 1}:
            return noise(label, SIGN, lambda: _ORIGINAL_PYTHON["choice"](state, [-1, 1]), 0, 1)
        place = other(label, SAMPLING, lambda: _ORIGINAL_PYTHON["randrange"](state, len(values)), (len(values),))
        return values[min(place, len(values) - 1)]
    if name == "choices":
        weights = kwargs.get("weights", args[1] if len(args) > 1 else None)
        count = kwargs.get("k", 1)
        total = None if weights is None else [float(plain(one)) for one in weights]
        given = () if total is None else tuple(one / math.fsum(total) for one in total)
        places = other(
            label,
            SAMPLING if total is None else CATEGORICAL,
            lambda: np.array(_ORIGINAL_PYTHON["choices"](state, range(len(values)), total, k=count)),
            (len(values), count),
            weights=given,
        )
        session = Session.current
        if total is not None and session is not None:
            session.add_seen("categorical", label, np.asarray([session.calls[-1].first]), (np.array(given), places), 0)
        return [values[min(place, len(values) - 1)] for place in places.tolist()]
    order = other(
        label,
        SAMPLING,
        lambda: np.array(_ORIGINAL_PYTHON["sample"](state, range(len(values)), len(values))),
        (len(values),),
    )
    if name == "shuffle":
        values[:] = [values[place] for place in order.tolist()]
        return None
    count = kwargs.get("k", args[1] if len(args) > 1 else None)
    items = list(values)
    return [items[place] for place in order.tolist()[:count]]


_ORIGINAL_PYTHON: dict[str, Callable[..., Any]] = {
    name: getattr(random.Random, name)
    for name in dir(random.Random)
    if not name.startswith("_") and name not in ("VERSION", "seed", "getstate", "setstate")
}


def _seed_python(self: Any, *args: Any, **kwargs: Any) -> Any:
    seed = plain(args[0]) if args else kwargs.get("a")
    if watched() is not None:
        self.stream = _seeded("random.seed", seed)
        self.drawn = 0
    return _SEED_PYTHON(self, seed)


_SEED_PYTHON = random.Random.seed


def _bits_source(label: str, original: Callable[..., Any], fresh: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives raw bits, watched; `fresh(rng, ...)` draws in its place."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        session = watched()
        if session is None:
            return original(*args, **kwargs)
        return other(label, BITS, lambda: fresh(session.rng, *args, **kwargs), args[-1:])

    return function


def _integer(rng: Any, bits: int) -> int:
    return int.from_bytes(rng.bytes(-(-bits // 8)), "big") >> (-bits % 8)


def _below(rng: Any, most: int) -> int:
    return int(_integer(rng, most.bit_length() + 64) % most)


def _rvs(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def rvs(self: Any, *args: Any, **kwargs: Any) -> Any:
        session = watched()
        if session is None:
            return original(self, *args, **kwargs)
        kwargs = {name: plain(value) for name, value in kwargs.items()} | {"random_state": session.rng}
        args = tuple(map(plain, args))
        label = f"scipy.stats.{self.name}.rvs"
        loc, scale, size = _bound(args, kwargs, ("loc", "scale", "size"), (0.0, 1.0, None))
        if self.name in SCIPY:
            at_zero = {"loc": 0.0, "scale": scale, "size": size, "random_state": session.rng}
            return noise(label, SCIPY[self.name], lambda: _number(original(self, **at_zero)), loc, scale)
        if self.name == "dlaplace":
            rate, loc, size = _bound(args, kwargs, ("a", "loc", "size"), (1.0, 0, None))
            drawn = {"size": size, "random_state": session.rng}
            return noise(label, laws.DISCRETE_LAPLACE, lambda: _number(original(self, rate, **drawn)), loc, 1 / rate)
        given = (*args, *(value for name, value in kwargs.items() if name != "random_state"))
        return other(label, OTHER, lambda: original(self, *args, **kwargs), given)

    return rvs


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


class Hooks:
    """The hooks of a replay, in place between `install` and `remove`."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._instead: dict[int, Any] = {}
        self._kept: list[Any] = []

    def install(self) -> None:
        """Put the hooks in place."""
        state = np.random.mtrand._rand
        legacy = watch(state)
        for name in dir(np.random):
            value = getattr(np.random, name)
            if getattr(value, "__self__", None) is state and hasattr(WatchedState, name):
                self._set(np.random, name, getattr(legacy, name))
        self._set(np.random, "seed", _global_seed(np.random.seed, legacy))
        self._set(np.random, "default_rng", _default_rng)
        self._set(np.random, "Generator", _MadeGenerator)
        self._set(np.random, "RandomState", _MadeState)
        for name, original in _ORIGINAL_PYTHON.items():
            self._set(random.Random, name, _python(name, original))
            self._set(random, name, functools.partial(getattr(random.Random, name), random._inst))  # type: ignore[attr-defined]
            if name in vars(random.SystemRandom):
                self._set(random.SystemRandom, name, _python(name, vars(random.SystemRandom)[name]))
        self._set(random.Random, "seed", _seed_python)
        self._set(random, "seed", functools.partial(_seed_python, random._inst))  # type: ignore[attr-defined]
        for module, name, fresh in (
            (secrets, "randbits", _integer),
            (secrets, "randbelow", _below),
            (secrets, "token_bytes", lambda rng, count=32: rng.bytes(count)),
            (secrets, "token_hex", lambda rng, count=32: rng.bytes(count).hex()),
            (os, "urandom", lambda rng, count: rng.bytes(count)),
            (random, "_urandom", lambda rng, count: rng.bytes(count)),
        ):
            self._set(module, name, _bits_source(f"{module.__name__}.{name}", getattr(module, name), fresh))
        for bits in (SeededBits, SystemBits):
            take = _bits_source("RandomBits.take", bits.take, lambda rng, _, count: _integer(rng, count))
            words = _bits_source(
                "RandomBits.words", bits.words, lambda rng, _, n: rng.integers(0, 2**64, size=n, dtype=np.uint64)
            )
            self._set(bits, "take", take)
            self._set(bits, "words", words)
        generic = importlib.import_module("scipy.stats._distn_infrastructure").rv_generic
        self._set(generic, "rvs", _rvs(generic.rvs))

    def reach(self, function: Any) -> None:
        """Exchange what the user's modules, and a function's closures and objects, hold already."""
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(module, ModuleType) and file and _kind_of(file) == _USER:
                self._exchange(vars(module), set())
        self._into(function, set(), 0)

    def remove(self) -> None:
        """Take the hooks away."""
        while self._undo:
            self._undo.pop()()

    def _set(self, place: Any, name: str, value: Any) -> None:
        before = getattr(place, name)
        own = name in vars(place)
        setattr(place, name, value)
        if callable(before) and isinstance(place, ModuleType):
            self._instead[id(before)] = value
            self._kept.append(before)
        self._undo.append(lambda: setattr(place, name, before) if own else delattr(place, name))

    def _replacement(self, value: Any) -> Any:
        if type(value) in (BASE_GENERATOR, BASE_STATE):
            return watch(value)
        return self._instead.get(id(value), value)

    def _exchange(self, names: dict[str, Any], seen: set[int]) -> None:
        for name, value in list(names.items()):
            new = self._replacement(value)
            if new is not value:
                names[name] = new
                self._undo.append(functools.partial(names.__setitem__, name, value))
        del seen

    def _into(self, value: Any, seen: set[int], depth: int) -> None:
        if id(value) in seen or depth > 6 or isinstance(value, ModuleType | type):
            return
        seen.add(id(value))
        if isinstance(value, functools.partial):
            for part in (value.func, *value.args, *value.keywords.values()):
                self._into(part, seen, depth + 1)
            self._exchange(value.keywords, seen)
        for cell in getattr(value, "__closure__", None) or ():
            with contextlib.suppress(ValueError):  # an empty cell
                before, new = cell.cell_contents, self._replacement(cell.cell_contents)
                if new is not before:
                    cell.cell_contents = new
                    self._undo.append(functools.partial(setattr, cell, "cell_contents", before))
                self._into(before, seen, depth + 1)
        if getattr(value, "__kwdefaults__", None):
            self._exchange(value.__kwdefaults__, seen)
        defaults = getattr(value, "__defaults__", None)
        if defaults and any(self._replacement(one) is not one for one in defaults):
            value.__defaults__ = tuple(map(self._replacement, defaults))
            self._undo.append(functools.partial(setattr, value, "__defaults__", defaults))
        names = getattr(value, "__globals__", None)
        if names is not None and id(names) not in seen:
            seen.add(id(names))
            self._exchange(names, seen)
        inner = getattr(value, "__self__", None)
        if inner is not None:
            self._into(inner, seen, depth + 1)
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict) and not isinstance(value, type):
            self._exchange(attributes, seen)
            for part in list(attributes.values()):
                if callable(part) or hasattr(part, "__dict__"):
                    self._into(part, seen, depth + 1)


def _global_seed(original: Callable[..., Any], legacy: Any) -> Callable[..., Any]:
    def seed(value: Any = None) -> None:
        if watched() is None:
            original(value)
        else:
            legacy.stream, legacy.drawn = _seeded("numpy.random.seed", value), 0

    return seed


__all__ = ["BITS", "OTHER", "SAMPLING", "UNKNOWN", "Hooks", "WatchedGenerator", "noise", "other", "watch", "watched"]
