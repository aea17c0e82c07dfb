"""No false claim of an honest author is proved; each is really false, as plain runs on a tape or by hand show."""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import gmpy2
import pytest

from attacklab.laws import Contradicted, ForeignCall, LawError, Limits, StateChanged, enumerate_law
from attacklab.laws.outcomes import tag
from attacklab.laws.proof import prove
from attacklab.model.errors import TargetError
from attacklab.model.findings import Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import SeededBits, TapedBits
from attacklab.model.targets import Target
from tests.system.attacklab.laws.false_claims import (
    CACHED,
    ELSEWHERE,
    EQUAL,
    FORMS,
    KEPT,
    NUMBERS,
    RARE,
    REUSED,
    UNSETTLED,
    Sampler,
    called_with,
    elsewhere,
    flipped,
    raw,
    rejecting,
    written,
)

SECRETS = NeighbouringPair.integers(0, 1, sensitivity=1)


@pytest.fixture(autouse=True)
def _precisions_are_restored() -> Iterator[None]:
    """A proof may stop a sampler before it has put back what it changed."""
    with decimal.localcontext(), gmpy2.context():
        yield


def _target(sampler: Sampler) -> Target:
    return Target.noise(lambda *_: None, epsilon=1.1, name="claimed").exact(sampler)


def _said(sampler: Sampler, runs: int = 3000) -> tuple[Verdict, str]:
    """The verdict, or ERROR for a refusal, and what was said."""
    limits = Limits(unresolved=Fraction(1, 1 << 62), runs=runs)
    try:
        finding = prove(_target(sampler), SECRETS, limits=limits)
    except TargetError as error:
        return Verdict.ERROR, str(error)
    return finding.verdict, finding.reason


def _assert_not_proved(sampler: Sampler, runs: int = 3000) -> None:
    verdict, said = _said(sampler, runs)
    assert not verdict.value.startswith("proved"), said
    assert "\n" not in said
    assert " at 0x" not in said
    assert len(said) > 20


def test_randomized_response_itself_is_proved() -> None:
    assert _said(flipped)[0] is Verdict.PROVED


@pytest.mark.parametrize("kind", KEPT)
def test_a_loop_that_counts_its_rejections_is_refused(kind: str) -> None:
    sampler = rejecting(KEPT[kind])
    assert sampler(1, TapedBits(0b111_111_000, 9)) == raw(1)
    assert raw(1) not in [sampler(0, SeededBits(seed)) for seed in range(30)]
    _assert_not_proved(rejecting(KEPT[kind]))


@pytest.mark.parametrize("kind", KEPT)
def test_a_loop_that_counts_more_rejections_than_a_proof_plays_is_refused(kind: str) -> None:
    sampler = rejecting(KEPT[kind], most=40, width=1)
    assert sampler(1, TapedBits((1 << 43) - 8, 43)) == raw(1)
    _assert_not_proved(rejecting(KEPT[kind], most=40, width=1))


def test_the_place_that_keeps_state_is_named() -> None:
    for kind, named in (("a list", "the variable `count` around"), ("the precision of decimal", "a setting of")):
        with pytest.raises(StateChanged, match=f"{named}.* changed during a run of .*one_round; keep nothing between"):
            enumerate_law(rejecting(KEPT[kind]), 1)


@pytest.mark.parametrize("kind", CACHED)
def test_a_cached_result_that_changes_or_depends_on_the_draws_is_refused(kind: str) -> None:
    sampler, reason = CACHED[kind]
    verdict, said = _said(sampler)
    assert verdict is Verdict.ERROR, said
    assert reason in said


def test_calls_with_equal_arguments_that_differ_have_laws_of_their_own() -> None:
    for kind, (first, second, is_fair) in EQUAL.items():
        assert _said(called_with(first, second, is_fair))[0] is Verdict.VIOLATED, kind


@pytest.mark.parametrize("kind", REUSED)
def test_a_function_that_changes_between_two_calls_is_not_taken_for_the_same(kind: str) -> None:
    assert {REUSED[kind]()(1, SeededBits(seed))[1] for seed in range(9)} == {1}
    _assert_not_proved(REUSED[kind]())


def test_outputs_that_are_equal_for_python_are_told_apart() -> None:
    for kind, forms in FORMS.items():
        assert tag(forms[0](1)) != tag(forms[1](1)), kind
        assert _said(written(*forms))[0] is Verdict.VIOLATED, kind


@pytest.mark.parametrize("kind", NUMBERS)
def test_code_that_treats_plain_or_rounded_integers_differently_is_not_proved(kind: str) -> None:
    sampler, draw = NUMBERS[kind]
    tape = SeededBits(0) if draw is None else TapedBits(draw, draw.bit_length() if draw > 255 else 8)
    assert sampler(1, tape) in (1, raw(1))
    _assert_not_proved(sampler, runs=300)


@pytest.mark.parametrize("kind", RARE)
def test_a_breach_at_rare_draws_is_never_overlooked(kind: str) -> None:
    sampler, draws = RARE[kind]
    bits = "".join(f"{value:0{count}b}" for value, count in draws)
    assert sampler(1, TapedBits(int(bits, 2), len(bits))) == raw(1)
    _assert_not_proved(sampler, runs=100)


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_a_call_for_what_no_law_covers_is_refused(kind: str) -> None:
    with pytest.raises(LawError) as caught:
        enumerate_law(elsewhere(ELSEWHERE[kind]), 1)
    assert isinstance(caught.value, ForeignCall) or kind == "np.random.random", caught.value  # not seen when called


@pytest.mark.parametrize("kind", UNSETTLED)
def test_what_differs_from_process_to_process_is_refused(kind: str) -> None:
    _assert_not_proved(elsewhere(UNSETTLED[kind]))


def test_state_that_no_snapshot_holds_is_seen_in_plain_runs_if_it_matters() -> None:
    """The counter is in the source of bits, which a proof makes anew."""

    def tenth(secret: int, bits: Any) -> int:
        bits.number = getattr(bits, "number", 0) + 1
        return secret if bits.number % 10 == 0 else flipped(secret, bits)

    with pytest.raises((Contradicted, LawError)):
        prove(_target(tenth), SECRETS)


def test_what_cannot_be_compared_is_refused_in_plain_words() -> None:
    numbers = (number for number in range(9))

    def reads_a_generator(_secret: int, bits: Any) -> int:
        return next(numbers) + int(bits.take(1))

    verdict, said = _said(reads_a_generator)
    assert verdict is Verdict.ERROR
    assert "the variable `numbers` around" in said
    assert "whose state cannot be compared; let reads_a_generator read no such thing" in said
