"""Whole outputs as atoms: 64 bits that tell any two different outputs apart, bit for bit, types and order included.

An output has the same hash however it is handed on: a row of an array or that row in a list of arrays, a number in an
array or a numpy scalar among failures. It does not depend on the process, as Python's own hashes of texts do.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.features.paths import followed, recalled
from attacklab.attacks.features.values import DEEPEST, PLAIN, Parts, is_foreign, not_understood, opened
from attacklab.model.targets import Outputs

_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
    (np.uint64(31), np.uint64(1)),
)
"""The finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""

NUMBERS: Final = "biuf"  # numpy's codes of the types whose bytes are their bits


def hashes(outputs: Outputs) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each output; two different outputs have the same hash with probability 2^−64.

    A list of numbers of one type has the same hash as a row of them.

    Raises:
        NotUnderstood: an output holds an object that can only be compared by identity.
    """
    return recalled(outputs, "hashes", lambda: _hashed(outputs))


def _hashed(outputs: Outputs) -> NDArray[np.uint64]:
    outputs = outputs.astype(np.float32) if is_foreign(outputs.dtype) else outputs
    table = followed(outputs, ())
    for values in (outputs, table):
        if isinstance(values, np.ndarray) and values.dtype.kind in NUMBERS:
            return _hashes_of_numbers(values)
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
    """Return a 64-bit hash of a value that is not a number or a row of numbers."""
    written = _written(value, 0).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(written, digest_size=8).digest(), "little")


def form_of_list(value: list[Any] | tuple[Any, ...]) -> np.dtype[Any] | None:
    """Return the type of the numbers in a list, float64 or int64; None if they do not all fit one of these."""
    types = set(map(type, value))
    if types and types <= {float, np.float64}:
        return np.dtype(np.float64)
    fit = types == {int} and all(-(1 << 63) <= number < 1 << 63 for number in value)
    return np.dtype(np.int64) if fit else None


def _form(value: Any) -> tuple[np.dtype[Any], tuple[int, ...]] | None:
    """Return the type and shape of a number or of a row of numbers; None for anything else."""
    if isinstance(value, float | np.floating):
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
        mixed = mixed * _ODD + column
        for shift, factor in _MIX:
            mixed = (mixed ^ (mixed >> shift)) * factor
    return mixed


def _common(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return int64 for every integer type whose values all fit it; any other type is returned as it is."""
    return np.dtype(np.int64) if dtype.kind == "i" or (dtype.kind == "u" and dtype.itemsize < 8) else dtype


def _without_padding(dtype: np.dtype[Any], data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the bytes of numbers without the padding bytes of x87 extended precision, a row for each output."""
    if dtype.kind != "f" or dtype.itemsize != 16 or np.finfo(dtype).nmant != 63:
        return data
    return data.reshape(len(data), -1, 16)[:, :, :10].reshape(len(data), -1)


def _written(value: Any, depth: int) -> str:
    """Return a text that represents a value, and no other value."""
    if depth > DEEPEST:
        raise not_understood(value)
    known = opened(value)
    if isinstance(known, Parts):
        return f"{known.type!r}{_written(known.named, depth)}"
    if isinstance(known, dict):
        return f"dict{_of_members(itertools.chain.from_iterable(known.items()), depth + 1)}"
    if isinstance(known, frozenset):
        return f"set{sorted(_written(member, depth + 1) for member in known)}"
    if isinstance(known, list | tuple):
        return f"{type(known).__name__}{_of_members(known, depth + 1)}"
    if isinstance(known, np.ndarray | float | np.floating):
        return _of_array(np.asarray(known), depth)
    if type(known) in PLAIN:
        return repr(known)
    raise not_understood(value)


def _of_members(members: Iterable[Any], depth: int) -> str:
    return f"({','.join(_written(member, depth) for member in members)})"


def _of_array(values: NDArray[Any], depth: int) -> str:
    if values.dtype.kind not in NUMBERS:
        return f"array{values.shape}{_written(values.tolist(), depth + 1)}"
    numbers = values.astype(_common(values.dtype), copy=False)
    flat = np.ascontiguousarray(numbers).reshape(1, -1).view(np.uint8)
    return f"{numbers.dtype.str}{numbers.shape}{_without_padding(numbers.dtype, flat).tobytes().hex()}"
