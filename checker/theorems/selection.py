"""Theorems on selection: report noisy max and the exponential mechanism, for any number of outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused
from checker.core.tape import Published
from checker.kinds.claims import pure_epsilon, require_neighbours
from checker.kinds.flips import require_flips
from checker.kinds.large_runs import many_utilities, require_same_on_many
from checker.kinds.private_vectors import require_reading, unknown_vectors
from checker.kinds.unknowns import Interval, Linear, UnknownDialogues, instead, unknown
from checker.models import discrete_noise, selection

APART = "utilities at most the sensitivity apart"
TOGETHER = "utilities that move the same way, by at most the sensitivity"
WIDEST = (-(Fraction(2) ** 1022), Fraction(2) ** 1022)
"""The range of utilities where none is given."""

DEPTH = 400
"""Choices that a run on three unknown utilities never reaches."""


def permute_and_flip(certificate: Certificate) -> Conclusion:
    """Show that permute-and-flip keeps ε for every pair of utility vectors.

    Functions: `reference(utilities, bits, **parameters)`. Parameters: epsilon, and as the mechanism has them
    sensitivity, monotone, utility_range. With gaps γ = (best − u)/(b·Δu), the loss is 2/b, and 1/b if utilities move
    the same way (lemma `permute-and-flip`).
    """
    within = Interval(*(getattr(scale_of(certificate.arguments()), end) for end in ("low", "high")))
    three = [tuple(unknown(f"v{index} in {within}", within) for index in range(3))]
    conclusion = _noisy_max(certificate, ("permute-and-flip",), selection.permute_and_flip, three)
    parameters = certificate.arguments()
    scale = moves_of(certificate) / Fraction(parameters["epsilon"])
    rounds = require_flips(certificate.function("reference"), scale, parameters)
    return replace(conclusion, checked={**conclusion.checked, "rounds": rounds})


def laplace_noisy_max(certificate: Certificate) -> Conclusion:
    """Show that discrete Laplace noise of scale b, added to utilities rounded to units of Δu, keeps ε.

    Functions and parameters as in `permute_and_flip`; the loss is 2/b, or 1/b (lemma `laplace-noisy-max`).
    """

    def model(shortfalls: list[Any], scale: Fraction, bits: Any) -> Any:
        return selection.laplace_noisy_max(shortfalls, scale, _noise, bits)

    of = scale_of(certificate.arguments())
    three = [
        tuple(of.high - of.sensitivity * units for units in vector) for vector in ((0, 0, 0), (1, 0, 2), (2, 5, 1))
    ]
    return _noisy_max(certificate, ("laplace-noisy-max", "discrete-laplace"), model, three)


NOISES = [
    Published(discrete_noise.discrete_laplace.function, lambda scale, index=index: [unknown(f"noise {index}")])  # noqa: ARG005
    for index in range(3)
]
"""Discrete Laplace noise of the first three outcomes: an unknown number each."""

_OTHERS = Published(discrete_noise.discrete_laplace.function, lambda scale: discrete_noise.TRIED)  # noqa: ARG005


def _noise(index: int) -> Published:
    return NOISES[index] if index < len(NOISES) else _OTHERS


def _noisy_max(
    certificate: Certificate, lemmas: tuple[str, ...], model: Callable[..., Any], three: Sequence[tuple[Any, ...]]
) -> Conclusion:
    """Compare a mechanism with a model that takes shortfalls and the scale, on unknown utilities.

    Args:
        certificate: what is stated.
        lemmas: what the model's privacy rests on.
        model: `model(shortfalls, scale, bits)`.
        three: vectors of three utilities that are tried beside those of one and two unknown ones.
    """
    claimed, parameters = pure_epsilon(certificate), certificate.arguments()
    moves = moves_of(certificate)
    scale = moves / Fraction(parameters["epsilon"])
    if moves / scale > claimed:
        raise Refused(f"the mechanism loses {moves / scale}, more than {claimed}")
    of = scale_of(parameters)
    sampler = partial(certificate.function("reference"), **parameters)

    def expected(utilities: tuple[Any, ...], bits: Any) -> Any:
        return model(of.shortfalls(utilities), scale, bits)

    dialogues = UnknownDialogues(depth=DEPTH)
    with reading_unknowns():
        for utilities in unknown_vectors((1, 2), unknown):
            dialogues.same(sampler, expected, utilities)
        for utilities in three:
            dialogues.same(sampler, expected, utilities)
        for utilities in many(of):
            dialogues.same_by_chance(sampler, expected, utilities, ways=12 if len(utilities) < 100 else 1)
        large = require_same_on_many(sampler, expected, many_utilities(of))
    for utilities in doubles(of):
        dialogues.same_by_chance(sampler, lambda given, bits: expected(exact_ones(given), bits), utilities, ways=6)
    vectors = require_reading()
    return Conclusion(
        f"{moves / scale}-DP for any number of outcomes and every pair of {certificate.neighbours}",
        (*lemmas, "reading", "clamping-utilities", "outcomes", "loops"),
        {"runs": dialogues.runs, "runs cut off": dialogues.cut, "large": large, "vectors read": vectors},
    )


def moves_of(certificate: Certificate) -> int:
    """Return by how many units of Δu the distance of two utilities can change between neighbours.

    Raises:
        Refused: the mechanism is for utilities that move the same way, and the certificate speaks of others.
    """
    monotone = certificate.arguments().get("monotone", False)
    if type(monotone) is not bool:
        raise Refused(f"monotone is {monotone!r}")
    require_neighbours(certificate, TOGETHER if monotone else APART)
    return 1 if monotone else 2


def many(scale: selection.Scale) -> Iterator[tuple[Fraction, ...]]:
    """Yield vectors of 4, 9, 40 and 200 utilities of a range, with ties, in and between whole units of Δu."""
    for size in (4, 9, 40, 200):
        units = [Fraction(7 * index % 11, 2) for index in range(size)]
        yield tuple(max(scale.high - one * scale.sensitivity, scale.low) for one in units)


def doubles(scale: selection.Scale) -> Iterator[tuple[float, ...]]:
    """Yield vectors of doubles, which mechanisms hold as arrays: in the range, at its ends, beyond, special ones."""
    within = [float(max(scale.high - one * scale.sensitivity / 3, scale.low)) for one in (0, 2, 3, 7, 9)]
    yield tuple(within)
    yield (within[1], float(scale.low), float(scale.high))
    yield (0.0, 0.1, -0.0, 5e-324, 1.0, -1.0)
    for special in (math.inf, -math.inf, math.nan, 1.7e308, -1.7e308):
        yield (*within[1:3], special)


def exact_ones(utilities: Sequence[float]) -> tuple[Fraction | float, ...]:
    """Take doubles as the rationals that they are; infinities and NaN stay what they are."""
    return tuple(Fraction(one) if math.isfinite(one) else one for one in utilities)


def scale_of(parameters: dict[str, Any]) -> selection.Scale:
    """Return the public range and Δu of some parameters."""
    low, high = parameters.get("utility_range", WIDEST)
    return selection.Scale(Fraction(low), Fraction(high), Fraction(parameters.get("sensitivity", 1)))


@contextmanager
def reading_unknowns() -> Iterator[None]:
    """Let mechanisms read unknown numbers as what they are."""

    def read(name: str, values: Any) -> Any:  # noqa: ARG001
        if not all(isinstance(value, Linear | float | Fraction) for value in values):
            raise Refused(f"{values!r} is read instead of the utilities")
        return list(values)

    with instead("exponential.utilities", "exact_numbers", read):
        yield
