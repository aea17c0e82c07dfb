"""Existing code on lazily decided random numbers: exact laws, refusals by line, nothing left behind.

Expected masses come from counting multiples of 2^−53 or from combinatorics; agreement with plain floats is checked at
every threshold's neighbours, where a rounding would show.
"""

from __future__ import annotations

import bisect
import copy
import functools
import inspect
import itertools
import math
import operator
import random
import secrets
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attacklab.laws import Law, Limits, SamplerFailed, enumerate_law
from attacklab.laws.proof import prove
from attacklab.laws.standard_random import (
    StandardRandom,
    StandardRandomRefused,
    passing_random,
    replacing_random,
    standard_library_draws_from,
)
from attacklab.model.findings import Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import SeededBits, TapedBits
from attacklab.model.targets import Target

Sampler = Callable[..., Any]
HALF_OPEN = 1 << 53


def law_of(function: Sampler, *inputs: Any) -> Law:
    return enumerate_law(passing_random(function), *inputs)


def probability(function: Sampler, *inputs: Any) -> Fraction:
    law = law_of(function, *inputs)
    assert law.closed
    return Fraction(law.mass(True))


def drawn(k: int) -> StandardRandom:
    """A generator whose next `random()` is k·2^−53."""
    return StandardRandom(TapedBits(k, 53))


# Comparisons with a threshold

EXACT = [0.5, 0.25, 0.75, 1 / 3, np.float64(1 / 3), Fraction(1, 3), Decimal("0.1"), gmpy2.mpq(1, 3), gmpy2.mpfr(0.1)]


@pytest.mark.parametrize("p", [*EXACT, 0, 1, True, 1e-300, 1.5, -0.25, np.int64(1), gmpy2.mpz(1)], ids=repr)
def test_a_comparison_has_the_probability_that_counting_gives(p: Any) -> None:
    exact = Fraction(int(p.numerator), int(p.denominator)) if isinstance(p, type(gmpy2.mpq())) else Fraction(float(p))
    if isinstance(p, Fraction | Decimal):
        exact = Fraction(p)
    below, up_to = (
        Fraction(min(max(k, 0), HALF_OPEN), HALF_OPEN)
        for k in (math.ceil(exact * HALF_OPEN), math.floor(exact * HALF_OPEN) + 1)
    )
    expected = {
        "u < p": below, "u <= p": up_to, "u > p": 1 - up_to, "u >= p": 1 - below, "u == p": up_to - below,
        "p > u": below, "p >= u": up_to, "p < u": 1 - up_to, "p <= u": 1 - below, "p != u": 1 - up_to + below,
    }  # fmt: skip

    def compared(rng: Any) -> tuple[bool, ...]:
        u = rng.random()
        return (
            bool(u < p), bool(u <= p), bool(u > p), bool(u >= p), bool(u == p),
            bool(p > u), bool(p >= u), bool(p < u), bool(p <= u), bool(p != u),
        )  # fmt: skip

    law = law_of(compared)
    assert law.closed
    for place, (comparison, mass) in enumerate(expected.items()):
        assert law.probability(operator.itemgetter(place)).lower == mass, comparison


def test_numbers_beyond_doubles_and_special_values_compare_as_with_a_float() -> None:
    for never in (math.nan, -math.inf, -(10**400), Decimal("-Infinity"), np.float32(math.nan)):
        assert dict(law_of(lambda rng, p=never: bool(rng.random() < p)).masses) == {False: 1}
    for always in (math.inf, 10**400, Decimal("Infinity"), np.longdouble(2)):
        assert dict(law_of(lambda rng, p=always: bool(rng.random() < p)).masses) == {True: 1}
    assert probability(lambda rng: rng.random() != math.nan) == 1
    assert probability(lambda rng: bool(rng.random())) == 1 - Fraction(1, HALF_OPEN)


KINDS = (float, np.float64, np.float32, np.float16, np.longdouble, Fraction, Decimal, gmpy2.mpq, gmpy2.mpfr, np.array)
COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
REFLECTED = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 1), st.sampled_from(KINDS), st.sampled_from(COMPARISONS), st.booleans())
@example(1 / 3, np.float32, operator.eq, True)
@example(0.0, np.float16, operator.le, False)
@example(1.0, np.float32, operator.lt, False)
def test_comparisons_split_where_those_of_plain_floats_do(
    value: float, kind: Any, comparison: Any, is_left: bool
) -> None:
    """The masses are counted by bisection here as well, but on the comparison's value and from the law's other side."""
    other = kind(value)

    def compared(rng: Any) -> bool:
        number = rng.random()
        return bool(comparison(other, number) if is_left else comparison(number, other))

    law = law_of(compared)
    assert law.closed
    if comparison in (operator.eq, operator.ne):
        wanted = comparison is operator.eq
        centre = min(round(Fraction(float(other)) * HALF_OPEN), HALF_OPEN - 1)
        if compared(drawn(centre)) is not wanted:
            assert law.mass(wanted) == 0
            return
        least = bisect.bisect_left(range(centre + 1), True, key=lambda k: compared(drawn(k)) is wanted)
        most = bisect.bisect_left(range(centre, HALF_OPEN), True, key=lambda k: compared(drawn(k)) is not wanted)
        assert law.mass(wanted) == Fraction(centre + most - least, HALF_OPEN)
        return
    first = compared(drawn(0))
    cut = bisect.bisect_left(range(HALF_OPEN), True, key=lambda k: compared(drawn(k)) is not first)
    assert law.mass(first) == Fraction(cut, HALF_OPEN)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("ufunc", REFLECTED)
def test_arrays_are_compared_element_by_element(ufunc: Any, dtype: Any) -> None:
    thresholds = np.array([0.25, 0.75, 1 / 3], dtype=dtype)
    inner = sorted(math.ceil(Fraction(float(p)) * HALF_OPEN) for p in thresholds)
    points = [0, HALF_OPEN - 1, *(k + shift for k in inner for shift in (-1, 0, 1))]
    for compared in (
        lambda rng: tuple(ufunc(rng.random(), thresholds).tolist()),
        lambda rng: tuple(ufunc(thresholds, rng.random()).tolist()),
    ):
        law = law_of(compared)
        assert law.closed
        assert {compared(drawn(k)) for k in points} == set(law)
    law = law_of(lambda rng: int((rng.random() >= np.array([0.25, 0.75])).sum()))
    assert dict(law.masses) == {0: Fraction(1, 4), 1: Fraction(1, 2), 2: Fraction(1, 4)}


def test_a_number_can_be_compared_again_and_searched_for() -> None:
    def digit(rng: Any) -> int:
        number = rng.random()
        is_a_float = isinstance(number, float) and number == number and 0.0 <= number < 1
        return bisect.bisect([0.125, 0.5, 0.875], max(number, 0.0)) if is_a_float else -1

    masses = {0: Fraction(1, 8), 1: Fraction(3, 8), 2: Fraction(3, 8), 3: Fraction(1, 8)}
    assert dict(law_of(digit).masses) == masses


def test_only_the_comparisons_of_known_numbers_are_taken_for_steps() -> None:
    class Odd(float):
        def __gt__(self, other: object) -> bool:
            return other == 0.5

    assert probability(lambda rng: rng.random() < Odd(0.25)) == Fraction(1, HALF_OPEN)
    for other in ("half", None, object()):
        assert probability(lambda rng, other=other: rng.random() == other) == 0
        assert probability(lambda rng, other=other: rng.random() != other) == 1
    with pytest.raises(SamplerFailed, match="not supported between instances"):
        law_of(lambda rng: rng.random() < "half")


# Integers

LETTERS = "abcde"


@pytest.mark.parametrize(
    ("function", "outcomes"),
    [
        (lambda rng: rng.randrange(7), range(7)),
        (lambda rng: rng.randrange(3, 20, 4), range(3, 20, 4)),
        (lambda rng: rng.randrange(1), [0]),
        (lambda rng: rng.randint(-2, 3), range(-2, 4)),
        (lambda rng: rng.getrandbits(3), range(8)),
        (lambda rng: rng.getrandbits(0), [0]),
        (lambda rng: rng.choice(LETTERS), LETTERS),
        (lambda rng: rng.randbytes(1), [bytes([i]) for i in range(256)]),
        (lambda rng: rng.randbytes(0), [b""]),
        (lambda rng: tuple(rng.sample(LETTERS, 2)), list(itertools.permutations(LETTERS, 2))),
        (lambda rng: shuffled(rng, LETTERS[:4]), list(itertools.permutations(LETTERS[:4]))),
    ],
)
def test_what_is_uniform_has_the_uniform_law(function: Sampler, outcomes: Any) -> None:
    law = law_of(function)
    assert dict(law.masses) == dict.fromkeys(outcomes, Fraction(1, len(outcomes)))


def shuffled(rng: Any, items: str) -> tuple[str, ...]:
    letters = list(items)
    rng.shuffle(letters)
    return tuple(letters)


def test_a_comparison_of_a_wide_integer_takes_few_runs() -> None:
    law = enumerate_law(
        passing_random(lambda rng: rng.randrange(10**30) < 3), limits=Limits(unresolved=Fraction(0), runs=8)
    )
    assert law.mass(True) == Fraction(3, 10**30)


@pytest.mark.parametrize("weights", [None, [1, 2, 3], [0.1, 0.0, 0.7], [5, 1, 0]])
def test_choices_have_the_law_of_the_standard_librarys_roundings(weights: Any) -> None:
    law = law_of(lambda rng: rng.choices("abc", weights)[0])
    assert law.closed
    given: Any = random.Random()

    def plain(k: int) -> str:
        given.random = lambda: k * 2.0**-53
        return random.Random.choices(given, "abc", weights)[0]

    start = 0
    for letter in "abc":
        end = bisect.bisect_left(range(HALF_OPEN), True, key=lambda k: plain(k) > letter)
        assert law.mass(letter) == Fraction(end - start, HALF_OPEN)
        start = end
    pairs = law_of(lambda rng: tuple(rng.choices("ab", k=2)))
    assert dict(pairs.masses) == dict.fromkeys(itertools.product("ab", repeat=2), Fraction(1, 4))


def test_plain_sources_give_the_numbers_that_the_law_is_about() -> None:
    for k in (0, 1, HALF_OPEN // 3, HALF_OPEN - 1):
        number = drawn(k).random()
        assert type(number) is float
        assert number == k / HALF_OPEN
    rng = StandardRandom(SeededBits(1))
    assert isinstance(rng, random.Random)
    assert isinstance(rng, secrets.SystemRandom)
    counts = Counter(rng.choice("ab") for _ in range(1000))
    assert set(counts) == {"a", "b"}
    assert math.isfinite(rng.gauss(0, 1) + rng.uniform(0, 1) + rng.expovariate(1))


# Claims


def randomized_response(answer: int, rng: random.Random) -> int:
    return answer if rng.random() < 0.75 else 1 - answer


def test_randomized_response_is_proved_at_its_epsilon_and_violated_below() -> None:
    verdicts = {}
    for epsilon in (1.0986122886681099, 1.0986122886681096):  # around ln 3 = 1.09861228866810969139…
        target = Target.noise(lambda *_: np.zeros(1), epsilon=epsilon).exact(passing_random(randomized_response))
        verdicts[epsilon] = prove(target, NeighbouringPair(0, 1, None)).verdict
    assert list(verdicts.values()) == [Verdict.PROVED, Verdict.VIOLATED]


def noise(rng: random.Random) -> int:
    """An integer within ±2 by flips of coins: 0 with probability 3/4, and each step outwards at most 8 times rarer."""
    size = 0
    while size < 2 and rng.random() < 0.25:
        size += 1
    return size if rng.random() < 0.5 else -size


def above_threshold(queries: tuple[int, ...], rng: random.Random, *, noisy_queries: bool = True) -> int:
    """The first query above a noisy threshold of 0, or their number.

    A threshold one up costs a factor of 8 and a query two up one of 32: ε = ln 256 for queries of sensitivity 1, but
    for the noise that is cut off.
    """
    threshold = noise(rng)
    for i, query in enumerate(queries):
        if query + noisy_queries * noise(rng) >= threshold:
            return i
    return len(queries)


@pytest.mark.parametrize(("noisy_queries", "verdict"), [(True, Verdict.PROVED), (False, Verdict.VIOLATED)])
def test_sparse_vector_code_is_proved_and_its_variant_without_fresh_noise_violated(
    noisy_queries: bool, verdict: Verdict
) -> None:
    code = functools.partial(above_threshold, noisy_queries=noisy_queries)
    target = Target.dataset(lambda *_: np.zeros(1), epsilon=math.log(256), delta=0.2, name="above_threshold")
    finding = prove(target.exact(passing_random(code)), NeighbouringPair((-1, 0), (0, -1), None))
    assert finding.verdict is verdict, finding.reason
    assert "closed laws" in finding.reason


# Refusals


def logarithm(rng: Any) -> float:
    return -math.log(1.0 - rng.random())


def test_a_logarithm_is_refused_with_file_line_function_and_expression() -> None:
    line = inspect.getsourcelines(logarithm)[1] + 1
    with pytest.raises(StandardRandomRefused) as caught:
        law_of(logarithm)
    place, _, advice = str(caught.value).partition(" needs the value of a number of random(), one of 2^53; ")
    assert place == f"{__file__}:{line}, in logarithm: `1.0 - rng.random()`"
    assert advice == "compare random() with a threshold, or draw integers by getrandbits or randrange"


DISTRIBUTIONS = [
    "betavariate", "expovariate", "gammavariate", "gauss", "lognormvariate", "normalvariate", "paretovariate",
    "triangular", "uniform", "vonmisesvariate", "weibullvariate",
]  # fmt: skip


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_every_distribution_that_computes_with_random_is_refused_by_its_name(name: str) -> None:
    arguments = () if name == "triangular" else (1.0,) if name in ("expovariate", "paretovariate") else (2.0, 3.0)
    with pytest.raises(StandardRandomRefused, match=rf"through Random\.{name}\(\), needs the value") as caught:
        law_of(lambda rng: getattr(rng, name)(*arguments))
    assert "`getattr(rng, name)(*arguments)`" in str(caught.value)


NEEDS = [
    lambda u: u + 1, lambda u: 1 - u, lambda u: 2 * u, lambda u: u**2, lambda u: u // 0.1, lambda u: -u, abs, round,
    lambda u: np.float32(1) * u, lambda u: gmpy2.mpq(1, 3) + u, lambda u: Fraction(1, 3) - u, float, int, complex,
    math.log, math.floor, math.isnan, math.sqrt, np.log, np.asarray, np.array, np.sign, str, repr, "{:.3f}".format,
    "%s".__mod__, Fraction, np.float64, lambda u: np.where(u, 1, 2), lambda u: np.array([u, 1.0]),
    lambda u: u.hex(), lambda u: u.is_integer(), lambda u: u.as_integer_ratio(), copy.copy, copy.deepcopy,
    lambda u: sum([u]), lambda u: np.add.reduce([1.0, u]), lambda u: np.less(u, 0.5, dtype=object),
    lambda u: np.full(3, u), lambda u: np.clip(u, 0.1, 0.9),
]  # fmt: skip


@pytest.mark.parametrize("need", NEEDS, ids=range(len(NEEDS)))
def test_whatever_needs_the_number_itself_is_refused(need: Callable[[Any], Any]) -> None:
    def code(rng: Any) -> bool:
        return need(rng.random()) is None

    line = inspect.getsourcelines(code)[1] + 1
    with pytest.raises(StandardRandomRefused, match=r"needs the value of a number of random\(\)") as caught:
        law_of(code)
    assert f":{line}, in " in str(caught.value) or "<lambda>: `" in str(caught.value)


@pytest.mark.parametrize("kind", [Decimal, gmpy2.mpfr, gmpy2.mpq])
def test_conversions_that_look_for_a_machine_float_fail_by_name(kind: Any) -> None:
    with pytest.raises(SamplerFailed, match="TypeError"):
        law_of(lambda rng: kind(rng.random()) < 1)


def test_what_has_no_law_that_a_search_finds_is_refused_in_its_own_words() -> None:
    for code, said in (
        (lambda rng: rng.random() < rng.random(), "`rng.random() < rng.random()` compares two numbers of random()"),
        (lambda rng: hash(rng.random()), r"`hash(rng.random())` hashes a number of random()"),
        (lambda rng: len({rng.random()}), "`{rng.random()}` hashes a number"),
        (lambda rng: rng.random() == 0.5j, "with a complex that is not of real numbers"),
        (lambda rng: np.array([0.5], dtype=object) < rng.random(), "with a ndarray that is not of real numbers"),
        (lambda rng: rng.random(), "<lambda> returns a number of random()"),
        (lambda rng: (1, [rng.random()]), "<lambda> returns a number of random()"),
    ):
        with pytest.raises(StandardRandomRefused) as caught:
            law_of(code)
        assert said in str(caught.value)
        assert str(caught.value).endswith("draw integers by getrandbits or randrange")


def test_seeds_and_states_are_refused_on_every_source() -> None:
    for code in (
        lambda rng: rng.seed(3),
        lambda rng: rng.getstate(),
        lambda rng: rng.setstate(None),
        copy.copy,
    ):
        with pytest.raises(StandardRandomRefused, match=r"of its randomness|seeds its randomness"):
            law_of(code)
        with pytest.raises(StandardRandomRefused, match=r"of its randomness|seeds its randomness"):
            code(StandardRandom(SeededBits(1)))
    assert law_of(lambda rng: rng.seed()).closed  # a seed from the system's entropy changes nothing


def test_code_that_handles_every_exception_is_refused_all_the_same() -> None:
    def stubborn(rng: Any) -> int:
        try:
            return int(rng.random() * 10)
        except BaseException:
            return rng.getrandbits(1)

    def silent(rng: Any) -> int:
        try:
            return int(rng.random() * 10)
        except BaseException:
            return 3

    for code in (stubborn, silent):
        with pytest.raises(StandardRandomRefused, match=r"`rng\.random\(\) \* 10` needs the value"):
            law_of(code)


# The modules random and secrets

OWN = random.SystemRandom()
FROM_RANDOM = (random.choice, random.shuffle, random.randint)
FROM_SECRETS = (secrets.choice, secrets.randbelow, secrets.token_bytes)


def arranged() -> tuple[int, ...]:
    items = [1, 2, 3]
    FROM_RANDOM[1](items)
    return tuple(items)


@pytest.mark.parametrize(
    ("function", "outcomes"),
    [
        (lambda: random.random() < 0.5, [False, True]),
        (lambda: random.getrandbits(2), range(4)),
        (lambda: random.sample(range(3), 1)[0], range(3)),
        (lambda: random.randbytes(1)[0] % 4, range(4)),
        (lambda: random.choices("ab")[0], "ab"),
        (lambda: secrets.randbelow(3), range(3)),
        (lambda: secrets.randbits(2), range(4)),
        (lambda: secrets.choice("abc"), "abc"),
        (lambda: secrets.token_bytes(1)[0] // 64, range(4)),
        (lambda: secrets.token_hex(1)[0], "0123456789abcdef"),
        (lambda: secrets.SystemRandom().random() < 0.5, [False, True]),
        (lambda: random.SystemRandom().choice("abc"), "abc"),
        (lambda: OWN.random() < 0.5, [False, True]),
        (lambda: OWN.randrange(5), range(5)),
        (lambda: OWN.getrandbits(1), range(2)),
        (lambda: FROM_RANDOM[0]("abc"), "abc"),
        (arranged, list(itertools.permutations((1, 2, 3)))),
        (lambda: FROM_RANDOM[2](1, 6), range(1, 7)),
        (lambda: FROM_SECRETS[0]("abc"), "abc"),
        (lambda: FROM_SECRETS[1](3), range(3)),
        (lambda: FROM_SECRETS[2](1)[0] // 128, range(2)),
    ],
)
def test_functions_of_random_and_secrets_have_their_laws(function: Sampler, outcomes: Any) -> None:
    law = enumerate_law(replacing_random(function))
    assert dict(law.masses) == dict.fromkeys(outcomes, Fraction(1, len(outcomes)))


def test_inputs_reach_the_code() -> None:
    law = enumerate_law(replacing_random(lambda answer: answer ^ secrets.randbits(1)), 6)
    assert dict(law.masses) == {6: Fraction(1, 2), 7: Fraction(1, 2)}


def test_a_seed_of_the_module_and_entropy_by_a_name_of_ones_own_are_refused() -> None:
    imported = secrets.randbits
    for code, said in (
        (lambda: random.seed(3), "`random.seed(3)` seeds its randomness"),
        (lambda: random.gauss(0, 1), r"`random.gauss(0, 1)`, through Random.gauss(), needs the value"),
        (lambda: imported(3), "`imported(3)`, through SystemRandom.getrandbits(), draws from the system's entropy"),
    ):
        with pytest.raises(StandardRandomRefused) as caught:
            enumerate_law(replacing_random(code))
        assert said in str(caught.value)


def state() -> dict[str, dict[str, Any]]:
    owners = {"random": random, "shared": random._inst, "class": random.SystemRandom, "secrets": secrets}
    return {name: dict(vars(owner)) for name, owner in owners.items()}


def test_nothing_is_left_of_the_replacement_however_it_ends() -> None:
    before, sequence = state(), random.getstate()
    with standard_library_draws_from(TapedBits(1, 1)):
        assert random.getrandbits(1) == 1
        assert state() != before
        with standard_library_draws_from(TapedBits(0, 1)):
            assert random.getrandbits(1) == 0
        assert random.getrandbits.__self__._bits.left == 0  # type: ignore[attr-defined]
    assert state() == before
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), standard_library_draws_from(TapedBits(0, 0)):
            raise error
        assert state() == before
    with pytest.raises(StandardRandomRefused):
        enumerate_law(replacing_random(lambda: random.uniform(0, 1)))
    assert state() == before
    assert random.getstate() == sequence
    assert 0 <= secrets.randbits(3) < 8


class Low(random.SystemRandom):
    """Never draws more than 1/2."""

    def random(self) -> float:
        return min(super().random(), 0.5)


def test_choices_of_a_system_random_with_numbers_of_its_own_are_made_by_these() -> None:
    law = enumerate_law(replacing_random(lambda: Low().choices("abcd")[0]))
    assert dict(law.masses) == {"a": Fraction(1, 4), "b": Fraction(1, 4), "c": Fraction(1, 2)}


def test_a_function_kept_from_the_replacement_does_not_bring_it_back() -> None:
    before = state()
    with standard_library_draws_from(SeededBits(1)):
        kept = random.choice
    assert kept("ab") in "ab"
    assert state() == before
