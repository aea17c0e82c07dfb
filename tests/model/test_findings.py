"""Findings survive their JSON bit for bit, and nothing malformed gets in or out."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacklab import Finding, NeighbouringPair, PrivacyClaim, Relation, Verdict
from attacklab.model.files import write_whole
from attacklab.model.findings import (
    CERTIFICATE,
    FAILURE,
    LONGEST_INPUT_IN_FULL,
    SCHEMA,
    Alignment,
    Certificate,
    Counterexample,
    Counts,
    Estimate,
    Evidence,
    Laws,
    Reach,
    Samples,
    Scope,
    decisive,
    described_pair,
    lower_text,
    read_record,
    record,
    recorded_pairs,
    recovered_pair,
    to_text,
    upper_text,
)

FULL = Finding(
    target="release",
    target_version="1.0",
    attack="low_bit_laplace",
    verdict=Verdict.VIOLATED,
    reason="P[E] in [0.5, 0.6]",
    claim=PrivacyClaim(0.1, 1e-9),
    pair=described_pair(NeighbouringPair.answers(0.1, 0.30000000000000004, sensitivity=1.0)),
    evidence=Samples(
        event="reachable",
        answers=2,
        counts=Counts(60, 1, 100),
        first=Estimate(0.6, 0.5, 0.7),
        second=Estimate(0.01, 0.0, 0.1),
        advantage=Estimate(0.59, 0.4, 0.7),
        ceiling=0.05,
        epsilon_lower=1.6,
        delta_lower=0.3,
        smallest_detectable=0.2,
    ),
    alpha=1e-6,
    seed=3,
    trials=440,
    seconds=0.5,
    replay="attacklab audit x.py:release",
)
BARE = Finding(
    target="t",
    target_version="unknown",
    attack="a",
    verdict=Verdict.NOT_APPLICABLE,
    reason="not this kind",
    claim=PrivacyClaim(1.0),
)

EVIDENCE: tuple[Evidence, ...] = (
    Samples(untestable=True),
    Laws(digests=("a", "b"), slack=True, epsilon_lower=math.inf, judged_at=PrivacyClaim(1.0, 0.5)),
    Alignment(file="a.py", line=3, loss="ε = 2", epsilon_lower=2.0),
    Alignment(file="a.py", line=3, samples=Samples(counts=Counts(1, 2, 3), code="output == 0")),
    Counterexample(outputs=("0x1p+0", "0"), distance="infinite", claimed="1/2", apart="far apart"),
    Certificate(file="t.json", sha256="ab", size=7, statement="1-DP", readings=("a", "b"), checked="3"),
)


@pytest.mark.parametrize(
    "finding", [FULL, BARE, replace(FULL, flaw=FAILURE), *(replace(BARE, evidence=kind) for kind in EVIDENCE)]
)
def test_finding_comes_back_from_its_json_text_as_it_was(finding: Finding) -> None:
    assert Finding.from_json(json.loads(to_text(finding.to_json()))) == finding


LONG = LONGEST_INPUT_IN_FULL + 1
INPUTS = (
    *(0.1, -0.0, 5e-324, math.inf, 3, 2**70, "text", True),
    *(np.zeros(0), np.full(LONG, -0.0), np.full((LONG, 2), 0.1), np.arange(LONG), np.arange(LONG) % 2 == 0),
    *(np.arange(LONG).astype(dtype) for dtype in (np.float16, np.float32, np.uint8)),
    np.array([0.0, 0.0, -0.0, -0.0, 0.0] * LONG),
    np.array(["a", "ε\n"] * LONG),
    np.array([1, 2**70, None], dtype=object),
    {"a": [1, 0.1, None], "b": ("x", -0.0)},
    [[1.5], [2, "two"], list(range(LONG))],
    [(1.5, 2.0), (3.5, 4.0)],
    *(["a", 1], ["a\0"], "\0", [2**53 + 1, 0.5]),
    *([math.nan, 1.0], [-math.inf], [np.float64(0.1), np.int64(3)], [(np.float32(math.nan), "nan", set())]),
)


def same(one: Any, other: Any) -> bool:
    """Whether two inputs are the same value of the same type, to the last bit."""
    if isinstance(one, np.ndarray) and one.dtype != object:
        return (one.shape, one.dtype, one.tobytes()) == (other.shape, other.dtype, other.tobytes())
    return repr(getattr(one, "tolist", lambda: one)()) == repr(getattr(other, "tolist", lambda: other)())


@pytest.mark.parametrize("input_", INPUTS, ids=lambda input_: repr(input_)[:40])
def test_a_pair_is_recovered_to_the_last_bit(input_: Any) -> None:
    described = json.loads(to_text(described_pair(NeighbouringPair(input_, input_, Relation.EDGE))))
    pair = recovered_pair(described)
    assert pair.relation is Relation.EDGE
    assert same(input_, pair.first)
    assert same(input_, pair.second)


def test_an_input_of_which_only_the_digest_is_known_is_refused(tmp_path: Path) -> None:
    described = described_pair(NeighbouringPair(np.zeros(LONG), np.zeros(LONG), None))
    del described["first"]["runs"]
    with pytest.raises(ValueError, match="has the digest of an input, not its values"):
        recovered_pair(described)
    path = tmp_path / "record.json"
    write_whole(path, to_text(record([replace(FULL, pair=described)])))
    with pytest.raises(ValueError, match=r"record\.json holds a pair that cannot be read"):
        recorded_pairs(path)
    write_whole(path, to_text(record([replace(FULL, verdict=Verdict.NOT_DETECTED)])))
    with pytest.raises(ValueError, match="refutes no claim on a pair"):
        recorded_pairs(path)


CERTIFIED = replace(
    BARE,
    attack=CERTIFICATE,
    verdict=Verdict.PROVED,
    reason="1-DP for all",
    scope=Scope(Reach.NEIGHBOURS, neighbours="answers at most 1 apart"),
    evidence=EVIDENCE[-1],
)


@pytest.mark.parametrize(
    ("scope", "text"),
    [
        (Scope(), "this pair"),
        (Scope(Reach.INPUTS, inputs=6561, pairs=1), "every pair of neighbours among 6,561 inputs (1 pair)"),
        (Scope(Reach.INPUTS, inputs=7, pairs=1234), "every pair of neighbours among 7 inputs (1,234 pairs)"),
        (CERTIFIED.scope, "every pair of neighbours (answers at most 1 apart)"),
        (Scope(Reach.NEIGHBOURS), "every pair of neighbours"),
    ],
)
def test_a_proof_says_its_scope_and_keeps_it_in_json(scope: Scope, text: str) -> None:
    finding = replace(CERTIFIED, scope=scope)
    assert finding.verdict_in_scope == f"proved for {text}"
    assert str(finding) == f"t: certificate: proved for {text}: 1-DP for all"
    assert Finding.from_json(json.loads(to_text(finding.to_json()))) == finding


def test_an_event_of_fresh_outputs_is_shown_alone_or_besides_an_alignment() -> None:
    samples = Samples(counts=Counts(1, 2, 3), event="seen", judged_at=PrivacyClaim(2.0))
    for evidence in (samples, Alignment(file="a.py", line=3, samples=samples)):
        finding = replace(BARE, evidence=evidence)
        assert (finding.samples, finding.shown.event, finding.judged) == (samples, "seen", PrivacyClaim(2.0))
    by_shifts = replace(BARE, evidence=EVIDENCE[2])
    assert (by_shifts.samples, by_shifts.shown.epsilon_lower, by_shifts.judged) == (None, 2.0, PrivacyClaim(1.0))
    assert replace(BARE, evidence=EVIDENCE[-1]).shown == BARE.shown


@pytest.mark.parametrize(
    ("verdict", "attack", "evidence", "nothing"),
    [
        (Verdict.INCONCLUSIVE, "a", None, True),
        (Verdict.INCONCLUSIVE, "a", Samples(untestable=True), True),
        (Verdict.INCONCLUSIVE, "a", Samples(), False),
        (Verdict.INCONCLUSIVE, CERTIFICATE, None, False),
        (Verdict.NOT_DETECTED, "a", None, False),
    ],
)
def test_an_attack_that_looked_at_nothing_decides_nothing(
    verdict: Verdict, attack: str, evidence: Evidence | None, *, nothing: bool
) -> None:
    finding = replace(BARE, verdict=verdict, attack=attack, evidence=evidence)
    assert finding.decides_nothing is nothing
    assert decisive([finding, replace(BARE, verdict=Verdict.PROVED)])[0].verdict is (
        Verdict.PROVED if nothing else verdict
    )


MALFORMED: dict[str, list[Any]] = {
    "verdict": ["safe"],
    "claim": [{"epsilon": -1.0, "delta": 0.0}, {"epsilon": 1.0, "rho": 0.0}, None],
    "evidence": [
        {},
        {"kind": "rumours"},
        {"kind": "samples", "counts": {"first": 1}},
        {"kind": "samples", "first": {"estimate": 0.5, "lower": 0.4, "higher": 0.6}},
        {"kind": "samples", "second": 0.5},
        {"kind": "samples", "digests": ["a", "b"]},
        {"kind": "laws"},
        "samples",
    ],
    "scope": [{"reach": "all"}, {"reach": "this pair", "more": 1}, "this pair"],
    "surprise": [1],
}


def test_malformed_unknown_and_missing_fields_are_refused() -> None:
    full = FULL.to_json()
    for field, values in MALFORMED.items():
        told = {"surprise": "surprise", "scope": "not a finding"}.get(field, ".")
        for value in values:
            with pytest.raises(ValueError, match=told):
                Finding.from_json({**(CERTIFIED.to_json() if field == "scope" else full), field: value})
    for missing in ("target", "verdict", "claim"):
        with pytest.raises(ValueError, match=missing):
            Finding.from_json({name: value for name, value in full.items() if name != missing})


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_are_refused_in_writing_and_in_reading(number: float, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_text(record([FULL], measured={"x": number}))
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record([], measured={"x": number})))
    with pytest.raises(ValueError, match=r"record\.json is not JSON: .* is not a JSON number"):
        read_record(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", f"is not a record of schema {SCHEMA}"),
        ('{"schema": "attacklab/0", "findings": []}', f"is not a record of schema {SCHEMA}"),
        (f'{{"schema": "{SCHEMA}"}}', "malformed finding"),
        (f'{{"schema": "{SCHEMA}", "findings": [3]}}', "malformed finding"),
        (f'{{"schema": "{SCHEMA}", "findings": [{{"target": "x"}}]}}', "malformed finding"),
        ("\udcff", "is not JSON"),
    ],
)
def test_what_is_no_record_is_refused_with_the_name_of_the_file(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=message) as raised:
        read_record(path)
    assert str(path) in str(raised.value)


@given(st.floats(allow_nan=False), st.integers(1, 17))
def test_bounds_in_text_are_no_closer_than_they_are_and_at_most_a_last_digit_further(bound: float, digits: int) -> None:
    below, above = float(lower_text(bound, digits)), float(upper_text(bound, digits))
    assert below <= bound <= above
    if 1e-300 < abs(bound) < 1e300:
        assert above - below <= 2 * abs(bound) * 10.0 ** (1 - digits)
