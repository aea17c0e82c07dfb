"""Verdicts on output and work together, against every string of bits, and for samplers whose work alone tells the data.

Plain runs refuse a true law with probability at most 1e-12 (`attacklab.laws.sampling_check.FALSE_ALARM`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacklab.laws import Law, Limits
from attacklab.laws.errors import Contradicted
from attacklab.laws.fresh_process import require_agreement
from attacklab.laws.proof import default_pair, laws_of, prove, prove_inputs
from attacklab.model.claims import Claim, GaussianDP, OutputAndWork, PrivacyClaim, Profile, Renyi, ZeroConcentrated
from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import REJECTED, RandomBits, TapedBits
from attacklab.model.targets import Kind, Target
from attacklab.processes.targets import external
from experiments import targets
from tests.statistical.attacklab.proof.bit_trees import OfAnswer, Tree

LN_2 = math.nextafter(math.log(2), 1)
"""A double above ln 2."""

HALF, HAIR = 0.5, 2.0**-20
DEPTH = 4
PAIR = NeighbouringPair.answers(0.0, 1.0, sensitivity=1.0)


def never(*_: Any) -> Any:
    raise AssertionError("a proof draws nothing from the release")


def noise(sampler: Callable[..., Any], claim: Claim) -> Target:
    target = Target.noise(never, name="noise", claim=claim.inner).exact(sampler)
    return target.covering_work() if isinstance(claim, OutputAndWork) else target


def proved(sampler: Callable[..., Any], claim: Claim, *, joint: bool, **rest: Any) -> Finding:
    return prove(noise(sampler, OutputAndWork(claim) if joint else claim), PAIR, **rest)


def trees(depth: int) -> st.SearchStrategy[Any]:
    outcomes = st.integers(0, 2)
    if not depth:
        return outcomes
    widths = st.integers(0, min(depth, 2))
    return outcomes | widths.flatmap(
        lambda width: st.tuples(*[trees(depth - max(width, 1))] * 2**width).map(partial(Tree, width))
    )


def by_every_string(sampler: OfAnswer, answer: float) -> Counter[Any]:
    """How many of the strings of `DEPTH` bits end in each pair of an outcome and the bits taken."""
    counts: Counter[Any] = Counter()
    for value in range(2**DEPTH):
        tape = TapedBits(value, DEPTH)
        outcome = sampler(answer, tape)
        counts[outcome, DEPTH - tape.left] += 1
    return counts


def lost(first: Counter[Any], second: Counter[Any]) -> float:
    """δ at the ε of the claim, in one direction."""
    return sum(max(first[pair] - math.exp(HALF) * second[pair], 0.0) for pair in first) / 2**DEPTH


@settings(max_examples=15, deadline=None)
@given(st.tuples(trees(DEPTH), trees(DEPTH)).map(OfAnswer))
def test_the_verdict_is_that_of_counting_every_string_of_bits(sampler: OfAnswer) -> None:
    first, second = (by_every_string(sampler, answer) for answer in (0.0, 1.0))
    target = noise(sampler, OutputAndWork(PrivacyClaim(HALF)))
    for law, counts in zip(laws_of(target, PAIR), (first, second), strict=True):
        assert law == Law({pair: Fraction(count, 2**DEPTH) for pair, count in counts.items()})
    delta = max(lost(first, second), lost(second, first))
    if delta < 1:
        assert proved(sampler, PrivacyClaim(HALF, delta + HAIR), joint=True).verdict is Verdict.PROVED
    if delta:
        refuted = proved(sampler, PrivacyClaim(HALF, delta - HAIR), joint=True)
        assert refuted.verdict is Verdict.VIOLATED
        assert refuted.first is not None
        assert refuted.second is not None
        p, q = refuted.first.estimate, refuted.second.estimate
        assert max(p - math.exp(HALF) * q, q - math.exp(HALF) * p) == pytest.approx(delta)


def third(bits: RandomBits) -> int | None:
    drawn = bits.take(2)
    return REJECTED if drawn == 3 else int(drawn)


def response(answer: float, bits: RandomBits) -> int:
    """Randomized response that tells the truth two times out of three; its rounds know no answer."""
    return int(bool(answer) ^ (bits.repeat(third) == 0))


def third_or_more(answer: float, bits: RandomBits) -> int | None:
    """As `third`, by 2 bits or by 3, by the answer: one of four is rejected, or five of eight."""
    drawn = bits.take(2 + int(answer))
    return REJECTED if drawn >= 3 else int(drawn)


def rejecting(answer: float, bits: RandomBits) -> int:
    """The same law as `response`, from a loop that rejects more for one of the answers."""
    return int(bool(answer) ^ (bits.repeat(third_or_more, answer) == 0))


def counted(bits: RandomBits) -> int:
    heads = 0
    while bits.take(1):
        heads += 1
    return heads


def counting(answer: float, bits: RandomBits) -> int:
    """Two-sided geometric noise of ratio 1/2, counted in loops as long as the noise is large."""
    return int(answer) + bits.call(counted) - bits.call(counted)


def of_output(answer: float, bits: RandomBits) -> int:
    """Takes as many bits more as its output says, which tells nothing but that."""
    output = response(answer, bits)
    bits.take(output)
    return output


def idle(answer: float, bits: RandomBits) -> int:
    """Takes a bit that it never looks at for one of the answers."""
    bits.take(int(answer))
    return response(0.0, bits)


def of_one_word(answer: float, bits: RandomBits) -> int:
    """The law of `response` to within 2^−20, by the same 20 bits for all answers and outputs."""
    return int(bool(answer) ^ (bits.take(20) < 2**20 // 3 + 1))


@pytest.mark.parametrize(
    ("sampler", "verdict"),
    [
        (of_one_word, Verdict.PROVED),
        (response, Verdict.PROVED_WITH_SLACK),  # its rounds may go on for ever
        (of_output, Verdict.PROVED_WITH_SLACK),
        (rejecting, Verdict.VIOLATED),
        (counting, Verdict.VIOLATED),
        (idle, Verdict.VIOLATED),
    ],
)
def test_work_is_judged_where_the_claim_covers_it_and_only_there(sampler: Any, verdict: Verdict) -> None:
    alone = proved(sampler, PrivacyClaim(LN_2), joint=False)
    assert alone.verdict in (Verdict.PROVED, Verdict.PROVED_WITH_SLACK)
    assert "bits taken" not in alone.reason
    together = proved(sampler, PrivacyClaim(LN_2), joint=True)
    assert together.verdict is verdict
    assert together.reason.startswith("output and bits taken together, ")
    assert together.claim == OutputAndWork(PrivacyClaim(LN_2))


def test_a_refutation_shows_outputs_with_their_bits() -> None:
    found = proved(idle, PrivacyClaim(LN_2), joint=True)
    assert found.event.startswith("first input likelier than allowed as (output, bits taken): (0, 2), (1, 2), (0, 4)")
    assert found.code is None
    assert Finding.from_json(found.to_json()) == found


def test_bits_of_rejected_rounds_and_of_called_samplers_count() -> None:
    masses = laws_of(noise(response, OutputAndWork(PrivacyClaim(LN_2))), PAIR)[0].masses
    assert masses[1, 2] == Fraction(1, 4)
    assert masses[1, 4] == Fraction(1, 16)
    masses = laws_of(noise(counting, OutputAndWork(PrivacyClaim(LN_2))), PAIR)[0].masses
    assert {pair for pair in masses if pair[1] == 4} == {(difference, 4) for difference in (-2, 0, 2)}


@pytest.mark.parametrize(
    ("kept", "broken"),
    [
        (ZeroConcentrated(0.25), ZeroConcentrated(0.2)),
        (GaussianDP(0.87), GaussianDP(0.8)),
        (Renyi((2.0,), (0.41,)), Renyi((2.0,), (0.4,))),
        (Profile([(0.0, 0.34)]), Profile([(0.0, 0.33)])),
    ],
    ids=lambda claim: str(claim)[:20],
)
def test_claims_of_other_kinds_are_decided_on_the_joint_laws(kept: Claim, broken: Claim) -> None:
    assert proved(of_one_word, kept, joint=True).verdict is Verdict.PROVED
    assert proved(of_one_word, broken, joint=True).verdict is Verdict.VIOLATED
    assert proved(rejecting, kept, joint=True).verdict is Verdict.VIOLATED


def test_too_few_runs_leave_output_and_work_open() -> None:
    found = proved(response, PrivacyClaim(LN_2), joint=True, limits=Limits(runs=3))
    assert found.verdict is Verdict.INCONCLUSIVE


def test_every_pair_of_a_finite_domain_is_judged_by_joint_laws() -> None:
    target = noise(of_one_word, OutputAndWork(PrivacyClaim(LN_2)))
    assert prove_inputs(target, [0, 1]).verdict is Verdict.PROVED
    target = noise(idle, OutputAndWork(PrivacyClaim(LN_2)))
    assert prove_inputs(target, [0, 1]).verdict is Verdict.VIOLATED


def test_plain_runs_that_take_other_bits_contradict_a_joint_law() -> None:
    def two(bits: RandomBits) -> int:
        return 0 * bits.take(2)

    assert require_agreement(Law({(0, 2): 1}), two, runs=100, with_bits=True) == 100
    with pytest.raises(Contradicted, match=r"outcome \(0, 2\)"):
        require_agreement(Law({(0, 3): 1}), two, runs=100, with_bits=True)


def test_a_word_is_64_bits_in_plain_runs_too() -> None:
    def words(bits: RandomBits) -> int:
        return 0 * len(bits.words(3))

    assert require_agreement(Law({(0, 192): 1}), words, runs=100, with_bits=True) == 100


def test_a_program_whose_bits_are_not_counted_is_refused() -> None:
    target = external(["true"], kind=Kind.NOISE, claim=OutputAndWork(PrivacyClaim(1.0)))
    with pytest.raises(UsageError, match=r"bits that .* takes are not counted"):
        prove(target, PAIR)


@pytest.mark.parametrize(
    "name", ["exact_two_sided_geometric", "exact_fixed_work_gaussian", "exact_exponential_fixed_work"]
)
def test_fixed_work_keeps_its_claim_for_output_and_work_with_the_same_numbers(name: str) -> None:
    target = getattr(targets, name)()
    joint = target.covering_work()
    pair = default_pair(target)
    found = prove(joint, pair)
    assert found.verdict is Verdict.PROVED
    assert found.advantage == prove(target, pair).advantage
    for alone, together in zip(laws_of(target, pair), laws_of(joint, pair), strict=True):
        assert len({pair[1] for pair in together.masses}) == 1
        assert together.map(lambda seen: seen[0]) == alone


@pytest.mark.parametrize("name", ["exact_randomized_response", "exact_exponential_base2"])
def test_the_work_of_lazy_comparisons_tells_more_than_the_claim(name: str) -> None:
    target = getattr(targets, name)()
    found = prove(target.covering_work(), default_pair(target), limits=Limits(runs=2_000))
    assert found.verdict is Verdict.VIOLATED
