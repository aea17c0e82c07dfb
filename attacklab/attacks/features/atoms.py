"""Whole outputs as atoms: a key that tells any two different outputs apart, bit for bit, and 64 bits of it as a hash.

An output has the same key however it is handed on: a row of an array or that row in a list of arrays, a number in an
array or a numpy scalar among failures. Neither depends on the process, as Python's own hashes of texts do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.features.values import (
    DEEPEST,
    EXACT,
    FLOATS,
    Parts,
    is_foreign,
    kind_name,
    not_understood,
    opened,
)
from attacklab.targets import Outputs

_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
    (np.uint64(31), np.uint64(1)),
)
"""The finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""


def keys(outputs: Outputs) -> list[Hashable]:
    """One hashable an output, equal for two outputs only if they are the same bit for bit, types and order included.

    Raises:
        NotUnderstood: an output holds something that has only an identity.
    """
    if outputs.dtype != object and outputs.ndim == 1:
        return [_key_of_number(value) for value in outputs] if outputs.dtype.kind in "biufc" else _keys(outputs)
    return _keys(outputs)


def hashes(outputs: Outputs) -> NDArray[np.uint64]:
    """64 bits of the key of each output; two different outputs have one hash with probability 2^−64.

    Raises:
        NotUnderstood: an output holds something that has only an identity.
    """
    if is_foreign(outputs.dtype):
        outputs = outputs.astype(np.float32)
    if outputs.dtype.kind in "biufc":
        return _hashes_of_numbers(outputs)
    found = np.zeros(len(outputs), dtype=np.uint64)
    alike: dict[tuple[Any, ...], list[tuple[int, Any]]] = {}
    for place, output in enumerate(outputs):
        value = opened(output)
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
            alike.setdefault((value.dtype, value.shape), []).append((place, value))
        elif isinstance(value, FLOATS):
            alike.setdefault((np.dtype(type(value)), ()), []).append((place, value))
        elif type(value) is int and -(1 << 63) <= value < 1 << 63:
            alike.setdefault((np.dtype(np.int64), ()), []).append((place, value))
        else:
            text = repr(_key(value, 0)).encode("utf-8", "surrogatepass")
            found[place] = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
    for (dtype, shape), members in alike.items():
        rows = np.empty((len(members), *shape), dtype=dtype)
        for row, (_, value) in enumerate(members):
            rows[row] = value
        found[[place for place, _ in members]] = _hashes_of_numbers(rows)
    return found


def _keys(outputs: Outputs) -> list[Hashable]:
    return [_key(output, 0) for output in outputs]


def _hashes_of_numbers(values: NDArray[Any]) -> NDArray[np.uint64]:
    values = values.astype(_common(values.dtype), copy=False)
    count, shape = len(values), values.shape[1:]
    tag = f"{values.dtype.kind}{values.dtype.itemsize}{shape}"
    data = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
    data = _without_padding(values.dtype, data.reshape(count, data.size // max(count, 1)))
    padded = np.pad(data, ((0, 0), (0, -data.shape[1] % 8))) if data.shape[1] % 8 else data
    words = np.ascontiguousarray(padded).view(np.uint64).reshape(count, -1)
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


def _key_of_number(value: Any) -> Hashable:
    if value.dtype.kind in "biu":
        return value.item() if value.dtype.kind == "b" else ("int", int(value))
    return kind_name(value), _without_padding(value.dtype, np.frombuffer(value.tobytes(), np.uint8)[None]).tobytes()


def _key(value: Any, depth: int) -> Hashable:
    if depth > DEEPEST:
        raise not_understood(value)
    known = opened(value)
    deeper = depth + 1
    match known:
        case None | bool() | str() | bytes():
            return known
        case np.floating() | np.complexfloating():
            return _key_of_number(known)
        case float():
            return _key_of_number(np.float64(known))
        case complex():
            return _key_of_number(np.complex128(known))
        case int():
            return "int", known
        case list() | tuple():
            return type(known).__name__, *(_key(part, deeper) for part in known)
        case dict():
            return "dict", *((_key(name, deeper), _key(part, deeper)) for name, part in known.items())
        case frozenset():
            return "set", *sorted((_key(member, deeper) for member in known), key=repr)
        case Parts():
            return "parts", known.type, *((name, _key(part, deeper)) for name, part in known.named.items())
        case np.ndarray():
            known = known.astype(np.float32) if is_foreign(known.dtype) else known
            if known.dtype.kind in "biufc":
                dtype = _common(known.dtype)
                data = np.ascontiguousarray(known, dtype=dtype).view(np.uint8).reshape(1, -1)
                return f"array {dtype}", known.shape, _without_padding(dtype, data).tobytes()
            return "array", known.shape, *(_key(part, deeper) for part in known)
        case _ if isinstance(known, EXACT):
            return type(known).__name__, str(known)
        case _:
            raise not_understood(value)
