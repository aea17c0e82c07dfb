"""What each term says of its bits is what exhausting them finds, and joint claims hold of the joint laws."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from gmpy2 import mpq

from attacklab.laws import Law, Limits, enumerate_law, hockey_stick, smallest_delta, smallest_epsilon
from attacklab.model.random_bits import TapedBits
from mechanisms.core import laws, tested
from mechanisms.core.claims import ApproximateDP, OutputAndWork, ProfileDP, ZeroConcentratedDP
from mechanisms.core.compose import Both, Mapped, Size
from mechanisms.core.flip import RationalResponse, Response, ShuffledResponse
from mechanisms.core.grid import Grid
from mechanisms.core.inversion import invert, undecided
from mechanisms.core.kernel import Kernel
from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace, Geometric, RoundedGaussian, RoundedLaplace
from mechanisms.core.local import Mean
from mechanisms.core.maps import Within
from mechanisms.core.noisy import Noisy
from mechanisms.core.noisy_max import PermuteAndFlip
from mechanisms.core.ranks import RankScores
from mechanisms.core.records import Answer, Count, CountFrom, Counts, Histogram, SizedCounts
from mechanisms.core.restated import Restated
from mechanisms.core.rounding import exp_above
from mechanisms.core.sample import FixedSample, PoissonSample
from mechanisms.core.scores import SizedUtilities, Utilities
from mechanisms.core.select import Select
from mechanisms.core.select_dyadic import SelectFixedWork
from mechanisms.core.smooth import Smooth
from mechanisms.core.snapped import Snapped
from mechanisms.core.term import Mechanism
from mechanisms.core.threshold import SizedAboveThreshold
from mechanisms.core.with_work import Delayed, Padded, WithWork
from mechanisms.core.work import Work, but_for
from mechanisms.randomness import RandomBits

ONE = Fraction(1)
ANSWER = Answer(ONE, Grid(0))
LITTLE = DiscreteLaplace(Fraction(1, 12))
NOISY = Noisy(ANSWER, LITTLE)
KERNEL = Kernel(ANSWER, -1, ((5, 2, 1), (3, 3, 2), (2, 3, 3), (1, 3, 4)))
RANGE = Utilities(ONE, Fraction(-4), Fraction(4))
THIRD = RationalResponse(Fraction(1, 3))
QUANTILE = Select(RankScores(Fraction(1, 2), Fraction(0), Fraction(3), Grid(0)), ONE)
SAMPLED = PoissonSample(Noisy(Count(), LITTLE), Fraction(1, 4))
ENDED = Limits(unresolved=Fraction(1, 2**66))
"""So little is left open that words which decide nothing are seen one by one."""

CASES: dict[str, tuple[Mechanism, Any, Any]] = {
    "kernel": (KERNEL, 0, 1),
    "approximate kernel": (Kernel(ANSWER, 0, ((6, 2, 0), (4, 2, 2)), Fraction(1, 2)), 0, 1),
    "fixed work": (SelectFixedWork(RANGE, Fraction(3, 4), 2, 16, 8), (0, 1, 3), (1, 0, 2)),
    "fixed work, ranks": (SelectFixedWork(QUANTILE.query, Fraction(3, 4), 1, 8, 8), (1, 2, 2), (1, 2)),
    "dyadic response": (RationalResponse(Fraction(3, 8)), True, False),
    "response": (THIRD, True, False),
    "shuffled": (ShuffledResponse(Fraction(1, 3), 3, ONE), (0, 1, 1), (1, 1, 1)),
    "noise": (NOISY, 0, 1),
    "geometric noise": (Noisy(ANSWER, Geometric(Fraction(1, 300))), 0, 1),
    "Gaussian noise": (Restated(Noisy(ANSWER, DiscreteGaussian(Fraction(1, 9))), ApproximateDP(ONE, ONE)), 0, 1),
    "mapped": (Mapped(Both((Size(), Noisy(CountFrom(ONE, "substitute"), LITTLE))), len), (0, 0), (0, 2)),
    "in turn": (Both((KERNEL, NOISY)), 0, 1),
    "sparse vector": (SizedAboveThreshold(ANSWER, 1, 1, LITTLE, LITTLE, queries=2), (0, 1), (1, 2)),
    "sparse values": (SizedAboveThreshold(ANSWER, 1, 1, LITTLE, LITTLE, LITTLE, queries=1), (0,), (1,)),
    "a number of counts": (Mapped(Noisy(SizedCounts(2), LITTLE), tuple), (1, 0), (1, 1)),
    "a number of outcomes": (
        Select(SizedUtilities(ONE, Fraction(-4), Fraction(4), outcomes=3), ONE),
        (0, 1, 1),
        (1, 0, 0),
    ),
    "a padded number of outcomes": (Padded(Select(SizedUtilities(outcomes=2), ONE), 64, 0), (0, 1), (1, 0)),
    "sample of a size": (FixedSample(Noisy(CountFrom(ONE, "substitute"), LITTLE), 2, 3), (1, 1, 0), (1, 0, 0)),
    "quantile": (QUANTILE, (1, 2, 2), (1, 2)),
    "padded": (Padded(Response(ONE), 5, False), True, False),
    "padded rounds": (Padded(THIRD, 7, True), True, False),
    "padded noise": (Padded(NOISY, 64, 0.0), 0, 1),
    "padded quantile": (Padded(QUANTILE, 64, 0), (1, 2, 2), (1, 2)),
    "tested": (tested.Tested(Mean(Fraction(0), Fraction(4), Grid(0)), 1, LITTLE, LITTLE, 2), (1, 2, 3, 1), (1, 2, 3)),
    "smooth": (Smooth(Mean(Fraction(0), Fraction(2), Grid(0)), Fraction(30), 1), (0, 1, 2), (0, 1)),
}
"""Terms, each with two neighbours."""


def joint_law(term: Mechanism, data: Any) -> Law:
    """The law of an output and the bits that it took."""
    return enumerate_law(term.release, data, counted="bits", limits=ENDED)


def points_of(claim: Any) -> tuple[ApproximateDP, ...]:
    inner: Any = claim.claim if isinstance(claim, OutputAndWork) else claim
    return inner.points if isinstance(inner, ProfileDP) else (inner,)


def assert_kept(claim: Any, first: Law, second: Law) -> None:
    """Two joint laws keep a claim on output and work."""
    for p, q in ((first, second), (second, first)):
        for point in points_of(claim):
            left_open = p.unresolved + (1 + mpq(exp_above(point.epsilon))) * q.unresolved
            assert hockey_stick(p, q, point.epsilon).upper <= point.delta + left_open


@pytest.mark.parametrize("name", CASES)
def test_the_bits_are_what_the_term_says_and_the_joint_claim_holds(name: str) -> None:
    term, *data = CASES[name]
    work, joint = term.work, [joint_law(term, each) for each in data]
    assert work is not None
    assert not work.moves
    for law in joint:
        bits = law.map(lambda pair: pair[1])
        if work.bits is not None:
            assert 1 - bits.mass(work.bits) <= work.otherwise
        if work.bits is not None and not work.otherwise:
            assert set(bits) == {work.bits}
    assert_kept(WithWork(term).claim, *joint)


@pytest.mark.parametrize("name", ["response", "shuffled"])
def test_rejected_rounds_of_public_chances_tell_nothing_more(name: str) -> None:
    term, *data = CASES[name]
    first, second = (joint_law(term, each) for each in data)
    alone = [law.map(lambda pair: pair[0]) for law in (first, second)]
    assert len(set(first.map(lambda pair: pair[1]))) > 10
    rarely = Fraction(1, 10**6)
    assert smallest_epsilon(first, second, rarely)[0] <= smallest_epsilon(alone[0], alone[1], rarely)[1] + 1e-9


def words_left_open(law: Any) -> list[int]:
    """The first words after which a draw takes a second one: none but those beside a tail, the first and the last."""
    tried = {0, 1, 2**64 - 2, 2**64 - 1}
    for outcome in range(-500, 501):
        word = int(mpq(law.tail(outcome, 200).lower) * 2**64)
        tried |= {each for each in range(word - 1, word + 2) if 0 <= each < 2**64}
    opened = []
    for word in sorted(tried):
        bits = TapedBits((word << 128) + (1 << 127) + 1, 192)
        invert(law, bits)
        opened += [word] * (bits.left < 128)
    return opened


@pytest.mark.parametrize(
    "law",
    [
        DiscreteLaplace(Fraction(1, 4)),
        DiscreteLaplace(Fraction(5, 2)),
        RoundedLaplace(Fraction(3, 2)),
        Geometric(Fraction(1, 3)),
        Geometric(Fraction(1, 2**10)),
        DiscreteGaussian(Fraction(9, 4)),
        RoundedGaussian(Fraction(9, 4)),
        RoundedGaussian(Fraction(100)),
    ],
    ids=str,
)
def test_the_words_that_leave_an_outcome_open_are_no_more_than_is_said(law: laws.Law) -> None:
    opened = words_left_open(law)
    assert {0, 2**64 - 1} <= set(opened)
    bound = undecided(law) * 2**64
    assert len(opened) <= bound <= 5 * len(opened)


@pytest.mark.parametrize("answer", [Fraction(0), Fraction(1, 3), Fraction(-7, 5), Fraction(40)])
@pytest.mark.parametrize("scale", [ONE, Fraction(1001, 2000)])
def test_the_words_that_leave_a_snapped_outcome_open_are_no_more_than_is_said(
    answer: Fraction, scale: Fraction
) -> None:
    term = Snapped(ONE, 1 / scale, Fraction(1000))
    opened = words_left_open(term.prepared(answer))
    assert term.work.bits == 64
    assert len(opened) <= term.work.otherwise * 2**64 <= 5 * len(opened)


def test_the_words_that_leave_an_outcome_open_are_those_of_the_joint_law() -> None:
    """Mass not at 64 bits is a whole number of words, those of the tails above 2^−64 and two more."""
    law = joint_law(NOISY, 0)
    others = (1 - law.map(lambda pair: pair[1]).mass(64)) * 2**64
    assert others.denominator == 1
    assert 5 < others <= undecided(LITTLE) * 2**64


def test_the_bits_of_randomized_response_tell_the_truth() -> None:
    """Bit by bit, either a 0 or a 1 ends the comparison: who counts the bits knows the coin."""
    term = Response(ONE)
    first, second = (joint_law(term, truth) for truth in (True, False))
    assert hockey_stick(first, second, ONE).lower > 0.99
    assert term.work is None
    with pytest.raises(ValueError, match="make it Padded"):
        WithWork(term)


def test_the_bits_of_permute_and_flip_tell_more_than_its_output() -> None:
    term = PermuteAndFlip(RANGE, ONE)
    first, second = (
        enumerate_law(term.release, utilities, counted="bits", limits=Limits(Fraction(1, 2**12)))
        for utilities in ((0, 1), (1, 0))
    )
    assert term.work is None
    assert hockey_stick(first, second, ONE).lower > 0.01


@pytest.mark.parametrize("name", ["padded", "padded rounds", "padded quantile"])
def test_a_padded_term_releases_what_it_is_made_of_but_with_the_probability_that_it_says(name: str) -> None:
    term, *data = CASES[name]
    assert isinstance(term, Padded)
    for each in data:
        padded = enumerate_law(term.release, each, limits=ENDED)
        plain = enumerate_law(term.mechanism.release, each, limits=ENDED)
        failing = term.mechanism.beyond(term.bits)
        assert hockey_stick(plain, padded, 0).upper <= failing + 2 * padded.unresolved + 2 * plain.unresolved
        needed = joint_law(term.mechanism, each).map(lambda pair: pair[1] > term.bits)
        assert needed.mass(True) <= failing


def test_bits_that_do_not_suffice_cost_a_delta_that_is_needed() -> None:
    """With 5 bits the textbook's ε alone is not kept; what is claimed for them is."""
    term, first, second = CASES["padded"]
    claim = term.claim
    assert claim == but_for(ApproximateDP(ONE), Fraction(1, 16))
    found = hockey_stick(joint_law(term, first), joint_law(term, second), ONE)
    assert found.lower > 0
    assert isinstance(claim, ApproximateDP)
    assert found.upper <= claim.delta


@pytest.mark.parametrize(
    ("mechanism", "bits", "beyond"),
    [
        (KERNEL, 2, ONE),
        (KERNEL, 3, Fraction(0)),
        (THIRD, 1, ONE),
        (THIRD, 2, Fraction(1, 4)),
        (THIRD, 3, Fraction(1, 4)),
        (THIRD, 4, Fraction(1, 16)),
        (RationalResponse(Fraction(1, 8)), 3, Fraction(0)),
        (Response(ONE), 9, Fraction(1, 256)),
        (NOISY, 63, ONE),
        (NOISY, 64, undecided(LITTLE)),
        (QUANTILE, 63, ONE),
        (QUANTILE, 64, Fraction(1, 2**17) + Fraction(4, 2**27)),
        (QUANTILE, 256, (Fraction(1, 2**17) + Fraction(4, 2**27)) ** 2 + Fraction(2, 2**63)),
        (Mapped(THIRD, len), 4, Fraction(1, 16)),
        (Restated(THIRD, ApproximateDP(ONE)), 4, Fraction(1, 16)),
        (PermuteAndFlip(RANGE, ONE), 1000, ONE),
        (SAMPLED, 1000, ONE),
    ],
    ids=lambda item: type(item).__name__,
)
def test_how_often_bits_do_not_suffice_is_bounded(mechanism: Mechanism, bits: int, beyond: Fraction) -> None:
    assert mechanism.beyond(bits) == beyond
    if beyond == 1:
        with pytest.raises(ValueError, match="allow more"):
            Padded(mechanism, bits, 0)


DELAY = DiscreteLaplace(Fraction(1, 2))
DELAYED = Delayed(SAMPLED, DELAY, 40)


@cache
def sampled_law(records: int) -> Law:
    """The joint law of a sample of so many records, without a delay."""
    return joint_law(SAMPLED, [1] * records)


def delayed_laws(law: DiscreteLaplace) -> list[Law]:
    """The joint laws for no record and for one, with an independent delay whose masses are those of a law."""
    tails = {k: mpq(law.tail(k, 300).lower) for k in range(-40, 42)}
    found = []
    for inner in map(sampled_law, (0, 1)):
        masses: dict[Any, Any] = defaultdict(mpq)
        for (output, bits), mass in inner.masses.items():
            for k in range(-40, 41):
                masses[output, bits + 64 + 40 + k] += mass * (tails[k] - tails[k + 1])
        found.append(Law(masses))
    return found


def test_the_work_of_a_sample_tells_how_many_records_there_are() -> None:
    """Two bits for each record, and a word for the noise: certain, whatever the output is."""
    laws_ = [sampled_law(records) for records in (0, 1)]
    assert SAMPLED.work == Work(None, undecided(LITTLE), 2)
    assert hockey_stick(laws_[0], laws_[1], 9).lower > 1 - Fraction(1, 2**40)
    for law, records in zip(laws_, (0, 1), strict=True):
        assert 1 - law.map(lambda pair: pair[1]).mass(2 * records + 64) <= undecided(LITTLE)


def test_a_delayed_sample_keeps_what_it_claims_and_no_less_noise_would() -> None:
    (point,) = points_of(DELAYED.claim)
    assert point.epsilon == points_of(SAMPLED.claim)[0].epsilon + 4
    assert_kept(DELAYED.claim, *delayed_laws(DELAY))
    first, second = delayed_laws(DiscreteLaplace(Fraction(2, 5)))
    assert hockey_stick(second, first, point.epsilon).lower > 0.01 > point.delta


@pytest.mark.parametrize("most", [2, 40])
def test_the_delay_is_drawn_as_its_law_says_and_clamped(most: int) -> None:
    """By the words that tell most of U: the bits that are taken are those of its outcome."""
    term = Delayed(PoissonSample(Noisy(Count(), LITTLE), ONE / 2), DELAY, most)
    for outcome in range(-5, 6):
        middle = (mpq(DELAY.tail(outcome, 200).lower) + mpq(DELAY.tail(outcome + 1, 200).lower)) / 2
        bits = TapedBits((1 << 63 << 64 | int(middle * 2**64)) << 256, 129 + 256)
        assert term.release([1], bits) == 1.0
        assert 256 - bits.left == most + max(min(outcome, most), -most)


@dataclass(frozen=True)
class SaidToMoveLess(PoissonSample):
    """A sample that says its work moves by 1, and it moves by 2."""

    @property
    def work(self) -> Work:
        return Work(None, undecided(LITTLE), 1)


def test_work_that_moves_further_than_is_said_breaks_the_claim() -> None:
    (point,) = points_of(Delayed(SaidToMoveLess(SAMPLED.mechanism, SAMPLED.rate), DELAY, 40).claim)
    first, second = delayed_laws(DELAY)
    assert hockey_stick(second, first, point.epsilon).lower > 0.01 > point.delta


def test_a_delay_that_spares_some_outputs_breaks_the_claim() -> None:
    """Without a delay the bits tell how many records there are, were it for a single output."""

    def sparing(records: list[int], bits: RandomBits) -> float:
        output: float = SAMPLED.release(records, bits)
        if output <= 0:
            bits.take(min(max(DELAYED.most + invert(DELAY, bits), 0), 2 * DELAYED.most))
        return output

    (point,) = points_of(DELAYED.claim)
    few = Limits(Fraction(1, 2**40))
    spared = [enumerate_law(sparing, [1] * records, counted="bits", limits=few) for records in (1, 2)]
    assert smallest_delta(spared[0], spared[1], point.epsilon).lower > 0.1 > point.delta


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: Delayed(SAMPLED, DELAY, 0), ValueError, "most must be at least 1"),
        (lambda: Delayed(SAMPLED, DELAY, -5), ValueError, "most must be at least 1"),
        (lambda: Delayed(SAMPLED, DELAY, 2**20 + 1), ValueError, "most must be at most 1048576"),
        (lambda: Padded(KERNEL, 2**40, 0), ValueError, "bits must be at most 1048576"),
        (lambda: Delayed(SAMPLED, DELAY, 1.5), TypeError, "most must be an integer"),
        (lambda: Delayed(NOISY, DELAY, 5), ValueError, "does not move by a known number"),
        (lambda: Delayed(PermuteAndFlip(RANGE, ONE), DELAY, 5), ValueError, "does not move by a known number"),
        (lambda: Delayed(SAMPLED, RoundedGaussian(ONE), 5), ValueError, "no δ"),
        (lambda: Delayed(SAMPLED, DiscreteLaplace(Fraction(2**47)), 5), ValueError, "too fine"),
        (lambda: WithWork(SAMPLED), ValueError, "Delayed if its work moves"),
        (lambda: WithWork(WithWork(KERNEL)), ValueError, "covers work already"),
        (lambda: WithWork(Noisy(Counts(), LITTLE)), ValueError, "nothing says"),
        (lambda: WithWork(Noisy(ANSWER, RoundedGaussian(ONE))), ValueError, "restate it as ApproximateDP"),
        (lambda: Both((WithWork(KERNEL), KERNEL)), ValueError, "no rule composes"),
        (lambda: Both((KERNEL, WithWork(KERNEL))), ValueError, "no rule composes"),
        (lambda: Padded(WithWork(NOISY), 64, 0), ValueError, "no δ"),
        (lambda: Padded(KERNEL, 3.0, 0), TypeError, "bits must be an integer"),
        (lambda: Padded(KERNEL, 0, 0), ValueError, "bits must be at least 1"),
        (lambda: Padded(KERNEL, 3, [0]), TypeError, "fallback must be a plain number"),
        (lambda: Restated(WithWork(KERNEL), ApproximateDP(Fraction(1, 2))), ValueError, "not seen to keep"),
    ],
)
def test_what_covers_no_work_is_refused(make: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        make()


def test_a_claim_on_work_implies_the_one_on_outputs_and_not_the_other_way_round() -> None:
    inner = ApproximateDP(ONE)
    assert OutputAndWork(inner).within(inner)
    assert OutputAndWork(inner).within(OutputAndWork(ApproximateDP(2 * ONE)))
    assert OutputAndWork(inner).within(ZeroConcentratedDP(ONE / 2))
    assert not OutputAndWork(ApproximateDP(2 * ONE)).within(inner)
    for claim in (inner, ZeroConcentratedDP(ONE), ProfileDP((inner,))):
        assert not claim.within(OutputAndWork(claim))


@pytest.mark.parametrize(
    ("term", "data"),
    [
        (Noisy(SizedCounts(2), LITTLE), [1, 0, 0]),
        (SizedAboveThreshold(ANSWER, 1, 1, LITTLE, LITTLE, queries=2), [1, 0, 0]),
        (Select(SizedUtilities(outcomes=2), ONE), [0, 1, 1]),
        (Select(SizedUtilities(outcomes=2), ONE), [1]),
    ],
)
def test_other_numbers_than_the_public_one_are_refused(term: Any, data: Any) -> None:
    with pytest.raises(ValueError, match=r"there must be 2 .*, their public number, not"):
        term.release(data, TapedBits(0, 0))
    if isinstance(term, Select):
        with pytest.raises(ValueError, match="there must be 2 utilities"):
            SizedUtilities(outcomes=2).of_each([data])
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="must be at least 1"):
            SizedCounts(wrong)
        with pytest.raises(ValueError, match="must be at least 1"):
            SizedUtilities(outcomes=wrong)


def test_entries_are_public_numbers() -> None:
    noisy = Noisy(Histogram(("a", "b", "c")), LITTLE)
    assert noisy.work == Work(192, 3 * undecided(LITTLE))
    assert Noisy(Counts(), LITTLE).work is None
    assert WithWork(Mapped(noisy, Within(0.0, 2.0))).work == noisy.work


def test_a_sample_takes_a_known_number_of_bits_for_each_record_at_a_dyadic_rate_alone() -> None:
    counted = Noisy(Count(), LITTLE)
    moves = {rate: PoissonSample(counted, rate).work for rate in (ONE, ONE / 2, ONE / 3, Fraction(3, 8))}
    assert moves[ONE / 3] is None
    assert [moves[rate].moves for rate in (ONE, ONE / 2, Fraction(3, 8))] == [0, 1, 3]
    assert PoissonSample(PoissonSample(counted, ONE / 2), ONE / 2).work is None
