"""What numpy's operations mean, in Python's own numbers, and a probe that arrays follow it.

A correctly rounded operation has one result, so that it does not matter which of numpy's loops computes it (for SSE,
AVX2, AVX-512 or NEON, for short arrays or the ends of long ones) as long as each loop does correctly rounded
operations, one at a time. The probe runs every operation at many lengths, alignments and strides, in place and not, and
multiplications before additions where contracting them to one rounding would show.
"""

from __future__ import annotations

import importlib
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import islice, product
from typing import Any

from checker.core.certificate import Refused
from checker.kinds.trace import OPERATIONS


def _rint(x: float) -> float:
    return math.copysign(float(round(x)), x) if math.isfinite(x) else x


def _rounded(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: math.copysign(float(function(x)), x) if math.isfinite(x) else x


def _divide(x: float, y: float) -> float:
    if y:
        return x / y
    if math.isnan(x) or not x:
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


def _keep_nan(choice: Callable[[float, float], float]) -> Callable[[Any, Any], Any]:
    return lambda x, y: x if x != x else y if y != y else choice(x, y)


def _drop_nan(choice: Callable[[float, float], float]) -> Callable[[Any, Any], Any]:
    return lambda x, y: y if x != x else x if y != y else choice(x, y)


_MEANINGS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _divide,
    "floor_divide": lambda x, y: x // y if y else 0,
    "negative": operator.neg,
    "absolute": abs,
    "rint": _rint,
    "floor": _rounded(math.floor),
    "ceil": _rounded(math.ceil),
    "maximum": _keep_nan(max),
    "minimum": _keep_nan(min),
    "fmax": _drop_nan(max),
    "fmin": _drop_nan(min),
    "isnan": math.isnan,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "left_shift": lambda x, y: x << y if y < 64 else 0,
    "right_shift": lambda x, y: x >> y,
}


def in_format(value: Any, kind: str) -> Any:
    """Wrap an integer around, as fixed formats do; floats and truth values are themselves."""
    if kind == "int64":
        return (value + (1 << 63)) % (1 << 64) - (1 << 63)
    return value % (1 << 64) if kind == "uint64" else value


def meaning(operation: str, kind: str, values: tuple[Any, ...]) -> Any:
    """Apply one of numpy's operations to numbers of a format."""
    if operation == "invert":
        return not values[0] if kind == "bool" else in_format(~values[0], kind)
    result = _MEANINGS[operation](*values)
    return result if type(result) is bool else in_format(result, kind)


_FLOATS = (
    0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1.0, -1.0, 3.0, 1 + 2.0**-52, 1 - 2.0**-53, 1 / 3, -1e-300, 1e300, 2.0**-1022,
    2.0**-1074, -(2.0**-1060), 2.0**52 + 0.5, 2.0**52 + 1, -(2.0**53) - 2, 2.0**62, 0.49999999999999994, 2.0**-63, 1e17,
    math.pi, 1.7976931348623157e308, math.inf, -math.inf, math.nan,
)  # fmt: skip
_NUMBERS: Mapping[str, tuple[Any, ...]] = {
    "float64": _FLOATS,
    "int64": (0, 1, -1, 2, 5, -7, 52, 63, 2**31, -(2**53) - 1, 2**62 + 3, 2**63 - 1, -(2**63), 0x3FE6A09E667F3BCD),
    "uint64": (0, 1, 2, 5, 52, 63, 2**31, 2**53 + 1, 2**62 + 3, 2**63 - 1, 2**63, 2**64 - 1),
    "bool": (False, True),
}
_OF_EITHER_SIGN = {"maximum", "minimum", "fmax", "fmin"}
"""Operations that may return either of two zeros."""

_UNARY = {"negative", "absolute", "rint", "floor", "ceil", "isnan", "invert"}
_SHIFTS = {"left_shift", "right_shift"}


@lru_cache(maxsize=1)
def require_numpy() -> int:
    """Check that numpy's elementwise operations mean on arrays what they mean here.

    Returns:
        How many results were compared.

    Raises:
        Refused: one differs.
    """
    numpy = importlib.import_module("numpy")
    compared = 0
    with numpy.errstate(all="ignore"):
        for kind, names in OPERATIONS.items():
            for name in sorted(names):
                compared += _require_operation(numpy, name, kind)
        compared += _require_conversions(numpy) + _require_separate_roundings(numpy)
    return compared


def _require_operation(numpy: Any, name: str, kind: str) -> int:
    count = 1 if name in _UNARY else 2
    values = _NUMBERS[kind]
    operands = [one for one in product(values, repeat=count) if name not in _SHIFTS or 0 <= one[1] < 64]
    operands = [one for one in operands if name != "floor_divide" or one[1] > 0]
    expected = [meaning(name, kind, one) for one in operands]
    function = getattr(numpy, name)
    columns = [numpy.array(column, dtype=kind) for column in zip(*operands, strict=True)]
    for one in _layouts(numpy, columns):
        _require_equal(name, function(*one).tolist(), expected)
    in_place = columns[0].copy()
    if not isinstance(expected[0], bool) or kind == "bool":
        _require_equal(name, function(in_place, *columns[1:], out=in_place).tolist(), expected)
    for length in range(1, 40):
        _require_equal(name, function(*(column[:length] for column in columns)).tolist(), expected[:length])
    if count == 2:
        for second in values:  # an array and a number have loops of their own
            chosen = [i for i, one in enumerate(operands) if one[1] is second]
            if chosen:
                found = function(columns[0][chosen], columns[1][chosen[0]])
                _require_equal(name, found.tolist(), [expected[i] for i in chosen])
    return len(expected) * 6


def _layouts(numpy: Any, columns: list[Any]) -> Any:
    """Yield columns at several alignments and strides."""
    yield columns
    for shift, stride in ((1, 1), (3, 1), (0, 2), (1, 3)):
        moved = []
        for column in columns:
            room = numpy.zeros(len(column) * stride + shift, dtype=column.dtype)
            place = room[shift::stride][: len(column)]
            place[:] = column
            moved.append(place)
        yield moved


def _require_conversions(numpy: Any) -> int:
    integers = [value + near for value in _NUMBERS["int64"] for near in (0, 1, -1) if abs(value + near) < 2**63]
    floats = [value for value in _FLOATS if abs(value) < 2.0**63]
    _require_equal("astype", numpy.array(integers).astype(float).tolist(), [float(value) for value in integers])
    _require_equal("astype", numpy.array(floats).astype(numpy.int64).tolist(), [int(value) for value in floats])
    truths = [value > 0 for value in integers]
    for kind in (float, numpy.uint64):
        _require_equal("astype", numpy.array(truths).astype(kind).tolist(), [int(value) for value in truths])
    compared = 4 * len(integers) + len(floats)
    for kind, numbers, ends in (("int64", integers, (2**53,)), ("float64", _FLOATS * 9, (2.0, 2.0**53, 2.0**54))):
        for end in ends:
            clipped = [x if x != x else min(max(x, -end), end) for x in numbers]  # NaN stays
            for array in _layouts(numpy, [numpy.array(numbers, dtype=kind)]):
                in_place = array[0].copy()
                for length in (*range(1, 20), len(numbers)):
                    _require_equal("clip", numpy.clip(array[0][:length], -end, end).tolist(), clipped[:length])
                _require_equal("clip", numpy.clip(in_place, -end, end, out=in_place).tolist(), clipped)
                compared += len(clipped)
    return compared


def _require_separate_roundings(numpy: Any) -> int:
    """Compare a product and a sum after it with two roundings: with one they would differ for every pair here."""
    state, pairs = 1, list[tuple[float, float, float]]()
    while len(pairs) < 3000:
        state = state * 6364136223846793005 % 2**64
        x, y = 1 + (state >> 12) * 2.0**-52, 1 + (state >> 7) % 2**52 * 2.0**-52
        pairs.append((x, y, -(x * y)))
    x, y, z = (numpy.array(column) for column in zip(*pairs, strict=True))
    product_ = x * y
    product_ += z
    _require_equal("multiply, add", product_.tolist(), [0.0] * len(pairs))
    _require_equal("multiply, add", (x * y + z).tolist(), [0.0] * len(pairs))
    return 2 * len(pairs)


def _require_equal(name: str, found: list[Any], expected: list[Any]) -> None:
    if len(found) != len(expected):
        raise Refused(f"numpy's {name} returns {len(found)} numbers for {len(expected)}")
    for one, other in islice(zip(found, expected, strict=True), len(found)):
        same = one == other or (one != one and other != other)
        signed = name not in _OF_EITHER_SIGN and one == 0 and math.copysign(1.0, one) != math.copysign(1.0, other)
        if not same or signed:
            raise Refused(f"numpy's {name} returns {one!r} where {other!r} is the result")
