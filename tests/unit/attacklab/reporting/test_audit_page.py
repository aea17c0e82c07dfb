"""The page of an audit: its verdict in one sentence, what it shows, and that no target puts HTML into it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from attacklab.auditing.flaws import catalogue
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts, Estimate, Finding, Severity, Verdict, Witness
from attacklab.reporting.audit_page import audit_page, meaning

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
VOID = {"meta", "line", "circle"}
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
    pair={
        "relation": None,
        "first": {"shape": [], "dtype": "float64", "hex": ["0x0.0p+0"], "readable": ["0.0"]},
        "second": {"shape": [], "dtype": "float64", "hex": ["0x1.0p+0"], "readable": ["1.0"]},
    },
    event="an event",
    counts=Counts(1, 47, 64),
    first=Estimate(1 / 64, 0.0, 0.1),
    second=Estimate(47 / 64, 0.35, 0.96),
    advantage=Estimate(-46 / 64, -0.96, -0.25),
    epsilon_lower=1.25,
    alpha=2e-7,
    replay="attacklab audit a_target --seed 0",
)


class Page(HTMLParser):
    """The tags, the text and the addresses of a page; every tag that is opened must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.said = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attributes if name in ("href", "src")]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said += data


def page(*findings: Finding) -> Page:
    return Page(audit_page(findings, WHEN))


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ([NOT_DETECTED, VIOLATED], REFUTED),
        ([VIOLATED, replace(NOT_DETECTED, verdict=Verdict.ERROR)], REFUTED),
        ([NOT_DETECTED], NOTHING),
        (
            [NOT_DETECTED, replace(VIOLATED, severity=Severity.ROBUSTNESS)],
            NOTHING,
        ),
        (
            [NOT_DETECTED, replace(NOT_DETECTED, verdict=Verdict.ERROR)],
            "There is no verdict on the claim of a_target, ε = 0.5: there was an error.",
        ),
        (
            [replace(NOT_DETECTED, verdict=verdict) for verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE)],
            "There is no verdict on the claim of a_target, ε = 0.5: nothing that was tested could have decided.",
        ),
        (
            [replace(NOT_DETECTED, verdict=Verdict.NOT_APPLICABLE)],
            "There is no verdict on the claim of a_target, ε = 0.5: none of the attacks applies to it.",
        ),
        (
            [replace(NOT_DETECTED, verdict=Verdict.PROVED)],
            "The claim of a_target, ε = 0.5, is proved within the scope that each finding names.",
        ),
    ],
)
def test_the_verdict_is_one_sentence(findings: list[Finding], said: str) -> None:
    (headline,) = re.findall(r'<p class="verdict[^"]*"><strong>(.*)</strong></p>', audit_page(findings, WHEN))
    assert headline == said


def test_a_refutation_says_how_likely_it_is_wrong() -> None:
    assert "with a probability of at most one in 3,300,000 (3e-07)." in page(VIOLATED, NOT_DETECTED).said
    assert "at most one in 5,000,000 (2e-07)" in page(VIOLATED).said
    assert "chance has no part in it" in page(replace(VIOLATED, laws=("a", "b"))).said


def test_shares_of_alpha_add_up_to_the_alpha_of_the_audit() -> None:
    """33 equal shares of 1e-6, each rounded to a double, add up to more than 1e-6."""
    shares = [replace(VIOLATED, alpha=1e-6 / 33) for _ in range(33)]
    assert math.fsum(one.alpha or 0 for one in shares) > 1e-6
    assert "with a probability of at most one in 1,000,000 (1e-06)." in page(*shares).said


def test_a_finding_has_its_pair_event_counts_bounds_figure_repair_and_replay_line() -> None:
    shown = page(NOT_DETECTED, VIOLATED)
    for text in (
        "0.0 and 1.0",
        "an event",
        "47",
        "64",
        "0.350000 to 0.960000",
        "1. low_bit_laplace: the low bits of some outputs can come from one true answer only",
        "discrete Laplace",
    ):
        assert text in shown.said
    assert "attacklab audit a_target --seed 0" in shown.said
    assert {"svg", "figure"} <= set(shown.tags)


def test_the_figure_stays_on_its_axis_where_the_second_rate_is_larger() -> None:
    text = audit_page([VIOLATED], WHEN)
    places = [float(x) for x in re.findall(r' (?:x1|x2|cx)="([0-9.-]+)"', text)]
    assert min(places) == 150
    assert max(places) == 630


def test_it_says_how_a_small_advantage_can_refute_a_claim() -> None:
    """On this page the finding lies left of the line, and its sign is a minus."""
    rare = replace(VIOLATED, advantage=Estimate(-0.14, -0.26, -0.06), ceiling=0.46)
    said = page(rare).said
    assert "a rare event can refute a claim although its advantage is small" in said
    assert "A finding may lie left of it" in said
    assert "likelier on the second input" in said


def test_rows_of_one_attack_are_told_apart_by_event_and_inputs() -> None:
    other = replace(NOT_DETECTED, attack=VIOLATED.attack, event="an event", pair=VIOLATED.pair)
    unchosen = replace(other, event="", verdict=Verdict.UNTESTABLE)
    third = replace(other, pair=None, event="another event")
    said = re.sub(r"\s+", " ", audit_page([VIOLATED, other, unchosen, third], WHEN).replace("<td", " <td"))
    rows = re.findall(r'<td class="event"[^>]*>(.*?)</td>', said)
    assert sorted(rows) == ["an event; inputs 0.0 and 1.0"] * 2 + ["another event", "inputs 0.0 and 1.0"]


@pytest.mark.parametrize("verdict", [Verdict.INCONCLUSIVE, Verdict.UNTESTABLE])
def test_where_nothing_could_decide_it_says_why(verdict: Verdict) -> None:
    few = replace(NOT_DETECTED, verdict=verdict, reason="it takes 58 trials", smallest_detectable=None)
    other = replace(few, attack="precision", reason="it takes 60 trials")
    said = page(few, other, replace(few, attack="integer_cast")).said
    assert "None of the attacks could decide. black_box says: it takes 58 trials." in said
    assert "Not decided by black_box, integer_cast: it takes 58 trials." in said
    assert "Not decided by precision: it takes 60 trials." in said
    assert "findings below" not in said


def test_only_attacks_with_a_verdict_are_said_to_have_looked() -> None:
    failed = replace(NOT_DETECTED, attack="precision", verdict=Verdict.ERROR, smallest_detectable=None)
    said = page(NOT_DETECTED, failed).said
    assert "Each attack that reached a verdict looked for a flaw of its own." in said
    assert "is an advantage of 0.251, by its event" in said
    assert (
        "is an advantage of 0.251 to 0.4, by its event"
        in page(NOT_DETECTED, replace(NOT_DETECTED, smallest_detectable=0.4)).said
    )
    assert "The findings below say what happened." in page(failed).said


def test_it_says_what_was_not_tested() -> None:
    said = page(VIOLATED, replace(NOT_DETECTED, attack="zero_rounding", verdict=Verdict.NOT_APPLICABLE)).said
    assert "do not apply to this target: zero_rounding." in said
    assert "low bits" not in page(NOT_DETECTED).said
    assert "settings other than those named above" in said


@pytest.mark.parametrize("field", ["target", "target_version", "reason", "event", "flaw", "replay", "attack"])
def test_nothing_of_a_target_becomes_html_or_a_control_character(field: str) -> None:
    clean, hostile = page(VIOLATED), page(replace(VIOLATED, **{field: HOSTILE}))
    assert not set(hostile.tags) - set(clean.tags)
    assert "</p><script>alert(1)</script>\\x1b[31m\\u202e&amp;" in hostile.said


def test_it_says_which_file_was_tested_by_which_command() -> None:
    said = Page(audit_page([VIOLATED], WHEN, place="lib/noise.py", command="attacklab audit lib/noise.py:t")).said
    assert "a_target, version 1, in lib/noise.py" in said
    assert said.index("attacklab audit lib/noise.py:t") < said.index("What was not tested")


def test_the_finding_that_the_verdict_names_comes_first() -> None:
    learned = replace(VIOLATED, attack="black_box", flaw="they differ")
    assert "1. low_bit_laplace" in page(learned, VIOLATED).said


def test_every_cell_says_what_it_is_where_a_phone_has_no_room_for_a_table() -> None:
    text = audit_page([VIOLATED, NOT_DETECTED], WHEN)
    assert "max-width: 40rem" in text
    assert text.count("<td") == len(re.findall(r'<td[^>]* data-label="[a-z]+"', text)) == 2 * 6 + 2 * 5


def test_it_needs_nothing_from_elsewhere() -> None:
    text = audit_page([VIOLATED], WHEN)
    assert "default-src 'none'" in text
    assert not re.search(r"<(script|link|img|iframe|object)|@import|url\(", text)
    assert all(address.startswith("https://") for address in page(VIOLATED).addresses)


def test_what_a_replay_refutes_is_not_said_to_rest_on_a_sample() -> None:
    replayed = replace(VIOLATED, attack="replay", alpha=None, counts=None, witness=Witness(file="mean.py", line=7))
    assert "runs on both inputs with the same noise" in meaning([replayed, VIOLATED])
    assert "drawn after the event had been chosen" in meaning([VIOLATED])
