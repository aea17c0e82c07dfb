"""Theorems on Laplace mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused
from checker.core.tape import Dialogues, Published, same
from checker.kinds.claims import pure_epsilon, require_neighbours
from checker.kinds.grids import LIMIT, require_rounding, require_steps, steps_apart
from checker.kinds.laplace_words import FAST_LEMMAS, require_fast_release
from checker.kinds.lending import Recorder, Token
from checker.kinds.opaque import Opaque, OpaqueGrid, OpaqueReal, Seen
from checker.kinds.plain_answers import NO_BITS, require_plain_releases, require_plain_trials
from checker.kinds.released_chunks import TRIALS, recorded_release
from checker.kinds.rounded_words import require_rounded_noise, require_rounded_reference
from checker.kinds.word_runs import require_runs, words_near
from checker.models import discrete_noise, inversion

HALF = Fraction(1, 2)
NEIGHBOURS = "answers at most the sensitivity apart"


def discrete_laplace_on_grid(certificate: Certificate) -> Conclusion:
    """Show that an answer rounded to a grid, plus discrete Laplace noise, keeps ε for every pair of answers.

    With A the rounded answer, the output is grid.value(A + N), and N is drawn by Algorithm 2 at a public scale, on the
    fast path by inversion. A moves by d steps at most, and e^(−d/scale) ≥ e^−ε if d/scale ≤ ε.

    Functions: `reference(answer, bits, **parameters)`, `fast(answer, trials, bits, **parameters)`. Parameters: epsilon,
    sensitivity, grid.
    """
    epsilon = pure_epsilon(certificate)
    require_neighbours(certificate, NEIGHBOURS)
    parameters = certificate.arguments()
    sensitivity, grid = Fraction(parameters.get("sensitivity", 1)), parameters["grid"]
    step = Fraction(2) ** grid.exponent
    distance = steps_apart(sensitivity, step)
    scale = distance / Fraction(parameters["epsilon"])
    if distance / scale > epsilon:
        raise Refused(f"{distance} steps at scale {scale} lose {distance / scale}, more than {epsilon}")
    answer = Opaque("answer")
    watched = parameters | {"grid": OpaqueGrid(grid, answer)}
    noise = Published(discrete_noise.discrete_laplace.function, lambda scale: [Opaque("noise")])  # noqa: ARG005

    def model(answer: Opaque, bits: Any) -> Any:
        return watched["grid"].value(watched["grid"].nearest(answer) + bits.call(noise, scale))

    dialogues = Dialogues()
    dialogues.same(partial(certificate.function("reference"), **watched), model, answer)
    sampler, released = require_plain_releases(
        partial(certificate.function("reference"), **parameters),
        step,
        lambda _, given: len(given) == 1 and same(given[0], scale),
    )
    dialogues.same(sampler, discrete_noise.discrete_laplace, scale)
    tried = require_rounding(grid, step)
    fast = certificate.function("fast")
    compared = require_fast_release(fast, parameters, scale)
    released += require_plain_trials(
        partial(fast, **parameters),
        step,
        lambda _, word, noise: inversion.discrete_laplace(scale, word, NO_BITS) == noise,
    )
    return Conclusion(
        f"{distance / scale}-DP for every pair of answers at most {sensitivity} apart",
        ("rounding-half-up", "discrete-laplace", *FAST_LEMMAS),
        {
            "runs": dialogues.runs,
            "runs cut off": dialogues.cut,
            "roundings": tried,
            "releases of plain answers": released,
            "operations and draws of the fast path": compared,
        },
    )


def _point(steps: int, step: Fraction) -> float:
    return float(min(max(steps, -LIMIT), LIMIT) * step)


def rounded_ideal_laplace(certificate: Certificate) -> Conclusion:
    """Show that ideal Laplace noise, rounded with the answer to a grid, keeps ε for every pair of answers.

    With x the exact number of steps of the answer, the output is grid.value(⌊x + ½ ± scale·E⌋), for every real x: a
    function of x plus real Laplace noise of a public scale. x moves by Δ/step at most, and so much divided by the scale
    is lost.

    Functions: `reference(answer, bits, **parameters)`, `fast(answer, trials, bits, **parameters)`. Parameters: epsilon,
    sensitivity, grid.
    """
    epsilon = pure_epsilon(certificate)
    require_neighbours(certificate, NEIGHBOURS)
    parameters = certificate.arguments()
    sensitivity, grid = Fraction(parameters.get("sensitivity", 1)), parameters["grid"]
    step = Fraction(2) ** grid.exponent
    answer, noise = Opaque("answer"), Opaque("noise")
    watched = parameters | {"grid": OpaqueGrid(grid, answer)}
    middle = OpaqueReal.unknown("steps") + HALF
    whole = middle.__floor__()
    offset = middle - whole

    calling = Recorder(noise)
    found = certificate.function("reference")(answer, SimpleNamespace(call=calling), **watched)
    sampler, given_offset, scale = calling.call
    if not Seen("value", whole + noise).same(found) or not offset.same(given_offset) or type(scale) is not Fraction:
        raise Refused(f"the reference returns {found!r}, with noise drawn by {calling.call}")
    lost = sensitivity / (scale * step)
    if lost > epsilon:
        raise Refused(f"{sensitivity} at scale {scale * step} loses {lost}, more than {epsilon}")
    tried = require_steps(grid, step)
    runs = require_rounded_reference(sampler, scale)

    fast, bits = certificate.function("fast"), Token()
    release = recorded_release(fast, answer, TRIALS, bits, **watched)
    given_whole, given_shift, trials = release.repeated
    if not whole.same(given_whole) or not (offset + -HALF).same(given_shift) or trials != TRIALS:
        raise Refused(f"the fast path adds noise to {release.repeated}")
    if (release.bits, release.grid) != (bits, watched["grid"]) or release.found is not release.drawn:
        raise Refused("the fast path does not return what is drawn from words")
    compared = require_rounded_noise(release.decide, release.resolve, scale) + release.require(grid)
    plain_sampler, released = require_plain_releases(
        partial(certificate.function("reference"), **parameters),
        step,
        lambda shift, given: same(given, (shift + HALF, scale)),
    )
    if plain_sampler is not sampler:
        raise Refused("plain answers are released with noise of another sampler")
    released += require_plain_trials(
        partial(fast, **parameters),
        step,
        lambda shift, word, noise: inversion.rounded_laplace(shift + HALF, scale, word, NO_BITS) == noise,
    )
    drawn = sum(_run_rounded(partial(fast, **parameters), scale, step, x) for x in (0, Fraction(-7, 3), LIMIT))
    return Conclusion(
        f"{lost}-DP for every pair of answers at most {sensitivity} apart",
        ("clamping", "rounded-ideal", *(lemma for lemma in FAST_LEMMAS if lemma != "laplace-by-inversion")),
        {
            "runs": runs,
            "answers": tried,
            "releases of plain answers": released,
            "operations and draws of the fast path": compared,
            "words of the fast path": drawn,
        },
    )


def _run_rounded(fast: Callable[..., Any], scale: Fraction, step: Fraction, steps: Fraction | int) -> int:
    """Run the fast path with an answer, on words at the edges between two outputs."""
    whole = (steps + HALF).__floor__()
    offset = steps + HALF - whole
    above = words_near(((place - offset) / scale for place in (1, 2, 10)), 63)
    below = words_near(((place + offset) / scale for place in (0, 1, 10)), 63)
    draws = [(word,) for word in above] + [(1 << 63 | word,) for word in below]

    def expected(word: int, take: inversion.Take) -> float:
        return _point(whole + inversion.rounded_laplace(offset, scale, word, take), step)

    return require_runs(lambda trials, bits: fast(steps * step, trials, bits), draws, expected)
