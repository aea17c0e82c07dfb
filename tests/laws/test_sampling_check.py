"""Plain runs held against a law: their error rate, their power, and what they refuse."""

import functools
import math
import os
import re
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from gmpy2 import mpq

from attacklab.draws.errors import Contradicted, NeverEnds, OpaqueOutcome, SamplerFailed
from attacklab.laws import Law, LawError, fresh_process, sampling_check
from attacklab.laws.fresh_process import require_agreement
from attacklab.laws.outcomes import tag
from attacklab.laws.sampling_check import Runs, compare, upper_tail
from attacklab.model.random_bits import RandomBits

RUNS = 20_000

SIXTEEN = Law({k: Fraction(1, 16) for k in range(16)})


def _agreement(law: Law, sampler: Callable[[RandomBits], Any], *, seconds: float = 60.0) -> int:
    """What the other processes make of a law that is found to be this one there, too."""
    (made,) = require_agreement(
        [law], lambda _, bits: sampler(bits), [0], lambda _: law, found_in=0.0, runs=RUNS, seconds=seconds
    )
    return made


def _exact_tail(count: int, trials: int, probability: Fraction) -> Fraction:
    """P[Bin ≥ count], as a quotient of integers."""
    good, bad = probability.numerator, probability.denominator - probability.numerator
    ways = sum(math.comb(trials, k) * good**k * bad ** (trials - k) for k in range(max(count, 0), trials + 1))
    return Fraction(ways, probability.denominator**trials)


def _runs(outcomes: list[Any], numbers: Any, asked: int | None = None) -> Runs:
    numbers = np.asarray(numbers, dtype=np.uint32)
    return Runs(asked or len(numbers), numbers, [tag(one) for one in outcomes], list(map(repr, outcomes)))


@pytest.mark.parametrize("probability", [0.0, 1e-30, 1e-9, 1 / 3, 0.5, 0.99, 1.0])
def test_tails_are_those_of_the_binomial(probability: float) -> None:
    cases = [(count, trials) for trials in (1, 2, 7, 60) for count in range(trials + 1)]
    for count, trials in [*cases, *((count, 400) for count in (190, 220, 260, 399, 400))]:
        exact = float(_exact_tail(count, trials, mpq(probability)))
        tail = upper_tail(np.array([count]), trials, np.array([probability]))
        assert tail == pytest.approx(exact, rel=1e-12, abs=1e-280), (count, trials)


def _refused_mass(mass: Fraction, asked: int, made: int) -> Fraction:
    """The exact probability that two outcomes with a true law are refused after `made` runs."""
    law, refused = Law({"a": mass, "b": 1 - mass}), Fraction(0)
    for count in range(made + 1):
        try:
            compare(law, _runs(["a", "b"], [0] * count + [1] * (made - count), asked))
        except Contradicted:
            refused += math.comb(made, count) * mass**count * (1 - mass) ** (made - count)
    return refused


@pytest.mark.parametrize("false_alarm", [1e-12, 0.05])
@pytest.mark.parametrize("mass", [Fraction(1, 2), Fraction(1, 50), Fraction(999, 1000)])
def test_true_laws_are_refused_as_rarely_as_promised_whenever_the_runs_stop(
    monkeypatch: pytest.MonkeyPatch, false_alarm: Any, mass: Fraction
) -> None:
    monkeypatch.setattr(sampling_check, "FALSE_ALARM", false_alarm)
    refused = sum(_refused_mass(mass, 160, 160 >> halvings) for halvings in range(8))
    assert 0 < refused <= Fraction(false_alarm)


def test_at_full_length_a_coin_may_be_off_by_one_per_cent_but_not_by_four() -> None:
    def coin(limit: int) -> Callable[[RandomBits], bool]:
        return lambda bits: bits.take(16) < limit

    law, half = Law({True: mpq(1, 2), False: mpq(1, 2)}), 1 << 15
    assert _agreement(law, coin(half + half // 50)) == 20_000
    with pytest.raises(Contradicted, match=r"outcome (True|False) of type bool came up"):
        _agreement(law, coin(half + half * 8 // 100))


def _refusal(law: Law, sampler: Callable[[RandomBits], Any], runs: int = 20_000) -> str:
    with pytest.raises(Contradicted) as caught:
        compare(law, sampling_check.plain_runs(sampler, (), runs, 60.0, 0))
    message = str(caught.value)
    assert message.endswith("; let the sampler depend on nothing but its arguments and the bits that it draws")
    return message


def test_an_outcome_that_a_closed_law_lacks_is_refused_at_once() -> None:
    told = _refusal(SIXTEEN, lambda bits: 16 if not bits.take(12) else bits.take(4))
    assert re.match(
        r"outcome 16 of type int came up \d times in 20,000 plain runs, but the law is closed and does not list it;",
        told,
    )
    compare(Law({0: 1}), _runs([0], [0] * 10, 10))
    with pytest.raises(Contradicted, match="outcome 7 came up 1 times in 16 plain runs"):
        compare(Law({0: 1}), _runs([0, 7], [0] * 15 + [1], 20))


def test_state_that_is_kept_on_the_source_is_seen() -> None:
    def sampler(bits: RandomBits) -> int:
        kept: Any = bits
        kept.first = getattr(kept, "first", None) or bits.take(4)
        return int(kept.first)

    assert "came up" in _refusal(SIXTEEN, sampler)


def test_rare_outcomes_are_counted_together() -> None:
    law = Law({k: mpq(1, 1 << 14) for k in range(1 << 14)})
    compare(law, sampling_check.plain_runs(lambda bits: bits.take(14), (), 20_000, 60.0, 0))
    told = _refusal(law, lambda bits: bits.take(13))
    assert "one of " in told
    assert "rare outcomes, in the law's order from " in told


def test_runs_stop_when_the_time_is_up_and_a_prefix_of_fixed_length_is_counted() -> None:
    def slow(bits: RandomBits) -> int:
        time.sleep(0.02)
        return bits.take(4)

    made = _agreement(SIXTEEN, slow, seconds=0.5)
    assert 1 <= made <= 30
    counted = compare(Law({0: 1}), _runs([0], [0] * made, 20_000))
    assert counted in {20_000 >> halvings for halvings in range(15)}
    assert counted <= made < 2 * counted + 2


def test_a_run_that_raises_is_refused() -> None:
    def fails(error: type[BaseException], bits: RandomBits) -> int:
        if not bits.take(6):
            raise error("on these bits")
        return 1

    for error in (ZeroDivisionError, SystemExit):
        with pytest.raises(SamplerFailed, match=rf"^plain run \d+ of the sampler raised {error.__name__}: on"):
            _agreement(Law({1: 1}), functools.partial(fails, error))
    with pytest.raises(SamplerFailed, match=r"a plain run of the sampler ended its process \(exited with status 3\)"):
        _agreement(Law({1: 1}), lambda _bits: os._exit(3))
    with pytest.raises(OpaqueOutcome, match="not of list"):
        _agreement(Law({1: 1}), lambda _bits: [1])


def test_a_run_that_never_ends_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(bits: RandomBits) -> int:
        while bits.take(1) in {0, 1}:
            pass
        return 0

    monkeypatch.setattr(fresh_process, "_LONGEST_RUN", 0.3)
    with pytest.raises(NeverEnds, match="a plain run of the sampler did not end") as caught:
        _agreement(Law({0: 1}), endless, seconds=0.2)
    assert isinstance(caught.value, LawError)
