"""How values travel between the lab and a target in another process: as plain JSON, or as a binary frame.

Both sides use this file. The child loads it as a plain file in an interpreter that may have nothing but numpy, and may
be as old as Python 3.8: so it imports nothing of the package and uses no newer syntax. docs/protocol.md describes the
format for authors of programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BINARY_CODES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
"""numpy's codes of the numbers that a binary frame can hold, little-endian."""

WORDS = ("kind", "name")
"""The fields of a claim that hold text, and no numbers."""


def encoded(value: Any) -> Any:
    """A value as plain JSON, every float as its hex string; numpy arrays and tuples become lists.

    Raises:
        TypeError: it holds something other than numbers, booleans, None and sequences of them, or floats wider than
            binary64.
    """
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, (float, np.float32, np.float16)):
        return float(value).hex()
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.dtype.itemsize > 8:
        raise TypeError(f"values of type {value.dtype} cannot be sent")
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return encoded(value.tolist())
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype == object):
        return [encoded(item) for item in value]
    kind = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
    raise TypeError(f"values of type {kind} cannot be sent")


def decoded(value: Any) -> Any:
    """The value that `encoded` was given, tuples and arrays as lists, floats with every bit.

    Only for text that the lab itself has written: it reads decimal text and rounds it.
    """
    if isinstance(value, str):
        return float.fromhex(value)
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return value


def encoded_claim(claim: Any) -> Any:
    """A claim as plain JSON, numbers as `encoded` writes them.

    Args:
        claim: a dict, as `Claim.to_json` of the package gives it.

    Raises:
        TypeError: a value in it cannot be sent.
    """
    return {key: value if key in WORDS else encoded(value) for key, value in claim.items()}


def decoded_claim(claim: Any) -> Any:
    """The dict that `encoded_claim` was given."""
    return {key: value if key in WORDS else decoded(value) for key, value in claim.items()}


def binary_code(array: Any) -> str | None:
    """The code of an array's numbers, or None if a binary frame cannot hold them."""
    code = str(array.dtype.str[1:])
    return code if code in BINARY_CODES else None


def frame_size(code: str, count: int) -> int:
    """The length in bytes of a frame of so many numbers."""
    return count * int(code[1:])


def framed(array: Any) -> bytes:
    """The numbers of an array in a binary frame, little-endian, with every bit."""
    frame: bytes = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
    return frame


def unframed(frame: bytes | bytearray, code: str, count: int) -> Any:
    """The first numbers of a frame as an array, with every bit; it shares the frame's memory."""
    return np.frombuffer(frame, dtype="<" + code, count=count)
