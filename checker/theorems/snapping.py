"""The theorem on Mironov's snapping mechanism: mechanisms/laplace/README.md, 'Snapping'."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from random import Random
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused, require
from checker.enclosures.elementary import exp, ln
from checker.kinds.claims import pure_epsilon, require_neighbours
from checker.kinds.opaque_doubles import Cell, Expression, OpaqueDouble, Reading, cells, constant, operation

BITS = 160
UNIT = Fraction(1, 1 << 53)
MOST_THRESHOLDS = 80
"""Of more thresholds, these are tried: the outermost, the ones next to 0, and some between."""


def snapping(certificate: Certificate) -> Conclusion:
    """Show that snapping keeps ε for every pair of doubles at most Δ apart, infinities and NaN included.

    For each cell of answers x and either sign S, the release reads one double, clamp(x) ⊕ S ⊗ (λ ⊗ L), and returns it
    rounded to a multiple of Λ, half upward, and clamped: it runs with an opaque x and an opaque L. L is drawn without
    x: the logarithm, correctly rounded, of a uniform real number rounded down to 53 bits. The rest is the bound of the
    lemma `snapping`, computed for these λ, Λ and B.

    Functions: `reference(answer, bits, **parameters)`. Parameters: epsilon, sensitivity, bound.
    """
    claimed = pure_epsilon(certificate)
    require_neighbours(certificate, "answers at most the sensitivity apart")
    parameters = certificate.arguments()
    sensitivity, bound = Fraction(parameters.get("sensitivity", 1)), require(parameters["bound"], float, "bound")
    scale = round_up((sensitivity + Fraction(bound) / (1 << 48)) / Fraction(parameters["epsilon"]))
    step = Fraction(2) ** math.frexp(scale)[1]
    step = step / 2 if step / 2 >= Fraction(scale) else step
    limit = Fraction(2) ** 900
    if not (1 / limit <= Fraction(scale) and Fraction(bound) <= min(limit, Fraction(scale) * 2**46)):
        raise Refused(f"the scale {scale} and the bound {bound} are beyond what the bound of errors is for")
    slack = greatest_factor(Fraction(scale), step, Fraction(bound))
    rest = claimed - sensitivity / Fraction(scale)
    if rest <= 0 or slack > exp(rest, BITS)[0]:
        raise Refused(
            f"at scale {scale} the loss may exceed {sensitivity}/λ by {float(ln(slack, BITS)[1])}, not {rest}"
        )
    release = partial(certificate.function("reference"), **parameters)
    draws: list[Any] = []
    runs = 0
    for cell in cells(bound):
        for bit in (0, 1):
            for noisy in places(step, Fraction(bound)):
                draws.append(_released(release, cell, bit, noisy, scale, bound, step))
                runs += 1
    if any(draw is not draws[0] for draw in draws):
        raise Refused("the noise is not always drawn by the same sampler")
    runs += _require_plain(release, draws[0], scale, step, bound)
    drawn = _require_logarithm(draws[0])
    return Conclusion(
        f"{claimed}-DP for every pair of doubles at most {sensitivity} apart: λ = {scale!r}, Λ = {step}, B = {bound}",
        ("snapping", "snapping-rounds", "mpfr-logarithm", "uniform-float"),
        {"releases": runs, "logarithms": drawn},
    )


def round_up(value: Fraction) -> float:
    """Return the least double that is at least a rational."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def greatest_factor(scale: Fraction, step: Fraction, bound: Fraction) -> Fraction:
    """Bound M₊/M₋, the factor beyond e^(Δ/λ) in the lemma `snapping`; it grows with e^θ and with e^(−Λ/λ)."""
    farthest = bound + step / 2
    moved = (farthest * (1 + UNIT) + bound) * (1 / (1 - UNIT) ** 2 - 1) + farthest * UNIT
    theta = moved / scale + 2 * UNIT
    factor, ratio = exp(theta, BITS)[1], exp(-step / scale, BITS)[1]
    least = 2 - factor * (1 + ratio)
    if least <= 0:
        raise Refused(f"the thresholds can move by a factor of e^{float(theta)}")
    return (factor - ratio / factor) / least


def places(step: Fraction, bound: Fraction) -> list[float]:
    """Return doubles at which rounding and clamping are tried: thresholds, whole steps, ends, and their neighbours."""
    last = (bound / step).__floor__() + 1
    if 2 * last + 2 <= MOST_THRESHOLDS:
        chosen = [*range(-last - 1, last + 1)]
    else:
        near = range(-5, 5)
        chosen = [*near, *(-last + one for one in near), *(last + one for one in near)]
        chosen += [Random(one).randrange(-last, last) for one in range(MOST_THRESHOLDS - len(chosen))]
    exact = [Fraction(2 * one + half, 2) * step for one in chosen for half in (0, 1)]
    middle = [float(place) for place in [*exact, bound, -bound, Fraction(1, 3) * step]]
    beside = [math.nextafter(place, side) for place in middle for side in (-math.inf, math.inf)]
    return [*middle, *beside, -0.0, 2.0**1000, -(2.0**1000), 2.0**-1074]


class _OneDraw:
    """The source of a release: one bit, and one call, whose reply is opaque."""

    def __init__(self, bit: int, logarithm: OpaqueDouble) -> None:
        self._bit, self._logarithm = bit, logarithm
        self.asked: list[Any] = []

    def take(self, count: int) -> int:
        self.asked.append(count)
        return self._bit

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> OpaqueDouble:
        if arguments:
            raise Refused(f"the noise is drawn with {arguments}")
        self.asked.append(sampler)
        return self._logarithm


def _released(release: Any, cell: Cell, bit: int, noisy: float, scale: float, bound: float, step: Fraction) -> Any:
    """Check one release, with all answers of a cell at once, and return the sampler of its noise."""
    logarithm = ("logarithm",)
    noise = operation("*", constant(float(1 - 2 * bit)), operation("*", constant(scale), logarithm))
    reading = Reading(tuple(operation("+", form, noise) for form in _clamped(cell, bound)), noisy)
    source = _OneDraw(bit, OpaqueDouble(logarithm, reading))
    answer = OpaqueDouble(("answer",), reading, cell)
    output = release(answer, source)
    expected = (Fraction(noisy) / step + Fraction(1, 2)).__floor__() * step
    expected = min(max(expected, Fraction(-bound)), Fraction(bound))
    if type(output) is not float or Fraction(output) != expected or len(source.asked) != 2 or source.asked[0] != 1:
        raise Refused(f"{noisy!r} leads to {output!r}, not {float(expected)}; asked was {source.asked}")
    return source.asked[1]


def _require_plain(release: Any, sampler: Any, scale: float, step: Fraction, bound: float) -> int:
    """Check releases of plain doubles, and of doubles of other classes, with plain logarithms."""
    kinds = (float, type("Float", (float,), {}), importlib.import_module("numpy").float64)
    ends = [0.0, bound, bound / 3, 2.0**1000, 5e-324, 1.0, math.nextafter(bound, 0.0), math.inf]
    answers = [math.nan, *ends, *(-end for end in ends)]
    draws = [(bit, logarithm) for bit in (0, 1) for logarithm in (-(2.0**-53), -0.6931471805599453, -3.25, -40.0)]
    for kind, answer, (bit, logarithm) in product(kinds, answers, draws):
        source = _Plain(bit, logarithm)
        output = release(kind(answer), source)
        noisy = (0.0 if math.isnan(answer) else min(max(answer, -bound), bound)) + (1 - 2 * bit) * (scale * logarithm)
        expected = (Fraction(noisy) / step + Fraction(1, 2)).__floor__() * step
        expected = min(max(expected, Fraction(-bound)), Fraction(bound))
        if type(output) is not float or Fraction(output) != expected or source.asked != [1, sampler]:
            raise Refused(f"{answer!r} of type {kind.__name__} leads to {output!r}, not {float(expected)}")
    return len(kinds) * len(answers) * len(draws)


class _Plain:
    """The source of a release: one bit, and one logarithm."""

    def __init__(self, bit: int, logarithm: float) -> None:
        self._bit, self._logarithm = bit, logarithm
        self.asked: list[Any] = []

    def take(self, count: int) -> int:
        self.asked.append(count)
        return self._bit

    def call(self, sampler: Any, *arguments: Any) -> float:
        self.asked.append((sampler, *arguments) if arguments else sampler)
        return self._logarithm


def _clamped(cell: Cell, bound: float) -> list[Expression]:
    """Return the expressions that have the value of clamp(x) for all doubles of a cell on one side of ±bound."""
    low, high = cell
    if math.isnan(low):
        return [constant(0.0)]
    forms = [constant(min(max(end, -bound), bound)) for end in (low, high)]
    if forms[0] != forms[1]:
        return [("answer",)]
    return [forms[0], ("answer",)] if abs(low) == abs(high) == bound else forms[:1]


class _Bits:
    """The source of a logarithm: a uniform number's bits as the model asks for them."""

    def __init__(self, exponent: int, significand: int) -> None:
        self.replies = [*((1, 0) for _ in range(exponent - 1)), (1, 1), (52, significand)]
        self.at, self.drawn = 0, Fraction(0)

    def take(self, count: int) -> int:
        if self.at == len(self.replies) or self.replies[self.at][0] != count:
            raise Refused(f"{count} bits of the uniform number are asked for after {self.at} requests")
        self.at += 1
        return self.replies[self.at - 1][1]

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        found = sampler(*arguments, self)
        self.drawn = Fraction(*map(int, found.as_integer_ratio()))
        return found


def _require_logarithm(sampler: Callable[..., Any]) -> int:
    """Check that a sampler returns the correctly rounded logarithm of a uniform real rounded down to 53 bits."""
    random = Random(20261122)
    exponents = [*range(1, 24), *(33, 52, 53, 54, 64, 65, 127, 200, 1022, 1023, 1074, 1075, 1076, 3000)]
    tried = 0
    for exponent in exponents:
        edges = [0, 1, 2, 1 << 51, (1 << 52) - 3, (1 << 52) - 2, (1 << 52) - 1]
        for significand in [*edges, *(random.getrandbits(52) for _ in range(5))]:
            source = _Bits(exponent, significand)
            found = sampler(source)
            uniform = Fraction((1 << 52) + significand, 1 << 52 + exponent)
            if source.drawn != uniform or source.at != len(source.replies):
                raise Refused(f"{float(source.drawn)} is drawn for the uniform number {float(uniform)}")
            if type(found) is not float or found.hex() != rounded_logarithm(uniform).hex():
                raise Refused(f"the logarithm of {uniform} is {found!r}, not correctly rounded")
            tried += 1
    return tried


def rounded_logarithm(x: Fraction) -> float:
    """Return ln x as the nearest double, for a rational x of (0, 1); it is irrational, and so never half-way."""
    bits = BITS
    while True:
        low, high = map(float, ln(x, bits))
        if low == high:
            return low
        bits *= 2
