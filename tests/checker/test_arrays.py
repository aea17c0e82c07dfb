"""Theorems on releases of several answers accept the exact ones and refuse what differs."""

from __future__ import annotations

import importlib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from checker.core.certificate import Refused
from checker.kinds.released_chunks import require_release, require_repeated, require_several
from checker.kinds.trace import Traced, look_up, matched
from experiments.certificates import DRAFTS
from mechanisms.answers import RepeatedAnswer, SeveralAnswers
from mechanisms.chunks import release_in_chunks
from mechanisms.grid import Grid
from tests.checker.conftest import Checked
from tests.checker.mutants import mutate
from tests.representatives import first_of_each

ARRAYS = [name for name in DRAFTS if name.startswith("array_")]
MODULES = (
    "mechanisms.grid",
    "mechanisms.answers",
    "mechanisms.chunks",
    "mechanisms.laplace.exact_fast",
    "mechanisms.laplace.exact_rounded",
    "mechanisms.gaussian.exact_fast",
    "mechanisms.gaussian.exact_rounded",
)
ANSWERS, CHUNKS, GRID = "mechanisms.answers", "mechanisms.chunks", "mechanisms.grid"


@pytest.mark.slow
@pytest.mark.parametrize("name", ARRAYS)
def test_several_answers_are_private_for_every_pair(checked: Checked, name: str) -> None:
    assert checked(DRAFTS[name]()).statement.endswith("for every pair of arrays with one answer at most 1 apart")


@pytest.mark.parametrize("name", ["array_discrete_laplace", "array_rounded_laplace"])
def test_what_is_false_is_refused(checked: Checked, name: str) -> None:
    draft = DRAFTS[name]()
    for change in (
        {"claim": {"kind": "pure", "epsilon": "999999/1000000"}},
        {"neighbours": "answers at most the sensitivity apart"},
        {"functions": {}},
    ):
        with pytest.raises(Refused):
            checked(draft, **change)


RELEASES = [
    ("laplace.exact_fast", "several = SeveralAnswers(answers, grid)", "several = SeveralAnswers(answers[:1], grid)"),
    ("laplace.exact_fast", "_release(several, scale, bits, grid)", "_release(several, scale / 2, bits, grid)"),
    ("laplace.exact_fast", ".reshape(several.shape)", ""),
    ("laplace.exact_rounded", "_release(several, scale, bits, grid)", "_release(several, scale / 2, bits, grid)"),
    ("laplace.exact_rounded", "words, shifts + 0.5)", "words, shifts + 0.5 * (shifts != 0.125))"),
    ("laplace.exact_rounded", "words, shifts + 0.5)", "words, abs(shifts + 0.5))"),
    ("gaussian.exact_fast", "_release(several, sigma_steps,", "_release(several, sigma_steps / 2,"),
    ("gaussian.exact_fast", "resolved(law, word, bits)", "resolved(law, word >> 1, bits)"),
    ("gaussian.exact_rounded", "rounding(words, shifts)", "rounding(words, 0.0)"),
    ("gaussian.exact_rounded", "RoundedNormal(shift, scale), word", "RoundedNormal(-shift, scale), word"),
]
OF_MODULE = {
    "laplace.exact_fast": "array_discrete_laplace",
    "laplace.exact_rounded": "array_rounded_laplace",
    "gaussian.exact_fast": "array_discrete_gaussian",
    "gaussian.exact_rounded": "array_rounded_gaussian",
}


@pytest.mark.few(2)
@pytest.mark.parametrize(("module", "old", "new"), first_of_each(RELEASES))
def test_a_broken_release_is_refused(
    checked: Checked, monkeypatch: pytest.MonkeyPatch, module: str, old: str, new: str
) -> None:
    draft = DRAFTS[OF_MODULE[module]]()
    name = f"mechanisms.{module}"
    mutate(monkeypatch, MODULES, name, old, new)
    functions = {role: getattr(importlib.import_module(name), one.__name__) for role, one in draft.functions.items()}
    with pytest.raises((Refused, TypeError)):
        checked(draft, functions=functions)


LOOPS = [
    ("outputs[start : start + CHUNK]", "outputs[start : start + CHUNK - 1]"),
    ("words = bits.words(len(chunk))\n        wholes", "words = bits.words(1).repeat(len(chunk))\n        wholes"),
    ("answers.part(start, start + len(chunk))", "answers.part(0, len(chunk))"),
    ("answers.at(place)", "answers.at(place % 16384)"),
    ("grid.value(whole + resolve(", "grid.value(resolve("),
    ("in waiting:\n        whole", "in waiting[:3]:\n        whole"),
    ("grid.write_values(wholes, noise, chunk)", "grid.write_values(wholes, noise[::-1], chunk)"),
]


@pytest.mark.parametrize(("old", "new"), first_of_each(LOOPS, bool))
def test_a_broken_loop_is_refused(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    mutate(monkeypatch, MODULES, CHUNKS, old, new)
    with pytest.raises((Refused, ValueError, IndexError)):
        require_release(importlib.import_module(CHUNKS).release_in_chunks)


PLACES = [
    (ANSWERS, "math.floor(steps + Fraction(1, 2))", "round(steps)"),
    (ANSWERS, "return whole, steps - whole", "return whole, Fraction(0)"),
    (ANSWERS, "self._numbers[place]", "self._numbers[0]"),
    (ANSWERS, "for place in range(start, start + len(numbers))", "for place in range(len(numbers), 0, -1)"),
    (ANSWERS, "given.reshape(-1) if", "np.sort(given.reshape(-1)) if"),
    (GRID, "wholes += 0.0\n", "pass\n"),
    (GRID, "wholes *= 0.5\n            np.ceil(wholes, out", "wholes *= 0.5\n            np.rint(wholes, out"),
    (GRID, "wholes = np.floor(shifts)", "wholes = np.rint(shifts)"),
    (GRID, "shifts -= wholes\n", "shifts -= np.floor(shifts)\n"),
    (GRID, "shifts[np.isnan(shifts)] = 0.0", "pass"),
    (GRID, "math.ldexp(2.0, -self.exponent)\n", "math.ldexp(2.0, self.exponent)\n"),
]


@pytest.mark.parametrize(("module", "old", "new"), first_of_each(PLACES))
def test_answers_that_are_brought_elsewhere_are_refused(
    monkeypatch: pytest.MonkeyPatch, module: str, old: str, new: str
) -> None:
    mutate(monkeypatch, MODULES, module, old, new)
    several = importlib.import_module(ANSWERS).SeveralAnswers
    with pytest.raises((Refused, IndexError)):
        require_several(several, importlib.import_module(GRID).Grid(-2), Fraction(1, 4))


def test_whole_numbers_of_minus_zero_are_refused() -> None:
    """A sum with noise of −0 would be −0, and tell that the answer is below 0."""

    class Signed(SeveralAnswers):
        def part(self, start: int, stop: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            wholes, shifts = super().part(start, stop)
            return np.where(wholes == 0, -0.0, wholes), shifts

    class Repeated(RepeatedAnswer):
        def part(self, start: int, stop: int) -> tuple[float, float]:
            whole, shift = super().part(start, stop)
            return whole or -0.0, shift

    with pytest.raises(Refused, match="−0"):
        require_several(Signed, Grid(-2), Fraction(1, 4))
    with pytest.raises(Refused, match="−0"):
        require_repeated(Repeated)


@pytest.mark.slow
def test_the_parts_are_accepted_as_they_are() -> None:
    assert require_release(release_in_chunks, 1) > 60_000
    assert require_several(SeveralAnswers, Grid(-2), Fraction(1, 4)) > 40_000


def test_a_table_that_is_named_in_a_pattern_is_returned() -> None:
    """What `matched` gives for a table are its entries; another format is refused."""
    index, table = Traced.unknown("index", "int64"), np.array([0.5, 0.25])
    found = np.take(table, index, out=np.empty_like(index, dtype=np.float64), mode="clip")
    pattern = look_up(Traced.unknown("?table", "float64").step, Traced.unknown("index", "int64"))
    assert matched(found, pattern, "a look-up") == {"table": [0.5, 0.25]}
    other: Any = look_up(Traced.unknown("?table", "int64").step, Traced.unknown("index", "int64"))
    with pytest.raises(Refused):
        matched(found, other, "a look-up")
