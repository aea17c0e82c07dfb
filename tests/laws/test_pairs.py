"""Verdicts of proofs: the claim itself, the claim with slack, its refutation, and what was left open; pair by pair."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from attacklab.laws import Limits
from attacklab.laws.proof import LIMITS, SLACK, default_pair, prove, prove_all
from attacklab.model.claims import GaussianDP, ZeroConcentrated
from attacklab.model.findings import Finding, Verdict, decisive
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import RandomBits
from attacklab.model.targets import Target
from tests.samplers import count, endless, response

LN_2 = math.nextafter(math.log(2), 1)
"""A double above ln 2."""


def never(*_: Any) -> Any:
    raise AssertionError("a proof draws nothing from the release")


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
    "an open law": (count, {}, Verdict.PROVED),
    "an open law and a delta with room": (count, {"delta": 1e-9}, Verdict.PROVED),
    "an open law and too small a claim": (count, {"epsilon": 0.69}, Verdict.VIOLATED),
    "an open law and few runs": (count, {"limits": FEW}, Verdict.INCONCLUSIVE),
    "a closed law and zCDP": (response, {"claim": ZeroConcentrated(0.5)}, Verdict.PROVED),
    "an open law and zCDP": (count, {"claim": ZeroConcentrated(0.5)}, Verdict.PROVED),
    "a closed law and GDP": (response, {"claim": GaussianDP(2.0)}, Verdict.PROVED),
    "an open law and GDP": (count, {"claim": GaussianDP(2.0)}, Verdict.PROVED),
}


@pytest.mark.parametrize("kind", VERDICTS)
def test_a_claim_is_proved_refuted_or_left_open_and_only_a_refuted_one_has_an_event(kind: str) -> None:
    sampler, options, verdict = VERDICTS[kind]
    finding = proved(sampler, **options)
    assert finding.verdict is verdict
    assert bool(finding.shown.event) == (verdict is Verdict.VIOLATED)
    needs_slack = kind in ("an open law", "an open law and zCDP", "an open law and GDP")
    assert ("2^−58 added to δ" in finding.reason) == needs_slack
    assert Fraction(1, 2**58) == SLACK


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
    assert decisive(findings) == findings[:1]
    assert findings[0].reason.startswith(
        "1.5 s were not enough (reached: the law of the second input); the sampler was "
    )
    assert "at samplers.py:" in findings[0].reason


def in_two_types(answer: float, bits: RandomBits) -> Any:
    """Randomized response that returns numpy's integers for one input and Python's for the other."""
    told = response(answer, bits)
    return np.int64(told) if answer else told


def test_numpys_scalars_are_not_pythons_numbers() -> None:
    pair = NeighbouringPair.answers(0.0, 1.0, sensitivity=1.0)
    assert prove(Target.noise(never, epsilon=LN_2).exact(in_two_types), pair).verdict is Verdict.VIOLATED
