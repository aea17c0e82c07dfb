"""Levels of the exponential mechanism in base e: that 2^−level ≥ e^−gap for every double, and how close both are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from checker.core.certificate import PACKAGE, Refused
from checker.enclosures import elementary as enclosures
from checker.kinds.lending import lent, used
from checker.kinds.polynomials import UNIT
from checker.kinds.trace import Traced, apply, number, require_same, require_unwritten
from checker.models.selection import Scale

BITS = 160
DEEPEST = 62


@dataclass(frozen=True)
class Levels:
    """What is known of the levels at one rate.

    Args:
        rate: r, the gap being r·(max u − u).
        factor: c, a double; y = fl(c·fl(max u − u)).
        least: a bound of 2^−(x·log2 e − y), x a gap and y its exponent, where y is below `DEEPEST` + 1.
    """

    rate: Fraction
    factor: float
    least: Fraction


def levels(sampler: Any, scale: Scale, rate: Fraction, parameters: dict[str, Any]) -> Levels:
    """Find the factor of a mechanism's levels, and show that no level is too high, whatever the utilities are.

    The exponent y = fl(c·fl(d)) of a distance d has y ≤ c·(1 + 2^−53)²·d, or lies below 1 where a step is subnormal
    (differences that are subnormal are exact); so y ≤ d·rate·log2 e if c·(1 + 2^−53)²·ln 2 ≤ rate.

    Args:
        sampler: LevelledUtilities.of.
        scale: the range of utilities.
        rate: what a gap is by distance.
        parameters: what `sampler` takes beside utilities.
    """
    low, high = float(scale.low), float(scale.high)
    unit = math.ldexp(1.0, -math.frexp(float(rate))[1] - 4)
    pair = [max(low, -unit), max(low, -unit) + unit]
    if not low <= pair[0] < pair[1] <= high or pair[1] - pair[0] != unit:
        raise Refused("no two utilities of the range are a power of 2 apart that shows the factor")
    factor = float(sampler(pair, **parameters).exponents(slice(None))[0]) / unit
    exact, (ln_low, ln_high) = Fraction(factor), enclosures.ln(Fraction(2), BITS)
    if not exact > 0 or exact * (1 + UNIT) ** 2 * ln_high > rate:
        raise Refused(f"levels at {factor!r} for each unit of distance can be too high")
    if exact < Fraction(2) ** -1000:
        raise Refused("the factor of levels is so small that products may be subnormal above level 0")
    # x·log2 e − y ≤ y·(rate/(c·ln 2·(1 − UNIT)²) − 1), and 2^−z ≥ 1 − z·ln 2 ≥ 1 − z.
    gap = (DEEPEST + 1) * (rate / (exact * ln_low * (1 - UNIT) ** 2) - 1) + Fraction(1, 2**1000)
    _require_steps()
    _require_quiet()
    return Levels(rate, factor, 1 - gap)


def _require_steps() -> None:
    """Check that exponents come of a difference and a product, at most the depth, and weights of them, for all doubles.

    The exponent of one outcome is computed in Python's floats, and by the same steps.
    """
    module = import_module(f"{PACKAGE}.exponential.levels")
    for factor, depth in ((0.7, 61), (3.0, 40)):
        top, utility = Traced.unknown("top", "float64"), Traced.unknown("utility", "float64")
        own = apply("minimum", (top - utility) * factor, number(float(depth), "float64"))
        require_same(module.exponents_below(top, utility, factor, depth), own, "an outcome's exponent")
        require_unwritten(top, "the best utility")
        require_unwritten(utility, "the utilities of the outcomes")
        exponent = Traced.unknown("exponent", "float64")
        weight = number(1 << depth, "int64") >> exponent.astype("int64")
        require_same(module.weights_at(exponent, depth), weight, "an outcome's weight")
        require_unwritten(exponent, "the exponents of the outcomes")
        one = SimpleNamespace(top=top, doubles={"outcome": utility}, factor=factor, depth=depth)
        alone = module.LevelledUtilities.exponent
        with lent(
            alone,
            float=lambda value: value if type(value) is Traced else float(value),
            min=lambda value, most: apply("minimum", value, number(most, "float64")),
        ):
            require_same(alone(one, "outcome"), own, "the exponent of one outcome")


def _require_quiet() -> None:
    """Check that numbers stay and NaNs of every kind become quiet ones, for arrays of one and of two dimensions."""
    arrays = import_module("numpy")
    quiet = used(import_module(f"{PACKAGE}.exponential.levels").within_range, "quiet")
    patterns = [0, 1, 1 << 63, 0x3FF << 52, 0x7FF << 52, 0xFFF << 52]  # 0, the least, −0, 1, ∞, −∞
    nans = [(0x7FF << 52) + 1, (0xFFF << 52) + 5, 0x7FF8 << 48, 0xFFF8 << 48, (1 << 63) - 1]
    for given in (patterns, nans, patterns + nans, [*nans, 1]):
        for shape in ((len(given),), (1, len(given)), (len(given), 1)):
            found = quiet(arrays.array(given, dtype="uint64").view("float64").reshape(shape))
            bits = found.reshape(-1).view("uint64").tolist()
            if found.shape != shape or any(
                one != other and not (other in nans and one & 0x7FF8 << 48 == 0x7FF8 << 48)
                for one, other in zip(bits, given, strict=True)
            ):
                raise Refused(f"{given} are read as {bits}")


def require_levels(
    sampler: Any, scale: Scale, known: Levels, vectors: Sequence[Any], parameters: dict[str, Any]
) -> int:
    """Check what is made of some vectors of utilities, in the checker's own arithmetic.

    Raises:
        Refused: a utility, its distance from the best or its level is another.
    """
    for vector in vectors:
        found, own = sampler(vector, **parameters), [scale.clamped(_number(one)) for one in vector]
        best, depth = max(own), 63 - len(own).bit_length()
        distances = [float(best - one) for one in own]
        expected = [min(known.factor * one, float(depth)) for one in distances]
        if [_exact(one) for one in found.utilities] != own or _exact(found.best) != best:
            raise Refused(f"{vector!r:.100} is taken for {found.utilities!r:.100}")
        exponents = found.exponents(slice(None)).tolist()
        if found.depth != depth or exponents != expected or found.factor != known.factor:
            raise Refused(f"the exponents of {vector!r:.100} are {exponents!r:.100}, not {expected!r:.100}")
        if [found.exponent(outcome) for outcome in range(0, len(own), 7)] != expected[::7]:
            raise Refused(f"exponents of {vector!r:.100} are others one by one")
        if found.levels().tolist() != [int(one) for one in expected]:
            raise Refused(f"the levels of {vector!r:.100} are {found.levels()!r:.100}")
        if Fraction(int(found.rate.numerator), int(found.rate.denominator)) != known.rate:
            raise Refused(f"gaps are {found.rate} by distance, not {known.rate}")
    return len(vectors)


def _number(one: Any) -> Any:
    return one if isinstance(one, float) and not math.isfinite(one) else Fraction(one)


def _exact(one: Any) -> Fraction:
    return Fraction(one) if isinstance(one, float) else Fraction(int(one.numerator), int(one.denominator))
