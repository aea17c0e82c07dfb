"""Verdicts of proofs: the claim itself, the claim with slack, its refutation, and what was left open; pair by pair."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from attacklab.laws import Limits
from attacklab.laws.proof import LIMITS, SLACK, default_pair, prove, prove_all
from attacklab.model.claims import GaussianDP, PrivacyClaim, Renyi, ZeroConcentrated
from attacklab.model.errors import UsageError
from attacklab.model.findings import EXACT_LAW, WORST_FIRST, Finding, Verdict, decisive, lower_text, upper_text
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import REJECTED, RandomBits
from attacklab.model.targets import Kind, Target

LN_2 = math.nextafter(math.log(2), 1)
"""A double above ln 2."""


def never(*_: Any) -> Any:
    raise AssertionError("a proof draws nothing from the release")


def third(bits: RandomBits) -> int | None:
    drawn = bits.take(2)
    return REJECTED if drawn == 3 else int(drawn)


def response(answer: float, bits: RandomBits) -> int:
    """Randomized response that tells the truth two times out of three: ln 2, and its law closes."""
    return int(bool(answer) ^ (bits.repeat(third) == 0))


def geometric(bits: RandomBits) -> int:
    heads = 0
    while bits.take(1):
        heads += 1
    return heads


def signed(bits: RandomBits) -> int | None:
    sign, size = bits.take(1), bits.call(geometric)
    if sign and size == 0:
        return REJECTED
    return -size if sign else size


def count(answer: float, bits: RandomBits) -> int:
    """Two-sided geometric noise of ratio 1/2: ln 2, and its law does not close."""
    return int(answer) + bits.repeat(signed)


def telling(answer: float, _: RandomBits) -> int:
    return int(answer)


def endless(*_: Any) -> int:
    while True:
        pass


def target(sampler: Any, epsilon: float = LN_2, **rest: Any) -> Target:
    claim = {} if "claim" in rest else {"epsilon": epsilon}
    return Target.noise(never, name=sampler.__name__, **claim, **rest).exact(sampler)


def proved(sampler: Any, epsilon: float = LN_2, *, limits: Limits = LIMITS, **rest: Any) -> Finding:
    made = target(sampler, epsilon, **rest)
    return prove(made, default_pair(made), limits=limits)


FEW = Limits(unresolved=LIMITS.unresolved, runs=8)
VERDICTS: dict[str, tuple[Any, dict[str, Any], Verdict]] = {
    "a closed law": (response, {}, Verdict.PROVED),
    "a closed law and the next smaller claim": (response, {"epsilon": math.nextafter(LN_2, 0)}, Verdict.VIOLATED),
    "an open law": (count, {}, Verdict.PROVED_WITH_SLACK),
    "an open law and a delta with room": (count, {"delta": 1e-9}, Verdict.PROVED),
    "an open law and too small a claim": (count, {"epsilon": 0.69}, Verdict.VIOLATED),
    "an open law and few runs": (count, {"limits": FEW}, Verdict.INCONCLUSIVE),
    "a closed law and zCDP": (response, {"claim": ZeroConcentrated(0.5)}, Verdict.PROVED),
    "an open law and zCDP": (count, {"claim": ZeroConcentrated(0.5)}, Verdict.PROVED_WITH_SLACK),
    "a closed law and GDP": (response, {"claim": GaussianDP(2.0)}, Verdict.PROVED),
    "an open law and GDP": (count, {"claim": GaussianDP(2.0)}, Verdict.PROVED_WITH_SLACK),
}


@pytest.mark.parametrize("kind", VERDICTS)
def test_a_claim_is_proved_refuted_or_left_open_and_only_a_refuted_one_has_an_event(kind: str) -> None:
    sampler, options, verdict = VERDICTS[kind]
    finding = proved(sampler, **options)
    assert finding.verdict is verdict
    assert bool(finding.event) == (verdict is Verdict.VIOLATED)
    assert ("2^−58 added to δ" in finding.reason) == (verdict is Verdict.PROVED_WITH_SLACK)
    assert Fraction(1, 2**58) == SLACK


def test_an_undecided_claim_names_the_proof_that_would_decide_it() -> None:
    said = proved(count, limits=FEW).reason
    assert said.endswith(
        "; a proof for all shifts of its noise would decide it, but this target brings no certificate; audit it instead"
    )
    drafted = target(count).certified(lambda: pytest.fail("a proof of a pair needs no certificate"))
    (finding,) = prove_all(drafted, limits=FEW)
    assert finding.reason.endswith(" would decide it: --all writes a certificate and has it checked")


def test_a_failure_says_on_which_input() -> None:
    def fails_on_one(answer: float, bits: RandomBits) -> int:
        return 1 // int(answer == 0) + bits.take(1)

    (finding,) = prove_all(target(fails_on_one))
    assert finding.reason.startswith("on the second input, fails_on_one raised ZeroDivisionError(")
    assert " on the draws []; mend it, " in finding.reason


def test_a_sampler_that_drops_what_it_drew_is_told_of() -> None:
    def forgets_to_return(_: float, bits: RandomBits) -> None:
        bits.take(1)

    finding = proved(forgets_to_return)
    assert finding.verdict is Verdict.PROVED
    assert finding.reason.endswith("; every run gives None, so check that the sampler returns what it drew")


def test_every_pair_that_a_target_declares_is_proved() -> None:
    pairs = [NeighbouringPair.answers(first, second, sensitivity=1.0) for first, second in ((0, 1), (1, 0), (0, 0))]
    findings = prove_all(target(response, pairs=pairs))
    assert [finding.verdict for finding in findings] == [Verdict.PROVED] * 3
    shown = [[finding.pair[side]["readable"] for side in ("first", "second")] for finding in findings if finding.pair]
    assert shown == [[["0.0"], ["1.0"]], [["1.0"], ["0.0"]], [["0.0"], ["0.0"]]]


def test_one_pair_that_breaks_the_claim_or_fails_is_found_among_those_that_keep_it() -> None:
    def from_two(answer: float, bits: RandomBits) -> int:
        return response(answer, bits) if answer < 2 else 2

    def failing(answer: float, bits: RandomBits) -> int:
        return response(answer, bits) + 1 // int(answer < 2)

    pairs = [NeighbouringPair.answers(first, first + 1, sensitivity=1.0) for first in (0, 1)]
    for sampler, verdict in ((from_two, Verdict.VIOLATED), (failing, Verdict.ERROR)):
        findings = prove_all(target(sampler, pairs=pairs))
        assert [finding.verdict for finding in findings] == [Verdict.PROVED, verdict]
        assert decisive(findings) == findings[1:]


def test_time_that_is_up_is_inconclusive_and_leaves_some_for_the_next_pair() -> None:
    def hanging(answer: float, bits: RandomBits) -> int:
        return endless(answer, bits) if answer == 2 else response(answer, bits)

    pairs = [NeighbouringPair.answers(*ends, sensitivity=1.0) for ends in ((1, 2), (0, 1))]
    findings = prove_all(target(hanging, pairs=pairs), seconds=3.0)
    assert [finding.verdict for finding in findings] == [Verdict.INCONCLUSIVE, Verdict.PROVED]
    assert findings[0].reason.startswith(
        "1.5 s were not enough (reached: the law of the second input); the sampler was "
    )
    assert "at test_pairs.py:" in findings[0].reason


def test_time_that_is_up_in_the_search_says_how_far_it_came() -> None:
    def three(_: float, bits: RandomBits) -> tuple[int, ...]:
        return tuple(geometric(bits) for _ in range(3))  # some 40,000 runs; the first line comes after 512

    (finding,) = prove_all(target(three), seconds=3.0)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "3 s were not enough (reached: the law of the first input, now of three: " in finding.reason
    assert " of the mass open); " in finding.reason
    assert "allow more time; " in finding.reason


def test_progress_is_told_from_the_start_with_the_pair_and_the_law_that_is_sought() -> None:
    told: list[str] = []
    pairs = [NeighbouringPair.answers(first, 1 - first, sensitivity=1.0) for first in (0, 1)]
    prove_all(target(count, pairs=pairs), progress=told.append)
    assert told[0] == "pair 1 of 2, the law of the first input"
    assert any(line.startswith("pair 2 of 2, the law of the second input, now of ") for line in told)
    assert all("mass open" in line for line in told if " runs, " in line)


def test_a_target_without_a_sampler_is_told_what_to_write() -> None:
    with pytest.raises(UsageError, match=r"write a sampler\(input, bits\) that draws from bits alone"):
        prove_all(Target.noise(never, epsilon=1.0))


def test_a_sampler_must_be_callable() -> None:
    with pytest.raises(TypeError, match=r"sampler must be callable as sampler\(input, bits\), not 3"):
        Target.noise(never, epsilon=1.0).exact(3)


def test_slack_is_worse_than_a_proof_and_better_than_no_finding() -> None:
    order = [WORST_FIRST.index(one) for one in (Verdict.NOT_DETECTED, Verdict.PROVED_WITH_SLACK, Verdict.PROVED)]
    assert order == sorted(order)
    assert set(WORST_FIRST) == set(Verdict)


def test_an_undecided_pair_outweighs_a_proved_one() -> None:
    def found(verdict: Verdict) -> Finding:
        return Finding(
            target="x", target_version="1", attack=EXACT_LAW, verdict=verdict, reason="", claim=PrivacyClaim(1.0)
        )

    both = [found(Verdict.PROVED), found(Verdict.INCONCLUSIVE), found(Verdict.PROVED_WITH_SLACK)]
    assert decisive(both) == both[1:2]
    assert decisive([both[0], both[2]]) == both[2:]


def test_a_finding_with_slack_is_read_back_and_an_old_one_keeps_its_verdict() -> None:
    finding = proved(count)
    data = json.loads(json.dumps(finding.to_json()))
    assert data["verdict"] == "proved with slack"
    assert Finding.from_json(data) == finding
    assert Finding.from_json({**data, "verdict": "proved"}).verdict is Verdict.PROVED


def test_no_bound_is_minus_nought() -> None:
    assert [lower_text(bound) for bound in (0.0, -0.0)] == ["0", "0"]
    assert [upper_text(bound) for bound in (0.0, -0.0)] == ["0", "0"]
    said = proved(telling, sensitivity=0.5).reason  # int(0.5) is int(0)
    assert "they need ε = 0," in said
    open_laws = prove(target(count), NeighbouringPair.answers(1.0, 1.0, sensitivity=1.0)).reason
    assert "need ε ≥ 0," in open_laws
    same = NeighbouringPair.answers(1.0, 1.0, sensitivity=1.0)
    for claim, said in ((Renyi((2.0,), (0.5,)), "need ε ≥ 0 (by"), (ZeroConcentrated(0.5), "need ρ ≥ 0 (by")):
        assert said in prove(replace(target(count), claim=claim), same).reason


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_words_for_the_proof_that_would_decide_it(kind: Kind) -> None:
    bounds = {"bounds": (0.0, 1.0)} if kind in (Kind.SUM, Kind.MEAN) else {}
    pairs = [NeighbouringPair(0, 1, None)]
    made = getattr(Target, kind.value)(never, epsilon=LN_2, name="one", **bounds).exact(count)
    finding = prove(made, pairs[0], limits=FEW)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "; a proof f" in finding.reason


def in_two_types(answer: float, bits: RandomBits) -> Any:
    """Randomized response that returns numpy's integers for one input and Python's for the other."""
    told = response(answer, bits)
    return np.int64(told) if answer else told


def test_numpys_scalars_are_pythons_numbers_only_where_the_target_says_so() -> None:
    pair = NeighbouringPair.answers(0.0, 1.0, sensitivity=1.0)
    target = Target.noise(never, epsilon=LN_2)
    assert prove(target.exact(in_two_types), pair).verdict is Verdict.VIOLATED
    assert prove(target.exact(in_two_types, numpy_as_python=True), pair).verdict is Verdict.PROVED
