"""Laws found by exhausting random bits, against an enumerator that shares no code with them."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from gmpy2 import mpq
from hypothesis import given, settings
from hypothesis import strategies as st

from attacklab.draws.errors import LooksAtDraws, NeverEnds, OpaqueOutcome, SamplerFailed
from attacklab.laws import LawError, Limits, enumerate_law
from attacklab.laws.proof.search import closed_or_open_law
from mechanisms.coins import bernoulli, bernoulli_exp, uniform_below
from mechanisms.randomness import RandomBits
from tests.mechanisms.enumeration import law_of
from tests.samplers import geometric

pytestmark = pytest.mark.slow


HALF = Fraction(1, 2)


# Random samplers, as trees: a leaf gives an outcome or is rejected, a fork looks at one bit, at some bits compared
# with a bound, at all of some bits, or at the outcome of another such sampler.
trees = st.recursive(
    st.integers(0, 3) | st.just("rejected"),
    lambda inner: st.one_of(
        st.tuples(st.just("bit"), inner, inner),
        st.tuples(st.just("below"), st.integers(2, 4), st.integers(0, 17), inner, inner),
        st.tuples(st.just("remainder"), st.integers(2, 3), inner, inner),
        st.tuples(st.just("call"), inner, inner, inner),
    ),
    max_leaves=7,
)


def play(tree: Any, bits: RandomBits) -> int:
    """Run the sampler that a tree describes."""
    return bits.repeat(play_round, tree)


def play_round(tree: Any, bits: RandomBits) -> int | None:
    node = tree
    while True:
        match node:
            case int():
                return node
            case "rejected":
                return None
            case ("bit", zero, one):
                node = one if bits.take(1) else zero
            case ("below", count, bound, less, more):
                node = less if bits.take(count) < bound else more
            case ("remainder", count, even, odd):
                node = odd if bits.take(count) % 3 == 1 else even
            case ("call", other, even, odd):
                node = odd if bits.call(play, other) % 2 else even


@settings(max_examples=60, deadline=None)
@given(trees)
def test_the_law_of_any_sampler_agrees_with_that_of_all_branches_of_ten_bits(tree: Any) -> None:
    """Every probability lies between what the branches give and that plus what they leave open."""
    known = law_of(play, tree, smallest=Fraction(1, 2**10))
    try:
        law = enumerate_law(play, tree, limits=Limits(runs=20_000, draws=1_000))
    except NeverEnds:
        assert not known
        return
    for outcome in {*law, *known}:
        lower, upper = law[outcome]
        assert lower <= known.get(outcome, 0) + 1 - sum(known.values())
        assert known.get(outcome, 0) <= upper
    assert law.unresolved <= 1 - sum(law.masses.values())


def test_all_comparisons_of_an_undecided_integer_are_right() -> None:
    def compare(other: Any, bits: RandomBits) -> tuple[bool, ...]:
        x = bits.take(3)
        return (x < other, x <= other, x > other, x >= other, x == other, x != other, other < x, other == x, bool(x))

    for other in (-1, 0, 3, 7, 8, 2.5, 3.0, Fraction(7, 2), mpq(7, 2), np.int64(4), math.inf, -math.inf, math.nan, "x"):
        if isinstance(other, str):
            with pytest.raises(SamplerFailed, match="TypeError"):
                enumerate_law(compare, other)
            continue
        law = enumerate_law(compare, other)
        plain: Counter[Any] = Counter(
            (x < other, x <= other, x > other, x >= other, x == other, x != other, other < x, other == x, bool(x))
            for x in range(8)
        )
        assert dict(law.masses) == {key: Fraction(count, 8) for key, count in plain.items()}


def test_arithmetic_on_an_undecided_integer_is_integer_arithmetic() -> None:
    def compute(x: Any) -> tuple[Any, ...]:
        return (
            x + 1, 1 - x, 3 * x, x / 4, 9 // (x + 1), divmod(x, 3), divmod(7, x + 1), 2**x, x << 2, x >> 1, x & 5,
            8 | x, x ^ 3, -x, ~x, abs(x), round(x), f"{x:02d}", str(x), float(x), [4, 5, 6, 7, 8, 9, 1, 2][x],
            Fraction(x, 3), mpq(x, 3), x.bit_length(), int.from_bytes(x.to_bytes(1, "big"), "big"),
        )  # fmt: skip

    law = enumerate_law(lambda bits: compute(bits.take(3)))
    assert all(law.mass(compute(x)) == Fraction(1, 8) for x in range(8))


def test_limits_give_an_honest_enclosure() -> None:
    assert enumerate_law(geometric, limits=Limits(unresolved=Fraction(1, 2**10))).unresolved == Fraction(1, 2**10)
    put_aside = enumerate_law(geometric, limits=Limits(unresolved=Fraction(1, 2**400)))
    assert put_aside.unresolved == put_aside.mass(399) == Fraction(1, 2**400)
    by_runs = enumerate_law(geometric, limits=Limits(runs=7))
    assert dict(by_runs.masses) == {n: Fraction(1, 2 ** (n + 1)) for n in range(7)}
    by_draws = enumerate_law(geometric, limits=Limits(draws=5))
    assert by_draws.unresolved == Fraction(1, 2**5)
    few = enumerate_law(lambda bits: sum(bits.take(1) for _ in range(12)), limits=Limits(tapes=16))
    assert 0 < few.unresolved < 1
    assert all(few.mass(n) <= Fraction(math.comb(12, n), 2**12) <= few[n].upper for n in range(13))


def test_the_heaviest_of_too_many_runs_are_kept() -> None:
    def first_one(bits: RandomBits) -> int:
        return next((i for i in range(40) if bits.take(1)), 40)

    law = enumerate_law(first_one, limits=Limits(tapes=8))
    assert [law.mass(i) for i in range(4)] == [Fraction(1, 2 ** (i + 1)) for i in range(4)]
    assert not law.closed


def test_a_law_is_closed_where_a_few_runs_close_it_and_else_left_open_as_the_limits_say() -> None:
    for sampler in (partial(uniform_below, 5), partial(bernoulli, Fraction(3, 7)), lambda bits: bits.take(8) + 0):
        law = closed_or_open_law(sampler, Limits(unresolved=Fraction(1, 4)))
        assert law.closed
        assert law == enumerate_law(sampler)
    limits = Limits(unresolved=Fraction(1, 4))
    for sampler in (partial(bernoulli_exp, Fraction(1)), lambda bits: bits.take(10) + 0):
        assert closed_or_open_law(sampler, limits) == enumerate_law(sampler, limits=limits)
    assert not closed_or_open_law(lambda bits: bits.take(10) + 0, limits).closed


def geometric_by_recursion(limit: int, bits: RandomBits) -> int:
    return 1 + bits.call(geometric_by_recursion, limit) if bits.take(1) and limit else 0


def test_a_sampler_that_calls_itself_is_unrolled() -> None:
    law = enumerate_law(geometric_by_recursion, 9, limits=Limits(unresolved=Fraction(1, 2**40)))
    assert [law.mass(n) for n in range(40)] == [Fraction(1, 2 ** (n + 1)) for n in range(40)]


# Samplers whose law is plain to see.


def next_and_a_bit(numbers: Iterator[int], bits: RandomBits) -> int:
    return next(numbers) + bits.take(1)


def called_with_what_cannot_be_compared(bits: RandomBits) -> tuple[int, int]:
    numbers = (number for number in (1, 5))
    return bits.call(next_and_a_bit, numbers), bits.call(next_and_a_bit, numbers)


def handles_every_exception(bits: RandomBits) -> int:
    try:
        return bits.call(uniform_below, 3)
    except BaseException:
        return -1


def below(bound: Any, *, count: int = 64) -> Callable[[RandomBits], bool]:
    return lambda bits: bool(bits.take(count) < bound)


BOUND = (1 << 63) + 1
"""Numbers of numpy pass through a double when this is rounded, and a double has 53 bits."""

SHARE = mpq(BOUND, 1 << 64)
TWICE = {(1 + a, 5 + b): Fraction(1, 4) for a in (0, 1) for b in (0, 1)}
LAWS: dict[str, tuple[Callable[[RandomBits], Any], dict[Any, Any]]] = {
    "900 bits": (below(3 * 2**897, count=900), {True: Fraction(3, 8), False: Fraction(5, 8)}),
    "a loop within a run": (
        lambda bits: (bits.take(1), bits.call(uniform_below, 3)),
        {(a, b): Fraction(1, 6) for a in (0, 1) for b in range(3)},
    ),
    "an argument that cannot be compared": (called_with_what_cannot_be_compared, TWICE),
    "a handler of all exceptions": (handles_every_exception, dict.fromkeys(range(3), Fraction(1, 3))),
    **{
        f"below {kind.__name__} of 64 bits": (below(kind(BOUND)), {True: SHARE, False: 1 - SHARE})
        for kind in (np.uint64, int, Fraction)
    },
    **{
        f"below {bound} of {kind.__name__}": (below(kind(bound), count=3), {bound == math.inf: 1})
        for bound in (math.inf, -math.inf, math.nan)
        for kind in (float, np.float32, np.float16)
    },
    **{
        f"np.int64({count}) bits": (below(1 << (count - 1), count=np.int64(count)), dict.fromkeys((True, False), HALF))
        for count in (2, 63, 64, 100)
    },
}


@pytest.mark.parametrize("kind", LAWS)
def test_a_law_that_is_plain_to_see_is_found(kind: str) -> None:
    sampler, masses = LAWS[kind]
    assert dict(enumerate_law(sampler).masses) == masses


# Samplers that are refused.

rng = np.random.default_rng(1)


def noisy(bits: RandomBits) -> int:
    return bits.take(1) + int(rng.integers(2))


def forever(bits: RandomBits) -> None:
    while True:
        bits.take(1)


def always_rejects(bits: RandomBits) -> None:
    bits.repeat(lambda bits: (bits.take(3), None)[1])


def calls_itself(bits: RandomBits) -> Any:
    return bits.call(calls_itself)


def calls_a_constant_forever(bits: RandomBits) -> None:
    while True:
        bits.call(uniform_below, 1)


REFUSED: dict[str, tuple[Callable[[RandomBits], Any], type[LawError], str]] = {
    "another generator": (noisy, LawError, "draws from elsewhere|drew"),
    "another generator in a call": (lambda bits: bits.call(noisy), LawError, "draws from elsewhere|drew"),
    "no end": (forever, NeverEnds, "^forever gave no outcome"),
    "rejections alone": (always_rejects, NeverEnds, "^always_rejects gave no outcome"),
    "no end without a bit": (calls_a_constant_forever, NeverEnds, "^calls_a_constant_forever gave no outcome"),
    "endless recursion": (calls_itself, SamplerFailed, "calls_itself raised RecursionError"),
    "an exception": (lambda bits: 1 / bits.take(1), SamplerFailed, "raised ZeroDivisionError"),
    "the type of a draw": (lambda bits: type(bits.take(8)) is int, LooksAtDraws, "as plain integers"),
    "a list": (lambda bits: [bits.take(1)], OpaqueOutcome, "list"),
    "2.0 bits": (lambda bits: bits.take(2.0), SamplerFailed, "'float' object cannot be interpreted as an integer"),
    "-1 bits": (lambda bits: bits.take(-1), SamplerFailed, "count must be at least 0"),
    "too many values": (partial(uniform_below, 10**9), LawError, "uniform over 1000000000 values, but a law lists at"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_sampler_without_a_law_is_refused(kind: str) -> None:
    sampler, error, part = REFUSED[kind]
    with pytest.raises(error, match=part) as caught:
        enumerate_law(sampler, limits=Limits(runs=500, draws=1_000))
    if kind == "an exception":
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
