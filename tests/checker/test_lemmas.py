"""Every lemma says where its proof is, and every lemma that a proof rests on is named by its certificate's record."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attacklab.findings import read_record
from checker.lemmas import LEMMAS

ROOT = Path(__file__).parents[2]
PLACE = re.compile(r"((?:mechanisms|checker)/[\w/]+\.(?:md|py))(?:, '([^']+)')?")


@pytest.mark.parametrize("name", LEMMAS)
def test_the_place_that_a_lemma_names_is_there(name: str) -> None:
    for path, section in PLACE.findall(LEMMAS[name]):
        text = (ROOT / path).read_text("utf-8")
        assert not section or re.search(rf"^#+ .*{re.escape(section)}", text, flags=re.MULTILINE)


def test_every_lemma_is_one_that_some_accepted_certificate_rests_on() -> None:
    findings = read_record(ROOT / "reports/proofs/checked/findings.json")["findings"]
    assert {lemma for one in findings for lemma in one.certificate.lemmas} == set(LEMMAS)


def test_the_claim_of_concentrated_privacy_rests_on_the_lemma_that_gives_it() -> None:
    findings = read_record(ROOT / "reports/proofs/checked/findings.json")["findings"]
    lemmas = {one.target: one.certificate.lemmas for one in findings}
    assert "bounded-range" in lemmas["exact_exponential_zcdp"]
    assert "bounded-range" not in lemmas["exact_exponential"]
