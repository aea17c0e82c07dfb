"""A reason convinces: what it shows follows from the figures in it, and exceeds the claim."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from attacklab.auditing.statistics.betting import confidence_sequence, evidence, judge
from attacklab.auditing.statistics.reasons import above_text, refuted_reason
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts

ALPHA = 1e-6
CLAIMS = [PrivacyClaim(0.0), PrivacyClaim(0.1), PrivacyClaim(0.5), PrivacyClaim(1.0), PrivacyClaim(4.0)]
CLAIMS += [PrivacyClaim(epsilon, delta) for epsilon in (0.0, 0.5, 1.23456) for delta in (1e-5, 0.05)]

WRITTEN = re.compile(
    r"E happened in (?P<first>[\d,]+) of (?P<trials>[\d,]+) trials on the first input and in (?P<second>[\d,]+) on the "
    r"second: odds of (?P<odds>10\^)?(?P<power>[\d,]+) to 1 against the claim"
    r"(; (?P<shown>[εδ]) ≥ (?P<value>\S+)( at ε = (?P<epsilon>\S+))? \(confidence (?P<confidence>[^)]+)\), because "
    r"(?P<more>[PQ])\[(?P<event>E|not E)\] ≥ (?P<lower>\S+) and (?P<less>[PQ])\[(?P=event)\] ≤ (?P<upper>\S+))?"
)


def refutations(claim: PrivacyClaim) -> list[Counts]:
    """Counts that only just refute a claim, and some that do so by far; in both directions, and for the complement."""
    found = []
    for trials in (64, 486, 20_000):
        for rarer in (0, trials // 100, trials // 5):
            hits = range(rarer, trials + 1, max(1, trials // 200))
            enough = [more for more in hits if is_refuted(claim, Counts(more, rarer, trials))]
            for more in (*enough[:2], *enough[-1:]):
                sides = [(more, rarer), (rarer, more), (trials - more, trials - rarer), (trials - rarer, trials - more)]
                found += [Counts(*side, trials) for side in sides]
    return [counts for counts in found if is_refuted(claim, counts)]


def is_refuted(claim: PrivacyClaim, counts: Counts) -> bool:
    return evidence(claim, counts) >= math.log(2 / ALPHA)


def alpha_of(confidence: str) -> float:
    return (
        float(confidence.removeprefix("1 − ")) if "−" in confidence else 1 - float(confidence.removesuffix(" %")) / 100
    )


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_what_is_shown_follows_from_the_figures_that_are_written_and_exceeds_the_claim(claim: PrivacyClaim) -> None:
    cases = refutations(claim)
    assert cases
    bounded = 0
    for counts in cases:
        said = WRITTEN.fullmatch(refuted_reason(claim, counts, ALPHA, fails=False))
        seen = [int(said[name].replace(",", "")) for name in ("first", "second", "trials")]
        assert seen == [counts.first, counts.second, counts.trials]
        if said["shown"] is None:
            continue
        bounded += 1
        lower, upper, value = (float(said[name]) for name in ("lower", "upper", "value"))
        if claim.delta:
            assert said["shown"] == "δ"
            assert value > claim.delta
            assert value <= lower - math.exp(float(said["epsilon"])) * upper
            assert float(said["epsilon"]) >= claim.epsilon
        else:
            assert said["shown"] == "ε"
            assert value > claim.epsilon
            assert value <= math.log(lower / upper)
        assert value == pytest.approx(float(said["value"]), abs=0)
        # and the bounds are no closer than what holds at the confidence that is stated, of both sides together
        share = alpha_of(said["confidence"]) / 2
        hits = {"P": counts.first, "Q": counts.second}
        inside = {name: confidence_sequence(count, counts.trials, share) for name, count in hits.items()}
        if said["event"] == "not E":
            inside = {name: (1 - high, 1 - low) for name, (low, high) in inside.items()}
        assert {said["more"], said["less"]} == {"P", "Q"}
        assert lower <= inside[said["more"]][0] * (1 + 1e-9)
        assert upper >= inside[said["less"]][1] * (1 - 1e-9)
    assert bounded > 0.9 * len(cases)


def test_a_bound_never_reads_as_the_claim_that_it_exceeds() -> None:
    rng = np.random.default_rng(24)
    for claimed in (0.5, 1.0, 1e-5, 0.0, 11.19):
        for gap in rng.uniform(0, 1, 50) ** 8 + 1e-12:
            bound = claimed + gap
            assert Fraction(claimed) < Fraction(float(above_text(bound, claimed))) <= Fraction(bound)
    assert above_text(0.5003, 0.5) == "0.5003"
    assert above_text(1.3449, 1.0) == "1.34"


def test_each_level_of_confidence_is_wrong_no_more_often_than_it_says() -> None:
    """A true ε of ln 3 against a claim of 0: at whichever look it is refuted, what is shown is seldom above it.

    The bounds at 95 % are wrong in 5 % of runs at the most; more than 60 of 400 would happen with probability 2e-14.
    """
    rng, wrong = np.random.default_rng(5), 0
    for _ in range(400):
        counts = Counts(0, 0, 0)
        while not (counts.trials and judge(PrivacyClaim(0.0), counts, 1e-3).violated):
            first, second = (rng.random(32) < rate for rate in (0.3, 0.1))
            counts += Counts.of(first, second)
        said = WRITTEN.fullmatch(refuted_reason(PrivacyClaim(0.0), counts, 1e-3, fails=False))
        wrong += said["value"] is not None and float(said["value"]) > math.log(3)
    assert wrong <= 60
