"""The sources of randomness that a run watches: for each a function that reads off a call what it draws.

What is read is drawn here, from the run's own generator, so that a run depends on nothing but its seed. A source that
has no reader is not watched; a replay finds out, as two runs with the same watched draws then differ.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from attacklab.replay import laws
from attacklab.replay.laws import BITS, CATEGORICAL, OTHER, SAMPLING, TABLE
from attacklab.replay.seeds import (
    BASE_GENERATOR,
    BASE_STATE,
    begin,
    bits_behind,
    copied,
    note_seed,
    note_state,
    open_state,
    seeds_of,
)
from attacklab.replay.session import Affine, Session
from attacklab.replay.traced import GEOMETRIC, SIGN, combined, plain, wrapped

DRAWN: Mapping[str, Callable[[np.random.Generator, Any, Any], Any]] = {
    laws.LAPLACE: lambda rng, scale, size: rng.laplace(0.0, scale, size),
    laws.GAUSSIAN: lambda rng, scale, size: rng.normal(0.0, scale, size),
    laws.GUMBEL: lambda rng, scale, size: rng.gumbel(0.0, scale, size),
    laws.LOGISTIC: lambda rng, scale, size: rng.logistic(0.0, scale, size),
    laws.CAUCHY: lambda rng, scale, size: scale * rng.standard_cauchy(size),
    laws.EXPONENTIAL: lambda rng, scale, size: rng.exponential(scale, size),
    laws.UNIFORM: lambda rng, scale, size: scale * rng.random(size),
    GEOMETRIC: lambda rng, scale, size: rng.geometric(-np.expm1(-1 / scale), size),
    SIGN: lambda rng, _, size: rng.choice([-1, 1], size),
    laws.DISCRETE_LAPLACE: lambda rng, scale, size: (
        DRAWN[GEOMETRIC](rng, scale, size) - DRAWN[GEOMETRIC](rng, scale, size)
    ),
    laws.DISCRETE_GAUSSIAN: lambda rng, scale, size: np.rint(rng.normal(0.0, scale, size)).astype(int),
}
"""How noise of each law is drawn, at location 0."""


LENGTHS = ("*",)


class Spec(NamedTuple):
    """A source of noise with a location and a scale.

    Attributes:
        family: its law.
        loc: the name of the parameter that is its location; empty where there is none.
        scale: the name of the parameter that its scale follows from; empty where it is 1.
        names: its first parameters, in order; `LENGTHS` where all are lengths.
        scale_of: the scale by that parameter.
    """

    family: str
    loc: str = ""
    scale: str = ""
    names: tuple[str, ...] = ("size", "dtype", "out")
    scale_of: Callable[[Any], Any] = lambda value: value


def _geometric_scale(p: Any) -> Any:
    return -1 / np.log1p(-np.minimum(np.asarray(p, dtype=float), 1 - 2.0**-53))


_LOC_SCALE = ("loc", "scale", "size")
NUMPY: Mapping[str, Spec] = {
    **{
        name: Spec(family, "loc", "scale", _LOC_SCALE)
        for name, family in (
            *(("laplace", laws.LAPLACE), ("normal", laws.GAUSSIAN)),
            *(("gumbel", laws.GUMBEL), ("logistic", laws.LOGISTIC)),
        )
    },
    "exponential": Spec(laws.EXPONENTIAL, "", "scale", ("scale", "size")),
    "geometric": Spec(GEOMETRIC, "", "p", ("p", "size"), _geometric_scale),
    "standard_exponential": Spec(laws.EXPONENTIAL),
    "standard_cauchy": Spec(laws.CAUCHY),
    "standard_normal": Spec(laws.GAUSSIAN),
    "randn": Spec(laws.GAUSSIAN, names=LENGTHS),
    "rand": Spec(laws.UNIFORM, names=LENGTHS),
    **{name: Spec(laws.UNIFORM) for name in ("random", "random_sample", "ranf", "sample")},
}
"""What numpy's generators draw, by name; besides these, `uniform`, choices and orders."""

SCIPY: Mapping[str, str] = {
    "laplace": laws.LAPLACE,
    "norm": laws.GAUSSIAN,
    "gumbel_r": laws.GUMBEL,
    "logistic": laws.LOGISTIC,
    "expon": laws.EXPONENTIAL,
    "uniform": laws.UNIFORM,
    "cauchy": laws.CAUCHY,
}

PYTHON: Mapping[str, Spec] = {
    "random": Spec(laws.UNIFORM, names=()),
    "gauss": Spec(laws.GAUSSIAN, "mu", "sigma", ("mu", "sigma")),
    "normalvariate": Spec(laws.GAUSSIAN, "mu", "sigma", ("mu", "sigma")),
    "expovariate": Spec(laws.EXPONENTIAL, "", "lambd", ("lambd",), lambda rate: 1 / rate),
}

RAW = ("bytes", "integers", "randint", "random_integers", "tomaxint", "getrandbits", "randbytes", "randrange")
INTEGERS = ("integers", "randint", "randrange", "random_integers")
LARGEST_DIE = 4096
MOST_CHOSEN = 64
"""So many choices with weights in one call are looked at one by one."""

CHOOSING = ("choice", "choices", "sample", "permutation", "permuted", "shuffle")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a call draws.

    Attributes:
        law: by its name in `laws`.
        value: what noise is added to.
        scale: of the noise.
        shape: of what is drawn; None for a number.
        rounds: whether noise is rounded to an integer.
        into: a tensor to fill, or the type of a new one.
        source: the generator that is asked.
        stream: what makes two draws the same one.
        real: what draws, where it is not noise.
        then: what is made of what was drawn.
        weights: how probable the outcomes 0, 1, … of a choice or of an integer are.
        asked: what the call was asked for, where it is not noise.
    """

    law: str
    value: Any = 0
    scale: Any = 1
    shape: Any = None
    rounds: bool = False
    into: Any = None
    source: Any = None
    stream: Any = None
    real: Callable[[np.random.Generator], Any] | None = None
    then: Callable[[Any], Any] | None = None
    weights: tuple[float, ...] = ()
    asked: Sequence[Any] = ()


Read = Callable[..., Mapping[str, Any] | Callable[[], Any] | None]


def watched() -> Session | None:
    """The run that is to see the draw being made; none where a source draws from another."""
    session = Session.current
    return None if session is None or session.inside else session


@contextlib.contextmanager
def inside(session: Session) -> Iterator[None]:
    """Let a source draw from others unseen."""
    session.inside += 1
    try:
        yield
    finally:
        session.inside -= 1


def sampler_of(label: str, original: Callable[..., Any], read: Read) -> Callable[..., Any]:
    """A sampler, or a mechanism's call, watched.

    Args:
        label: the source in findings.
        original: the sampler as it is.
        read: takes the same arguments and gives a `Reading` as a mapping; or a function that makes the same of other
            calls, which are watched; None if this call cannot be read.
    """

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        session = watched()
        if session is None:
            return original(*args, **kwargs)
        with inside(session):
            known = read(*args, **kwargs)
        if known is None:
            session.unread.append(label)
            return original(*args, **kwargs)
        if callable(known):
            return known()
        reading = Reading(**known)
        if reading.source is None and label.startswith("torch"):
            reading = replace(reading, source=tensors().GLOBAL)
        elif reading.source is None and args:  # a mechanism of a library may hold its generator
            reading = replace(reading, source=getattr(args[0], "_rng", None))
        seeds = begin(reading.source, session)
        stream = reading.stream if seeds is None else (seeds.stream or ())[:2]
        if stream in session.known:
            with inside(session):
                return original(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})
        value = _drawn(session, label, reading)
        return value if reading.then is None else reading.then(value)

    return function


def _drawn(session: Session, label: str, reading: Reading) -> Any:
    """What a call draws: noise added to a value, which is followed from here on, or anything else as a plain value."""
    scale, loc, into = plain(reading.scale), reading.value, reading.into
    size = np.shape(scale) or None if reading.shape is None else reading.shape

    def noise_of(rng: np.random.Generator) -> Any:
        if reading.weights:
            return rng.choice(len(reading.weights), size, p=reading.weights)
        drawn = DRAWN[reading.law](rng, scale, size)
        drawn = round(drawn) if reading.rounds else drawn
        return drawn.item() if isinstance(drawn, np.generic) and into is None else drawn

    is_noise = reading.real is None
    of_noise = (("loc", plain(loc)), ("scale", scale))
    with inside(session):
        raw, ids = session.draw(
            label,
            reading.law,
            functools.partial(reading.real or noise_of, session.rng),
            scale=scale if is_noise else 0,
            parameters=of_noise if is_noise else tuple(enumerate(map(plain, reading.asked))),
            weights=reading.weights,
            stream=reading.stream or _stream(reading.source, label),
        )
    if reading.law == CATEGORICAL:
        session.add_seen("categorical", label, ids.reshape(-1)[:1], (np.array(reading.weights), raw), 0)
    drawn = wrapped(raw, Affine(ids), session) if is_noise else raw
    if into is not None:
        drawn = tensors().tensor_of(drawn, into)
        return drawn + loc if np.ndim(loc) or loc else drawn
    loc = np.asarray(loc) if isinstance(loc, list | tuple) else loc
    is_moved = np.ndim(loc) or plain(loc) != 0 or reading.law == laws.UNIFORM  # whose bound is 0 on one input alone
    return combined("add", (drawn, loc), plain(raw) + plain(loc)) if is_noise and is_moved else drawn


def _stream(source: Any, name: str) -> Any:
    """What tells a draw of a seeded generator from every other."""
    seeds = seeds_of(source) if hasattr(source, "__dict__") else None
    if seeds is None or seeds.stream is None:
        return None
    seeds.drawn += 1
    return (seeds.stream, seeds.drawn, name)


def tensors() -> Any:
    """The module for tensors, which imports PyTorch."""
    return importlib.import_module("attacklab.replay.tensors")


class _Everywhere(type):
    """The type of what stands for a class of numpy's: whatever is one of those is one of these."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, next(base for base in cls.__mro__ if base in (BASE_GENERATOR, BASE_STATE)))


class WatchedGenerator(np.random.Generator, metaclass=_Everywhere):
    """numpy's generator, watched."""

    def __deepcopy__(self, memo: Any) -> Any:
        return copied(self, WatchedGenerator(copy.deepcopy(bits_behind(self))))

    @property
    def bit_generator(self) -> Any:
        """The bits behind it, whose state code may read or set."""
        open_state(self)
        return bits_behind(self)

    def spawn(self, count: int) -> Any:
        """Generators of this one's seed, each with its own key."""
        made = super().spawn(count)
        for child in made:
            note_seed(child, "spawn", bits_behind(child))
        return made


class WatchedState(np.random.RandomState, metaclass=_Everywhere):
    """numpy's legacy generator, watched."""

    def __deepcopy__(self, memo: Any) -> Any:
        return copied(self, WatchedState(copy.deepcopy(bits_behind(self))))

    def get_state(self, *args: Any, **kwargs: Any) -> Any:
        """Its state."""
        open_state(self)
        return super().get_state(*args, **kwargs)

    def set_state(self, state: Any) -> None:
        """Set its state."""
        open_state(self)
        super().set_state(state)
        note_state(self)

    def seed(self, seed: Any = None) -> None:
        """Seed it."""
        super().seed(plain(seed))
        note_seed(self, "RandomState.seed", seed)


def method_of(name: str, label: str, original: Callable[..., Any], specs: Mapping[str, Spec]) -> Callable[..., Any]:
    """A method of a generator, watched.

    Args:
        name: of the method.
        label: the source in findings.
        original: the method as it is.
        specs: of the generator's noise.
    """

    def read(source: Any, *args: Any, **kwargs: Any) -> Mapping[str, Any] | Callable[[], Any]:
        if name in specs:
            known = _of_noise(specs[name], args, kwargs)
        elif name == "uniform":
            known = _of_uniform(args, kwargs)
        elif name in _SPECIAL and (special := _SPECIAL[name](args, kwargs)):
            known = special
        elif name in CHOOSING:
            known = _of_choice(name, args, kwargs)
            if known["law"] == CATEGORICAL and 1 < np.prod(known["asked"][1] or 1) <= MOST_CHOSEN:
                return functools.partial(_one_by_one, getattr(source, name), name, args, kwargs)
        elif name in INTEGERS and (special := _of_integers(name, isinstance(source, random.Random), args, kwargs)):
            known = special
        else:
            given = {key: plain(value) for key, value in kwargs.items()}
            known = {
                "law": BITS if name in RAW else OTHER,
                "real": lambda rng: original(_own(source, rng), *map(plain, args), **given),
                "asked": (*args, *kwargs.values()),
            }
        return {**known, "source": source}

    return sampler_of(label, original, read)


def _own(source: Any, rng: np.random.Generator) -> Any:
    """What draws in place of a generator, of the same kind."""
    if isinstance(source, BASE_GENERATOR):
        return rng
    return (BASE_STATE if isinstance(source, BASE_STATE) else random.Random)(int(rng.integers(1 << 32)))


def _bound(args: Sequence[Any], kwargs: Mapping[str, Any], **defaults: Any) -> list[Any]:
    """The values of some parameters in a call, which are named in order."""
    given = dict(zip(defaults, args, strict=False)) | dict(kwargs)
    return [given.get(name, default) for name, default in defaults.items()]


def _of_noise(spec: Spec, args: Any, kwargs: Any) -> dict[str, Any]:
    if len(args) > len(spec.names) and spec.names != LENGTHS:
        raise TypeError(f"takes at most {len(spec.names)} arguments, and {len(args)} were given")
    values = dict(zip(spec.names, args, strict=False)) | kwargs
    loc, scale = values.get(spec.loc, 0), spec.scale_of(plain(values.get(spec.scale, 1.0)))
    out, dtype, size = (values.get(name) for name in ("out", "dtype", "size"))
    size = (args or None) if spec.names == LENGTHS else np.shape(out) if out is not None else size
    known = {
        "law": spec.family,
        "value": loc,
        "scale": scale,
        "shape": (np.broadcast(plain(loc), scale).shape or None) if size is None else size,
    }
    if out is not None:
        known["then"] = functools.partial(_written, out)
    elif dtype is not None:
        known["then"] = lambda value: value.astype(dtype)
    return known


def _written(out: Any, value: Any) -> Any:
    out[...] = plain(value)
    return out


def _of_uniform(args: Any, kwargs: Any) -> dict[str, Any]:
    low, high, size = _bound(args, kwargs, low=0.0, high=1.0, size=None)
    low, high = kwargs.get("a", low), kwargs.get("b", high)
    return {"law": laws.UNIFORM, "value": low, "scale": plain(high) - plain(low), "shape": size}


def _of_binomial(args: Any, kwargs: Any) -> dict[str, Any] | None:
    """Coins, as uniform numbers that are compared, or how many of some come up; None of other numbers for each."""
    tossed, p, size = _bound(args, kwargs, n=None, p=None, size=None)
    if not np.array_equal(plain(tossed), 1):
        if np.ndim(tossed) or np.ndim(p) or not 1 < tossed < LARGEST_DIE:
            return None
        odds = stats.binom.pmf(np.arange(tossed + 1), tossed, plain(p))
        return {"law": TABLE, "shape": size, "weights": tuple((odds / odds.sum()).tolist())}
    shape = size if size is not None else np.shape(p) or None
    return {"law": laws.UNIFORM, "shape": shape, "then": lambda drawn: (drawn < p) * 1}


def _of_integers(name: str, is_python: bool, args: Any, kwargs: Any) -> dict[str, Any] | None:
    """An integer between two, of which each is as probable; None of arrays, steps, and more than a die has."""
    low, high, size = _bound(args, kwargs, low=0, high=None, size=None)
    low, high = kwargs.get("a", kwargs.get("start", low)), kwargs.get("b", kwargs.get("stop", high))
    low, high = (0, low) if high is None else (low, high)
    end = kwargs.get("endpoint", False) or name == "random_integers" or (is_python and name == "randint")
    if (is_python and size is not None) or np.ndim(low) or np.ndim(high) or len(args) > 3:
        return None
    count = int(high) - int(low) + bool(end)
    if not 0 < count <= LARGEST_DIE or int(low) != low or int(high) != high:
        return None
    known = {"law": TABLE, "value": int(low), "shape": size, "weights": (1 / count,) * count}
    return known if "dtype" not in kwargs else {**known, "then": lambda drawn: drawn.astype(kwargs["dtype"])}


def _of_negative_binomial(args: Any, kwargs: Any) -> dict[str, Any] | None:
    """Failures before the first success: a geometric number less 1."""
    successes, p, size = _bound(args, kwargs, n=None, p=None, size=None)
    if not np.array_equal(plain(successes), 1):
        return None
    return {"law": GEOMETRIC, "value": -1, "scale": _geometric_scale(plain(p)), "shape": size}


def _of_normals(args: Any, kwargs: Any) -> dict[str, Any] | None:
    """Gaussian noise for each coordinate apart; None where some depend on others."""
    mean, covariance, size = _bound(args, kwargs, mean=None, cov=None, size=None)
    variances = np.diagonal(plain(covariance))
    if not np.array_equal(np.diag(variances), plain(covariance)):
        return None
    return {
        "law": laws.GAUSSIAN,
        "value": np.asarray(mean) if isinstance(mean, list | tuple) else mean,
        "scale": np.sqrt(variances),
        "shape": (*np.atleast_1d([] if size is None else size).astype(int).tolist(), len(variances)),
    }


_SPECIAL = {
    "binomial": _of_binomial,
    "negative_binomial": _of_negative_binomial,
    "multivariate_normal": _of_normals,
}
"""Distributions that in some calls are noise of a law that is judged."""


def _of_choice(name: str, args: Any, kwargs: Any) -> dict[str, Any]:
    """A choice, an order or a sample: places are drawn, so that a record of other items still has them."""
    among = args[0] if args else next(kwargs[key] for key in ("a", "x", "population") if key in kwargs)
    second = args[1] if len(args) > 1 else None
    is_count = isinstance(plain(among), int | np.integer)
    count = int(plain(among)) if is_count else len(among)
    if name not in ("choice", "choices"):
        then = functools.partial(_in_order, name, among, kwargs.get("k", second))
        return {"law": SAMPLING, "real": lambda rng: rng.permutation(count), "then": then, "asked": (count,)}
    if name == "choices":
        weights, size, replace = kwargs.get("weights", second), kwargs.get("k", 1), True
        if kwargs.get("cum_weights") is not None:
            weights = np.diff([0, *map(plain, kwargs["cum_weights"])])
    else:
        _, size, replace, weights = _bound(args, kwargs, a=None, size=None, replace=True, p=None)
    if not is_count and weights is None and count == 2 and sorted(map(repr, among)) == ["-1", "1"]:
        return {"law": SIGN, "shape": size}
    odds = None if weights is None else np.asarray([float(plain(one)) for one in weights])
    odds = odds if odds is None or name == "choice" else odds / math.fsum(odds)
    outcomes = () if odds is None else tuple(odds.tolist())
    if odds is None and np.prod(1 if size is None else size) == 1 and 0 < count <= LARGEST_DIE:
        outcomes = (1 / count,) * count
    return {
        "law": SAMPLING if odds is None else CATEGORICAL,
        "real": lambda rng: rng.choice(count, size, replace, odds),
        "then": functools.partial(_picked, name, range(count) if is_count else among),
        "weights": outcomes,
        "asked": (count, size),
    }


def _one_by_one(choose: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
    """Several choices with weights, each watched by itself, as its weights may follow those before."""
    if name == "choices":
        among, weights, size, replace = *_bound(args, kwargs, population=None, weights=None), kwargs["k"], True
        weights = np.diff([0, *kwargs["cum_weights"]]) if weights is None else weights
    else:
        among, size, replace, weights = _bound(args, kwargs, a=None, size=None, replace=True, p=None)
    items = range(int(plain(among))) if isinstance(plain(among), int | np.integer) else among
    odds = np.array([float(plain(one)) for one in weights])
    left, places = list(range(len(odds))), []
    for _ in range(int(np.prod(size))):
        share = odds[left] / odds[left].sum()
        at = choose(range(len(left)), share.tolist())[0] if name == "choices" else choose(len(left), p=share)
        places.append(left[int(at)])
        if not replace:
            left.remove(places[-1])
    return _picked(name, items, np.reshape(places, size))


def _picked(name: str, items: Any, places: Any) -> Any:
    last = len(items) - 1  # a record of more items may have chosen a later one
    if name == "choices":
        return [items[min(place, last)] for place in places.tolist()]
    chosen = np.minimum(places, last)
    if isinstance(items, range):
        return chosen
    return np.asarray(plain(items))[chosen] if isinstance(items, np.ndarray) or np.ndim(places) else items[int(chosen)]


def _in_order(name: str, values: Any, count: Any, order: Any) -> Any:
    if name == "shuffle":
        for place, value in enumerate([values[at] for at in order.tolist()]):
            values[place] = value
        return None
    if name == "sample":
        items = list(values)
        return [items[place] for place in order.tolist()[:count]]
    return order if np.ndim(values) == 0 else np.asarray(plain(values))[order]


def rvs_of(original: Callable[..., Any]) -> Callable[..., Any]:
    """`rvs` of SciPy's distributions, watched."""

    def rvs(self: Any, *args: Any, **kwargs: Any) -> Any:
        label, source = f"scipy.stats.{self.name}.rvs", kwargs.get("random_state")
        if source is None:
            own, common = self._random_state, np.random.mtrand._rand
            is_common = isinstance(own, BASE_STATE) and bits_behind(own) is bits_behind(common)
            source = common if is_common else own
        if isinstance(source, int | np.integer):
            number, source = source, SimpleNamespace()
            note_seed(source, label, number)

        def read(self: Any, *args: Any, random_state: Any = None, **kwargs: Any) -> dict[str, Any]:
            del random_state
            return {**_law_of(self, args, kwargs), "source": source}

        return sampler_of(label, original, read)(self, *args, **kwargs)

    def _law_of(self: Any, args: Any, kwargs: Any) -> dict[str, Any]:
        loc, scale, size = _bound(args, kwargs, loc=0.0, scale=1.0, size=None)
        if self.name == "dlaplace":
            rate, loc, size = _bound(args, kwargs, a=1.0, loc=0, size=None)
            return {"law": laws.DISCRETE_LAPLACE, "value": loc, "scale": 1 / plain(rate), "shape": size}
        if self.name in SCIPY:
            return {"law": SCIPY[self.name], "value": loc, "scale": scale, "shape": size}
        given = {name: plain(value) for name, value in kwargs.items()}
        plainly = functools.partial(original, self, *map(plain, args), **given)
        return {"law": OTHER, "real": lambda rng: plainly(random_state=rng), "asked": args}

    return functools.wraps(original)(rvs)


def bits_of(label: str, original: Callable[..., Any], fresh: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives raw bits, watched; `fresh(rng, ...)` draws in its place."""

    def read(*args: Any, **kwargs: Any) -> dict[str, Any]:
        return {"law": BITS, "real": lambda rng: fresh(rng, *args, **kwargs), "asked": args[-1:]}

    return sampler_of(label, original, read)


def below(most: int) -> dict[str, Any]:
    """What `secrets.randbelow` draws."""
    known = _of_integers("randbelow", True, (most,), {})
    return known or {
        "law": BITS,
        "real": lambda rng: integer(rng, most.bit_length() + 64) % most,
        "asked": (most,),
    }


def integer(rng: Any, bits: int) -> int:
    """An integer of so many random bits."""
    return int.from_bytes(rng.bytes(-(-bits // 8)), "big") >> (-bits % 8)


def watch(generator: Any) -> Any:
    """A generator of numpy's, watched; anything else as it is."""
    if type(generator) is BASE_GENERATOR:
        return WatchedGenerator(generator.bit_generator)
    return WatchedState(generator._bit_generator) if type(generator) is BASE_STATE else generator


for _base, _class in ((BASE_GENERATOR, WatchedGenerator), (BASE_STATE, WatchedState)):
    for _name in dir(_base):
        if _name[0] != "_" and _name not in vars(_class):  # all that draws; that of no known law is not judged
            _label = f"numpy.random.{_base.__name__}.{_name}"
            setattr(_class, _name, method_of(_name, _label, getattr(_base, _name), NUMPY))
