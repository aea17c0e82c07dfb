"""Theorems on Laplace mechanisms accept the exact ones and refuse what differs."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from operator import itemgetter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.certificates import Draft
from checker.core.certificate import Refused
from checker.kinds.laplace_words import require_fast_noise, require_fast_release, require_noisy_integers
from checker.kinds.released_chunks import recorded_release
from checker.kinds.rounded_words import require_rounded_noise, require_rounded_reference
from checker.kinds.word_runs import GivenWords, require_runs
from experiments.certificates import DRAFTS
from mechanisms.grid import Grid
from tests.checker.conftest import Checked
from tests.checker.mutants import mutate
from tests.representatives import first_of_each

DISCRETE = DRAFTS["exact_discrete_laplace"]()
ROUNDED = DRAFTS["exact_rounded_laplace"]()
BOTH = pytest.mark.parametrize("draft", [DISCRETE, ROUNDED], ids=["discrete", "rounded"])

CERTIFIED = "mechanisms.certified"
ANSWERS = "mechanisms.answers"
CELLS = "mechanisms.cells"
FILTER = "mechanisms.laplace.floor_filter"
CHUNKS = "mechanisms.chunks"
FLOORS = "mechanisms.laplace.exponential_variates"
LOGISTIC = "mechanisms.laplace.exact_randomized_response"
MAGNITUDES = "mechanisms.laplace.discrete_magnitudes"
FAST = "mechanisms.laplace.exact_fast"
ROUND = "mechanisms.laplace.exact_rounded"
MODULES = (CERTIFIED, ANSWERS, CELLS, CHUNKS, FLOORS, FILTER, LOGISTIC, MAGNITUDES, FAST, ROUND)


def mutated(monkeypatch: pytest.MonkeyPatch, module: str, old: str, new: str) -> Any:
    """Return the fast path of a mutated mechanism."""
    mutate(monkeypatch, MODULES, module, old, new)
    return importlib.import_module(module)


def check_discrete() -> None:
    fast = importlib.import_module(FAST).exact_discrete_laplace_fast
    require_fast_release(fast, {"epsilon": Fraction(1), "grid": Grid(-2)}, Fraction(4))
    require_fast_noise(importlib.import_module(FAST).discrete_laplace_many, Fraction(4))


def check_rounded() -> None:
    module = importlib.import_module(ROUND)
    release = recorded_release(module.exact_rounded_laplace_fast, 0.25, 3, None, epsilon=1, grid=Grid(-2))
    release.require(Grid(-2))
    require_rounded_noise(release.decide, release.resolve, Fraction(4))
    require_rounded_reference(module.rounded_laplace, Fraction(4))


def check_fine() -> None:
    """On a grid of 2^−40, where the filter is another one and the scale has no effect on anything else."""
    module = importlib.import_module(ROUND)
    release = recorded_release(module.exact_rounded_laplace_fast, 0.25, 3, None, epsilon=1, grid=Grid(-40))
    require_rounded_noise(release.decide, release.resolve, Fraction(2**40))


WIDE = pytest.param("exact_rounded_laplace_wide", marks=pytest.mark.slow)


@pytest.mark.few(0)
@pytest.mark.parametrize("name", ["exact_discrete_laplace", "exact_rounded_laplace", WIDE])
def test_a_laplace_mechanism_is_private_for_every_pair(checked: Checked, name: str) -> None:
    assert checked(DRAFTS[name]()).statement == "1-DP for every pair of answers at most 1 apart"


@BOTH
def test_a_smaller_claim_than_the_noise_gives_is_refused(checked: Checked, draft: Draft) -> None:
    with pytest.raises(Refused, match=r"loses? 1, more than 999999/1000000"):
        checked(draft, claim={"kind": "pure", "epsilon": "999999/1000000"})


@pytest.mark.slow
def test_the_statement_names_the_sensitivity_of_the_parameters(checked: Checked) -> None:
    wider = {**DISCRETE.parameters, "sensitivity": Fraction(3)}
    assert checked(DISCRETE, parameters=wider).statement == "1-DP for every pair of answers at most 3 apart"


@pytest.mark.slow
def test_rounding_noise_and_answer_together_costs_no_sensitivity(checked: Checked) -> None:
    """A sensitivity of an eighth is half a step of this grid: discrete noise has to hide a whole one."""
    parameters = {"epsilon": Fraction(1, 3), "grid": Grid(-2), "sensitivity": Fraction(1, 8)}
    found = checked(ROUNDED, parameters=parameters)
    assert found.statement == "1/3-DP for every pair of answers at most 1/8 apart"
    assert "rounding-half-up" not in found.lemmas


@BOTH
def test_a_claim_of_another_kind_or_of_other_neighbours_is_refused(checked: Checked, draft: Draft) -> None:
    with pytest.raises(Refused, match="pure differential privacy"):
        checked(draft, claim={"kind": "zcdp", "rho": "1/2"})
    with pytest.raises(Refused, match="neighbours are 'substitute'"):
        checked(draft, neighbours="substitute")


@BOTH
def test_a_path_that_is_missing_or_another_mechanisms_is_refused(checked: Checked, draft: Draft) -> None:
    other = ROUNDED if draft is DISCRETE else DISCRETE
    for role in ("reference", "fast"):
        with pytest.raises(Refused):
            checked(draft, functions={**draft.functions, role: other.functions[role]})
        with pytest.raises(Refused):
            checked(draft, functions={one: function for one, function in draft.functions.items() if one != role})


@pytest.mark.slow
def test_noise_so_small_that_a_threshold_needs_more_digits_than_are_looked_at_is_refused() -> None:
    with pytest.raises(Refused, match="600 digits of a threshold are not known"):
        require_fast_noise(importlib.import_module(FAST).discrete_laplace_many, Fraction(1, 1000))


@pytest.mark.slow
@pytest.mark.parametrize("scale", first_of_each([Fraction(5, 3), Fraction(1, 100), Fraction(2**46)], bool))
def test_fast_noise_of_other_scales_is_what_the_inversion_gives(scale: Fraction) -> None:
    require_fast_noise(importlib.import_module(FAST).discrete_laplace_many, scale)


def test_a_fast_path_that_writes_minus_0_is_refused_by_its_outputs() -> None:
    """An output of −0 is equal to 0, and shows the sign of the noise."""

    def release(trials: int, bits: GivenWords) -> NDArray[np.float64]:
        return np.where(bits.words(trials) < 9, 0.0, -0.0)

    require_runs(release, [(3,), (8,)], lambda word, take: 0.0)  # noqa: ARG005
    with pytest.raises(Refused, match=r"-0\.0 is released, not 0\.0"):
        require_runs(release, [(3,), (9,)], lambda word, take: 0.0)  # noqa: ARG005


@pytest.mark.ci
def test_noise_whose_scale_is_off_by_one_part_in_2_to_the_52_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = mutated(monkeypatch, FAST, "_Inversion(scale)", "_Inversion(scale * (1 + Fraction(1, 2**52)))")
    with pytest.raises(Refused):
        require_fast_noise(module.discrete_laplace_many, Fraction(4))


def test_noisy_integers_are_clamped_sums_of_clamped_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    require_noisy_integers(importlib.import_module(FAST).noisy_integers)
    for old, new in (
        ("noisy += clamp_integer(answer)", "noisy -= clamp_integer(answer)"),
        ("noisy += clamp_integer(answer)", "noisy += answer"),
        ("np.clip(noisy, -INTEGER_LIMIT, INTEGER_LIMIT", "np.clip(noisy, 0, INTEGER_LIMIT"),
        ("noisy = discrete_laplace_many(scale,", "noisy = discrete_laplace_many(scale / 2,"),
    ):
        with monkeypatch.context() as patch, pytest.raises((Refused, TypeError)):
            require_noisy_integers(mutated(patch, FAST, old, new).noisy_integers)


IN_BOTH = (
    (CERTIFIED, "result += coefficients[0]", "result += coefficients[-1]"),
    (FILTER, "(_COARSE_UP_TO, 3)", "(_COARSE_UP_TO, 2)"),
    (FILTER, "Fraction((-1) ** k, k)", "Fraction((-1) ** k, k + (k == 3))"),
    (FILTER, "scale * Fraction((-1) ** k, k)", "scale * Fraction((-1) ** (k + 1), k)"),
    (FILTER, "range(_CELLS.binades, 0, -1) for one", "range(_CELLS.binades + 1, 1, -1) for one"),
    (FILTER, "Fraction(one - half,", "Fraction(one + half,"),
    (FILTER, "round_up(self._error(scale) * (1 + UNIT))", "round_up(self._error(scale) * (1 + UNIT)) / 2"),
    (FILTER, "_unknown(_CELLS.top - _CELLS.binades)", "_unknown(_CELLS.top - 1)"),
    (FILTER, "np.array([math.nan, *map", "np.array([0.0, *map"),
    (FILTER, "map(float, exact), math.nan]", "map(float, exact), 0.0]"),
    (FILTER, "ratio -= middles", "ratio += middles"),
    (FILTER, "distance > self._bound", "distance > 0.5 * self._bound"),
    (FILTER, "distance > self._bound", "distance >= self._bound"),
    (FILTER, "np.rint(value, out=ratio)", "np.floor(value, out=ratio)"),
    (FILTER, "np.floor(value, out=value)", "np.rint(value, out=value)"),
    (FILTER, "^= signs & _TOP_BIT", "|= signs & _TOP_BIT"),
    (FILTER, "np.abs(distance, out=distance)", "np.negative(distance, out=distance)"),
    (CELLS, "<< self.bits) - 1)", "<< self.bits) - 2)"),
    (CELLS, "1 << shift - 1)", "1 << shift - 2)"),
    (CELLS, "np.int64(-(1 << shift))", "np.int64(-(2 << shift))"),
    (FLOORS, "context = down if upward else up", "context = up if upward else down"),
    (FLOORS, "leading + 1, length, upward=False", "leading, length, upward=False"),
    (FLOORS, "leading << 1 | bits.take(1)", "leading << 1 | bits.take(2)"),
    (FLOORS, "leading << 1 | bits.take(1)", "leading << 1"),
    (FLOORS, "length += 1", "length += 2"),
    (FLOORS, "        length += 1", "        length += 1\n        if length > 128:\n            return decided"),
    (FLOORS, "rounding(length + _GUARD)", "rounding(min(length, 450) + _GUARD)"),
    (
        FLOORS,
        "    while True:\n        if leading",
        "    rounds = 0\n    while True:\n        rounds += 1\n"
        "        if rounds > 300:\n            return decided\n        if leading",
    ),
    (FLOORS, "if leading >= least_decidable", "if leading > least_decidable"),
    (CHUNKS, "outputs[start : start + CHUNK]", "outputs[start : start + CHUNK - 1]"),
    (CHUNKS, "int(words[i])", "int(words[0])"),
    (CHUNKS, "decide(shifts, words)", "decide(np.asarray(shifts, np.float32), words)"),
    (CHUNKS, "grid.write_values(wholes,", "grid.write_values(np.asarray(wholes, np.float32),"),
    (CHUNKS, "grid.write_values(wholes, noise,", "grid.write_values(wholes, noise.astype(np.float32),"),
    (CHUNKS, "whole, shift = answers.at(place)", "whole, shift = answers.at(place % 16384)"),
    (CHUNKS, "answers.part(start, start + len(chunk))", "answers.part(0, len(chunk))"),
    (CHUNKS, "outputs[place] = grid.value(whole + ", "outputs[-1] = grid.value(whole + "),
    (CHUNKS, "outputs[place] = grid.value(whole + ", "outputs[place] = grid.value("),
    (ANSWERS, "return float(self.whole), float(self.shift)", "return float(self.whole), 0.0"),
    (ANSWERS, "return float(self.whole), float(self.shift)", "return float(self.shift), float(self.whole)"),
    (ANSWERS, "return self.whole, self.shift", "return self.whole + 1, self.shift"),
    (ANSWERS, "return self.trials", "return self.trials + 1"),
)
IN_DISCRETE = (
    (CHUNKS, "drawn[start : start + CHUNK]", "drawn[start : start + CHUNK - 1]"),
    (CHUNKS, "int(words[i])", "int(words[0])"),
    (CHUNKS, "bits), -GREATEST_NOISE)", "bits), 0)"),
    (CHUNKS, "drawn[place] = min", "drawn[-1] = min"),
    (FAST, "_UNIFORM = (1 << FILTER_BITS) - 1", "_UNIFORM = (1 << FILTER_BITS) - 2"),
    (FAST, "words & np.uint64(_UNIFORM)", "words >> np.uint64(1)"),
    (FAST, "view(np.int64), words, 0.5)", "view(np.int64), words << np.uint64(1), 0.5)"),
    (FAST, "view(np.int64), words, 0.5)", "view(np.int64), ~words, 0.5)"),
    (FAST, "view(np.int64), words, 0.5)", "view(np.int64), words, 0.0)"),
    (FAST, "below, _ = self._offset", "below, _ = enclose_offset(self._scale, 48)"),
    (FAST, "int(below.denominator)) - _HALF", "int(below.denominator))"),
    (FAST, "Fraction(int(below.numerator), int(below.denominator)) - _HALF", "Fraction(0)"),
    (
        FAST,
        "Fraction(int(below.numerator), int(below.denominator)) - _HALF",
        "_HALF - Fraction(int(below.numerator), int(below.denominator))",
    ),
    (FAST, "return noise, np.flatnonzero(undecided)", "return np.negative(noise), np.flatnonzero(undecided)"),
    (FAST, "return noise, np.flatnonzero(undecided)", "return noise * (1 - 0 * noise), np.flatnonzero(undecided)"),
    (FAST, "return noise, np.flatnonzero(undecided)", "return noise, np.flatnonzero(undecided)[1:]"),
    (FAST, "-magnitude if word > _UNIFORM", "-1 - magnitude if word > _UNIFORM"),
    (FAST, "-magnitude if word > _UNIFORM else magnitude", "magnitude if word > _UNIFORM else -magnitude"),
    (FAST, "-magnitude if word > _UNIFORM", "-magnitude if word & 1"),
    (FAST, "-magnitude if word > _UNIFORM", "-magnitude if word >= _UNIFORM"),
    (FAST, "self._offset, word & _UNIFORM, FILTER_BITS, bits", "self._offset, word, 64, bits"),
    (FAST, "self._offset, word & _UNIFORM, FILTER_BITS, bits", "self._offset, 0, 0, bits"),
    (FAST, "(self._scale, self._offset, word", "(self._scale / 2, self._offset, word"),
    (FAST, "bits: inversion.resolve(word, bits)", "bits: inversion.resolve(word ^ 1 << 63, bits)"),
    (FAST, "draw_in_chunks(trials, bits,", "draw_in_chunks(trials + 1, bits,"),
    (FAST, "return _release(repeated, scale, bits, grid)", "return _release(repeated, scale / 2, bits, grid)"),
    (FAST, "RepeatedAnswer(grid.nearest(answer)", "RepeatedAnswer(grid.nearest(answer) + grid.nearest(answer)"),
    (FAST, "RepeatedAnswer(grid.nearest(answer), Fraction(0)", "RepeatedAnswer(grid.nearest(answer), Fraction(1, 2)"),
    (MAGNITUDES, "share for share in enclose_logistic", "1 - share for share in enclose_logistic"),
    (MAGNITUDES, "enclose_logistic(1 / scale,", "enclose_logistic(scale,"),
    (MAGNITUDES, "down, up = rounding", "up, down = rounding"),
    (MAGNITUDES, "least = down.log(down.div(below.", "least = down.log(up.div(below."),
    (MAGNITUDES, "greatest = up.log(up.div(above.", "greatest = up.log(down.div(above."),
    (MAGNITUDES, "rounding(precision)", "rounding(min(precision, 512))"),
    (MAGNITUDES, "gmpy2.mpq(greatest)", "gmpy2.mpq(least)"),
    (MAGNITUDES, "math.floor(number + above)", "math.floor(number + below)"),
    (MAGNITUDES, "math.floor(number + below)", "math.floor(number - below)"),
    (
        MAGNITUDES,
        "        precision *= 2",
        "        precision *= 2\n        if precision > 400:\n            return floor",
    ),
    (MAGNITUDES, "precision *= 2", "precision *= 1"),
    (MAGNITUDES, "while True:", "for _ in range(3):"),
    (MAGNITUDES, "ends = enclose_offset(scale, precision)", "_ = enclose_offset(scale, precision)"),
    (FAST, "enclose_offset(self._scale, OFFSET_BITS)", "enclose_offset(2 * self._scale, OFFSET_BITS)"),
    (MAGNITUDES, "exact_scale * exponential, scale, ends)", "exact_scale * exponential, 2 * scale, ends)"),
    (MAGNITUDES, "exact_scale * exponential, scale, ends)", "exponential, scale, ends)"),
    (MAGNITUDES, "max(1, math.floor(scale)), leading", "max(1, 3 * math.floor(scale)), leading"),
    (MAGNITUDES, "leading, length, bits))", "leading + 1, length, bits))"),
    (LOGISTIC, "return 1 / (1 + above), 1 / (1 + below)", "return 1 / (1 + below), 1 / (1 + above)"),
    (LOGISTIC, "down.exp(down.div(", "up.exp(up.div("),
)
IN_ROUNDED = (
    (FILTER, "value += offset", "value += np.round(offset, 3)"),
    (FLOORS, "math.floor(exact_slope * exp", "math.ceil(exact_slope * exp"),
    (FLOORS, "exponential + offset)", "exponential - offset)"),
    (FLOORS, "gmpy2.mpq(slope)", "gmpy2.mpq(slope) / 2"),
    (ROUND, "_UNIFORM = (1 << FILTER_BITS) - 1", "_UNIFORM = (1 << FILTER_BITS) - 2"),
    (ROUND, "word > _UNIFORM", "word >= _UNIFORM"),
    (ROUND, "-scale if word > _UNIFORM", "scale if word > _UNIFORM"),
    (ROUND, "word & _UNIFORM, FILTER", "word, FILTER"),
    (ROUND, "FILTER_BITS, bits)", "FILTER_BITS + 1, bits)"),
    (ROUND, "words, shifts + 0.5)", "words, shifts + 0.4999)"),
    (ROUND, "decide_floor(shift + _HALF", "decide_floor(shift"),
    (ROUND, "negative = bits.take(1) == 1", "negative = bits.take(1) == 2"),
    (ROUND, "-scale if negative else scale", "scale"),
    (FILTER, "value.view(np.uint64)[:]", "value.copy().view(np.uint64)[:]"),
    (FLOORS, "offset, slope, 0, 0, bits", "offset, slope, 1, 1, bits"),
)
MODULE = itemgetter(1)
IN_FINE = (
    (FILTER, "(GREATEST_NOISE_STEPS, 5)", "(GREATEST_NOISE_STEPS, 4)"),
    (FILTER, "range(_CELLS.binades, 0, -1)])", "range(_CELLS.binades + 1, 1, -1)])"),
    (FILTER, "float(scale / 2) / _CELLS", "float(scale) / _CELLS"),
    (FILTER, "(parts >> _FRACTION_BITS)", "0 * (parts >> _FRACTION_BITS)"),
    (FILTER, "_error(scale)) + unknown)", "_error(scale)) + 0 * unknown)"),
    (FILTER, "(1 + 3 * _RADIUS) / 2) / _CELLS", "(1 + 3 * _RADIUS) / 4) / _CELLS"),
    (FILTER, "(math.inf, bounds)", "(0.0, bounds)"),
    (FILTER, "leading - middles.astype(np.int64)", "middles.astype(np.int64) - leading"),
    (FILTER, "leading - middles.astype(np.int64)", "leading - middles"),
    (FILTER, "distance > bound", "distance > 0.5 * bound"),
    (FILTER, "distance > bound", "distance > 0 * bound"),
    (FILTER, "value += whole", "value -= whole"),
    (FILTER, "value.view(np.uint64)[:] ^= negative", "value.view(np.uint64)[:] |= negative"),
    (FILTER, "whole.view(np.uint64)[:] ^= negative", "whole.view(np.uint64)[:] ^= signs"),
)
CASES = [
    *first_of_each(
        [
            *((check_rounded, *case) for case in (*IN_BOTH, *IN_ROUNDED)),
            *((check_discrete, *case) for case in IN_DISCRETE),
        ],
        MODULE,
    ),
    *(pytest.param(check_discrete, *case, marks=pytest.mark.slow) for case in IN_BOTH),
    *first_of_each(((check_fine, *case) for case in IN_FINE), MODULE),
]


@pytest.mark.few(0)
@pytest.mark.parametrize("check", [check_rounded, check_discrete, check_fine])
def test_the_copies_that_are_mutated_are_accepted_as_they_are(
    monkeypatch: pytest.MonkeyPatch, check: Callable[[], None]
) -> None:
    mutate(monkeypatch, MODULES, FAST, "", "")
    check()


@pytest.mark.few(3)
@pytest.mark.parametrize(("check", "module", "old", "new"), CASES)
def test_a_mutated_mechanism_is_refused(
    monkeypatch: pytest.MonkeyPatch, check: Callable[[], None], module: str, old: str, new: str
) -> None:
    mutate(monkeypatch, MODULES, module, old, new)
    with pytest.raises((Refused, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)):
        check()


IN_STEPS = (
    ("return whole, half_above - whole", "return whole, half_above"),
    ("grid.steps_to(answer) + _HALF", "grid.steps_to(answer) + Fraction(1, 3)"),
    ("math.floor(half_above)", "math.ceil(half_above)"),
    ("/ grid.step\n", "* grid.step\n"),
    ("offset + -_HALF", "offset"),
    ('/ positive_rational("epsilon", epsilon)', "/ 2"),
    ("grid.value(whole + ", "grid.value(2 * whole + "),
    ("trial_count(trials)), scale, bits, grid)", "trial_count(trials)), scale / 2, bits, grid)"),
    ("bits.call(rounded_laplace, offset, scale)", "bits.call(rounded_laplace, offset, scale / 2)"),
)


@pytest.mark.parametrize(("old", "new"), first_of_each(IN_STEPS, bool))
def test_a_mechanism_that_brings_answers_to_the_grid_otherwise_is_refused(
    checked: Checked, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    quarter = replace(
        ROUNDED, parameters={"epsilon": Fraction(1, 4), "grid": Grid(-2)}, claim={"kind": "pure", "epsilon": "1/4"}
    )
    mutate(monkeypatch, MODULES, ROUND, old, new)
    functions = {role: getattr(importlib.import_module(ROUND), f.__name__) for role, f in ROUNDED.functions.items()}
    with pytest.raises(Refused):
        checked(quarter, functions=functions)


Method = Callable[..., Any]


def halved(true: Method) -> Method:
    return lambda self, answer: true(self, answer) / 2


def mirrored(true: Method) -> Method:
    return lambda self, answer: abs(true(self, answer))


def moved(true: Method) -> Method:
    return lambda self, steps: true(self, steps + 1)


def unclamped_below(_: Method) -> Method:
    return lambda self, steps: min(steps, self.limit)


@pytest.mark.few(0)
@pytest.mark.parametrize(
    ("name", "altered"),
    [("steps_to", halved), ("steps_to", mirrored), ("value", moved), ("clamp", unclamped_below)],
)
def test_another_grid_is_refused(
    checked: Checked, monkeypatch: pytest.MonkeyPatch, name: str, altered: Callable[[Method], Method]
) -> None:
    monkeypatch.setattr(Grid, name, altered(getattr(Grid, name)))
    with pytest.raises(Refused):
        checked(ROUNDED)
