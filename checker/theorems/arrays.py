"""Theorems on releases of several answers at once, each with noise of its own.

Such a release makes `SeveralAnswers`, which brings each answer to the grid by itself, and adds to each the noise of
words that no other draw has (lemma `several`). The noise is found as in the release of one answer, so that each output
has the law of that release, independently of the others. Where neighbours differ in one answer, only its law changes.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused
from checker.kinds.chunks import Source
from checker.kinds.claims import pure_epsilon, require_neighbours
from checker.kinds.gaussian_privacy import require_discrete, require_normal
from checker.kinds.grids import LIMIT, require_rounding, steps_apart
from checker.kinds.laplace_words import FAST_LEMMAS, require_inversion
from checker.kinds.lending import Token
from checker.kinds.open_words import WORD
from checker.kinds.plain_answers import NO_BITS, answers
from checker.kinds.released_chunks import Release, recorded_release
from checker.kinds.releases import fields_of, inverted, recorded_each
from checker.kinds.rounded_words import require_rounded_noise
from checker.kinds.word_runs import GivenWords
from checker.models import inversion
from checker.theorems.gaussian import GAUSSIAN_LEMMAS, between, require_discrete_draws, require_rounded_draws, setting

ONE_ANSWER = "one answer at most the sensitivity apart"
HALF = Fraction(1, 2)


def discrete_laplace_each(certificate: Certificate) -> Conclusion:
    """Show that several answers, each rounded to a grid, plus discrete Laplace noise, keep ε if one of them moves.

    Functions: `each(answers, bits, **parameters)`. Parameters: epsilon, sensitivity, grid.
    """
    epsilon, parameters, sensitivity, grid, step = _laplace(certificate)
    distance = steps_apart(sensitivity, step)
    scale = distance / Fraction(parameters["epsilon"])
    if distance / scale > epsilon:
        raise Refused(f"{distance} steps at scale {scale} lose {distance / scale}, more than {epsilon}")
    each = certificate.function("each")
    release = _recorded(each, parameters)
    compared = require_inversion(*release.without_shift(), scale) + release.require(grid)

    def noise(_: Fraction, word: int, found: int) -> bool:
        return inversion.discrete_laplace(scale, word, NO_BITS) == found

    return Conclusion(
        f"{distance / scale}-DP for every pair of arrays with one answer at most {sensitivity} apart",
        ("rounding-half-up", "discrete-laplace", "several", *FAST_LEMMAS),
        {
            "roundings": require_rounding(grid, step),
            "operations and draws": compared,
            "releases of plain answers": _run(each, parameters, step, noise),
        },
    )


def rounded_laplace_each(certificate: Certificate) -> Conclusion:
    """Show that ideal Laplace noise, rounded with each of several answers to a grid, keeps ε if one of them moves.

    Functions: `each(answers, bits, **parameters)`. Parameters: epsilon, sensitivity, grid.
    """
    epsilon, parameters, sensitivity, grid, step = _laplace(certificate)
    scale = sensitivity / Fraction(parameters["epsilon"]) / step
    lost = sensitivity / (scale * step)
    if lost > epsilon:
        raise Refused(f"{sensitivity} at scale {scale * step} loses {lost}, more than {epsilon}")
    each = certificate.function("each")
    release = _recorded(each, parameters)
    compared = require_rounded_noise(release.decide, release.resolve, scale) + release.require(grid)

    def noise(shift: Fraction, word: int, found: int) -> bool:
        return inversion.rounded_laplace(shift + HALF, scale, word, NO_BITS) == found

    return Conclusion(
        f"{lost}-DP for every pair of arrays with one answer at most {sensitivity} apart",
        ("clamping", "rounded-ideal", "several", *(one for one in FAST_LEMMAS if one != "laplace-by-inversion")),
        {
            "operations and draws": compared,
            "releases of plain answers": _run(each, parameters, step, noise),
        },
    )


def discrete_gaussian_each(certificate: Certificate) -> Conclusion:
    """Show what several answers, each rounded to a grid, plus discrete Gaussian noise, keep if one of them moves.

    Functions: `each(answers, bits, **parameters)`. Parameters: sigma, grid. Neighbours: "one answer at most Δ apart".
    """
    given = setting(certificate, "one answer")
    variance, distance = given.sigma**2, steps_apart(given.sensitivity, given.step)
    lemmas, checked = require_discrete(given.claim, variance, given.sigma, distance)
    each = certificate.function("each")
    released = inverted(recorded_each(each, given.grid, given.parameters), given.grid)
    if [*fields_of(released.law).values()] != [variance]:
        raise Refused(f"undecided words are drawn for from {released.law!r}, not at variance {variance}")
    more, drawn, tails = require_discrete_draws(released, given)

    def noise(_: Fraction, word: int, found: int) -> bool:
        return -tails.last < found < tails.last and between(word, lambda outcome: tails(outcome, 128), found)

    checked |= drawn | {"outputs": released.compared, "roundings": require_rounding(given.grid, given.step)}
    checked |= {"releases of plain answers": _run(each, given.parameters, given.step, noise)}
    return Conclusion(
        f"{given.claim} for every pair of arrays with one answer at most {given.sensitivity} apart",
        (*lemmas, *more, "discrete-gaussian", "several", *GAUSSIAN_LEMMAS),
        checked,
    )


def rounded_gaussian_each(certificate: Certificate) -> Conclusion:
    """Show what several answers plus normal noise, each sum rounded to a grid, keep if one of them moves.

    Functions, parameters and neighbours: as `discrete_gaussian_each`.
    """
    given = setting(certificate, "one answer")
    lemmas, checked = require_normal(given.claim, given.sensitivity / (given.sigma * given.step))
    each = certificate.function("each")
    more, drawn, allows = require_rounded_draws([recorded_each(each, given.grid, given.parameters)], given)
    checked |= drawn | {"releases of plain answers": _run(each, given.parameters, given.step, allows)}
    return Conclusion(
        f"{given.claim} for every pair of arrays with one answer at most {given.sensitivity} apart",
        (*lemmas, *more, "clamping", "several", *GAUSSIAN_LEMMAS),
        checked,
    )


def _laplace(certificate: Certificate) -> tuple[Fraction, dict[str, Any], Fraction, Any, Fraction]:
    epsilon = pure_epsilon(certificate)
    require_neighbours(certificate, ONE_ANSWER)
    parameters = certificate.arguments()
    grid = parameters["grid"]
    return epsilon, parameters, Fraction(parameters.get("sensitivity", 1)), grid, Fraction(2) ** grid.exponent


def _recorded(each: Callable[..., Any], parameters: dict[str, Any]) -> Release:
    """See what a release of several answers hands on: these answers, and all that is drawn, in their shape."""
    given, bits, grid = Token(), Token(), parameters["grid"]
    release = recorded_release(each, given, bits, **parameters)
    if len(release.several) != 2 or release.several[0] is not given or release.several[1] is not grid:
        raise Refused("noise is added to something other than the answers")
    if release.found is not release.drawn or release.bits is not bits:
        raise Refused("the outputs are not what is drawn from words")
    if release.grid is not grid:
        raise Refused("the outputs are on another grid")
    return release


Noise = Callable[[Fraction, int, int], bool]


def _run(each: Callable[..., Any], parameters: dict[str, Any], step: Fraction, noise: Noise) -> int:
    """Release plain answers of every type, together and alone, and arrays of several shapes, on words at random.

    Args:
        each: the release.
        parameters: its public parameters.
        step: of the grid.
        noise: `noise(shift, word, steps)`: whether a draw that begins with that word is so many steps.
    """
    random, looked_at = Random(20261124), 0
    known = answers(step)
    lists: list[tuple[Any, list[Fraction], tuple[int, ...]]] = [
        ([answer for answer, _ in some], [place for _, place in some], (len(some),))
        for some in (known, known[::-1] * 2, known[:1], [])
    ]
    numbers = Source.numbers(0, 24) / 7 - 1.5
    places = [Fraction(one) / step for one in numbers.tolist()]
    lists += [(numbers.reshape(shape), places, shape) for shape in ((24,), (4, 6), (2, 3, 4), (24, 1))]
    for given, all_places, shape in lists:
        words = [random.getrandbits(WORD) for _ in all_places]
        found = each(given, GivenWords(words, (0, 1)), **parameters)
        if found.dtype.name != "float64" or found.shape != shape:
            raise Refused(f"answers of shape {shape} are released as {found.dtype} of shape {found.shape}")
        for place, word, output in zip(all_places, words, found.reshape(-1).tolist(), strict=True):
            whole, steps = (place + HALF).__floor__(), Fraction(output) / step
            inside = abs(steps) < LIMIT
            if steps.denominator != 1 or (inside and not noise(place - whole, word, int(steps) - whole)):
                raise Refused(f"an answer {place} steps above 0 is released as {output!r} on {word}")
            if not inside and abs(whole) < LIMIT // 2:
                raise Refused(f"an answer {place} steps above 0 is released as {output!r}")
            looked_at += 1
    return looked_at
