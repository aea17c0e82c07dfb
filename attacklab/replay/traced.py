"""Numbers and arrays that remember which draws they are made of, as long as they are added, multiplied or compared.

A draw that a run gets is one of these. Anything else that is done with it gives plain numbers, and the run keeps that
it was done. Booleans are always plain: what a comparison gives is kept by the run.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from attacklab.replay.laws import (
    AND_MORE,
    DISCRETE_LAPLACE,
    EXPONENTIAL,
    GAUSSIAN,
    GUMBEL,
    LAPLACE,
    SYMMETRIC,
    UNIFORM,
    UNKNOWN,
)
from attacklab.replay.session import BEYOND, Affine, Ids, Seen, Session

GEOMETRIC, SIGN, RAYLEIGH, WAVE = "geometric", "sign", "Rayleigh", "wave"
"""Laws that noise is made of: successes counted, a fair coin of −1 and 1, and the length and a coordinate of a point.

The point lies on a circle for a wave: it is the cosine, or the sine, of a uniform angle (Box and Muller 1958).
"""

NEARLY_NOTHING = 2.0**-20

Made = tuple[str, Any, Any, Any]
"""A law that draws make: its family and its scale, the factor of such noise, and what is added to it."""

STEPS = {"add": "+", "subtract": "-", "multiply": "*", "true_divide": "/", "divide": "/"}
COMPARISONS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
}
NUMPYS = {
    **COMPARISONS,
    **BINARY,
    "div": "true_divide",
    "divide": "true_divide",
    "neg": "negative",
    "abs": "absolute",
    "pos": "positive",
}
"""What numpy calls an operation of Python's, or of PyTorch's."""


class Traced:
    """What traced numbers and arrays have in common.

    Attributes:
        tag: which draws it is made of, and how; None where that was lost.
        session: the run that it belongs to.
    """

    tag: Affine | None
    session: Session

    def bare(self) -> Any:
        """The value without what it remembers."""
        raise NotImplementedError

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **rest: Any) -> Any:
        given = tuple(map(plain, inputs))
        targets = None if out is None else tuple(map(plain, out))
        computed = getattr(ufunc, method)(*given, **rest, **({} if targets is None else {"out": targets}))
        is_masked = isinstance(computed, np.ma.MaskedArray)
        if method != "__call__" or len(inputs) > 2 or rest.get("where", True) is not True or is_masked:
            return lost(inputs, ufunc.__name__, computed)
        result = combined(ufunc.__name__, inputs, computed)
        if targets is not None and isinstance(targets[0], np.ndarray):
            targets[0][...] = plain(result)
            if isinstance(result, Traced) and result.tag is not None:
                return wrapped(targets[0], result.tag, result.session)
            return targets[0]
        return result

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in (np.argmax, np.argmin) and isinstance(args[0], TracedArray):
            return getattr(args[0], function.__name__)(*args[1:], **kwargs)
        if function is np.searchsorted and isinstance(args[1], Traced) and args[1].tag is not None:
            found = function(*map(plain, args), **kwargs)
            session, tag = args[1].session, args[1].tag
            return session.add_seen("search", kwargs.get("side", "left"), tag.ids, (tag, plain(args[0])), found)
        if function in _MOVING and isinstance(args[0], TracedArray) and args[0].tag is not None:
            return args[0].moved(lambda numbers: function(numbers, *args[1:], **kwargs))
        computed = function(*plain_parts(args), **{name: plain_parts(value) for name, value in kwargs.items()})
        return lost(args, function.__name__, computed)


class TracedNumber(Traced):
    """What a traced float and a traced integer have in common."""

    __array_priority__ = 1e9
    kind: type

    def __new__(cls, *given: Any, tag: Affine | None = None, session: Any = None) -> Any:
        """Make one; a plain number where code makes one of the type of another."""
        if tag is None:
            return cls.kind(*given)
        made = cls.kind.__new__(cls, *given)
        made.tag, made.session = tag, session
        return made

    def bare(self) -> Any:
        """The number alone."""
        return self.kind(self)

    def __deepcopy__(self, memo: object) -> TracedNumber:
        return self

    def __copy__(self) -> TracedNumber:
        return self

    def __reduce__(self) -> Any:
        return type(_bare(self)), (_bare(self),)

    def __repr__(self) -> str:
        return repr(_bare(self))

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(_bare(self), spec)

    def __hash__(self) -> int:
        return hash(_bare(self))

    def __neg__(self) -> Any:
        return combined("negative", (self,), -_bare(self))

    def __abs__(self) -> Any:
        return combined("absolute", (self,), abs(_bare(self)))

    def __pos__(self) -> Any:
        return self

    def item(self, *_: Any) -> Any:
        """Itself, as an array's number."""
        return self


class TracedFloat(np.float64, TracedNumber):  # type: ignore[misc] # its comparisons are set below
    """A float that remembers its draw."""

    __array_priority__ = 1e9
    kind = np.float64

    def __round__(self, digits: int | None = None) -> Any:  # type: ignore[override] # of whatever type the plain one is
        return lost((self, digits), "round", round(float(self), digits))

    def __floor__(self) -> Any:
        return combined("floor", (self,), math.floor(float(self)))


class TracedInt(int, TracedNumber):
    """An integer that remembers its draw."""

    kind = int


class TracedArray(Traced, np.ndarray[Any, Any]):
    """An array whose numbers remember their draws."""

    __array_priority__ = 1e8

    def __array_finalize__(self, made_from: Any) -> None:
        self.tag = None

    def bare(self) -> Any:
        """The same numbers, in the same memory."""
        return self.view(np.ndarray)

    def __reduce__(self) -> Any:
        return plain(self).__reduce__()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def moved(self, move: Callable[[Any], Any]) -> Any:
        """What a function gives that only moves numbers."""
        numbers = move(plain(self))
        return numbers if self.tag is None else wrapped(numbers, self.tag.moved(move), self.session)

    def __setitem__(self, key: Any, value: Any) -> None:
        plain(self)[plain(key)] = plain(value)
        self.tag = None

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))

    def tolist(self) -> Any:
        """Nested lists of traced numbers."""
        if self.tag is None:
            return plain(self).tolist()
        return [part.tolist() if self.ndim > 1 else part for part in self]

    def item(self, *place: Any) -> Any:
        """One of its numbers."""
        return plain(self).item(*place) if self.tag is None or self.size != 1 else self.ravel()[0]

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """The same numbers in another type: still traced where no value changes."""
        cast = plain(self).astype(dtype, *args, **kwargs)
        if self.tag is None or not np.array_equal(cast, plain(self)):
            return cast
        return wrapped(cast, self.tag, self.session)

    @property
    def T(self) -> Any:  # noqa: N802 - so NumPy calls it
        """The transposed array, which is followed."""
        return self.transpose()

    def changed(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Call a method that changes its numbers in place."""
        getattr(plain(self), name)(*args, **kwargs)
        lost((self,), name, None)
        self.tag = None


def _moving(name: str) -> Callable[..., Any]:
    def method(self: TracedArray, *args: Any, **kwargs: Any) -> Any:
        return self.moved(operator.methodcaller(name, *map(plain, args), **kwargs))

    return method


def _selecting(name: str) -> Callable[..., Any]:
    def method(self: TracedArray, *args: Any, **kwargs: Any) -> Any:
        return selected(self, name, getattr(plain(self), name)(*args, **kwargs))

    return method


for _method in ("__getitem__", "copy", "flatten", "ravel", "repeat", "reshape", "squeeze", "swapaxes", "transpose"):
    setattr(TracedArray, _method, _moving(_method))
for _method in ("argmax", "argmin"):
    setattr(TracedArray, _method, _selecting(_method))
for _method in ("fill", "partition", "put", "sort"):
    setattr(TracedArray, _method, functools.partialmethod(TracedArray.changed, _method))

_MOVING = (np.reshape, np.ravel, np.transpose, np.squeeze, np.expand_dims, np.flip, np.roll, np.copy, np.broadcast_to)
"""What moves numbers without changing them."""


def plain(value: Any) -> Any:
    """A value without what it remembers."""
    return value.bare() if isinstance(value, Traced) else value


def wrapped(value: Any, tag: Affine, session: Session) -> Any:
    """A value that remembers its draws, unless the run hands over plain ones."""
    if session.is_plain:
        return value
    if isinstance(value, np.ndarray) and value.ndim:
        traced = value.view(TracedArray)
        traced.tag, traced.session = tag, session
        return traced
    if isinstance(value, np.ndarray):
        value = value[()]
    number: Any = TracedInt if isinstance(value, int | np.integer) else TracedFloat
    return number(value, tag=tag, session=session)


def combined(name: str, inputs: tuple[Any, ...], computed: Any) -> Any:
    """What an operation on traced values gives."""
    tagged = [one for one in inputs if isinstance(one, Traced) and one.tag is not None]
    if not tagged or Session.current is None:
        return computed
    session = tagged[0].session
    if name in COMPARISONS.values():
        operands = tuple(one.tag if isinstance(one, Traced) and one.tag is not None else plain(one) for one in inputs)
        ids = _ids_like(tagged, computed)
        return session.add_seen("compare", name, ids, operands, computed)
    tags: list[Any] = [one.tag for one in tagged]
    if any(tag.is_size for tag in tags):
        return lost(inputs, name, computed)
    if name in ("log", "sqrt", "sin", "cos", "floor"):
        return _made_of_one(name, tagged[0], computed)
    if name == "absolute":
        return wrapped(computed, Affine(tags[0].ids, (*tags[0].steps, ("abs", 0))), session)
    if len(tagged) == 2:
        return _mixed(name, tagged[0], tagged[1], computed)
    noise, tag = tagged[0], tagged[0].tag
    assert tag is not None  # noqa: S101 - for mypy
    if name in ("negative", "positive"):
        return _step(noise, tag, ("*", -1 if name == "negative" else 1), computed)
    if name in STEPS and len(inputs) == 2:
        is_left = inputs[0] is noise
        operand = plain(inputs[1] if is_left else inputs[0])
        if np.asarray(operand).dtype.kind not in "biufV" or (name in ("divide", "true_divide") and not is_left):
            return lost(inputs, name, computed)
        step = STEPS[name] if is_left or name != "subtract" else "r-"
        if step == "/" and not np.all(operand):
            return lost(inputs, name, computed)
        if step == "*" and not np.all(np.isfinite(np.asarray(operand, dtype=float))):
            return lost(inputs, name, computed)
        return _step(noise, tag, (step, np.array(operand, copy=True) if np.ndim(operand) else operand), computed)
    return lost(inputs, name, computed)


def _step(noise: Any, tag: Affine, step: tuple[str, Any], computed: Any) -> Any:
    shape = np.shape(computed)
    spread = tag if tag.ids.shape == shape else tag.moved(lambda numbers: np.broadcast_to(numbers, shape))
    affine = Affine(spread.ids, (*spread.steps, step))
    return wrapped(noise.session.add_node(affine, computed), affine, noise.session)


def _mixed(name: str, first: Any, second: Any, computed: Any) -> Any:
    """What two draws together give: noise of a law that is known, or else of one that is not."""
    session, one, other = first.session, first.tag, second.tag
    is_product = name == "multiply"
    if name not in ("add", "subtract", "multiply") or one.ids.shape != other.ids.shape or not one.ids.size:
        return lost((first, second), name, computed)
    ends = [[tag.exact(place) for place in range(tag.ids.size)] for tag in (one, other)]
    sign = -1 if name == "subtract" else 1
    if not {*one.ids.reshape(-1).tolist()}.isdisjoint(other.ids.reshape(-1).tolist()):  # a draw meets itself
        totals = [(left[0] + sign * right[0], left[1] + sign * right[1]) for left, right in zip(*ends, strict=True)]
        if is_product or not np.array_equal(one.ids, other.ids) or not all(factor for _, factor in totals):
            return lost((first, second), name, computed)
        values, factors = (_each(list(side), one) for side in zip(*totals, strict=True))
        affine = Affine(one.ids, (("*", factors), ("+", values)))
        return wrapped(session.add_node(affine, computed), affine, session)
    if is_product and any(value for side in ends for value, _ in side):
        return lost((first, second), name, computed)
    made: list[Made] = []
    parts: list[dict[int, float]] = []
    for place, (left, right) in enumerate(zip(*ends, strict=True)):
        by = abs(left[1]) if abs(left[1]) == abs(right[1]) and left[1] and not is_product else Fraction(1)
        calls = [session.owner(int(tag.ids.reshape(-1)[place])) for tag in (one, other)]
        factors = [left[1] / by, right[1] / by]
        sizes = [call.scale_at(at) * abs(factor) for (call, at), factor in zip(calls, factors, strict=True)]
        if max(*sizes, *map(abs, factors)) >= BEYOND:
            return lost((first, second), name, computed)
        scales = [float(size) for size in sizes]
        families = [call.family for call, _ in calls]
        law = _law_of_two(families, scales, is_product, factors[0] * factors[1] * sign < 0)
        parts.append(dict(zip((int(tag.ids.flat[place]) for tag in (one, other)), map(float, factors), strict=True)))
        parts[-1][int(other.ids.flat[place])] *= sign
        made.append((*(law if is_product else session.law_of_sum(parts[-1]) or law), by, left[0] + sign * right[0]))
    mixed = _synthetic(f"{name} of two draws", made, (one, other), session, computed)
    if not is_product and isinstance(mixed, Traced) and mixed.tag is not None:
        for unit, sum_ in zip(mixed.tag.ids.flat, parts, strict=True):
            session.add_sum(int(unit), sum_)
    return mixed


def _made_of_one(name: str, noise: Any, computed: Any) -> Any:
    """What a function makes of a draw: noise of a law that is known, if it is a formula by which noise is drawn."""
    session, tag = noise.session, noise.tag
    looked_at = {unit for seen in session.seen if not _is_guard(seen) for unit in seen.draws()}
    made: list[Made] = []
    for place, unit in enumerate(tag.ids.reshape(-1).tolist()):
        call, at = session.owner(unit)
        value, factor = tag.exact(place)
        law = _law_of_function(name, call.family, value, factor, call.scale_at(at))
        if law is None or unit in looked_at or law[0] != (made or [law])[0][0]:
            return lost((noise,), name, computed)
        made.append(law)
    return _synthetic(f"{name} of a draw", made, (tag,), session, computed)


def _synthetic(label: str, made: list[Made], parents: Sequence[Affine], session: Session, computed: Any) -> Any:
    """Noise that is made of draws, by what each of its numbers is: new noise times a factor, and a value added."""
    families = {law[0] for law in made}
    scales, factors, values = (_each([law[part] for law in made], parents[0]) for part in (1, 2, 3))
    kind = np.asarray(computed).dtype
    by, bare = np.asarray(factors, dtype=kind), computed - np.asarray(values, dtype=kind)
    raw = bare // by if kind.kind in "iu" else bare / by
    ids, added = session.synthetic(
        label, families.pop() if len(families) == 1 else UNKNOWN, scales, np.stack([tag.ids for tag in parents]), raw
    )
    if np.any(added):
        computed = computed + added * by
    is_product = label.startswith("multiply")
    affine = Affine(ids, () if is_product else (("*", factors), ("+", values)))
    return wrapped(session.add_node(affine, computed), affine, session)


def _is_guard(seen: Seen) -> bool:
    """Whether a draw was compared with a number that it is hardly ever below: then it has its law still."""
    numbers = [one for one in seen.operands if not isinstance(one, Affine)]
    return (
        seen.kind == "compare" and len(numbers) == 1 and bool(np.max(np.abs(numbers[0]), initial=0.0) < NEARLY_NOTHING)
    )


def _law_of_function(name: str, family: str, value: Fraction, factor: Fraction, scale: Fraction) -> Made | None:
    """The law of a function of value + factor·draw, where it has one here."""
    size = factor * scale
    if abs(size) >= BEYOND or not float(size):
        return None
    if name == "log" and family == UNIFORM and value in (0, -size):  # the logarithm of a uniform number
        return EXPONENTIAL, 1.0, -1.0, math.log(abs(size))
    turns = abs(float(size)) / (2 * math.pi)
    if name in ("sin", "cos") and family == UNIFORM and round(turns) and abs(turns - round(turns)) < 1e-9:
        return WAVE, 1.0, 1.0, 0.0
    if family != EXPONENTIAL or value or size <= 0:
        return None
    laws: dict[str, Made] = {
        "log": (GUMBEL, 1.0, -1.0, math.log(size)),
        "floor": (GEOMETRIC, float(size), 1.0, -1.0),
        "sqrt": (RAYLEIGH, 1.0, math.sqrt(size / 2), 0.0),
    }
    return laws.get(name)


def followed(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python's `math`, which follows noise."""

    @functools.wraps(original)
    def function(*numbers: Any) -> Any:
        computed = original(*numbers)
        return combined(name, numbers, computed) if isinstance(numbers[0], Traced) and len(numbers) == 1 else computed

    return function


def _each(numbers: list[Any], like: Affine) -> Any:
    """Numbers in the shape of the noise that they belong to."""
    return np.array(numbers, dtype=object).reshape(like.ids.shape) if like.ids.ndim else numbers[0]


def _law_of_two(families: list[str], scales: list[float], is_product: bool, is_opposite: bool) -> tuple[str, float]:
    one, other = families
    if is_product and {one, other} == {SIGN, EXPONENTIAL}:
        return LAPLACE, scales[families.index(EXPONENTIAL)]
    if one == other and scales[0] == scales[1] and is_opposite and one in (EXPONENTIAL, GEOMETRIC):
        return (LAPLACE if one == EXPONENTIAL else DISCRETE_LAPLACE), scales[0]
    if one == other == GAUSSIAN and not is_product:
        return GAUSSIAN, math.hypot(*scales)
    if is_product and {one, other} == {RAYLEIGH, WAVE}:
        return GAUSSIAN, scales[0] * scales[1]
    parts = [(scale, name.removesuffix(AND_MORE)) for scale, name in zip(scales, families, strict=True)]
    known = [part for part in parts if part[1] in SYMMETRIC and not is_product]
    return (max(known)[1] + AND_MORE, max(known)[0]) if known else (UNKNOWN, 0.0)


def selected(array: TracedArray, operation: str, place: Any) -> Any:
    """The place of the largest or the least of noisy numbers, which the run keeps."""
    if array.tag is None or array.session is not Session.current:
        return place
    if array.tag.is_size:
        return lost((array,), operation, place)
    session: Session = array.session
    return session.add_seen("argmax", operation, array.tag.ids, (array.tag,), place)


def lost(inputs: Any, operation: str, computed: Any) -> Any:
    """What an operation gives after which noise is not followed, which the run keeps."""
    noise: Any = next((one for one in inputs if isinstance(one, Traced) and one.tag is not None), None)
    session = Session.current
    if noise is not None and session is not None and noise.session is session:
        rest = tuple(plain(one) for one in inputs if one is not noise)
        session.add_seen("other", operation, noise.tag.ids, (noise.tag, *rest), computed)
    return computed


def _ids_like(tagged: list[Any], computed: Any) -> Ids:
    shape = np.shape(computed)
    largest = max(tagged, key=lambda one: one.tag.ids.size)
    return np.broadcast_to(largest.tag.ids, shape) if largest.tag.ids.shape != shape else largest.tag.ids


def plain_parts(value: Any) -> Any:
    """A value without what it remembers, and neither its parts in a list or a tuple."""
    if isinstance(value, list | tuple):
        return type(value)(map(plain_parts, value)) if type(value) in (list, tuple) else value
    return plain(value)


def _binary(name: str, reflected: bool, compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, int | float | np.generic | np.ndarray | Traced):
            base = float if isinstance(self, float) else int
            try:
                computed = compute(other, base(self)) if reflected else compute(base(self), other)
            except TypeError:
                return NotImplemented
            return lost((self, other), name, computed)
        bare = _bare(self), _bare(other)
        with np.errstate(all="ignore"):
            computed = compute(bare[1], bare[0]) if reflected else compute(*bare)
        return combined(name, (other, self) if reflected else (self, other), computed)

    return method


def _bare(value: Any) -> Any:
    """A traced scalar as the number of Python's that it would be."""
    return float(value) if isinstance(value, TracedFloat) else plain(value)


for _method, _name in {**BINARY, **COMPARISONS}.items():
    setattr(TracedNumber, f"__{_method}__", _binary(_name, False, getattr(operator, _method)))
    if _method in BINARY:
        setattr(TracedNumber, f"__r{_method}__", _binary(_name, True, getattr(operator, _method)))
for _class in (TracedFloat, TracedInt):  # whose first base must be the plain number's type
    for _method, _function in vars(TracedNumber).items():
        if callable(_function):
            setattr(_class, _method, _function)
