"""Theorems on the sparse vector technique, for any number of queries."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import count, cycle
from random import Random
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused, require
from checker.core.tape import Published, same
from checker.kinds.claims import pure_epsilon, require_neighbours
from checker.kinds.grids import LIMIT, require_rounding, steps_apart
from checker.kinds.laplace_words import FAST_LEMMAS, require_fast_noise, require_values
from checker.kinds.large_runs import MANY, require_same_on_many
from checker.kinds.lending import used
from checker.kinds.plain_answers import answers, point
from checker.kinds.rounded_answers import RoundedAnswers, Steps, StepsDialogues
from checker.kinds.threshold_rows import require_far_noise, require_released_rows, require_rows, require_unbounded
from checker.kinds.word_runs import GivenWords
from checker.models import discrete_noise
from checker.models.sparse_vector import SparseVector

NEIGHBOURS = "answers to queries, each at most the sensitivity apart"

LEMMAS = ("sparse-vector", "rounding-half-up", "discrete-laplace", "queries", "unbounded-noise", *FAST_LEMMAS)

MOST_POSITIVES = 5
"""After so many, all ways through unknown answers are too many; those beyond are left to known answers."""

TRIALS = 3


def above_threshold(certificate: Certificate) -> Conclusion:
    """Show that AboveThreshold keeps ε for every pair of vectors of answers, of any length.

    With A_i the rounded answers, T + R the threshold and its noise, i is reported above where A_i + N_i ≥ T + R, until
    c of them were. All noise is drawn by Algorithm 2 at public scales, anew for each answer. The loss is d/b + 2cd/b′
    for answers that move by d steps, R's scale b and the N_i's b′ (lemma `sparse-vector`).

    Functions: `reference(answers, bits, **parameters)`, `fast(answers, trials, bits, **parameters)`. Parameters:
    threshold, positives, epsilon_threshold, epsilon_answers, sensitivity, grid.
    """
    return _proved(certificate, values=False)


def numeric_sparse(certificate: Certificate) -> Conclusion:
    """Show that AboveThreshold that releases the values of those above keeps ε for every pair of vectors of answers.

    The values are A_i + M_i with noise M_i of scale b″ that nothing else was drawn for; they cost cd/b″ more.

    Functions: as for `above_threshold`. Parameters: those, and epsilon_values.
    """
    return _proved(certificate, values=True)


def _proved(certificate: Certificate, *, values: bool) -> Conclusion:
    epsilon = pure_epsilon(certificate)
    require_neighbours(certificate, NEIGHBOURS)
    parameters = certificate.arguments()
    grid = parameters["grid"]
    step = Fraction(2) ** grid.exponent
    distance = steps_apart(Fraction(parameters.get("sensitivity", 1)), step)
    published = _published(parameters, distance, step, values=values)
    loss = published.loss(distance)
    if loss > epsilon:
        raise Refused(f"{published} loses {loss} where answers move by {distance}, more than {epsilon}")
    reference, fast = certificate.function("reference"), certificate.function("fast")
    runs, sampler = _require_reference(reference, parameters, published)
    together = _require_many(partial(reference, **parameters), published, step)
    plain = _require_plain_answers(partial(reference, **parameters), sampler, published, step)

    comparing, compared_with = fast, parameters
    if values:
        comparing = used(fast, "exact_above_threshold_fast")
        shared = {name: one for name, one in parameters.items() if name != "epsilon_values"}
        compared_with = {"sensitivity": 1, **shared}
    draw = used(comparing, "unbounded_laplace_many")
    rows = require_rows(comparing, compared_with, published) + require_far_noise(comparing, compared_with, published)
    if values:
        if used(fast, "discrete_laplace_many") is not used(draw, "discrete_laplace_many"):
            raise Refused("the noise of values is drawn by another function than the noise of answers")
        rows += require_released_rows(fast, parameters, compared_with, published.scales[-1])
    rows += _require_words(partial(fast, **parameters), draw, published, step)
    drawn = require_unbounded(draw, published.scales[:2])
    drawn += sum(require_fast_noise(used(draw, "discrete_laplace_many"), scale) for scale in set(published.scales))
    return Conclusion(
        f"{loss}-DP for any number of queries and every pair of {NEIGHBOURS}",
        LEMMAS,
        {
            "runs": runs,
            "queries at once": together,
            "vectors of plain answers": plain,
            "roundings": require_rounding(grid, step) + require_values(grid),
            "rows of the fast path": rows,
            "operations and draws of the fast path": drawn,
        },
    )


def _published(parameters: Mapping[str, Any], distance: int, step: Fraction, *, values: bool) -> SparseVector:
    """Return the algorithm at the scales d/ε₁, 2cd/ε₂ and cd/ε₃."""
    positives = require(parameters["positives"], int, "positives")
    threshold = Fraction(parameters["threshold"]) / step
    if threshold.denominator != 1 or positives < 1:
        raise Refused(f"the threshold is {threshold} steps, and {positives} answers may be above")
    found = SparseVector(
        int(threshold),
        positives,
        distance / Fraction(parameters["epsilon_threshold"]),
        2 * positives * distance / Fraction(parameters["epsilon_answers"]),
        positives * distance / Fraction(parameters["epsilon_values"]) if values else None,
    )
    if min(found.scales) <= 0:
        raise Refused(f"{found} has a scale that is not above 0")
    return found


def _require_reference(
    reference: Callable[..., Any], parameters: Mapping[str, Any], published: SparseVector
) -> tuple[int, Any]:
    """Check that a sampler does what the algorithm does, on unknown answers and unknown noise.

    Returns:
        How many runs were compared, and what draws the noise.
    """
    drawn: Iterator[int] = iter(())
    noise = Published(discrete_noise.discrete_laplace.function, lambda scale: [Steps(f"noise {next(drawn)}")])  # noqa: ARG005
    dialogues = StepsDialogues(depth=100, watched=(noise,))
    for queries in (0, 1, 2, min(published.positives, MOST_POSITIVES) + 2):
        grid = RoundedAnswers(parameters["grid"], queries, Steps)

        def model(answers: Any, bits: Any, grid: RoundedAnswers = grid) -> tuple[Any, ...]:  # noqa: ARG001
            nonlocal drawn
            drawn = count()
            return published.run(grid.wholes, grid.value, noise, bits)

        dialogues.same(partial(reference, **{**parameters, "grid": grid}), model, grid.answers)
    samplers = [sampler for sampler, _ in dialogues.asked[id(noise)]]
    if any(one is not samplers[0] for one in samplers):
        raise Refused("the noise is drawn by more than one sampler")
    return dialogues.runs, samplers[0]


def _require_many(reference: Callable[..., Any], published: SparseVector, step: Fraction) -> int:
    """Check a sampler on many known answers, of which as many are high as may be above, or fewer."""
    noise = Published(discrete_noise.discrete_laplace.function, lambda scale: discrete_noise.TRIED)  # noqa: ARG005
    far, compared = 10**9, 0
    for high, queries in ((published.positives, MANY), (published.positives - 1, MANY // 5)):
        wholes = [published.threshold - far] * queries
        for place in range(high):
            wholes[queries * (place + 1) // (high + 1)] = published.threshold + far

        def model(answers: Any, bits: Any, wholes: list[int] = wholes) -> tuple[Any, ...]:  # noqa: ARG001
            return published.run(wholes, lambda steps: point(steps, step), noise, bits)

        compared += require_same_on_many(reference, model, [whole * step for whole in wholes])
    return compared


class _Scripted:
    """A source whose calls return given numbers.

    Attributes:
        called: who was called.
        given: with which arguments.
    """

    def __init__(self, *numbers: int) -> None:
        self._numbers = cycle(numbers)
        self.called: list[Any] = []
        self.given: list[Any] = []

    def call(self, sampler: Any, *arguments: Any) -> int:
        """Return the next number."""
        self.called.append(sampler)
        self.given.append(arguments)
        return next(self._numbers)


def _vectors(step: Fraction) -> Iterator[tuple[Any, list[int]]]:
    """Give lists and arrays of plain answers of every type, each with the steps that they are rounded to."""
    known = [(one, (place + Fraction(1, 2)).__floor__()) for one, place in answers(step)]
    for vector in ([], *([one] for one in known), *([one] * 3 for one in known), known, known[:40] * 10):
        yield [one for one, _ in vector], [whole for _, whole in vector]
    arrays = importlib.import_module("numpy")
    numbers = (0.0, 0.5, -1.5, 2.25, -7.0, 1e300, -1e300, math.inf, -math.inf, math.nan)
    wholes = [_rounded(number, step) for number in numbers]
    for kind in ("float64", "float16", "object"):
        array = arrays.array(numbers if kind != "float16" else numbers[:5], dtype=kind)
        yield array, wholes[: len(array)]
        yield array[::-2], wholes[: len(array)][::-2]
    integers = (0, 1, -3, 1 << 40, -(1 << 62))
    yield arrays.array(integers), [_rounded(number, step) for number in integers]


def _rounded(number: float, step: Fraction) -> int:
    """Return the steps nearest to a number, half a step upward; NaN counts as 0."""
    if math.isnan(number):
        return 0
    if abs(number) >= LIMIT * step:
        return LIMIT if number > 0 else -LIMIT
    return (Fraction(number) / step + Fraction(1, 2)).__floor__()


_SCRIPTS = ((0, 1, -1), (5, -1000, 2, 7), (-3, 0, 0, 4, 10**6))


def _require_plain_answers(reference: Callable[..., Any], sampler: Any, published: SparseVector, step: Fraction) -> int:
    """Check what is reported of plain answers of every type, alone, beside others, and three times."""
    tried = 0
    for given, wholes in _vectors(step):
        for script in _SCRIPTS:
            asked, expected = _Scripted(*script), _Scripted(*script)
            found = reference(given, asked)
            meant = published.run(wholes, lambda steps: point(steps, step), None, expected)
            if type(found) is not tuple or not same(found, meant) or not same(asked.given, expected.given):
                raise Refused(f"{given!r:.200} are reported as {found!r:.200}, with noise of {asked.given!r:.200}")
            if any(one is not sampler for one in asked.called):
                raise Refused(f"the noise of {given!r:.200} is drawn by another sampler")
            tried += 1
    return tried


def _require_words(fast: Callable[..., Any], draw: Callable[..., Any], published: SparseVector, step: Fraction) -> int:
    """Check on words that rows of plain answers are reported with the noise that is drawn for them, in order."""
    random, released = Random(20261126), 0
    for given, wholes in _vectors(step):
        words = [random.getrandbits(64) for _ in range(TRIALS * (1 + 2 * len(wholes)))]
        source = GivenWords(words, (0, 1))
        bars = draw(published.threshold_scale, TRIALS, source).tolist()
        noise = draw(published.answer_scale, TRIALS * len(wholes), source).tolist()
        rows = [noise[trial * len(wholes) :][: len(wholes)] for trial in range(TRIALS)]
        meant: list[Any] = [
            list(published.reported(wholes, None, _Scripted(bar, *row))) for bar, row in zip(bars, rows, strict=True)
        ]
        if published.value_scale is not None:
            more = iter(
                used(draw, "discrete_laplace_many")(published.value_scale, sum(map(sum, meant)), source).tolist()
            )
            meant = [
                [
                    point(whole + next(more), step) if above else -math.inf
                    for whole, above in zip(wholes, row, strict=True)
                ]
                for row in meant
            ]
        found = fast(given, TRIALS, GivenWords(words, (0, 1)))
        if found.dtype.name != ("bool" if published.value_scale is None else "float64") or found.tolist() != meant:
            raise Refused(f"{given!r:.200} are reported as {found.tolist()!r:.200}")
        released += TRIALS
    return released
