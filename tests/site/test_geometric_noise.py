"""What docs/how_to/pytest.md says of numpy's geometric noise: found by exact enumeration, and checked against numpy."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs/how_to/pytest.md"
STOP = float(-np.expm1(-1.0))
UNIFORMS = 1 << 53
WORD = (1 << 32) - 1


def rounded_sums(stop: float) -> list[float]:
    """The sums of probabilities in doubles, up to the first that no uniform number below 1 exceeds."""
    sums, probability = [stop], stop
    while sums[-1] < 1 - 1 / UNIFORMS:
        probability *= 1.0 - stop
        sums.append(sums[-1] + probability)
    return sums


def counts(sums: Sequence[float]) -> list[int]:
    """How many of the 2^53 uniform numbers give 1, 2, …: those not above the first, the second, … sum."""
    within = [min(UNIFORMS, math.floor(Fraction(one) * UNIFORMS) + 1) for one in sums]
    return [after - before for before, after in itertools.pairwise([0, *within])]


def drawn(uniforms: Sequence[int], stop: float) -> list[int]:
    """What numpy draws for these numbers of 53 bits, by a Mersenne twister whose next words are their parts."""
    words = [word for number in uniforms for word in ((number >> 26) << 5, (number & (1 << 26) - 1) << 6)]
    generator = np.random.MT19937(0)
    state = generator.state
    state["state"]["key"] = np.array([*map(untempered, words), *[0] * (624 - len(words))], dtype=np.uint32)
    state["state"]["pos"] = 0
    generator.state = state
    return [int(one) for one in np.random.Generator(generator).geometric(stop, len(uniforms))]


def untempered(word: int) -> int:
    """The word of the twister's state that it tempers into this one (Matsumoto and Nishimura 1998)."""
    word ^= word >> 18
    word ^= word << 15 & 0xEFC60000
    whole = word
    for _ in range(5):
        whole = word ^ (whole << 7 & 0x9D2C5680)
    word = whole & WORD
    whole = word
    for _ in range(3):
        whole = word ^ whole >> 11
    return whole


@pytest.mark.parametrize("stop", [STOP, 0.6, 0.8])
def test_numpy_compares_a_uniform_double_with_rounded_sums(stop: float) -> None:
    ends = list(itertools.accumulate(counts(rounded_sums(stop))))
    assert ends[-1] == UNIFORMS
    edges = [(end - 1, number) for number, end in enumerate(ends, 1)]
    edges += [(end, number + 1) for number, end in enumerate(ends[:-1], 1)]
    assert drawn([uniform for uniform, _ in edges], stop) == [number for _, number in edges]


def test_the_page_says_how_far_the_noise_goes_and_which_delta_the_pair_needs() -> None:
    masses = counts(rounded_sums(STOP))
    noise: Counter[int] = Counter()
    for (one, mass), (other, weight) in itertools.product(enumerate(masses), repeat=2):
        noise[one - other] += mass * weight
    with mpmath.workprec(300):
        delta = sum(max(mpmath.mpf(0), mass - mpmath.e * noise[at + 1]) for at, mass in noise.items())
        needed = float(delta / UNIFORMS**2)
    page = " ".join(PAGE.read_text("utf-8").split())
    assert f"never lies beyond ±{max(noise)}" in page
    power = math.floor(math.log10(needed))
    assert f"ε = 1 holds with δ = {needed / 10**power:.1f}·10{str(power).translate(SUPERSCRIPTS)} only" in page


SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
