"""The sources of randomness that a run watches: one table for each library that draws.

What is not in a table is not watched; a replay finds out, as two runs with the same watched draws then differ.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attacklab.replay import laws
from attacklab.replay.laws import BITS, CATEGORICAL, OTHER, SAMPLING
from attacklab.replay.session import Affine, Session, here
from attacklab.replay.traced import GEOMETRIC, SIGN, combined, plain, wrapped

BASE_GENERATOR, BASE_STATE = np.random.Generator, np.random.RandomState


class Spec(NamedTuple):
    """A source of noise with a location and a scale.

    Attributes:
        family: its law.
        loc: the name of the parameter that is its location; empty where there is none.
        scale: the name of the parameter that its scale follows from.
        before: the names of its first parameters, in order.
        scale_of: the scale by that parameter.
    """

    family: str
    loc: str = ""
    scale: str = ""
    before: tuple[str, ...] = ("size",)
    scale_of: Callable[[Any], Any] = lambda value: value


def _geometric_scale(p: Any) -> Any:
    return -1 / np.log1p(-np.minimum(np.asarray(p, dtype=float), 1 - 2.0**-53))


_LOC_SCALE = ("loc", "scale", "size")
NUMPY: Mapping[str, Spec] = {
    **{
        name: Spec(family, "loc", "scale", _LOC_SCALE)
        for name, family in (("laplace", laws.LAPLACE), ("normal", laws.GAUSSIAN), ("gumbel", laws.GUMBEL))
    },
    "logistic": Spec(laws.LOGISTIC, "loc", "scale", _LOC_SCALE),
    "exponential": Spec(laws.EXPONENTIAL, "", "scale", ("scale", "size")),
    "geometric": Spec(GEOMETRIC, "", "p", ("p", "size"), _geometric_scale),
    "standard_exponential": Spec(laws.EXPONENTIAL),
    "standard_cauchy": Spec(laws.CAUCHY),
    **{name: Spec(laws.GAUSSIAN) for name in ("standard_normal", "randn")},
    **{name: Spec(laws.UNIFORM) for name in ("random", "random_sample", "ranf", "sample", "rand")},
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
    "random": Spec(laws.UNIFORM, before=()),
    "gauss": Spec(laws.GAUSSIAN, "mu", "sigma", ("mu", "sigma")),
    "normalvariate": Spec(laws.GAUSSIAN, "mu", "sigma", ("mu", "sigma")),
    "expovariate": Spec(laws.EXPONENTIAL, "", "lambd", ("lambd",), lambda rate: 1 / rate),
}

RAW = ("bytes", "integers", "randint", "random_integers", "tomaxint", "getrandbits", "randbytes", "randrange")
ORDERS = ("permutation", "permuted", "shuffle")
UNLIKE = (
    *("beta", "binomial", "chisquare", "dirichlet", "f", "gamma", "hypergeometric", "logseries", "lognormal"),
    *("multinomial", "multivariate_hypergeometric", "multivariate_normal", "negative_binomial", "noncentral_chisquare"),
    *("noncentral_f", "pareto", "poisson", "power", "rayleigh", "standard_gamma", "standard_t", "triangular"),
    *("vonmises", "wald", "weibull", "zipf"),
)
"""numpy's distributions whose draws are kept, and whose law is not judged."""


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


def noise(sampler: str, family: str, real: Callable[[], Any], loc: Any = 0, scale: Any = 1, stream: Any = None) -> Any:
    """A draw of noise with a location and a scale, as a traced value.

    Args:
        sampler: the source, as code names it.
        family: its law.
        real: draws afresh, at location 0.
        loc: what is added to the noise.
        scale: of the noise.
        stream: what makes two draws the same one.
    """
    session = Session.current
    assert session is not None  # noqa: S101 - the caller has asked
    asked = (("loc", plain(loc)), ("scale", plain(scale)))
    with inside(session):
        raw, ids = session.draw(sampler, family, real, scale=plain(scale), parameters=asked, stream=stream)
    traced = wrapped(raw, Affine(ids), session)
    loc = np.asarray(loc) if isinstance(loc, list | tuple) else loc
    if np.ndim(loc) == 0 and plain(loc) == 0:
        return traced
    return combined("add", (traced, loc), plain(raw) + plain(loc))


def other(sampler: str, family: str, real: Callable[[], Any], asked: Sequence[Any] = (), **rest: Any) -> Any:
    """A draw of anything else, as a plain value; the arguments are those of `noise` and of `Session.draw`."""
    session = Session.current
    assert session is not None  # noqa: S101 - the caller has asked
    with inside(session):
        return session.draw(sampler, family, real, parameters=tuple(enumerate(map(plain, asked))), **rest)[0]


class _Everywhere(type):
    """The type of what stands for a class of numpy's: whatever is one of those is one of these."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, next(base for base in cls.__mro__ if base in (BASE_GENERATOR, BASE_STATE)))


class WatchedGenerator(np.random.Generator, metaclass=_Everywhere):
    """numpy's generator, watched."""

    stream: Any = None
    drawn = 0


class WatchedState(np.random.RandomState, metaclass=_Everywhere):
    """numpy's legacy generator, watched."""

    stream: Any = None
    drawn = 0


def _own(session: Session, source: Any) -> Any:
    """What draws in place of a generator, so that a run depends on nothing but its own seed."""
    if isinstance(source, BASE_GENERATOR):
        return session.rng
    kind = BASE_STATE if isinstance(source, BASE_STATE) else random.Random
    if kind not in session.own:
        with inside(session):  # a generator asks the system for a seed before it takes this one
            session.own[kind] = kind(session.seed)
    return session.own[kind]


def _stream(source: Any, name: str) -> Any:
    """What tells a draw of a seeded generator from every other."""
    if source is None and name.startswith("torch"):
        source = tensors().GLOBAL
    if getattr(source, "stream", None) is None:
        return None
    source.drawn += 1
    return (source.stream, source.drawn, name)


def method_of(name: str, label: str, original: Callable[..., Any], specs: Mapping[str, Spec]) -> Callable[..., Any]:
    """A method of a generator, watched.

    Args:
        name: of the method.
        label: the source in findings.
        original: the method as it is.
        specs: of the generator's noise.
    """

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        session = watched()
        if session is None:
            return original(self, *args, **kwargs)
        own, stream = _own(session, self), _stream(self, name)
        draw = functools.partial(getattr(type(own), name) if own is session.rng else original, own)
        if name in specs:
            return _noisy(specs[name], label, draw, args, kwargs, stream)
        if name == "uniform":
            low, high, size = bound(args, kwargs, ("low", "high", "size"), (0.0, 1.0, None))
            low, high = kwargs.get("a", low), kwargs.get("b", high)
            width = plain(high) - plain(low)
            shape = () if specs is PYTHON else ((np.shape(width) or None) if size is None else size,)
            return noise(label, laws.UNIFORM, lambda: draw(0.0, width, *shape), low, width, stream)
        if name == "choice" and specs is NUMPY:
            return _chosen(label, own, args, kwargs, stream)
        if name in ("choice", "choices"):
            return _picked(label, name, own, args, kwargs)
        if name in (*ORDERS, "sample"):
            return _ordered(label, name, own, args, kwargs)
        family = BITS if name in RAW else OTHER
        return other(label, family, lambda: draw(*map(plain, args), **kwargs), (*args, *kwargs.values()), stream=stream)

    return method


def bound(args: Sequence[Any], kwargs: Mapping[str, Any], names: Sequence[str], defaults: Sequence[Any]) -> list[Any]:
    """The values of some parameters in a call."""
    given = dict(zip(names, args, strict=False)) | dict(kwargs)
    return [given.get(name, default) for name, default in zip(names, defaults, strict=True)]


def _noisy(spec: Spec, label: str, draw: Callable[..., Any], args: Any, kwargs: Any, stream: Any) -> Any:
    if not spec.scale:  # of standard size, and perhaps written to an array
        out = kwargs.get("out")
        if out is not None:
            out[...] = plain(noise(label, spec.family, lambda: draw(out.shape), stream=stream))
            return out
        return noise(label, spec.family, lambda: draw(*args, **kwargs), stream=stream)
    values = dict(zip(spec.before, args, strict=False)) | kwargs
    loc, parameter = values.get(spec.loc, 0), values.get(spec.scale, 1.0)
    scale = spec.scale_of(plain(parameter))
    given = {name: plain(value) for name, value in values.items()} | ({spec.loc: 0.0} if spec.loc else {})
    if "size" in spec.before and given.get("size") is None and np.ndim(loc):
        given["size"] = np.broadcast(plain(loc), plain(parameter)).shape
    return noise(label, spec.family, lambda: draw(**given), loc, scale, stream)


def _decided(weights: Sequence[float], drawn: Any, label: str) -> None:
    session = Session.current
    if session is not None:
        session.add_seen("categorical", label, session.calls[-1].ids.reshape(-1)[:1], (np.array(weights), drawn), 0)


def _chosen(label: str, own: Any, args: Any, kwargs: Any, stream: Any) -> Any:
    """`choice` of numpy: a place is drawn, so that a record of other items still has it."""
    among, size, replace, p = bound(args, kwargs, ("a", "size", "replace", "p"), (None, None, True, None))
    items = None if np.ndim(among) == 0 else np.asarray(plain(among))
    count = int(plain(among)) if items is None else len(items)
    if items is not None and p is None and items.ndim == 1 and set(items.tolist()) == {-1, 1}:
        return noise(label, SIGN, lambda: own.choice(items, size), stream=stream)
    weights = None if p is None else np.asarray(plain(p), dtype=float)
    given = () if weights is None else tuple(weights.tolist())
    family = SAMPLING if p is None else CATEGORICAL
    drawn = other(label, family, lambda: own.choice(count, size, replace, weights), (count, size), stream=stream)
    drawn = np.minimum(drawn, count - 1)
    if given:
        _decided(given, drawn, label)
    return (drawn if np.ndim(drawn) else int(drawn)) if items is None else items[drawn]


def _picked(label: str, name: str, own: Any, args: Any, kwargs: Any) -> Any:
    """`choice` and `choices` of Python."""
    items, weights = args[0], kwargs.get("weights", args[1] if len(args) > 1 else None)
    count = kwargs.get("k", 1)
    if name == "choice" and len(items) == 2 and set(items) == {-1, 1}:
        return noise(label, SIGN, lambda: 2 * own.getrandbits(1) - 1)
    given = None if weights is None else [float(plain(one)) for one in weights]

    def real() -> Any:
        return np.array(own.choices(range(len(items)), given, k=count))

    drawn = other(label, SAMPLING if given is None else CATEGORICAL, real, (len(items), count))
    if given is not None:
        _decided([one / math.fsum(given) for one in given], drawn, label)
    picked = [items[min(place, len(items) - 1)] for place in drawn.tolist()]
    return picked if name == "choices" else picked[0]


def _ordered(label: str, name: str, own: Any, args: Any, kwargs: Any) -> Any:
    """Orders of items, and samples of them without replacement."""
    values = args[0] if args else kwargs["x"]
    size = int(values) if np.ndim(values) == 0 and not isinstance(values, range) else len(values)
    mix = own.permutation if hasattr(own, "permutation") else lambda n: np.array(own.sample(range(n), n))
    order = other(label, SAMPLING, lambda: mix(size), (size,))
    if name == "shuffle":
        for place, value in enumerate([values[at] for at in order.tolist()]):
            values[place] = value
        return None
    if name == "sample":
        items, count = list(values), kwargs.get("k", args[1] if len(args) > 1 else None)
        return [items[place] for place in order.tolist()[:count]]
    return order if np.ndim(values) == 0 else np.asarray(plain(values))[order]


def rvs_of(original: Callable[..., Any]) -> Callable[..., Any]:
    """`rvs` of SciPy's distributions, watched."""

    @functools.wraps(original)
    def rvs(self: Any, *args: Any, **kwargs: Any) -> Any:
        session = watched()
        if session is None:
            return original(self, *args, **kwargs)
        args, label, state = tuple(map(plain, args)), f"scipy.stats.{self.name}.rvs", {"random_state": session.rng}
        kwargs = {name: plain(value) for name, value in kwargs.items()} | state
        loc, scale, size = bound(args, kwargs, _LOC_SCALE, (0.0, 1.0, None))
        if self.name in SCIPY:
            real = functools.partial(original, self, loc=0.0, scale=scale, size=size, **state)
            return noise(label, SCIPY[self.name], lambda: _item(real()), loc, scale)
        if self.name == "dlaplace":
            rate, loc, size = bound(args, kwargs, ("a", "loc", "size"), (1.0, 0, None))
            real = functools.partial(original, self, rate, size=size, **state)
            return noise(label, laws.DISCRETE_LAPLACE, lambda: _item(real()), loc, 1 / rate)
        return other(label, OTHER, lambda: original(self, *args, **kwargs), args)

    return rvs


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def bits_of(label: str, original: Callable[..., Any], fresh: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives raw bits, watched; `fresh(rng, ...)` draws in its place."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        session = watched()
        if session is None:
            return original(*args, **kwargs)
        return other(label, BITS, lambda: fresh(session.rng, *args, **kwargs), args[-1:])

    return function


DRAWN: Mapping[str, Callable[[np.random.Generator, Any, Any], Any]] = {
    laws.LAPLACE: lambda rng, scale, size: rng.laplace(0.0, scale, size),
    laws.GAUSSIAN: lambda rng, scale, size: rng.normal(0.0, scale, size),
    laws.GUMBEL: lambda rng, scale, size: rng.gumbel(0.0, scale, size),
    laws.CAUCHY: lambda rng, scale, size: scale * rng.standard_cauchy(size),
    laws.EXPONENTIAL: lambda rng, scale, size: rng.exponential(scale, size),
    laws.UNIFORM: lambda rng, scale, size: scale * rng.random(size),
    laws.DISCRETE_LAPLACE: lambda rng, scale, size: (
        rng.geometric(rate := -np.expm1(-1 / scale), size) - rng.geometric(rate, size)
    ),
    laws.DISCRETE_GAUSSIAN: lambda rng, scale, size: np.rint(rng.normal(0.0, scale, size)).astype(int),
}
"""How noise of a library is drawn in a run: by its law."""


def sampler_of(label: str, original: Callable[..., Any], read: Callable[..., Any]) -> Callable[..., Any]:
    """A sampler of a library, or a mechanism's call, watched; `read` is what the library's adapter has for it."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        session = watched()
        if session is None:
            return original(*args, **kwargs)
        with inside(session):
            drawn = read(*args, **kwargs)
        if drawn is None:
            session.unread.append(label)
            return original(*args, **kwargs)
        into, stream = drawn.get("into"), drawn.get("stream") or _stream(drawn.get("source"), label)
        if "real" in drawn:
            value = other(label, drawn["law"], lambda: drawn["real"](session.rng), stream=stream)
            return tensors().tensor_of(value, into)
        law, scale, shape = drawn["law"], drawn["scale"], drawn.get("shape")
        size = np.shape(scale) or None if shape is None else shape

        def real() -> Any:
            value = DRAWN[law](session.rng, scale, size)
            value = round(value) if drawn.get("rounds") else value
            return value if np.ndim(value) or into is not None else value.item() if hasattr(value, "item") else value

        if into is None:
            return noise(label, law, real, drawn["value"], scale, stream)
        made = tensors().tensor_of(noise(label, law, real, 0, scale, stream), into)
        return made + drawn["value"] if hasattr(drawn["value"], "shape") or drawn["value"] else made

    return function


def tensors() -> Any:
    """The module for tensors, which imports PyTorch."""
    return importlib.import_module("attacklab.replay.tensors")


def integer(rng: Any, bits: int) -> int:
    """An integer of so many random bits."""
    return int.from_bytes(rng.bytes(-(-bits // 8)), "big") >> (-bits % 8)


def watch(generator: Any, stream: Any = None) -> Any:
    """A generator of numpy's, watched; anything else as it is."""
    if type(generator) is BASE_GENERATOR:
        made: Any = WatchedGenerator(generator.bit_generator)
    elif type(generator) is BASE_STATE:
        made = WatchedState(generator._bit_generator)
    else:
        return generator
    made.stream = stream
    return made


def seeded(what: str, seed: Any) -> Any:
    """Keep what a generator is seeded with; gives what its draws share with those of another of the same seed."""
    session = watched()
    bits = getattr(seed, "seed_seq", seed)
    value = plain(getattr(bits, "entropy", bits))
    if session is None or value is None or isinstance(value, np.random.BitGenerator | BASE_GENERATOR | BASE_STATE):
        return None
    if isinstance(value, int) and bits is not seed and 1 << 96 <= value < 1 << 128:
        return None  # what the system gave
    value = tuple(np.ravel(value).tolist()) if isinstance(value, list | tuple | np.ndarray) else value
    session.seeds.append((here(), what, value))
    return (what, repr(value))


for _base, _class in ((BASE_GENERATOR, WatchedGenerator), (BASE_STATE, WatchedState)):
    for _name in (*NUMPY, *RAW, *ORDERS, *UNLIKE, "uniform", "choice"):
        if hasattr(_base, _name):
            _label = f"numpy.random.{_base.__name__}.{_name}"
            setattr(_class, _name, method_of(_name, _label, getattr(_base, _name), NUMPY))
