"""Formulas to name on a command line."""

from __future__ import annotations

import math


def nearest(scale: float, sensitivity: float) -> float:
    return sensitivity / scale


def above(scale: float, sensitivity: float) -> float:
    return math.nextafter(sensitivity / scale, math.inf)


def refusing(scale: float, sensitivity: float) -> float:
    raise ValueError(f"nothing is known of {sensitivity}/{scale}")


def failing(scale: float, sensitivity: float) -> float:
    raise KeyError(scale, sensitivity)


NUMBER = 3
