"""The theorem on noisy histograms."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused
from checker.core.tape import Dialogues, Published
from checker.kinds.claims import pure_epsilon, require_neighbours
from checker.kinds.grids import require_rounding, steps_apart
from checker.kinds.laplace_words import FAST_LEMMAS, require_fast_noise, require_values
from checker.kinds.large_runs import MANY, require_same_on_many
from checker.kinds.lending import Recorder, Token, lent, used
from checker.kinds.opaque import Opaque, Seen
from checker.kinds.plain_answers import answers, point, require_point
from checker.kinds.word_runs import GivenWords
from checker.models import discrete_noise

CELLS = (*range(5), MANY)
TRIALS = 3


def histogram(certificate: Certificate) -> Conclusion:
    """Show that noise on each count keeps ε if one count moves by 1, for every histogram of any number of cells.

    Cell i is grid.value(A_i + N_i), A_i the rounded count; the N_i are drawn one by one at a public scale, without the
    counts. Only the law of the cell that moves changes, by e^(d/scale) at most, d the steps that it moves by.

    Functions: `reference(counts, bits, **parameters)`, `fast(counts, trials, bits, **parameters)`. Parameters: epsilon,
    grid.
    """
    epsilon = pure_epsilon(certificate)
    require_neighbours(certificate, "one count 1 apart")
    parameters = certificate.arguments()
    grid = parameters["grid"]
    step = Fraction(2) ** grid.exponent
    distance = steps_apart(Fraction(1), step)
    scale = distance / Fraction(parameters["epsilon"])
    if distance / scale > epsilon:
        raise Refused(f"{distance} steps at scale {scale} lose {distance / scale}, more than {epsilon}")
    reference, fast = certificate.function("reference"), certificate.function("fast")
    dialogues = Dialogues()
    for cells in CELLS:
        _require_reference(dialogues, reference, parameters, cells, scale)
        _require_fast(fast, parameters, cells, scale)
    draw_many = used(fast, "discrete_laplace_many")
    compared = require_values(grid) + require_fast_noise(draw_many, scale)
    _run(fast, draw_many, parameters, scale)
    plain = _require_plain_counts(reference, fast, draw_many, parameters, scale)
    return Conclusion(
        f"{distance / scale}-DP for every pair of histograms that differ by 1 in one count",
        ("rounding-half-up", "discrete-laplace", "cells", *FAST_LEMMAS),
        {
            "runs": dialogues.runs,
            "roundings": require_rounding(grid, step),
            "draws compared": compared,
            "plain histograms": plain,
        },
    )


class _Grid:
    """A public grid that rounds opaque counts, each to an integer of its own."""

    def __init__(self, real: Any, counts: list[Opaque]) -> None:
        self._real, self._counts = real, {id(count): count for count in counts}

    def nearest(self, count: Any) -> Opaque:
        """Return the opaque number of steps of a count."""
        if id(count) not in self._counts:
            raise Refused("something other than a count is rounded to the grid")
        return Opaque(f"nearest({count!r})")

    def value(self, steps: Any) -> Seen:
        """Return a note of the place that was asked for."""
        return Seen("value", steps)

    def values(self, steps: Any) -> Seen:
        """Return a note of the places that were asked for."""
        return Seen("values", steps)

    def __getattr__(self, name: str) -> Any:
        if name not in ("rounded_sensitivity", "noise_steps", "step"):
            raise Refused(f"the grid is asked for {name}")
        return getattr(self._real, name)


def _require_reference(dialogues: Dialogues, reference: Any, parameters: Any, cells: int, scale: Fraction) -> None:
    counts = [Opaque(f"count {cell}") for cell in range(cells)]
    watched = parameters | {"grid": _Grid(parameters["grid"], counts)}
    drawn: Iterator[int] = iter(())

    def outcomes(scale: Fraction) -> list[Opaque]:  # noqa: ARG001
        return [Opaque(f"noise {next(drawn)}")]

    noise = Published(discrete_noise.discrete_laplace.function, outcomes)

    def model(counts: list[Opaque], bits: Any) -> list[Seen]:
        nonlocal drawn
        drawn = iter(range(cells))
        grid = watched["grid"]
        return [grid.value(grid.nearest(count) + bits.call(noise, scale)) for count in counts]

    if cells < MANY:
        dialogues.same(partial(reference, **watched), model, counts)
    else:
        require_same_on_many(partial(reference, **watched), model, counts)


class _Noise:
    """An opaque vector of noise, which can be cut into rows and added to a row of counts."""

    def __init__(self, rows: int, cells: int, *, cut: bool = False) -> None:
        self._shape, self._cut = (rows, cells), cut
        self.added: list[Opaque] | None = None

    def reshape(self, rows: int, cells: int) -> _Noise:
        """Cut it into rows."""
        if (rows, cells) != self._shape:
            raise Refused(f"noise for {self._shape} is cut into {rows} rows of {cells}")
        return _Noise(rows, cells, cut=True)

    def __add__(self, counts: Any) -> _Noise:
        if not self._cut or self.added is not None or type(counts) is not list or len(counts) != self._shape[1]:
            raise Refused("noise is added to something other than a row of counts, once")
        found = _Noise(*self._shape, cut=True)
        found.added = list(counts)
        return found


def _require_fast(fast: Any, parameters: Any, cells: int, scale: Fraction) -> None:
    counts, bits = [Opaque(f"count {cell}") for cell in range(cells)], Token()
    grid = _Grid(parameters["grid"], counts)
    drawing = Recorder(_Noise(TRIALS, cells))
    with lent(fast, discrete_laplace_many=drawing):
        found = fast(counts, TRIALS, bits, **{**parameters, "grid": grid})
    if drawing.call != (scale, TRIALS * cells, bits) or type(found) is not Seen or found.function != "values":
        raise Refused(f"the fast path returns {found!r} with noise drawn by {drawing.call}")
    (noisy,) = found.places
    added = noisy.added if type(noisy) is _Noise else None
    if added is None or not all(one.same(grid.nearest(count)) for one, count in zip(added, counts, strict=True)):
        raise Refused(f"the fast path adds noise to {added}")


def _require_plain_counts(reference: Any, fast: Any, draw_many: Any, parameters: Any, scale: Fraction) -> int:
    """Check releases of plain counts of every type, alone, beside others, and the same count in several cells."""
    step = Fraction(2) ** parameters["grid"].exponent
    known = answers(step)
    histograms = [[one] for one in known] + [[one, one, one] for one in known] + [known, known[:40] * 10]
    random, released = Random(20261123), 0
    for cells in histograms:
        counts, wholes = [count for count, _ in cells], [(place + Fraction(1, 2)).__floor__() for _, place in cells]
        source = _Drawn()
        found = reference(counts, source, **parameters)
        if type(found) is not list or len(found) != len(cells) or source.drawn != len(cells):
            raise Refused(f"{len(cells)} counts are released as {found!r:.200}, with {source.drawn} draws")
        for draw, (count, whole, output) in enumerate(zip(counts, wholes, found, strict=True), start=1):
            require_point(output, whole + draw, step, count)
        for trials in (1, 2):
            words = [random.getrandbits(64) for _ in range(trials * len(cells))]
            noise = iter(draw_many(scale, trials * len(cells), GivenWords(words, (0, 1))).tolist())
            expected = [[point(whole + next(noise), step) for whole in wholes] for _ in range(trials)]
            outputs = fast(counts, trials, GivenWords(words, (0, 1)), **parameters)
            if outputs.dtype.name != "float64" or outputs.tolist() != expected:
                raise Refused(f"{counts!r:.200} are released as {outputs.tolist()!r:.200}")
        released += 1
    return released


class _Drawn:
    """A source whose draws count from 1 on."""

    def __init__(self) -> None:
        self.drawn = 0

    def call(self, *_: Any) -> int:
        """Return the next draw."""
        self.drawn += 1
        return self.drawn


def _run(fast: Any, draw_many: Any, parameters: Any, scale: Fraction) -> None:
    """Check with plain numbers that each cell of each row gets noise of its own."""
    random, grid = Random(20261122), parameters["grid"]
    for counts in ([7], [0, 3, 10**6], [2.5, -1, Fraction(1, 3), 2**60]):
        words = [random.getrandbits(64) for _ in range(TRIALS * len(counts))]
        released = fast(counts, TRIALS, GivenWords(words, (0, 1)), **parameters).tolist()
        noise = iter(draw_many(scale, TRIALS * len(counts), GivenWords(words, (0, 1))).tolist())
        if released != [[grid.value(grid.nearest(one) + next(noise)) for one in counts] for _ in range(TRIALS)]:
            raise Refused(f"the counts {counts} are not released with noise of their own")
