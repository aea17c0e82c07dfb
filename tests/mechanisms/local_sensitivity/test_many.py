"""Many answers at once are, draw for draw, what one answer at a time makes of the same noise."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from mechanisms.laplace.exact_fast import discrete_laplace_by_inversion
from numpy.typing import NDArray

from attacklab.random_bits import SeededBits
from mechanisms.certified import CHUNK
from mechanisms.grid import Grid
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.ptr.exact import PtrMean, prepare_ptr_mean
from mechanisms.local_sensitivity.release import Release
from mechanisms.local_sensitivity.sample_aggregate.exact import SampleAggregate, prepare_sample_aggregate
from mechanisms.local_sensitivity.smooth.exact import SmoothMean, prepare_smooth_mean
from mechanisms.local_sensitivity.sum_over_count.exact import SumOverCount, prepare_sum_over_count
from mechanisms.randomness import RandomBits
from tests.mechanisms.local_sensitivity.noise import NoiseNeeded, ScriptedNoise
from tests.mechanisms.words import Endless, GivenWords, RecordedWords, WordACall

AGES = Domain(0, 100, Grid(-14))
WIDEST = Domain(-(2**31) + 7, 7, Grid(0))
RECORDS = [20.0, 31.25, 64.5, 80.0]
END = 2**61


def noise_of(recorded: list[NDArray[np.uint64]], scale: Fraction) -> Iterator[int]:
    """The noise of one scale that the reference makes of each word."""
    for words in recorded:
        bits = WordACall(iter(words.tolist()), Endless())
        for _ in words:
            yield bits.call(discrete_laplace_by_inversion, scale)


def scales_of(release: Release, noise: int) -> list[Fraction]:
    """The scales of the noise that one answer needs, if the first of it is as given and all other is 0."""
    given: list[int] = []
    scales: list[Fraction] = []
    while True:
        try:
            release.one(ScriptedNoise(given))
        except NoiseNeeded as needed:
            scales.append(needed.scale)
            given.append(0 if given else noise)
        else:
            return scales


RELEASES = {
    "sum over count": prepare_sum_over_count(RECORDS, domain=AGES, epsilon=1),
    "sum over count, a count near nothing": prepare_sum_over_count([1.0], domain=WIDEST, epsilon=Fraction(1, 3)),
    "smooth": prepare_smooth_mean(RECORDS, domain=AGES, epsilon=1, delta=0.01),
    "smooth, most noise": prepare_smooth_mean([], domain=WIDEST, epsilon=Fraction(1, 2**14), delta=0.5),
    "sample and aggregate": prepare_sample_aggregate(
        [(str(age), age) for age in RECORDS], statistic=np.mean, chunks=3, key=b"", domain=AGES, epsilon=0.5
    ),
}


@pytest.mark.few(0)
@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
@pytest.mark.parametrize("trials", [0, 1, CHUNK + 11])
def test_many_answers_are_those_that_single_draws_of_the_same_noise_give(release: Release, trials: int) -> None:
    bits = RecordedWords(5, Endless())
    many = release.many(trials, bits)
    assert len(many) == trials
    scales = scales_of(release, 0)
    words = np.array_split(np.array(bits.recorded, dtype=object), len(scales))
    noise = zip(*(noise_of(list(part), scale) for part, scale in zip(words, scales, strict=True)), strict=True)
    assert [release.one(ScriptedNoise(draws)) for draws in noise] == list(many)


@pytest.mark.few(1)
@pytest.mark.parametrize("people", [0, 150])
def test_propose_test_release_draws_the_answer_of_those_alone_that_pass_the_test(people: int) -> None:
    """At 150 people it passes about every other time, at none never (but for one in 10^10)."""
    release = prepare_ptr_mean([31.25] * people, domain=AGES, bound=1, epsilon=Fraction(1, 2), delta=1e-5)
    bits = RecordedWords(6, Endless())
    many = release.many(CHUNK // 4, bits)
    test_scale, answer_scale = scales_of(release, 10**9)
    answers = noise_of(bits.recorded[1:], answer_scale)
    expected = []
    for draw in noise_of(bits.recorded[:1], test_scale):
        passed = people + 1 - 100 + draw >= release.threshold if people else draw >= release.threshold
        expected.append(release.one(ScriptedNoise([draw, next(answers)] if passed else [draw])))
    assert many == expected
    assert (people == 0) == all(answer is None for answer in many)


class Faraway(RandomBits):
    """After the words, so many zeros and then ones: a uniform of about 2^−zeros, and noise of zeros·ln 2 scales."""

    def __init__(self, zeros: int) -> None:
        self._zeros = zeros

    def take(self, count: int) -> int:
        assert count == 1
        self._zeros -= 1
        return int(self._zeros < 0)


@pytest.mark.few(3)
@pytest.mark.parametrize(("word", "end"), [(0, END), (2**63, -END)])
@pytest.mark.parametrize("total", [0, END, 3 * END])
def test_noise_and_totals_beyond_64_bits_count_as_the_end(word: int, end: int, total: int) -> None:
    """100 000 zero bits are noise of 69 000 scales, 2^46 each: more than 2^62."""
    wide = Domain(0, 2**31, Grid(0))
    epsilon = Fraction(1, 2**15)
    sample = SampleAggregate(total, 1024, wide, epsilon)
    released = sample.many(1, GivenWords([word], Faraway(100_000)))
    assert released.tolist() == [sample.one(ScriptedNoise([end * 3]))] == [wide.value(end // 1024)]


def test_the_largest_totals_and_noise_overflow_in_no_mechanism() -> None:
    epsilon = Fraction(1, 2**14)
    releases: list[Release] = [
        SumOverCount(END, 2**32, WIDEST, epsilon),
        SmoothMean(WIDEST.width, Fraction(2**46), WIDEST),
        SampleAggregate(END, 1, WIDEST, epsilon),
        PtrMean(2**32, END, WIDEST.width, WIDEST.width - 1, WIDEST, epsilon),
    ]
    for release in releases:
        with np.errstate(all="raise"):
            answers = [
                answer for answer in release.many(1000, SeededBits(np.random.default_rng(8))) if answer is not None
            ]
        assert all(abs(answer) <= 2.0**53 for answer in answers)


def test_a_negative_number_of_trials_is_refused() -> None:
    for release in RELEASES.values():
        with pytest.raises(ValueError, match="trials must be at least 0, not -1"):
            release.many(-1, SeededBits(np.random.default_rng(0)))
