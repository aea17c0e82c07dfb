"""Bets that several attacks share: an exact answer, the higher of two answers, and which outcomes are drawn."""

from __future__ import annotations

import math
import sys
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Probe, as_floats, literal
from attacklab.attacks.failures import probed
from attacklab.model.targets import Outputs, is_exact

DEEPEST_NATS = 2.0**14
"""The largest |ε·u/(2Δu)| at which to look for underflow or overflow: x87 extended precision ends at 11 400."""

OUTCOME_0 = Event("outcome 0", lambda outputs: np.asarray(outputs == 0, dtype=bool), "output == 0")
HEAVY = Event("the heavy outcome", OUTCOME_0.contains, OUTCOME_0.line)
LIGHT = Event("a light outcome", lambda outputs: as_floats(outputs) > 0, "output > 0")


def exact_answer(value: float) -> Event:
    """Return the bet that the output is this double, bit for bit."""
    pattern = int(np.float64(value).view(np.int64))
    exactly = f"float(output).hex() == {value.hex()!r}"
    return Event(f"the answer is {value!r}, bit for bit", partial(_is_exactly, pattern=pattern), exactly)


def _is_exactly(outputs: Outputs, *, pattern: int) -> NDArray[np.bool_]:
    return np.asarray(as_floats(outputs).view(np.int64) == pattern)


def typical(outputs: Outputs) -> float:
    """Return the lower median of the outputs that are not failures; 0 if all are failures."""
    values = as_floats(outputs)
    values = values[~np.isnan(values)]
    return float(np.quantile(values, 0.5, method="lower")) if values.size else 0.0


def half_lines(low: float, high: float) -> tuple[Event, ...]:
    """Return the bet on the higher of two answers: outputs above the middle between them.

    If the middle is not below the higher answer, because the two are equal or adjacent doubles or one is infinite,
    there are two bets: one that includes the higher answer, and one on outputs above the middle.
    """
    middle = low / 2 + high / 2
    below = float(np.nextafter(high, -math.inf))
    thresholds = (middle,) if middle < high else (below, min(middle, sys.float_info.max))
    return tuple(map(half_line, thresholds))


def half_line(threshold: float) -> Event:
    """Return the bet that the output exceeds a threshold; integers, fractions and decimals are compared exactly."""
    return Event(
        f"the answer exceeds {threshold!r}",
        partial(_exceeds, threshold=threshold),
        f"(float(output) if isinstance(output, np.floating) else output) > {literal(threshold)}",
    )


def _exceeds(outputs: Outputs, *, threshold: float) -> NDArray[np.bool_]:
    if outputs.dtype == object and any(map(is_exact, outputs.flat)):
        exceeds = [output > threshold if is_exact(output) else float(output) > threshold for output in outputs.flat]
        return np.array(exceeds, dtype=bool).reshape(outputs.shape)
    values = outputs if outputs.dtype.kind in "iu" else as_floats(outputs)
    return np.asarray(values > threshold)


def among(description: str, outcomes: NDArray[np.int64], most: int) -> Event:
    """Return the event that a selection gives one of these outcomes.

    Args:
        description: the event in words.
        outcomes: the indices of the outcomes.
        most: the largest index of any outcome.
    """
    chosen = np.zeros(most + 2, dtype=bool)  # the last place is for failures
    chosen[outcomes] = True
    listed = sorted(set(outcomes.tolist()))
    step = listed[1] - listed[0] if len(listed) > 1 else 1
    regular = range(listed[0], listed[-1] + 1, step) if listed else range(0)
    return Event(
        description,
        lambda outputs: chosen[np.nan_to_num(as_floats(outputs), nan=most + 1).astype(np.int64)],
        f"int(output) in {regular!r}" if list(regular) == listed else "",
    )


def both_drawn(probe: Probe, utility: float) -> bool:
    """Whether 64 outputs for two outcomes of equal utility show both; by chance they do not with probability 2^−63."""
    outputs = probed(probe, np.full(2, utility))
    return outputs is not None and bool((outputs == 0).any() and (outputs == 1).any())
