"""Comparisons of samplers with published algorithms, and laws found on all replies."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import gmpy2
import pytest

from checker.core.certificate import Refused
from checker.core.tape import Dialogues, law, published
from checker.kinds.opaque import Opaque


@published(lambda bound: range(bound))
def die(bound: int, bits: Any) -> Any:
    drawn = bits.take((bound - 1).bit_length())
    return drawn if drawn < bound else None


@published(lambda chance: (False, True))  # noqa: ARG005
def coin(chance: Fraction, bits: Any) -> bool:
    return bool(bits.repeat(die, chance.denominator) < chance.numerator)


def counted(chance: Fraction, bits: Any) -> int:
    heads = 0
    while bits.call(coin, chance):
        heads += 1
    return heads


def sound_die(bound: int, bits: Any) -> Any:
    drawn = bits.take((bound - 1).bit_length())
    return None if drawn >= bound else drawn


def sound_coin(chance: Fraction, bits: Any) -> bool:
    return bool(bits.repeat(sound_die, chance.denominator) < chance.numerator)


def sound_counted(chance: Fraction, bits: Any) -> int:
    heads = 0
    while bits.call(sound_coin, chance):
        heads += 1
    return heads


CHANCES = [Fraction(1, 3), Fraction(2**70 - 3, 2**70 + 1), Fraction(1)]


@pytest.mark.parametrize("chance", CHANCES)
def test_a_sampler_written_otherwise_is_the_same(chance: Fraction) -> None:
    dialogues = Dialogues()
    dialogues.same(sound_counted, counted, chance)
    assert dialogues.runs > 10


def of(round_: Any = sound_die, *, compare: Any = lambda drawn, chance: drawn < chance.numerator) -> Any:
    def made(chance: Fraction, bits: Any) -> bool:
        return bool(compare(bits.repeat(round_, chance.denominator), chance))

    return lambda chance, bits: _count(made, chance, bits)


def _count(chosen: Any, chance: Fraction, bits: Any) -> int:
    heads = 0
    while bits.call(chosen, chance):
        heads += 1
    return heads


def one_bit_more(bound: int, bits: Any) -> Any:
    drawn = bits.take((bound - 1).bit_length() + 1)
    return drawn if drawn < bound else None


def keeps_the_bound(bound: int, bits: Any) -> Any:
    drawn = bits.take((bound - 1).bit_length())
    return drawn if drawn <= bound else None


def takes_two(bound: int, bits: Any) -> Any:
    drawn = bits.take((bound - 1).bit_length())
    bits.take(1)
    return drawn if drawn < bound else None


def looks_at_the_value(bound: int, bits: Any) -> Any:
    drawn = bits.take((bound - 1).bit_length())
    return drawn % 2 if drawn < bound else None


@pytest.mark.parametrize(
    "broken",
    [
        of(one_bit_more),
        of(keeps_the_bound),
        of(takes_two),
        of(looks_at_the_value),
        of(compare=lambda drawn, chance: drawn <= chance.numerator),
        of(compare=lambda drawn, chance: drawn < chance.numerator - 1),
        lambda chance, bits: float(sound_counted(chance, bits)),
        lambda chance, bits: sound_counted(chance / 2, bits),
        lambda chance, bits: min(sound_counted(chance, bits), 5),
        lambda chance, bits: min(sound_counted(chance, bits), 99),
        lambda chance, bits: sound_counted(chance, bits) or bits.take(1),
    ],
)
def test_a_sampler_that_differs_is_refused(broken: Any) -> None:
    with pytest.raises(Refused):
        Dialogues().same(broken, counted, Fraction(2**70 - 3, 2**70 + 1))


def test_a_number_of_another_type_is_the_same_argument_but_not_the_same_outcome() -> None:
    def exact(chance: Fraction, bits: Any) -> int:
        return sound_counted(gmpy2.mpq(chance), bits)

    def returns_another_type(chance: Fraction, bits: Any) -> Any:
        return gmpy2.mpz(sound_counted(chance, bits))

    Dialogues().same(exact, counted, Fraction(1, 3))
    with pytest.raises(Refused, match="returns mpz"):
        Dialogues().same(returns_another_type, counted, Fraction(1, 3))


def test_a_sampler_that_keeps_state_is_refused() -> None:
    runs = []

    def sampler(chance: Fraction, bits: Any) -> int:
        runs.append(chance)
        return sound_counted(chance, bits) if len(runs) < 5 else 0

    with pytest.raises(Refused):
        Dialogues().same(sampler, counted, Fraction(1, 3))


def test_an_opaque_answer_can_be_added_to_and_not_looked_at() -> None:
    def model(answer: Opaque, bits: Any) -> Any:
        return answer + bits.take(2)

    Dialogues().same(lambda answer, bits: bits.take(2) + answer, model, Opaque("A"))
    for broken in (
        lambda answer, bits: answer + bits.take(2) + 1,
        lambda answer, bits: answer + bits.take(2) if answer == 3 else answer,
        lambda answer, bits: answer + answer + bits.take(2),
        lambda answer, bits: max(answer, 0) + bits.take(2),
        lambda answer, bits: answer * 2 + bits.take(2),
        lambda answer, bits: answer + bits.take(2) if answer else 0,
        lambda answer, bits: hash(answer) + bits.take(2),
    ):
        with pytest.raises(Refused):
            Dialogues().same(broken, model, Opaque("A"))


def test_a_law_has_the_masses_of_its_comparisons() -> None:
    def sampler(bits: Any) -> int:
        drawn = bits.take(80)
        return (drawn >= 3) + (drawn > 2**79)

    assert law(sampler, (), depth=9) == (
        {
            ("int", 0): Fraction(3, 2**80),
            ("int", 1): Fraction(2**79 - 2, 2**80),
            ("int", 2): Fraction(2**79 - 1, 2**80),
        },
        0,
    )


def test_runs_that_are_cut_off_leave_their_mass_open() -> None:
    def sampler(bits: Any) -> int:
        zeros = 0
        while not bits.take(1):
            zeros += 1
        return zeros

    masses, open_mass = law(sampler, (), depth=10)
    assert masses == {("int", zeros): Fraction(1, 2 ** (zeros + 1)) for zeros in range(10)}
    assert open_mass == Fraction(1, 2**10)


def test_a_sampler_that_is_not_a_function_of_its_bits_has_no_law() -> None:
    calls = []

    def sampler(bits: Any) -> int:
        calls.append(0)
        return bits.take(2 if len(calls) < 3 else 3)

    with pytest.raises(Refused, match="not a function of its bits"):
        law(sampler, (), depth=10)
