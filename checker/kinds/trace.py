"""A stand-in for an array of any length, which writes down what elementwise code does with it and shows no value.

Use it so:

    x = Traced.unknown("x", "float64")
    y = mechanism_code(x)                      # numpy code, run as it is: y is a Traced, or a tuple of them
    own = Traced.unknown("x", "float64")       # the same name is the same unknown
    require_same(y, (own - 1.0) * (own - 1.0), "the square")   # structure, formats and the bits of all constants
    matched(y, pattern, "the square")          # the same, but unknowns named "?name" are any constants or tables
    require_unwritten(x, "the argument")       # the code did not write to what it was given
    table = Table("centres", "float64")        # stands for a table: table.take(index, mode="clip")
    y.step.operation, y.step.kind, y.step.operands             # to walk over the expression; equal steps are identical

Views alias as numpy's do: what is written through one is seen through the others. Where code must not depend on
values, it can't: truth values, lengths, iteration and functions that are not elementwise are refused.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from checker.core.certificate import Refused

_COMPARISONS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
_ANY = {"maximum", "minimum", "absolute", "negative", "add", "subtract", "multiply"}
_FLOATS = _ANY | {"divide", "rint", "floor", "ceil", "fmax", "fmin", "isnan"}
_BITS = {"bitwise_and", "bitwise_or", "bitwise_xor", "invert"}
_INTEGERS = _ANY | _BITS | {"left_shift", "right_shift", "floor_divide"}
OPERATIONS: Mapping[str, set[str]] = {
    "float64": _FLOATS | _COMPARISONS,
    "int64": _INTEGERS | _COMPARISONS,
    "uint64": _INTEGERS - {"negative", "absolute"} | _COMPARISONS,
    "bool": _BITS,
}
"""The operations of numpy that are known here, by the format of their operands; see `checker.kinds.numpy_probe`."""

_KINDS = {"float": "float64", "int": "int64", "bool": "bool", "bool_": "bool"} | {kind: kind for kind in OPERATIONS}


@dataclass(frozen=True, eq=False)
class Step:
    """An operation and what it is applied to; made by `step_of`, so that equal ones are one object.

    Args:
        operation: numpy's name of it, or one of "unknown", "constant", "astype", "view", "where", "clip", "take",
            "table", "flatnonzero", "sum", "searchsorted", "gather" (an array at given places), "scatter" (an array
            with others at given places), "compress" (an array where a condition holds).
        kind: the format of the result.
        operands: steps; a name, for what is unknown; text of a number, for a constant.
    """

    operation: str
    kind: str
    operands: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"{self.operation}:{self.kind}({', '.join(map(str, self.operands))})"


_KNOWN: dict[tuple[Any, ...], Step] = {}


def step_of(operation: str, kind: str, *operands: Any) -> Step:
    """Return the one step of that operation on these operands."""
    return _KNOWN.setdefault((operation, kind, *operands), Step(operation, kind, operands))


def kind_of(dtype: Any) -> str:
    """Return the name of a format that is known here."""
    name = getattr(dtype, "__name__", None) or getattr(dtype, "name", None) or dtype
    if name not in _KINDS:
        raise Refused(f"a number of format {name!r} is not known to the checker")
    return _KINDS[name]


def constant(value: Any, kind: str) -> Step:
    """Return the step of a number, by its exact bits.

    Raises:
        Refused: the format has no such number.
    """
    if kind == "float64" and type(value) in (int, float) and (type(value) is float or int(float(value)) == value):
        return step_of("constant", kind, float(value).hex())
    low, high = {"int64": (-(1 << 63), 1 << 63), "uint64": (0, 1 << 64), "bool": (0, 2)}.get(kind, (0, 0))
    if type(value) is (bool if kind == "bool" else int) and low <= value < high:
        return step_of("constant", kind, str(int(value)))
    raise Refused(f"{value!r} is not a number of format {kind}")


class _Buffer:
    """What views share: the step that was written last, in its own format."""

    def __init__(self, step: Step) -> None:
        self.step = step


def _binary(name: str) -> Any:
    return lambda self, other: Traced.of(_applied(name, (self, other)))


def _unary(name: str) -> Any:
    return lambda self: Traced.of(_applied(name, (self,)))


def _operators(name: str) -> Any:
    """Return an operator as it is, reflected, and in place."""

    def in_place(self: Traced, other: Any) -> Traced:
        self._write(_applied(name, (self, other)))
        return self

    return _binary(name), lambda self, other: Traced.of(_applied(name, (other, self))), in_place


class Traced:
    """An array of which nothing but its format is known; operations on it are written down as steps."""

    __hash__ = None  # type: ignore[assignment] # a look-up would be a look
    __add__, __radd__, __iadd__ = _operators("add")
    __sub__, __rsub__, __isub__ = _operators("subtract")
    __mul__, __rmul__, __imul__ = _operators("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _operators("divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _operators("floor_divide")
    __and__, __rand__, __iand__ = _operators("bitwise_and")
    __or__, __ror__, __ior__ = _operators("bitwise_or")
    __xor__, __rxor__, __ixor__ = _operators("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _operators("left_shift")
    __rshift__, __rrshift__, __irshift__ = _operators("right_shift")
    __lt__, __le__, __gt__, __ge__ = map(_binary, ("less", "less_equal", "greater", "greater_equal"))
    __eq__, __ne__ = map(_binary, ("equal", "not_equal"))
    __neg__, __abs__, __invert__ = map(_unary, ("negative", "absolute", "invert"))

    def __init__(self, buffer: _Buffer, kind: str) -> None:
        self._buffer, self.kind = buffer, kind

    @classmethod
    def unknown(cls, name: str, kind: str) -> Traced:
        """Return an array of any values, which the name tells from others."""
        return cls.of(step_of("unknown", kind, name))

    @classmethod
    def of(cls, step: Step) -> Traced:
        """Return a new array that holds the result of a step."""
        return cls(_Buffer(step), step.kind)

    @property
    def step(self) -> Step:
        """What the array holds now."""
        return _viewed(self._buffer.step, self.kind)

    def view(self, dtype: Any) -> Traced:
        """Return the same bits as another format of 64 bits."""
        kind = kind_of(dtype)
        if kind != self.kind and "bool" in (kind, self.kind):
            raise Refused("a bool is not as wide as other numbers")
        return Traced(self._buffer, kind)

    def astype(self, dtype: Any, copy: bool = True) -> Traced:
        """Convert each element."""
        kind = kind_of(dtype)
        if kind == self.kind:
            return Traced.of(self.step) if copy else self
        return Traced.of(step_of("astype", kind, self.step))

    def copy(self) -> Traced:
        """Return a copy, which shares nothing."""
        return Traced.of(self.step)

    def sum(self) -> Traced:
        """Add up the elements of an array of integers."""
        if self.kind != "int64":
            raise Refused(f"numbers of format {self.kind} are added up in an order that is not known")
        return Traced.of(step_of("sum", self.kind, self.step))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Traced) and key.kind in ("int64", "bool"):
            operation = "gather" if key.kind == "int64" else "compress"
            return Traced.of(step_of(operation, self.kind, self.step, key.step))
        if type(key) is int and _READERS:
            return _READERS[-1](self.step, key)
        if not isinstance(key, slice) or key != slice(None):
            raise Refused("a part of an array is asked for")
        return self

    def tolist(self) -> Any:
        """Return what `reading` gives for the elements of an array."""
        if not _READERS:
            raise Refused("the elements of an array are looked at")
        return _READERS[-1](self.step, None)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, Traced) and key.kind == "int64":
            self._write(step_of("scatter", self.kind, self.step, key.step, _operand(value, self.kind)))
        elif isinstance(key, Traced):
            self._write(_where(key, value, self))
        elif isinstance(key, slice) and key == slice(None):
            self._write(_operand(value, self.kind))
        else:
            raise Refused("a part of an array is written to")

    def _write(self, step: Step) -> None:
        if step.kind != self.kind:
            raise Refused(f"numbers of format {step.kind} are written to an array of {self.kind}")
        self._buffer.step = step

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: Any = None, where: Any = True, **others: Any
    ) -> Traced:
        if method != "__call__" or others:
            raise Refused(f"numpy's {ufunc.__name__} is called as {method} with {sorted(others)}")
        step = _applied(ufunc.__name__, inputs)
        if out is None and where is not True:
            raise Refused("where elements are left out, an output must be given")
        target = Traced.of(step) if out is None else out[0]
        if type(target) is not Traced:
            raise Refused("what comes of unknown values is written to a plain array")
        target._write(step if where is True else _where(where, Traced.of(step), target))
        return target

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Mapping[str, Any]) -> Traced:
        name, out = function.__name__, options.get("out")
        if name == "take":
            return _taken(*arguments, **options)
        if name == "empty_like":
            return Traced.of(step_of("unknown", kind_of(options.get("dtype", arguments[0].kind)), "unwritten"))
        if name == "searchsorted":
            return _searched(*arguments, **options)
        if name not in ("clip", "where", "flatnonzero") or set(options) - {"out"}:
            raise Refused(f"numpy's {name} is not one of the operations that are known here")
        if name == "flatnonzero":
            step = step_of(name, "int64", _operand(arguments[0], "bool"))
        elif name == "where":
            step = _where(*arguments)
        else:
            step = _applied(name, arguments)
        if out is None:
            return Traced.of(step)
        if type(out) is not Traced:
            raise Refused("what comes of unknown values is written to a plain array")
        out._write(step)
        return out

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise Refused("an array of unknown values is turned into a plain one")

    def _refuse(self, *_: Any) -> Any:
        raise Refused("a value or the length of an array is looked at")

    __bool__ = __len__ = __int__ = __index__ = __float__ = __contains__ = _refuse

    def __iter__(self) -> Iterator[Any]:
        raise Refused("the elements of an array are looked at")


_READERS: list[Callable[[Step, int | None], Any]] = []


@contextmanager
def reading(reader: Callable[[Step, int | None], Any]) -> Iterator[None]:
    """While it is active, `reader(step, i)` gives the i-th element of an array, and `reader(step, None)` the list."""
    _READERS.append(reader)
    try:
        yield
    finally:
        _READERS.pop()


def _table(values: Any) -> Step:
    """Return the step of a public array of one dimension: its format and its bytes."""
    if isinstance(values, Traced) or values.ndim != 1:
        raise Refused("what is looked up is not a public table")
    return step_of("table", kind_of(values.dtype), values.tobytes())


def _taken(public: Any, index: Any, *, out: Any, mode: str) -> Traced:
    if mode != "clip" or not isinstance(out, Traced):
        raise Refused(f"a table is looked up with mode {mode!r}, or into a plain array")
    out._write(look_up(_table(public), index).step)
    return out


def _searched(public: Any, values: Any, *, side: str = "left") -> Traced:
    return searchsorted(_table(public), values, side)


def look_up(table: Step, index: Traced) -> Traced:
    """Look up an entry for each index; one beyond the table takes the nearest end."""
    return Traced.of(step_of("take", table.kind, table, _operand(index, "int64")))


def searchsorted(table: Step, values: Traced, side: str) -> Traced:
    """Count the entries of a sorted table below each value (side "left"), or at most it (side "right")."""
    return Traced.of(step_of("searchsorted", "int64", table, _operand(values, table.kind), side))


def flatnonzero(condition: Traced) -> Traced:
    """Return the places where a condition holds."""
    return Traced.of(step_of("flatnonzero", "int64", _operand(condition, "bool")))


def isnan(values: Traced) -> Traced:
    """Say where there is no number."""
    return Traced.of(_applied("isnan", (values,)))


def entries(table: Step) -> list[Any]:
    """Return the entries of a table.

    Raises:
        Refused: it is not a table of floats or of integers.
    """
    if table.operation != "table" or table.kind not in ("float64", "int64"):
        raise Refused(f"{table!r:.80} is not a public table of numbers")
    return array("d" if table.kind == "float64" else "q", table.operands[0]).tolist()


def _viewed(step: Step, kind: str) -> Step:
    if step.operation == "view":
        step = step.operands[0]
    return step if step.kind == kind else step_of("view", kind, step)


def _common(values: Any) -> str:
    """Return the format that numpy computes in: that of the arrays and numpy scalars; Python's numbers adapt."""
    kinds = {one.kind if isinstance(one, Traced) else kind_of(type(one)) for one in values if not _adapts(one)}
    if kinds == {"int64"} and any(type(one) is float for one in values):
        return "float64"
    if kinds == {"int64", "float64"}:
        return "float64"
    if len(kinds) != 1:
        raise Refused(f"numbers of formats {sorted(kinds)} are mixed")
    return kinds.pop()


def _adapts(value: Any) -> bool:
    return type(value) in (int, float)


def _operand(value: Any, kind: str) -> Step:
    """Return a value as a step in a format, converted from integers if numpy would."""
    if isinstance(value, Traced):
        if value.kind != kind and (value.kind, kind) != ("int64", "float64"):
            raise Refused(f"numbers of format {value.kind} stand where {kind} is expected")
        return value.astype(kind).step
    if not _adapts(value) and type(value) is not bool:
        if kind_of(type(value)) != kind:
            raise Refused(f"a number of format {kind_of(type(value))} stands where {kind} is expected")
        value = value.item()
    return constant(value, kind)


def _where(condition: Any, *choices: Any) -> Step:
    kind = _common(choices)
    return step_of("where", kind, _operand(condition, "bool"), *(_operand(one, kind) for one in choices))


def _applied(name: str, inputs: Any) -> Step:
    kind = _common(inputs)
    if name == "divide":
        kind = "float64"
    if name not in OPERATIONS[kind] | {"clip"}:
        raise Refused(f"numpy's {name} of numbers of format {kind} is not one of the operations that are known here")
    result = "bool" if name in _COMPARISONS or name == "isnan" else kind
    return step_of(name, result, *(_operand(one, kind) for one in inputs))


def apply(name: str, *inputs: Any) -> Traced:
    """Return what numpy's operation of that name makes of arrays and numbers."""
    return Traced.of(_applied(name, inputs))


def where(condition: Traced, one: Any, other: Any) -> Traced:
    """Return what numpy's `where` makes of them."""
    return Traced.of(_where(condition, one, other))


def number(value: float, kind: str) -> Traced:
    """Return a number of a format, as numpy's own scalars are."""
    return Traced.of(constant(value, kind))


@dataclass(frozen=True)
class Table:
    """Stands for a public table that code looks up by an unknown index.

    Args:
        name: which table.
        kind: the format of its entries.
    """

    name: str
    kind: str

    def take(self, index: Traced, *, mode: str) -> Traced:
        """Look up an entry for each index; mode "clip" takes the nearest end for one beyond the table."""
        if mode != "clip":
            raise Refused(f"a table is looked up with mode {mode!r}")
        return Traced.of(step_of("take", self.kind, step_of("table", self.kind, self.name), _operand(index, "int64")))


def require_same(found: Any, expected: Any, what: str) -> None:
    """Check that code computed an expected expression, or a tuple of expressions.

    Raises:
        Refused: it did not.
    """
    if isinstance(expected, tuple):
        if not isinstance(found, tuple) or len(found) != len(expected):
            raise Refused(f"{what} is not a tuple of {len(expected)}")
        for one, other in zip(found, expected, strict=True):
            require_same(one, other, what)
        return
    if not isinstance(found, Traced):
        raise Refused(f"{what} is a {type(found).__name__}, which does not depend on the array")
    if found.step is not expected.step:
        raise Refused(f"{what} is computed as {_difference(found.step, expected.step)}")


def matched(found: Any, pattern: Any, what: str) -> dict[str, Any]:
    """Check that code computed an expression but for the constants and tables that the pattern names; return those.

    Args:
        found: what the code returned, a Traced or a tuple of them.
        pattern: the same with `Traced.unknown("?name", kind)` in the place of a constant or a table.
        what: what is computed, for the message.

    Returns:
        The constants by name, floats and integers, and the entries of tables.

    Raises:
        Refused: another expression was computed, or a name stands for two different constants or tables.
    """
    bound: dict[str, Step] = {}
    done: set[tuple[Step, Step]] = set()
    ones, others = (value if isinstance(value, tuple) else (value,) for value in (found, pattern))
    if len(ones) != len(others) or not all(isinstance(one, Traced) for one in ones):
        raise Refused(f"{what} is not an array of unknown values, or not as many of them as there should be")
    waiting = [(one.step, other.step) for one, other in zip(ones, others, strict=True)]
    while waiting:
        one, other = waiting.pop()
        if one is other or (one, other) in done:
            continue
        done.add((one, other))
        name = other.operands[0] if other.operation == "unknown" else ""
        if name.startswith("?") and one.operation in ("constant", "table") and one.kind == other.kind:
            if bound.setdefault(name, one) is not one:
                raise Refused(f"{what} has different constants for {name}")
        elif (one.operation, one.kind, len(one.operands)) == (other.operation, other.kind, len(other.operands)) and all(
            isinstance(each, Step) for each in (*one.operands, *other.operands)
        ):
            waiting.extend(zip(one.operands, other.operands, strict=True))
        else:
            raise Refused(f"{what} is computed as {one!r:.200}, not {other!r:.200}")
    return {name[1:]: value_of(step) for name, step in bound.items()}


def value_of(step: Step) -> Any:
    """Return the number of a constant, or the entries of a table."""
    if step.operation == "table":
        return entries(step)
    text = step.operands[0]
    return float.fromhex(text) if step.kind == "float64" else int(text)


def require_unwritten(array: Traced, what: str) -> None:
    """Check that code left an unknown array as it was."""
    if array.step.operation != "unknown":
        raise Refused(f"{what} is written to")


def _difference(found: Step, expected: Step) -> str:
    """Describe where two expressions part."""
    while (found.operation, found.kind, len(found.operands)) == (
        expected.operation,
        expected.kind,
        len(expected.operands),
    ):
        pairs = [pair for pair in zip(found.operands, expected.operands, strict=True) if pair[0] is not pair[1]]
        if not all(isinstance(one, Step) for one in pairs[0]):
            break
        found, expected = pairs[0]
    return f"{found!r:.200}, not {expected!r:.200}"
