"""Bets on one exact output, bit for bit: what is released where the noise has vanished."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, as_floats
from attacklab.model.targets import Outputs


def exact_answer(value: float) -> Event:
    """The bet that the answer is a double, bit for bit."""
    pattern = int(np.float64(value).view(np.int64))
    exactly = f"float(output).hex() == {value.hex()!r}"
    return Event(f"the answer is {value!r}, bit for bit", partial(_is_exactly, pattern=pattern), exactly)


def _is_exactly(outputs: Outputs, *, pattern: int) -> NDArray[np.bool_]:
    return np.asarray(as_floats(outputs).view(np.int64) == pattern)
