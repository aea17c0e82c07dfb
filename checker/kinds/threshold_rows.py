"""Rows of answers compared with noisy thresholds at once: what the fast paths of the sparse vector technique do.

The comparison of a matrix of noisy answers with a column of noisy thresholds is replaced by every outcome that it can
have. So what follows from it is shown for all answers and all noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from itertools import product
from random import Random
from types import SimpleNamespace
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import same
from checker.kinds.exponential_floors import require_floor
from checker.kinds.lending import Recorder, Token, lent, used
from checker.kinds.opaque import Opaque
from checker.kinds.rounded_answers import RoundedAnswers
from checker.models.sparse_vector import SparseVector

FARTHEST = 1 << 62
"""Where `discrete_laplace_many` cuts noise off."""

MOST_QUERIES = 8
"""All rows of up to so many queries are tried."""

MANY = 2000
"""Some rows of so many queries are tried."""

_EDGES = (0, 1, -1, 12345, FARTHEST - 1, 1 - FARTHEST, FARTHEST, -FARTHEST)
_BEYOND = (0, 1, 77, 1 << 70)


def require_unbounded(unbounded: Callable[..., Any], scales: Sequence[Fraction]) -> int:
    """Check that noise is drawn by `discrete_laplace_many` and goes on where that cut it off (lemma `unbounded-noise`).

    Args:
        unbounded: `unbounded(scale, trials, bits)`.
        scales: those at which it is used.

    Returns:
        How many draws were compared.

    Raises:
        Refused: it does something else.
    """
    arrays, compared = import_module("numpy"), 0
    flooring = used(unbounded, "floor_of_exponential")
    for scale in scales:
        for length, edges in product((0, 1, 2, 40, 500), (_EDGES[:4], _EDGES[:6], _EDGES)):
            cut = [edges[(place * place + place // 7) % len(edges)] for place in range(length)]
            drawing, trials, further = Recorder(arrays.array(cut, dtype="int64")), Token(), _Further()
            with lent(unbounded, discrete_laplace_many=drawing):
                found = unbounded(scale, trials, further)
            if drawing.call != (scale, trials, further):
                raise Refused(f"noise is drawn by {drawing.call}")
            expected, far = [], 0
            for one in cut:
                more = _BEYOND[far % len(_BEYOND)] if abs(one) == FARTHEST else 0
                far += abs(one) == FARTHEST
                expected.append(one + more if one > 0 else one - more)
            if found.tolist() != expected or found.dtype.name != ("object" if far else "int64"):
                raise Refused("noise that was cut off does not go on")
            if len(further.asked) != far or any(one[1:] != (Fraction(0), scale) for one in further.asked):
                raise Refused(f"noise that was cut off goes on with {further.asked[:3]}")
            if any(one[0] is not flooring for one in further.asked):
                raise Refused("noise that was cut off goes on with more than one sampler")
            compared += length
    for scale in scales:
        _require_geometric(flooring, scale)
    return compared + require_floor(used(flooring, "decide_floor"), tuple(scales))


class _Further:
    """A source that says by how much noise goes on."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def call(self, sampler: Any, *arguments: Any) -> int:
        """Return the next number."""
        self.asked.append((sampler, *arguments))
        return _BEYOND[(len(self.asked) - 1) % len(_BEYOND)]


def _require_geometric(flooring: Callable[..., Any], scale: Fraction) -> None:
    """Check that `flooring(0, scale, bits)` decides ⌊scale·E⌋ from the first bit of a uniform on."""
    bits, floor = Token(), Token()
    deciding = Recorder(floor)
    with lent(flooring, decide_floor=deciding):
        found = flooring(Fraction(0), scale, bits)
    if found is not floor or deciding.call != (Fraction(0), scale, 0, 0, bits):
        raise Refused("the floor of an exponential variate is not decided from the first bit on")


class _Thresholds:
    """The noise of the thresholds: a number can be added to it, and it can be made a column."""

    __array_ufunc__ = None

    def __init__(self, plus: int | None = None, *, column: bool = False) -> None:
        self.plus, self.column = plus, column

    def __add__(self, other: Any) -> _Thresholds:
        if type(other) is not int or self.plus is not None or self.column:
            raise Refused("something other than a threshold is added to the noise of thresholds")
        return _Thresholds(other)

    __radd__ = __add__

    def __getitem__(self, key: Any) -> _Thresholds:
        if key != (slice(None), None) or self.column:
            raise Refused("the noisy thresholds are cut otherwise than into a column")
        return _Thresholds(self.plus, column=True)


class _Noise:
    """The noise of answers: it can be cut into rows, added to the answers, and compared with noisy thresholds.

    Args:
        shape: the rows and their lengths.
        wholes: the rounded answers.
        threshold: in steps.
        outcome: what the comparison gives.
    """

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment] # a look-up would be a look

    def __init__(self, shape: tuple[int, int], wholes: Sequence[Opaque], threshold: int, outcome: Any) -> None:
        self._shape, self._wholes, self._threshold, self._outcome = shape, wholes, threshold, outcome
        self._done = ""

    def _goes_on(self, before: str, after: str) -> _Noise:
        if self._done != before:
            raise Refused(f"noise that was {self._done or 'drawn'} is {after}")
        found = _Noise(self._shape, self._wholes, self._threshold, self._outcome)
        found._done = after
        return found

    def reshape(self, rows: int, length: int) -> _Noise:
        """Cut it into rows."""
        if (rows, length) != self._shape:
            raise Refused(f"noise for {self._shape} is cut into {rows} rows of {length}")
        return self._goes_on("", "cut into rows")

    def __add__(self, other: Any) -> _Noise:
        if type(other) is not list or len(other) != len(self._wholes):
            raise Refused("noise is added to something other than a row of answers")
        if not all(one is whole for one, whole in zip(other, self._wholes, strict=True)):
            raise Refused("noise is added to the answers in another order")
        return self._goes_on("cut into rows", "added to the answers")

    __radd__ = __add__

    def __ge__(self, other: Any) -> Any:
        if type(other) is not _Thresholds or (other.plus, other.column) != (self._threshold, True):
            raise Refused("noisy answers are compared with something other than the noisy thresholds")
        self._goes_on("added to the answers", "compared")
        return self._outcome.copy()


def _outcomes() -> list[Any]:
    """Return matrices of truth values: all rows of a few, single ones, and some rows of many."""
    arrays, random = import_module("numpy"), Random(20261124)
    found = [list(product((False, True), repeat=length)) for length in range(MOST_QUERIES + 1)]
    found += [[row] for row in product((False, True), repeat=3)]
    found += [[tuple(random.random() < share for _ in range(MANY)) for share in (0, 0.0005, 0.001, 0.01, 1)]]
    return [arrays.array(rows, dtype=bool).reshape(len(rows), len(rows[0])) for rows in found]


def require_rows(fast: Callable[..., Any], parameters: Mapping[str, Any], published: SparseVector) -> int:
    """Check that `fast(answers, trials, bits, **parameters)` reports which answers are above, row by row.

    Row t is what the algorithm says if answer i is above where A_i + N_ti ≥ T + R_t, with the noise of
    `unbounded_laplace_many`, drawn for the R_t first and then for all N_ti, each row at a time.

    Args:
        fast: the function.
        parameters: public; one of them is `grid`.
        published: the algorithm.

    Returns:
        How many rows were compared.

    Raises:
        Refused: it reports something else.
    """
    compared = 0
    for outcome in _outcomes():
        rows, length = outcome.shape
        grid, bits = RoundedAnswers(parameters["grid"], length, Opaque), Token()
        noise = iter((_Thresholds(), _Noise((rows, length), grid.wholes, published.threshold, outcome)))
        calls: list[tuple[Any, ...]] = []

        def drawing(*call: Any, calls: list[tuple[Any, ...]] = calls, noise: Any = noise) -> Any:
            calls.append(call)
            return next(noise)

        with lent(fast, unbounded_laplace_many=drawing):
            found = fast(grid.answers, rows, bits, **{**parameters, "grid": grid})
        if calls != [(published.threshold_scale, rows, bits), (published.answer_scale, rows * length, bits)]:
            raise Refused(f"the noise of {rows} rows of {length} answers is drawn by {calls}")
        if found.dtype.name != "bool" or found.tolist() != [
            _stopped(row, published.positives) for row in outcome.tolist()
        ]:
            raise Refused(f"{length} answers are reported otherwise than compared")
        compared += rows
    return compared


def _stopped(row: Sequence[bool], positives: int) -> list[bool]:
    """Return what is reported of answers that are above or not: nothing after the last positive."""
    said: list[bool] = []
    for above in row:
        said.append(above and said.count(True) < positives)
    return said


class _CodedAnswers(RoundedAnswers):
    """A grid that writes a number of its own for each place that it is asked for.

    Attributes:
        written: the places.
    """

    def __init__(self, real: Any, number: int) -> None:
        super().__init__(real, number, Opaque)
        self.written: list[Any] = []

    def values(self, steps: Any) -> Any:
        """Write the numbers from 1 on."""
        first = len(self.written) + 1
        self.written += steps.tolist()
        return import_module("numpy").arange(first, len(self.written) + 1, dtype="float64")


def require_released_rows(
    fast: Callable[..., Any], parameters: Mapping[str, Any], reports: Mapping[str, Any], scale: Fraction
) -> int:
    """Check that `fast(answers, trials, bits, **parameters)` releases what is reported above, with new noise each.

    Args:
        fast: the function.
        parameters: public; one of them is `grid`.
        reports: those of them that `exact_above_threshold_fast` gets, which decides what is reported.
        scale: of the noise of values.

    Returns:
        How many rows were compared.

    Raises:
        Refused: it releases something else.
    """
    arrays, compared = import_module("numpy"), 0
    for reported in _outcomes():
        rows, length = reported.shape
        if not length:
            continue
        grid, bits = _CodedAnswers(parameters["grid"], length), Token()
        count = int(reported.sum())
        noise = [Opaque(f"noise {place}") for place in range(count)]
        drawing, reporting = Recorder(arrays.array([*noise, None], dtype=object)[:-1]), _Reporting(reported)
        with lent(fast, exact_above_threshold_fast=reporting, discrete_laplace_many=drawing):
            found = fast(grid.answers, rows, bits, **{**parameters, "grid": grid})
        if drawing.call != (scale, count, bits):
            raise Refused(f"the noise of {count} values is drawn by {drawing.call}")
        reporting.require(grid.answers, rows, bits, {**reports, "grid": grid})
        places = [(row, query) for row, said in enumerate(reported.tolist()) for query in range(length) if said[query]]
        expected = [[-math.inf] * length for _ in range(rows)]
        for code, (row, query) in enumerate(places, start=1):
            expected[row][query] = float(code)
        if found.dtype.name != "float64" or found.tolist() != expected:
            raise Refused("a value does not stand where it was reported above")
        if not all(
            (grid.wholes[query] + noise[code]).same(grid.written[code]) for code, (_, query) in enumerate(places)
        ):
            raise Refused("a value is not an answer that was reported above, with noise of its own")
        compared += rows
    return compared


class _Reporting:
    """Stands for the function that decides what is reported above."""

    def __init__(self, reported: Any) -> None:
        self._reported = reported
        self._calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *arguments: Any, **parameters: Any) -> Any:
        """Take a call."""
        self._calls.append((arguments, parameters))
        return self._reported.copy()

    def require(self, answers: Sequence[Token], rows: int, bits: Token, parameters: Mapping[str, Any]) -> None:
        """Check that it was called once, with these answers in their order.

        Raises:
            Refused: it was not.
        """
        if len(self._calls) != 1:
            raise Refused(f"what is reported is decided {len(self._calls)} times")
        ((given, *others), found) = self._calls[0]
        alike = len(given) == len(answers) and all(one is other for one, other in zip(given, answers, strict=True))
        if not alike or others != [rows, bits] or found.keys() != parameters.keys():
            raise Refused("what is reported is decided of other answers")
        if not all(found[name] is one or same(found[name], one) for name, one in parameters.items()):
            raise Refused("what is reported is decided with other parameters")


_PLACES = (0, 1, -1, 3, 1000, (1 << 53) - 1, 1 << 53, -(1 << 53))


def require_far_noise(fast: Callable[..., Any], parameters: Mapping[str, Any], published: SparseVector) -> int:
    """Check with plain answers and noise of every size that rows are compared as integers are.

    Returns:
        How many rows were compared.

    Raises:
        Refused: an answer is reported otherwise.
    """
    arrays, random, compared = import_module("numpy"), Random(20261125), 0
    step = parameters["grid"].step
    near = (0, 1, -1, 5, -4, FARTHEST - 1, FARTHEST, -FARTHEST)
    beyond = (*near, FARTHEST + 1, -FARTHEST - 1, FARTHEST + (1 << 53), 1 << 64, -(1 << 70))
    for bars, sizes in product(((near, "int64"), (beyond, "object")), ((near, "int64"), (beyond, "object"))):
        for length in (1, 2, 8):
            wholes = [random.choice(_PLACES) for _ in range(length)]
            rows = 200
            bar, noise = ([random.choice(of[0]) for _ in range(n)] for of, n in ((bars, rows), (sizes, rows * length)))
            drawn = iter([arrays.array(bar, dtype=bars[1]), arrays.array(noise, dtype=sizes[1])])
            with lent(fast, unbounded_laplace_many=lambda *_, drawn=drawn: next(drawn)):
                found = fast([whole * step for whole in wholes], rows, Token(), **parameters).tolist()
            for row in range(rows):
                given = iter([bar[row], *noise[row * length :][:length]])
                source = SimpleNamespace(call=lambda *_, given=given: next(given))
                if found[row] != list(published.reported(wholes, None, source)):
                    raise Refused(f"the answers {wholes} are reported {found[row]}")
            compared += rows
    return compared
