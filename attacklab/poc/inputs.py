"""Inputs as Python source, every bit of their numbers kept."""

from __future__ import annotations

import itertools
import math
import textwrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH = 100
LONG_RUN = 4
"""So many equal numbers in a row are written as one and how often it comes."""


def as_source(value: Any) -> str:
    """An expression for an input, which may use `np` and `float.fromhex`; floats are in hexadecimal.

    Args:
        value: a number, an array of numbers or texts, or a value that Python's literals hold.
    """
    if isinstance(value, np.ndarray):
        return _of_array(value)
    return _of_number(value) if isinstance(value, float) else repr(value)


def readable(value: Any) -> str:
    """An input for a comment: short, in decimal."""
    text = np.array2string(value, threshold=8, separator=", ") if isinstance(value, np.ndarray) else repr(value)
    return textwrap.shorten(" ".join(text.split()), 90, placeholder=" …")


def _of_number(value: Any) -> str:
    if not isinstance(value, float):
        return repr(value)
    return f'float.fromhex("{value.hex()}")' if math.isfinite(value) else f'float("{value}")'


def _of_array(value: NDArray[Any]) -> str:
    runs = [(one, len(list(several))) for one, several in itertools.groupby(map(_of_number, value.ravel().tolist()))]
    parts: list[str] = []
    listed: list[str] = []
    for text, count in runs:
        if count < LONG_RUN:
            listed += [text] * count
            continue
        parts += [f"[{', '.join(listed)}]"] if listed else []
        parts.append(f"[{text}] * {count}")
        listed = []
    parts += [f"[{', '.join(listed)}]"] if listed or not parts else []
    shape = "" if value.ndim == 1 else f".reshape({value.shape})"
    text = f"np.array({' + '.join(parts)}, dtype={value.dtype.str!r}){shape}"
    if len(text) <= WIDTH or value.dtype.kind == "U":  # texts may hold anything, spaces too
        return text
    lines = textwrap.wrap(text, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    return "(\n" + "".join(f"    {line}\n" for line in lines) + ")"
