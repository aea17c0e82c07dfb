"""The arithmetic of arrays, by z3: what constructors do holds for every number, and what people write instead fails.

Each wrong form is refuted by a number that z3 finds, and the constructor is right at that very number.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import z3

from mechanisms.core.grid import LIMIT, Grid
from mechanisms.core.records import Count, Counts, Histogram, Total
from mechanisms.core.scores import Utilities

DOUBLE = z3.Float64()
NEAREST, DOWN = z3.RNE(), z3.RTN()


def proved(claim: z3.BoolRef) -> bool:
    solver = z3.Solver()
    solver.add(z3.Not(claim))
    return bool(solver.check() == z3.unsat)


def counterexample(claim: z3.BoolRef, *names: z3.ExprRef) -> list[z3.ExprRef]:
    solver = z3.Solver()
    solver.add(z3.Not(claim))
    assert solver.check() == z3.sat
    return [solver.model().eval(name, model_completion=True) for name in names]


def as_double(number: z3.ExprRef) -> float:
    bits = z3.simplify(z3.fpToIEEEBV(number)).as_long()
    return float(np.array([bits], dtype=np.uint64).view(np.float64)[0])


def double(number: float) -> z3.FPNumRef:
    return z3.FPVal(number, DOUBLE)


def floored(number: z3.FPRef) -> z3.BitVecRef:
    return z3.fpToSBV(DOWN, number, z3.BitVecSort(64))


def rounds(answer: z3.FPRef, steps: z3.BitVecRef) -> z3.BoolRef:
    """Say that steps − ½ ≤ answer < steps + ½, for an answer of at most 2^51, where both ends are doubles."""
    low, high = (z3.fpSignedToFP(NEAREST, 2 * steps + way, DOUBLE) for way in (-1, 1))
    twice = z3.fpMul(NEAREST, double(2.0), answer)
    return z3.And(z3.fpLEQ(low, twice), z3.fpLT(twice, high))


def test_half_added_in_binary64_rounds_some_double_below_one_half_to_1() -> None:
    answer = z3.FP("answer", DOUBLE)
    is_small = z3.And(z3.fpGEQ(answer, double(0.0)), z3.fpLT(answer, double(1.0)))
    (found,) = counterexample(
        z3.Implies(is_small, rounds(answer, floored(z3.fpAdd(NEAREST, answer, double(0.5))))), answer
    )
    assert as_double(found) == 0.49999999999999994
    assert Grid(0).nearest_each(np.array([as_double(found)])).tolist() == [0]
    assert Grid(0).nearest(as_double(found)) == 0


def test_rounding_to_even_moves_answers_one_step_apart_by_two() -> None:
    answer = z3.FP("answer", DOUBLE)
    is_small = z3.fpLEQ(z3.fpAbs(answer), double(8.0))
    even, half_up = (z3.fpToSBV(NEAREST, answer, z3.BitVecSort(64)), floored(z3.fpAdd(NEAREST, answer, double(0.5))))
    (found,) = counterexample(z3.Implies(is_small, even == half_up), answer)
    tie = Fraction(as_double(found)) // 1 + Fraction(1, 2)
    assert Grid(0).nearest(tie + 1) - Grid(0).nearest(tie) == 1


def test_the_operations_of_nearest_each_round_every_double_of_the_grid_half_upward() -> None:
    """In half steps y: n = ⌊y⌋, and (n + 1) >> 1 = w with 2w − 1 ≤ n ≤ y < n + 1 ≤ 2w + 1, or n = y."""
    halves, n = z3.FP("halves", DOUBLE), z3.BitVec("n", 64)
    whole = z3.fpRoundToIntegral(DOWN, halves)
    is_small = z3.fpLEQ(z3.fpAbs(halves), double(2.0**52))
    following = z3.fpAdd(NEAREST, whole, double(1.0))
    assert proved(z3.Implies(is_small, z3.And(z3.fpLEQ(whole, halves), z3.fpLT(halves, following))))
    assert proved(z3.Implies(z3.Not(z3.Or(is_small, z3.fpIsNaN(halves))), z3.fpEQ(whole, halves)))
    steps = (n + 1) >> 1
    rounded = z3.And(2 * steps - 1 <= n, n + 1 <= 2 * steps + 1, steps <= LIMIT, steps >= -LIMIT)
    assert proved(z3.Implies(z3.And(n >= -2 * LIMIT, n <= 2 * LIMIT), rounded))


@pytest.mark.parametrize(
    ("bits", "signed", "least"), [(8, True, 2**7), (16, True, 2**15), (16, False, 2**16), (32, True, 2**31)]
)
def test_narrow_counters_lose_the_first_count_that_they_cannot_hold(bits: int, signed: bool, least: int) -> None:
    size, solver = z3.BitVec("size", 64), z3.Optimize()
    low = z3.Extract(bits - 1, 0, size)
    wide = z3.SignExt(64 - bits, low) if signed else z3.ZeroExt(64 - bits, low)
    solver.add(wide != size, size >= 0)
    solver.minimize(size)
    assert solver.check() == z3.sat
    assert solver.model()[size].as_long() == least
    if least < 2**20:
        records = np.ones(least)
        assert Total(0, 1, Grid(0)).of(records) == Count().of(records) == least
        assert Histogram((1.0,)).of(records.tolist()).tolist() == Counts().of([least]).tolist() == [least]


def test_the_halves_of_a_total_stay_within_64_bits_for_fewer_than_2_to_the_36_records() -> None:
    """By induction: the sum of k high parts is at most k·2^27 in modulus, that of low ones less than k·2^26."""
    steps, count, high_sum, low_sum = z3.BitVecs("steps count high_sum low_sum", 64)
    high, low = steps >> 26, steps & (1 << 26) - 1
    before = z3.And(
        steps >= -LIMIT, steps <= LIMIT, count >= 0, count + 1 < 1 << 36,
        high_sum >= -(count << 27), high_sum <= count << 27, low_sum >= 0, low_sum <= count << 26,
    )  # fmt: skip
    fits = z3.And(
        z3.BVAddNoOverflow(high_sum, high, True), z3.BVAddNoUnderflow(high_sum, high),
        z3.BVAddNoOverflow(low_sum, low, True),
    )  # fmt: skip
    after, following = count + 1, (high_sum + high, low_sum + low)
    stays = z3.And(
        following[0] >= -(after << 27), following[0] <= after << 27, following[1] >= 0, following[1] <= after << 26
    )
    assert proved(z3.Implies(before, z3.And(fits, stays, (high << 26) + low == steps)))


def test_a_total_of_whole_steps_leaves_64_bits_after_1024_records() -> None:
    count, solver = z3.Int("count"), z3.Optimize()
    solver.add(count >= 0, count * LIMIT > 2**63 - 1)
    solver.minimize(count)
    assert solver.check() == z3.sat
    size = solver.model()[count].as_long()
    assert size == 1024
    assert Total(0, LIMIT, Grid(0)).of(np.full(size, float(LIMIT))) == size * LIMIT


def fmin(first: z3.FPRef, second: z3.FPRef) -> z3.FPRef:
    """As numpy's: a NaN is ignored."""
    return z3.If(z3.fpIsNaN(first), second, z3.If(z3.Or(z3.fpIsNaN(second), z3.fpLEQ(first, second)), first, second))


def fmax(first: z3.FPRef, second: z3.FPRef) -> z3.FPRef:
    return z3.If(z3.fpIsNaN(first), second, z3.If(z3.Or(z3.fpIsNaN(second), z3.fpGEQ(first, second)), first, second))


def minimum(first: z3.FPRef, second: z3.FPRef) -> z3.FPRef:
    """As numpy's: a NaN wins."""
    return z3.If(z3.fpIsNaN(first), first, fmin(first, second))


def maximum(first: z3.FPRef, second: z3.FPRef) -> z3.FPRef:
    return z3.If(z3.fpIsNaN(first), first, fmax(first, second))


def test_every_double_is_clamped_into_the_range_and_other_orders_fail_at_a_nan() -> None:
    record, lower, upper = z3.FPs("record lower upper", DOUBLE)
    is_range = z3.And(z3.fpLT(lower, upper), z3.Not(z3.fpIsInf(lower)), z3.Not(z3.fpIsInf(upper)))

    def clamps(kept: z3.FPRef) -> z3.BoolRef:
        inside = z3.And(z3.fpLEQ(lower, record), z3.fpLEQ(record, upper))
        return z3.Implies(is_range, z3.And(
            z3.fpLEQ(lower, kept), z3.fpLEQ(kept, upper), z3.Implies(inside, z3.fpEQ(kept, record)),
            z3.Implies(z3.Or(z3.fpIsNaN(record), z3.fpLT(record, lower)), z3.fpEQ(kept, lower)),
        ))  # fmt: skip

    assert proved(clamps(fmin(fmax(record, lower), upper)))
    assert proved(clamps(z3.If(z3.fpGEQ(record, lower), minimum(record, upper), lower)))
    for wrong in (fmax(fmin(record, upper), lower), minimum(maximum(record, lower), upper)):
        (found,) = counterexample(clamps(wrong), record)
        assert z3.is_true(z3.simplify(z3.fpIsNaN(found)))
    assert Total(1, 2, Grid(0)).of(np.array([math.nan])) == 1
    assert Utilities(1, 1, 2).of(np.array([math.nan])).tolist() == [1.0]


def test_integers_are_doubles_up_to_2_to_the_53_and_utilities_beyond_are_not_rounded() -> None:
    number = z3.BitVec("number", 64)
    double_of = z3.fpSignedToFP(NEAREST, number, DOUBLE)
    is_exact = z3.fpToSBV(DOWN, double_of, z3.BitVecSort(64)) == number
    assert proved(z3.Implies(z3.And(number >= -LIMIT, number <= LIMIT), is_exact))
    (found,) = counterexample(z3.Implies(z3.And(number >= 0, number <= LIMIT + 2), is_exact), number)
    assert found.as_signed_long() == LIMIT + 1
    first, second = Utilities().of(np.array([LIMIT, LIMIT + 1]))
    assert first < second


def test_a_sign_tells_a_word_from_a_threshold_less_than_2_to_the_63_away_and_signed_words_do_not() -> None:
    word, threshold = z3.BitVecs("word threshold", 64)
    apart = z3.If(z3.ULT(word, threshold), threshold - word, word - threshold)
    is_below = z3.If(z3.ULT(word, threshold), z3.BitVecVal(-1, 64), z3.BitVecVal(0, 64))
    assert proved(z3.Implies(z3.ULT(apart, 1 << 63), word - threshold >> 63 == is_below))
    counterexample(z3.Implies(z3.ULT(apart, 1 << 63), (word < threshold) == z3.ULT(word, threshold)), word)
