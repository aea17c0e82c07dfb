"""Whole outputs as atoms: a key that tells any two different outputs apart, bit for bit, and 64 bits of it as a hash.

An output has the same key however it is handed on: a row of an array or that row in a list of arrays, a number in an
array or a numpy scalar among failures. Neither depends on the process, as Python's own hashes of texts do.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Hashable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.features.paths import followed
from attacklab.attacks.features.recent import recalled
from attacklab.attacks.features.values import DEEPEST, EXACT, Parts, is_foreign, not_understood, opened
from attacklab.model.targets import Outputs

_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
    (np.uint64(31), np.uint64(1)),
)
"""The finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""

NUMBERS: Final = "biufc"  # numpy's codes of the types whose bytes are their bits

DOUBLES: Final = {float, np.float64}


def keys(outputs: Outputs) -> list[Hashable]:
    """One hashable an output, equal for two outputs only if they are the same bit for bit, types and order included.

    Raises:
        NotUnderstood: an output holds something that has only an identity.
    """
    return [_written(output, 0) for output in outputs]


def hashes(outputs: Outputs) -> NDArray[np.uint64]:
    """64 bits for each output; two different ones have the same with probability 2^−64.

    Here a list of numbers of one type is the same as a row of them.

    Raises:
        NotUnderstood: an output holds something that has only an identity.
    """
    return recalled(outputs, "hashes", lambda: _hashed(outputs))


def _hashed(outputs: Outputs) -> NDArray[np.uint64]:
    outputs = outputs.astype(np.float32) if is_foreign(outputs.dtype) else outputs
    table = followed(outputs, ())
    if outputs.dtype.kind in NUMBERS:
        return _hashes_of_numbers(outputs)
    if isinstance(table, np.ndarray) and table.dtype.kind in NUMBERS:
        return _hashes_of_numbers(table)
    hashed = np.zeros(len(outputs), dtype=np.uint64)
    alike: dict[tuple[np.dtype[Any], tuple[int, ...]], list[tuple[int, Any]]] = {}
    for place, value in enumerate(table):
        form = _form(value)
        if form is None:
            hashed[place] = hash_of(value)
        else:
            alike.setdefault(form, []).append((place, value))
    for (dtype, _), members in alike.items():
        rows = np.array([value for _, value in members], dtype=dtype)
        hashed[[place for place, _ in members]] = _hashes_of_numbers(rows)
    return hashed


def hash_of(value: Any) -> int:
    """64 bits of the key of a value that is not a number or a row of numbers."""
    return int.from_bytes(hashlib.blake2b(_written(value, 0), digest_size=8).digest(), "little")


def form_of_list(value: list[Any] | tuple[Any, ...]) -> np.dtype[Any] | None:
    """The type of the numbers in a list, if all have one type that numpy has too."""
    types = set(map(type, value))
    if types and types <= DOUBLES:
        return np.dtype(np.float64)
    fit = types == {int} and all(-(1 << 63) <= number < 1 << 63 for number in value)
    return np.dtype(np.int64) if fit else None


def _form(value: Any) -> tuple[np.dtype[Any], tuple[int, ...]] | None:
    """The type and shape of a number or of a row of numbers; None for anything else."""
    if isinstance(value, float | complex | np.floating | np.complexfloating):
        return np.dtype(type(value)), ()
    if type(value) is int:
        return (np.dtype(np.int64), ()) if -(1 << 63) <= value < 1 << 63 else None
    if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS:
        return value.dtype, value.shape
    if isinstance(value, list | tuple):
        dtype = form_of_list(value)
        return None if dtype is None else (dtype, (len(value),))
    return None


def _hashes_of_numbers(values: NDArray[Any]) -> NDArray[np.uint64]:
    numbers: NDArray[Any] = values.astype(_common(values.dtype), copy=False)
    count, *shape = numbers.shape
    tag = f"{numbers.dtype.kind}{numbers.dtype.itemsize}{shape}"
    flat = np.ascontiguousarray(numbers).reshape(-1).view(np.uint8)
    data = _without_padding(numbers.dtype, flat.reshape(count, flat.size // max(count, 1)))
    padded = np.pad(data, ((0, 0), (0, -data.shape[1] % 8))) if data.shape[1] % 8 else data
    words = np.ascontiguousarray(padded).view(np.uint64).reshape(count, padded.shape[1] // 8)
    start = int.from_bytes(hashlib.blake2b(tag.encode(), digest_size=8).digest(), "little")
    mixed = np.full(count, start, dtype=np.uint64)
    for column in words.T:
        mixed = _mixed(mixed * _ODD + column)
    return mixed


def _common(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type itself, but one for integers of all widths."""
    return np.dtype(np.int64) if dtype.kind == "i" or (dtype.kind == "u" and dtype.itemsize < 8) else dtype


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for shift, factor in _MIX:
        words = (words ^ (words >> shift)) * factor
    return words


def _without_padding(dtype: np.dtype[Any], data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bytes of numbers without those of x87 extended precision that hold nothing."""
    width = dtype.itemsize if dtype.kind == "f" else dtype.itemsize // 2
    if dtype.kind not in "fc" or width != 16 or np.finfo(dtype).nmant != 63:
        return data
    return data.reshape(len(data), -1, 16)[:, :, :10].reshape(len(data), -1)


def _written(value: Any, depth: int) -> bytes:
    """A value in bytes of which none begins like another's: a letter for the type, a length, and what it holds."""
    if depth > DEEPEST:
        raise not_understood(value)
    known = opened(value)
    write = _WRITE.get(type(known))
    if write is not None:
        return write(known, depth + 1)
    if isinstance(known, np.floating | np.complexfloating):
        return _of_array(np.asarray(known))
    raise not_understood(value)


def _of_text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return b"s%d:%b" % (len(data), data)


def _of_parts(letter: bytes, parts: Any, depth: int) -> bytes:
    written = [_written(part, depth) for part in parts]
    return b"%b%d:%b" % (letter, len(written), b"".join(written))


def _of_pairs(letter: bytes, pairs: dict[Any, Any], depth: int) -> bytes:
    return _of_parts(letter, [part for pair in pairs.items() for part in pair], depth)


def _of_array(values: NDArray[Any]) -> bytes:
    values = values.astype(np.float32) if is_foreign(values.dtype) else values
    if values.dtype.kind not in NUMBERS:
        return _of_parts(b"a", values, 1)
    dtype = _common(values.dtype)
    if values.ndim == 0 and dtype == np.float64:
        return b"f%b" % values.tobytes()
    data = np.ascontiguousarray(values, dtype=dtype).reshape(-1).view(np.uint8)
    tag = f"{dtype.kind}{dtype.itemsize}{values.shape}"
    return b"n%b:%b" % (tag.encode(), _without_padding(dtype, data.reshape(1, -1)).tobytes())


def _of_set(members: frozenset[Any], depth: int) -> bytes:
    written = sorted(_written(member, depth) for member in members)
    return b"S%d:%b" % (len(written), b"".join(written))


_WRITE: Final[dict[type, Callable[[Any, int], bytes]]] = {
    type(None): lambda _, __: b"N",
    bool: lambda value, _: b"b1" if value else b"b0",
    int: lambda value, _: b"i%d;" % value,
    float: lambda value, _: b"f%b" % struct.pack("=d", value),
    np.float64: lambda value, _: b"f%b" % value.tobytes(),
    complex: lambda value, _: b"c%b" % struct.pack("=dd", value.real, value.imag),
    str: lambda value, _: _of_text(value),
    bytes: lambda value, _: b"y%d:%b" % (len(value), value),
    list: lambda value, depth: _of_parts(b"l", value, depth),
    tuple: lambda value, depth: _of_parts(b"t", value, depth),
    dict: lambda value, depth: _of_pairs(b"d", value, depth),
    frozenset: _of_set,
    Parts: lambda value, depth: _of_text(value.type) + _of_pairs(b"p", value.named, depth),
    np.ndarray: lambda value, _: _of_array(value),
    **{exact: lambda value, _: b"e" + _of_text(repr(value)) for exact in EXACT},
}
