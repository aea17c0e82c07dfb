"""Theorems on Gaussian mechanisms."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused, rational
from checker.core.tape import Dialogues, Published, same
from checker.enclosures import normal
from checker.enclosures.discrete_gaussian import DiscreteGaussian
from checker.enclosures.elementary import Enclosure
from checker.kinds.claims import Claim, statistical_claim
from checker.kinds.elementwise import require_numpy
from checker.kinds.gaussian_privacy import require_discrete, require_normal
from checker.kinds.grids import HALF, TINY, require_rounding, require_steps, require_values, steps_apart
from checker.kinds.inversion import require_endless_draws, require_inversion, require_tails
from checker.kinds.look_ups import require_look_ups
from checker.kinds.mixture import Given, law_within, mixture_of, remaining_law, require_minorant
from checker.kinds.normal_filter import Thresholds, require_normal_filter
from checker.kinds.opaque import Opaque, OpaqueGrid
from checker.kinds.plain_answers import require_plain_releases, require_plain_trials
from checker.kinds.releases import (
    SHIFTS,
    Recorded,
    Released,
    concrete_law,
    fields_of,
    inverted,
    recorded_many,
    released_once,
)
from checker.kinds.tabled_filter import require_tabled_filter
from checker.models import discrete_noise

SUMMED_UP_TO = 1 << 10
"""The greatest σ in steps for which the tails of the discrete law are added up."""

TABLED_UP_TO = 32
"""The greatest σ in steps for which the fast path has a table."""

ROUNDED_UP_TO = 1 << 24
"""The greatest σ in steps for which the fast path rounds quantiles; above, it draws from a mixture."""

_REACH = Fraction(5)
"""The greatest |z| for which thresholds of the discrete law are known to lie near n + ½."""

_SHIFT_ERROR = Fraction(1, 1 << 55)
"""The most that a number of [−½, ½] is rounded by."""

_SPARE_BITS = 64
"""More than what remains of a law is smaller by than the law, in bits."""

_SHIFTS = (-HALF, TINY - HALF, Fraction(-1, 3), -TINY, Fraction(0), Fraction(3, 10), HALF - TINY)


@dataclass(frozen=True)
class Setting:
    """What the certificates of both mechanisms have in common."""

    claim: Claim
    sensitivity: Fraction
    parameters: dict[str, Any]
    grid: Any
    step: Fraction
    sigma: Fraction
    """In steps."""

    def tail(self, outcome: int, shift: Fraction, bits: int) -> Enclosure:
        """Enclose the probability that shift + σZ is rounded to an outcome or more."""
        return normal.tail((outcome - HALF - shift) / self.sigma, bits)


def setting(certificate: Certificate, moving: str = "answers") -> Setting:
    """Read a certificate whose neighbours are "{moving} at most Δ apart"."""
    parameters = certificate.arguments()
    if set(parameters) != {"sigma", "grid"}:
        raise Refused(f"the parameters are {sorted(parameters)}, not the grid and sigma")
    grid = parameters["grid"]
    step = Fraction(2) ** grid.exponent
    sigma = Fraction(parameters["sigma"]) / step
    said = re.fullmatch(moving + r" at most (\d+(?:/\d+)?) apart", certificate.neighbours)
    sensitivity = rational(said[1], "the sensitivity") if said else Fraction(0)
    if sensitivity <= 0 or sigma <= 0:
        raise Refused(f"neighbours are {certificate.neighbours!r} and sigma is {sigma} steps")
    return Setting(statistical_claim(certificate), sensitivity, parameters, grid, step, sigma)


def discrete_gaussian_on_grid(certificate: Certificate) -> Conclusion:
    """Show what an answer rounded to a grid, plus discrete Gaussian noise, keeps for every pair of answers.

    With A the rounded answer, the reference returns grid.value(A + N), and N is drawn by Algorithm 3 at a public σ. A
    moves by ⌈Δ/step⌉ steps at most. The fast path returns the same function of A and of an N that is drawn by
    inversion of the same law: by a table, or by rounding, and by a lazily extended uniform where these leave it open.

    Functions: `reference(answer, bits, **parameters)`, `fast(answer, trials, bits, **parameters)`. Parameters: sigma,
    grid. Neighbours: "answers at most Δ apart".
    """
    given = setting(certificate)
    variance = given.sigma**2
    distance = steps_apart(given.sensitivity, given.step)
    lemmas, checked = require_discrete(given.claim, variance, given.sigma, distance)
    fast = inverted(recorded_many(certificate.function("fast"), given.grid, given.parameters), given.grid)
    if [*fields_of(fast.law).values()] != [variance]:
        raise Refused(f"the fast path draws from {fast.law!r}, not at variance {variance}")
    more, drawn, tails = require_discrete_draws(fast, given)
    checked |= {"outputs": fast.compared} | _require_grid(given) | drawn
    answer = Opaque("answer")
    watched = given.parameters | {"grid": OpaqueGrid(given.grid, answer)}
    noise = Published(discrete_noise.discrete_gaussian.function, lambda variance: [Opaque("noise")])  # noqa: ARG005

    def model(answer: Opaque, bits: Any) -> Any:
        return watched["grid"].value(watched["grid"].nearest(answer) + bits.call(noise, variance))

    dialogues = Dialogues()
    dialogues.same(partial(certificate.function("reference"), **watched), model, answer)
    sampler, released = require_plain_releases(
        partial(certificate.function("reference"), **given.parameters),
        given.step,
        lambda _, found: len(found) == 1 and same(found[0], variance),
    )
    dialogues.same(sampler, discrete_noise.discrete_gaussian, variance)
    released += require_plain_trials(
        partial(certificate.function("fast"), **given.parameters),
        given.step,
        lambda _, word, noise: (
            -tails.last < noise < tails.last and between(word, lambda outcome: tails(outcome, 128), noise)
        ),
    )
    checked |= {"releases of plain answers": released}
    checked |= {"runs": dialogues.runs, "runs cut off": dialogues.cut}
    return Conclusion(
        f"{given.claim} for every pair of answers at most {given.sensitivity} apart, on both paths",
        (*lemmas, *more, "discrete-gaussian", *GAUSSIAN_LEMMAS),
        checked,
    )


def rounded_gaussian_on_grid(certificate: Certificate) -> Conclusion:
    """Show what an answer plus normal noise, rounded to a grid, keeps for every pair of answers.

    With a the answer in steps, clamped, and A the nearest integer, the reference returns grid.value(A + N), where N is
    drawn by inversion of the law of round(a − A + σZ): the output is grid.value(round(a + σZ)) for a real Z that does
    not know the answer. The fast path draws the same N from the same uniform, or from a mixture that has its law.

    Functions and parameters: as `discrete_gaussian_on_grid`.
    """
    given = setting(certificate)
    lemmas, checked = require_normal(given.claim, given.sensitivity / (given.sigma * given.step))
    reference = certificate.function("reference")
    samplers, kinds = [], set()
    for shift in SHIFTS:
        once = released_once(reference, given.grid, given.parameters, shift)
        _require_normal_law(once.law, shift, given)
        samplers.append(once.sampler)
        kinds.add(type(once.law))
    if len(kinds) != 1:
        raise Refused(f"the reference draws from laws of different classes: {kinds}")
    many = [recorded_many(certificate.function("fast"), given.grid, given.parameters, shift) for shift in SHIFTS]
    more, drawn, allows = require_rounded_draws(many, given)
    checked |= drawn | _require_grid(given) | {"steps": require_steps(given.grid, given.step)}
    checked |= {"tails of the reference": _require_normal_tails(reference, kinds.pop(), given)}
    checked |= {"releases of plain answers": _require_plain_rounded(certificate, given, samplers[0], allows)}
    checked |= _require_paths(*samplers)
    checked |= {"bits of thresholds of the reference": _require_endless_normal(samplers, reference, given)}
    return Conclusion(
        f"{given.claim} for every pair of answers at most {given.sensitivity} apart, on both paths",
        (*lemmas, *more, "clamping", *GAUSSIAN_LEMMAS),
        checked,
    )


def _require_normal_law(law: Any, shift: Any, given: Setting) -> None:
    found, scale = fields_of(law).values()
    if found is not shift or scale != given.sigma:
        raise Refused(f"the draw is from {law!r}, not of the answer's shift and σ = {given.sigma} steps")


GAUSSIAN_LEMMAS = ("inversion", "tails-enclosed", "rounding-half-up", "ieee-arrays", "loops", "mpfr")


def require_discrete_draws(released: Released, given: Setting) -> tuple[tuple[str, ...], dict[str, int], Tails]:
    """Check how a fast path finds discrete Gaussian noise, decided or not.

    Returns:
        Lemmas, how much was checked, and the tails of the law.
    """
    variance, lemmas = given.sigma**2, tuple[str, ...]()
    if given.sigma <= TABLED_UP_TO:
        checked = require_tabled_filter(*_filtered(released), variance)
    else:
        checked, lemmas = _require_rounded_thresholds(released, given.sigma), ("midpoint-thresholds",)
    checked |= _require_paths(released.sampler) | _require_discrete_law(released, variance)
    return lemmas, checked, Tails(variance)


Allows = Callable[[Fraction, int, int], bool]
"""`allows(shift, word, noise)`: whether a draw that begins with that word can have that noise."""


def require_rounded_draws(
    recorded: Sequence[Recorded], given: Setting
) -> tuple[tuple[str, ...], dict[str, int], Allows]:
    """Check how a fast path draws normal noise, rounded with the answers' shifts.

    Args:
        recorded: what it was found to do, for several shifts.
        given: the parameters.

    Returns:
        Lemmas, how much was checked, and which noise words may have.
    """
    if given.sigma > ROUNDED_UP_TO:
        return _require_mixed_draws(recorded, given)
    checked = dict[str, int]()
    found = [inverted(one, given.grid) for one in recorded]
    if any(one.sampler is not found[0].sampler or type(one.law) is not type(found[0].law) for one in found):
        raise Refused("what undecided words are drawn from depends on the answer's shift")
    for one, released in zip(recorded, found, strict=True):
        _require_normal_law(released.law, one.shift, given)
        wanted = Thresholds(given.sigma, Fraction(0), _SHIFT_ERROR)
        cells, _ = require_normal_filter(*_filtered(released), one.shifts, wanted)
    checked |= {"cells": cells, "outputs": released.compared} | _require_paths(released.sampler)

    def law(plain: Fraction) -> Any:
        return type(released.law)(plain, given.sigma)

    def allows(shift: Fraction, word: int, noise: int) -> bool:
        return between(word, lambda outcome: given.tail(outcome, shift, 100), noise)

    return (), checked | _require_tails(released.sampler, law, given.tail, given), allows


def _require_mixed_draws(
    recorded: Sequence[Recorded], given: Setting
) -> tuple[tuple[str, ...], dict[str, int], Allows]:
    """Check the same of a mixture.

    Nothing but what remains of the law depends on an answer's shift, which nobody looks at, so that it is the same
    mixture for all shifts.
    """
    one = recorded[0]
    mixture, runs = mixture_of(one)
    _require_normal_law(law_within(mixture), one.shift, given)
    cells = require_minorant(mixture, given.sigma)
    words = Given(mixture)
    if words.remaining <= 0:
        raise Refused("the mixture leaves nothing of the law")

    def law(plain: Fraction) -> Any:
        return remaining_law(mixture, type(law_within(mixture))(plain, given.sigma))

    def tail(outcome: int, shift: Fraction, bits: int) -> Enclosure:
        low, high = given.tail(outcome, shift, bits + _SPARE_BITS)
        taken = words(outcome)
        return (low - taken) / words.remaining, (high - taken) / words.remaining

    def allows(_: Fraction, word: int, noise: int) -> bool:
        return mixture.allows(word, noise)

    checked = {"runs of open words": runs, "cells": cells, "outputs": one.release.require(given.grid)}
    checked |= _require_paths(mixture.sampler)
    return ("mixture",), checked | _require_tails(mixture.sampler, law, tail, given), allows


def _require_tails(
    sampler: Callable[..., Any],
    law: Callable[[Fraction], Any],
    tail: Callable[[int, Fraction, int], Enclosure],
    given: Setting,
) -> dict[str, int]:
    """Check the enclosures of the tails that a sampler draws from, for several shifts, and follow some by many bits."""
    tried = 0
    for plain in _SHIFTS:
        outcomes = sorted({*range(-2, 3), *(round(given.sigma * part / 3) for part in range(-28, 29, 4))})
        tried += require_tails(law(plain), lambda outcome, bits, plain=plain: tail(outcome, plain, bits), outcomes)  # type: ignore[misc]
    plain = Fraction(1, 3)
    followed = require_endless_draws(
        sampler, law(plain), lambda outcome, bits: tail(outcome, plain, bits), (1, -round(given.sigma))
    )
    return {"tails": tried, "bits of thresholds": followed}


def _filtered(released: Released) -> tuple[Any, Any, Any]:
    if released.filtered is None:
        raise Refused("the fast path has no filter")
    return released.filtered


def _require_paths(*samplers: Callable[..., Any]) -> dict[str, int]:
    """Check the inversions that are used, and numpy."""
    ended = cut = 0
    for sampler in {id(one): one for one in samplers}.values():
        found = require_inversion(sampler)
        ended, cut = ended + found[0], cut + found[1]
    operations = require_numpy() + require_look_ups()
    return {"inversions": ended, "inversions cut off": cut, "array operations": operations}


def _require_grid(given: Setting) -> dict[str, int]:
    return {"roundings": require_rounding(given.grid, given.step) + require_values(given.grid, given.step)}


class Tails:
    """The tails of the discrete law out to where 64 bits no longer see them, at any precision."""

    def __init__(self, variance: Fraction) -> None:
        if variance > SUMMED_UP_TO**2:
            raise Refused(f"tails are added up for σ of at most {SUMMED_UP_TO} steps")
        self._variance, self.last = variance, isqrt((variance * 90).__ceil__()) + 2
        self._laws: dict[int, DiscreteGaussian] = {}

    def __call__(self, threshold: int, bits: int) -> Enclosure:
        """Enclose P[X ≥ threshold]."""
        if bits not in self._laws:
            self._laws[bits] = DiscreteGaussian(self._variance, self.last, bits)
        return self._laws[bits].tail(threshold)


def _require_discrete_law(released: Released, variance: Fraction) -> dict[str, int]:
    """Check the enclosures of the tails that the fast path draws from."""
    tails = Tails(variance)
    known = range(1 - tails.last, tails.last + 1)
    outcomes = {*known[:: max(1, tails.last // 100)], *known[-3:], *range(-3, 5)} & {*known}
    followed = require_endless_draws(released.sampler, released.law, tails, (1, -isqrt(variance.__floor__())))
    return {"tails": require_tails(released.law, tails, sorted(outcomes)), "bits of thresholds": followed}


def _require_rounded_thresholds(released: Released, sigma: Fraction) -> dict[str, int]:
    """Check the filter that rounds normal noise to discrete noise, and try the thresholds that it takes for granted.

    With s = σ/(1 + 1/24σ²), P[X ≥ k + 1] lies between the normal tails at (k + ½ ± 3/5σ³)/s (lemma).
    """
    stretched, slack = sigma / (1 + 1 / (24 * sigma**2)), Fraction(3, 5) / sigma**3
    cells, reach = require_normal_filter(*_filtered(released), 0.0, Thresholds(stretched, slack, Fraction(0)))
    if reach > _REACH:
        raise Refused(f"the filter reaches as far as {float(reach)}")
    tails = Tails(sigma**2)
    farthest = (_REACH * sigma).__ceil__() + 1
    tried = [*range(0, farthest, max(1, farthest // 100))]
    for k in tried:
        low, high = tails(k + 1, 128)
        nearer, farther = ((k + HALF + side * slack) / stretched for side in (-1, 1))
        if normal.tail(farther, 128)[1] > low or normal.tail(nearer, 128)[0] < high:
            raise Refused(f"the threshold between {k} and {k + 1} is not within {float(slack)} of their middle")
    return {"cells": cells, "thresholds": len(tried)}


def _require_normal_tails(reference: Callable[..., Any], kind: type, given: Setting) -> int:
    """Check the enclosures of the tails that the reference draws from, at the edges of the shift and between."""
    tried = 0
    outcomes = sorted({*range(-2, 3), *(round(given.sigma * part / 3) for part in range(-28, 29, 3))})
    for shift in _SHIFTS:
        law = concrete_law(reference, (1000 + shift) * given.step, given.parameters)
        if type(law) is not kind or [*fields_of(law).values()] != [shift, given.sigma]:
            raise Refused(f"the answer {1000 + shift} steps above 0 is drawn for from {law!r}")

        def truth(outcome: int, bits: int, shift: Fraction = shift) -> Enclosure:
            return normal.tail((outcome - HALF - shift) / given.sigma, bits)

        tried += require_tails(law, truth, outcomes)
    return tried


def between(word: int, tail: Callable[[int], Enclosure], outcome: int) -> bool:
    """Say whether all uniforms that begin with a word lie between T(outcome + 1) and T(outcome)."""
    return tail(outcome + 1)[1] * 2**64 <= word and word + 1 <= tail(outcome)[0] * 2**64


def _require_plain_rounded(
    certificate: Certificate, given: Setting, sampler: Callable[..., Any], allows: Allows
) -> int:
    """Check the releases of plain answers, from laws of their own."""

    def drawn_with(shift: Fraction, found: tuple[Any, ...]) -> bool:
        law, *start = found
        return start == [0, 0] and same([*fields_of(law).values()], [shift, given.sigma])

    reference, fast = (partial(certificate.function(role), **given.parameters) for role in ("reference", "fast"))
    plain_sampler, released = require_plain_releases(reference, given.step, drawn_with)
    if plain_sampler is not sampler:
        raise Refused("plain answers are released with noise of another sampler")
    return released + require_plain_trials(fast, given.step, allows)


def _require_endless_normal(samplers: list[Callable[..., Any]], reference: Callable[..., Any], given: Setting) -> int:
    """Follow thresholds of the rounded law by many bits."""
    shift = Fraction(1, 3)
    law = concrete_law(reference, shift * given.step, given.parameters)

    def truth(outcome: int, bits: int) -> Enclosure:
        return normal.tail((outcome - HALF - shift) / given.sigma, bits)

    outcomes = (1, -round(given.sigma))
    return sum(require_endless_draws(one, law, truth, outcomes) for one in {id(one): one for one in samplers}.values())
