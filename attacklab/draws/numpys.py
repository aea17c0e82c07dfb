"""Watched versions of numpy's generators: each method draws noise at location 0, or indices, and records the law.

A generator that outlives a run starts anew in each run, as in a new process. If its seed is a number in the code, it
starts from its first state; otherwise it starts from a fresh one.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attacklab.draws.everywhere import is_held_by_code
from attacklab.draws.laws import Law
from attacklab.draws.places import NOWHERE, Site, here
from attacklab.draws.record import Asked, Recorder, current

BASE_GENERATOR, BASE_STATE = np.random.Generator, np.random.RandomState

LARGEST_NUMBER = 1 << 64
"""A seed below this may be a number in the code. Seeds that numpy takes from the system have 128 bits."""

Call = Callable[..., Any]
Reader = Callable[..., Asked]


def is_number(seed: Any) -> bool:
    """Whether a seed is an integer small enough to be written in code."""
    return isinstance(seed, int | np.integer) and 0 <= int(seed) < LARGEST_NUMBER


def bits_of(generator: Any) -> Any:
    """Return the bit generator of a numpy generator, modern or legacy."""
    is_modern = isinstance(generator, BASE_GENERATOR)
    return BASE_GENERATOR.bit_generator.__get__(generator) if is_modern else generator._bit_generator


def seed_of(bits: Any) -> Any:
    """Return the seed of a bit generator; 0 if seeded the legacy way; None if the system chose it or it is unknown."""
    sequence = getattr(bits, "seed_seq", None)
    if sequence is None:
        return 0  # the legacy way, which takes a number
    entropy = getattr(sequence, "entropy", None)
    return entropy if is_number(entropy) else None


def digest(state: Any) -> int:
    """Return a hash of the state of a bit generator."""
    if isinstance(state, dict):
        return hash(tuple((name, digest(value)) for name, value in state.items()))
    return hash(state.tobytes() if isinstance(state, np.ndarray) else state)


class _Everywhere(type):
    """Metaclass by which `isinstance` counts numpy's own generators as instances of the watched class."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, next(base for base in cls.__mro__ if base in (BASE_GENERATOR, BASE_STATE)))


class WatchedGenerator(np.random.Generator, metaclass=_Everywhere):
    """numpy's generator, watched."""

    def __init__(self, bit_generator: Any) -> None:
        super().__init__(bit_generator)
        _note_made(self)

    @property
    def bit_generator(self) -> Any:
        """The bit generator, through which code may read or set the state from now on."""
        return _opened(self)

    def __deepcopy__(self, memo: Any) -> Any:
        return WatchedGenerator(copy.deepcopy(_opened(self)))


class WatchedState(np.random.RandomState, metaclass=_Everywhere):
    """numpy's legacy generator, watched."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(seed)
        _note_made(self)

    def __deepcopy__(self, memo: Any) -> Any:
        return WatchedState(copy.deepcopy(_opened(self)))

    def get_state(self, *args: Any, **kwargs: Any) -> Any:
        """Return the state, as numpy does."""
        _opened(self)
        return super().get_state(*args, **kwargs)

    def seed(self, seed: Any = None) -> None:
        """Seed the generator, as numpy does."""
        super().seed(seed)
        _note_set(self)

    def set_state(self, state: Any) -> None:
        """Set the state, as numpy does."""
        super().set_state(state)
        _note_set(self)


def watched_rng(original: Call) -> Call:
    """Return a version of `default_rng` that makes watched generators."""

    @functools.wraps(original)
    def default_rng(seed: Any = None) -> Any:
        if isinstance(seed, BASE_GENERATOR):
            return seed
        return WatchedGenerator(bits_of(original(seed)))

    return default_rng


def held(generator: Any, *, is_common: bool, own: Any) -> Any:
    """Return a watched generator on the bit generator of one that was made before any run.

    Args:
        generator: one of numpy's.
        is_common: whether it is the one from which the functions of `numpy.random` draw.
        own: a list of this package that refers to it; `is_held_by_code` must not count that list.
    """
    bits = bits_of(generator)
    made: Any = WatchedGenerator(bits) if isinstance(generator, BASE_GENERATOR) else WatchedState(bits)
    if not is_common and seed_of(bits) is not None:
        made._may_be_fixed = is_held_by_code(generator, own)
        made._first_state = bits.state if made._may_be_fixed else None
        made._is_known = not made._may_be_fixed
    return made


def _note_made(generator: Any) -> None:
    """Store in a new watched generator its first state and the line that made it, if a run's code fixed that state."""
    recorder, bits = current(), bits_of(generator)
    generator._first_state, generator._seeded, generator._is_known = None, NOWHERE, False
    generator._may_be_fixed = False
    if recorder is not None:
        is_shared = id(bits) in recorder.begun
        recorder.begun.add(id(bits))
        if not is_shared and (seed_of(bits) is not None or _has_moved(bits)):
            generator._first_state, generator._seeded, generator._may_be_fixed = bits.state, here(), True


def _has_moved(bits: Any) -> bool:
    """Whether a bit generator has left its seed's first state: it jumped, was used, or its state was set."""
    return digest(type(bits)(bits.seed_seq).state) != digest(bits.state)


def _note_set(generator: Any) -> None:
    """Store in a generator the line of the run that has just set its state."""
    recorder = current()
    if recorder is not None:
        recorder.begun.add(id(bits_of(generator)))
        generator._seeded, generator._may_be_fixed = here(), True


def _opened(generator: Any) -> Any:
    """Return the bit generator to code that may now copy it or set its state, and note that in the generator."""
    recorder = current()
    if recorder is not None:
        begin(generator, recorder)
        generator._may_be_fixed = True
    return bits_of(generator)


def begin(generator: Any, recorder: Recorder) -> None:
    """Before its first draw in a run, reset a generator made earlier to its first state, or to a fresh one."""
    bits = bits_of(generator)
    if id(bits) in recorder.begun:
        return
    recorder.begun.add(id(bits))
    generator._seeded = NOWHERE if generator._first_state is None else generator._seeded
    bits.state = generator._first_state or type(bits)(int(recorder.fresh.integers(1 << 62))).state
    if isinstance(generator, BASE_STATE) and isinstance(bits, np.random.MT19937):
        BASE_STATE.set_state(generator, bits.state)  # which forgets the half of a pair of Gaussian draws that is left


def _state_of(generator: Any) -> int:
    """Return a hash of the state of a generator, with the Gaussian draw that a `RandomState` may keep for later."""
    if isinstance(generator, BASE_STATE):
        return digest(BASE_STATE.get_state(generator, legacy=False))
    return digest(bits_of(generator).state)


def _watched_method(name: str, original: Call) -> Call:
    """Return a method of a generator that records what it draws."""
    reader = READERS.get(name, functools.partial(_unread, name))

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = current()
        if recorder is None:
            return original(self, *args, **kwargs)
        begin(self, recorder)
        state = _state_of(self) if recorder.tells_states else None
        call = functools.partial(original, self)
        with recorder.inside():
            asked = reader(call, *args, **kwargs)
        seeded: Site = self._seeded
        return recorder.draw(
            name, asked, state=state, may_be_fixed=self._may_be_fixed, is_known=self._is_known, seeded=seeded
        )

    return method


def moved(loc: Any, noise: Any) -> Any:
    """Return loc + noise, in the type of the noise (an array for arrays)."""
    if isinstance(noise, np.ndarray):
        return np.asarray(loc) + noise
    return type(noise)(loc + noise)


def _unread(name: str, call: Call, *args: Any, **kwargs: Any) -> Asked:
    """Describe a draw of unknown law: its parameters are the name of the method and all arguments."""
    return Asked(Law.OTHER, lambda: call(*args, **kwargs), parameters=(name, *args, *kwargs.values()))


def _around(law: Law) -> Reader:
    """Return a reader of calls that draw noise of this law around a location."""

    def read(call: Call, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Asked:
        shape = np.broadcast(loc, scale).shape or None if size is None else size
        return Asked(law, lambda: call(0.0, scale, shape), scale, then=lambda noise: moved(loc, noise))

    return read


def _standard(law: Law) -> Reader:
    """Return a reader of calls, such as `standard_normal`, that draw noise of scale 1, possibly into `out`."""

    def read(call: Call, *args: Any, out: Any = None, **kwargs: Any) -> Asked:
        if out is None:
            return Asked(law, lambda: call(*args, **kwargs))
        return Asked(law, lambda: call(np.shape(out), **kwargs), then=lambda noise: _written(out, noise))

    return read


def _written(out: Any, noise: Any) -> Any:
    out[...] = noise
    return out


def _exponential(call: Call, scale: Any = 1.0, size: Any = None) -> Asked:
    return Asked(Law.EXPONENTIAL, lambda: call(scale, size), scale)


def _geometric(call: Call, p: Any, size: Any = None) -> Asked:
    return Asked(Law.GEOMETRIC, lambda: call(p, size), _scale_of_geometric(p))


def _scale_of_geometric(p: Any) -> Any:
    return -1 / np.log1p(-np.minimum(np.asarray(p, dtype=float), 1 - 2.0**-53))


def _negative_binomial(call: Call, n: Any, p: Any, size: Any = None) -> Asked:
    if np.ndim(n) == 0 and n == 1:
        return Asked(Law.GEOMETRIC, lambda: call(n, p, size), _scale_of_geometric(p))
    return _unread("negative_binomial", call, n, p, size)


def _uniform(call: Call, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Asked:
    shape = np.broadcast(low, high).shape or None if size is None else size
    width = np.subtract(high, low)

    def then(share: Any) -> Any:
        return low + width * share if isinstance(share, np.ndarray) else float(low + width * share)

    return Asked(Law.UNIFORM, lambda: call(0.0, 1.0, shape), then=then)


def _normals(call: Call, mean: Any, cov: Any, size: Any = None, **options: Any) -> Asked:
    """Describe a Gaussian draw if the covariance matrix is diagonal; otherwise a draw of law `OTHER`."""
    variances = np.diagonal(cov)
    if not np.array_equal(np.diag(variances), cov):
        return Asked(
            Law.OTHER,
            lambda: call(np.zeros(len(variances)), cov, size, **options),
            parameters=(np.asarray(cov).tolist(),),
            then=lambda noise: moved(mean, noise),
        )
    sample = functools.partial(call, np.zeros(len(variances)), cov, size, **options)
    return Asked(Law.GAUSSIAN, sample, np.sqrt(variances), then=lambda noise: moved(mean, noise))


def _integers(call: Call, low: Any, high: Any = None, *args: Any, **kwargs: Any) -> Asked:
    bounds = tuple(map(_listed, (low, high, kwargs.get("endpoint", False))))
    least, most = (0, low) if high is None else (low, high)
    is_one = np.ndim(least) == 0 and np.ndim(most) == 0
    among = range(int(least), int(most) + bool(bounds[2])) if is_one else range(0)
    return Asked(Law.CHOICE, lambda: call(low, high, *args, **kwargs), parameters=bounds, among=among)


def _binomial(call: Call, n: Any, p: Any, size: Any = None) -> Asked:
    if not np.array_equal(n, 1):
        return _unread("binomial", call, n, p, size)
    shape = np.shape(p) or None if size is None else size
    parameters = (1.0 - float(p), float(p)) if np.ndim(p) == 0 else (_listed(p),)
    return Asked(Law.CHOICE, lambda: call(1, p, shape), parameters=parameters, among=range(2))


def _choice(
    call: Call, a: Any, size: Any = None, replace: bool = True, p: Any = None, *args: Any, **rest: Any
) -> Asked:
    is_count = isinstance(a, int | np.integer)
    count = int(a) if is_count else len(a)
    items = None if is_count else np.asarray(a)
    weights = (count,) if p is None else tuple(np.asarray(p, dtype=float).tolist())
    is_one = size is None or replace
    return Asked(
        Law.CHOICE if is_one else Law.ORDER,
        lambda: call(count, size, replace, p, *args, **rest),
        parameters=weights,
        among=range(count),
        then=lambda places: places if items is None else picked(items, places),
    )


def picked(items: Any, places: Any) -> Any:
    """Return `items[places]`. A place beyond the end, from a run with more items, becomes the last place."""
    last = len(items) - 1
    if np.ndim(places):
        return items[np.minimum(places, last)]
    return items[min(int(places), last)]


def _ordered(name: str) -> Reader:
    """Return a reader of calls that permute: the draw is an order of indices."""

    def read(call: Call, x: Any, *args: Any, **kwargs: Any) -> Asked:
        if args or kwargs or isinstance(x, dict):
            return _unread(name, call, x, *args, **kwargs)
        generator = call.args[0]  # type: ignore[attr-defined]
        count = int(x) if np.ndim(x) == 0 else len(x)
        base = BASE_GENERATOR if isinstance(generator, BASE_GENERATOR) else BASE_STATE
        return Asked(
            Law.ORDER,
            lambda: base.permutation(generator, count),
            parameters=(count,),
            then=lambda order: _in_order(name, x, order),
        )

    return read


def _in_order(name: str, x: Any, order: Any) -> Any:
    order = order[order < len(order)]
    if name != "shuffle":
        return order if np.ndim(x) == 0 else np.asarray(x)[order]
    for place, value in enumerate([copy.copy(x[at]) for at in order.tolist()]):
        x[place] = value
    return None


def _bits(call: Call, *args: Any, **kwargs: Any) -> Asked:
    return Asked(Law.BITS, lambda: call(*args, **kwargs), parameters=args)


def _listed(value: Any) -> Any:
    return np.asarray(value).tolist() if np.ndim(value) else value


READERS: Mapping[str, Reader] = {
    "laplace": _around(Law.LAPLACE),
    "normal": _around(Law.GAUSSIAN),
    "logistic": _around(Law.LOGISTIC),
    "gumbel": _around(Law.GUMBEL),
    "exponential": _exponential,
    "standard_exponential": _standard(Law.EXPONENTIAL),
    "standard_normal": _standard(Law.GAUSSIAN),
    "randn": _standard(Law.GAUSSIAN),
    **dict.fromkeys(("random", "random_sample", "ranf", "sample", "rand"), _standard(Law.UNIFORM)),
    "uniform": _uniform,
    "geometric": _geometric,
    "negative_binomial": _negative_binomial,
    "multivariate_normal": _normals,
    **dict.fromkeys(("integers", "randint", "random_integers"), _integers),
    "binomial": _binomial,
    "choice": _choice,
    "permutation": _ordered("permutation"),
    "shuffle": _ordered("shuffle"),
    "bytes": _bits,
}
"""For each method whose law is known, the function that turns its arguments into an `Asked`."""

_NO_SAMPLERS: Sequence[str] = ("bit_generator", "spawn", "seed", "get_state", "set_state")

for _base, _class in ((BASE_GENERATOR, WatchedGenerator), (BASE_STATE, WatchedState)):
    for _name in dir(_base):
        if _name[0] != "_" and _name not in _NO_SAMPLERS:
            setattr(_class, _name, _watched_method(_name, getattr(_base, _name)))
