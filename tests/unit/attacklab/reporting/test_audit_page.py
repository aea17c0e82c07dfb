"""The page of an audit: its verdict in one sentence, what it shows, and that no target puts HTML into it."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from attacklab.auditing.flaws import catalogue
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts, Estimate, Finding, Severity, Verdict, Witness, described_pair
from attacklab.model.neighbours import NeighbouringPair
from attacklab.reporting.audit_page import audit_page

REFUTED = (
    "The claim of a_target, ε = 0.5, is refuted by low_bit_laplace on the inputs 0.0 and 1.0 (odds of 10^6 to 1 "
    "against it): the low bits of some outputs can come from one true answer only; "
    f"to repair it, {catalogue()['low_bit_laplace'].repair}."
)
NOTHING = (
    "Nothing was found against the claim of a_target, ε = 0.5, which is no proof of it; an advantage of 0.251, by "
    "event, would have been detected (power 95%), and the claim allows 0.245."
)
WHEN = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
HOSTILE = "</p><script>alert(1)</script>\x1b[31m\u202e&amp;"

NOT_DETECTED = Finding(
    target="a_target",
    target_version="1",
    attack="black_box",
    verdict=Verdict.NOT_DETECTED,
    reason="not refuted",
    claim=PrivacyClaim(0.5),
    smallest_detectable=0.251,
    ceiling=0.245,
    alpha=1e-7,
    trials=100,
)
VIOLATED = replace(
    NOT_DETECTED,
    attack="low_bit_laplace",
    verdict=Verdict.VIOLATED,
    reason="P and Q need more",
    flaw="the low bits of some outputs can come from one true answer only",
    pair=described_pair(NeighbouringPair(0.0, 1.0, None)),
    event="an event",
    counts=Counts(1, 47, 64),
    advantage=Estimate(-46 / 64, -0.96, -0.25),
    alpha=2e-7,
    replay="attacklab audit a_target --seed 0",
)


def shown(*findings: Finding, **named: str) -> str:
    """What the page says, without its tags."""
    return html.unescape(re.sub(r"<[^>]*>", "", audit_page(findings, WHEN, **named)))


ERROR = replace(NOT_DETECTED, verdict=Verdict.ERROR, attack="precision", smallest_detectable=None)
FEW = replace(ERROR, verdict=Verdict.INCONCLUSIVE, reason="it takes 58 trials")


@pytest.mark.parametrize(
    ("findings", "said", "meant"),
    [
        ([NOT_DETECTED, VIOLATED], REFUTED, "a probability of at most one in 3,300,000 (3e-07)."),
        ([replace(VIOLATED, laws=("a", "b")), ERROR], "is refuted by", "chance has no part in it"),
        ([replace(VIOLATED, witness=Witness(file="a.py", line=7))], REFUTED, "both inputs with the same noise"),
        # 33 equal shares of 1e-6, each rounded to a double, add up to more than 1e-6
        ([replace(VIOLATED, alpha=1e-6 / 33)] * 33, REFUTED, "at most one in 1,000,000 (1e-06)."),
        ([NOT_DETECTED], NOTHING, "is an advantage of 0.251, by its event"),
        ([NOT_DETECTED, replace(VIOLATED, severity=Severity.ROBUSTNESS)], NOTHING, "of its own"),
        ([NOT_DETECTED, ERROR], "There is no verdict on the claim of", "Not decided: not refuted (precision)."),
        ([FEW, replace(FEW, attack="b")], "could have decided", "Not decided: it takes 58 trials (precision, b)."),
        ([replace(FEW, verdict=Verdict.NOT_APPLICABLE)], "none of the", "do not apply to this target (precision)."),
        ([replace(FEW, verdict=Verdict.PROVED)], "is proved within the scope", "What was not tested"),
    ],
)
def test_the_verdict_is_one_sentence_and_what_it_rests_on(findings: list[Finding], said: str, meant: str) -> None:
    assert said in shown(*findings)
    assert meant in shown(*findings)


def test_a_finding_has_its_row_pair_event_chance_repair_and_replay_line_and_the_best_comes_first() -> None:
    coded = replace(VIOLATED, repair_code="laplace(epsilon=0.5)(answer)")
    said = shown(replace(VIOLATED, attack="black_box"), coded, place="lib/noise.py", command="attacklab audit it")
    for text in (
        "1. low_bit_laplace: the low bits of some outputs can come from one true answer only",
        "-0.7190.2450.251an event; inputs 0.0 and 1.0",
        "at most one in 5,000,000 (2e-07)",
        f"{catalogue()['low_bit_laplace'].repair}; with exactdp: laplace(epsilon=0.5)(answer)",
        "attacklab audit a_target --seed 0",
        "a_target, version 1, in lib/noise.py",
        "attacklab audit it",
    ):
        assert text in said


@pytest.mark.parametrize("field", ["target", "target_version", "reason", "event", "flaw", "replay", "attack"])
def test_nothing_of_a_target_becomes_html_or_a_control_character(field: str) -> None:
    clean, hostile = audit_page([VIOLATED], WHEN), audit_page([replace(VIOLATED, **{field: HOSTILE})], WHEN)
    assert set(re.findall(r"<\w+", hostile)) <= set(re.findall(r"<\w+", clean))
    assert "</p><script>alert(1)</script>\\x1b[31m\\u202e&amp;" in html.unescape(hostile)


def test_it_needs_nothing_from_elsewhere() -> None:
    text = audit_page([VIOLATED], WHEN)
    assert "default-src 'none'" in text
    assert not re.search(r"<(script|link|img|iframe|object)|@import|url\(", text)
    assert all(address.startswith("https://") for address in re.findall(r'href="([^"]*)"', text))
