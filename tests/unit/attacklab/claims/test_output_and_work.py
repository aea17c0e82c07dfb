"""A claim of output and work together promises of the two what the inner claim promises of an output."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attacklab.model.claims import (
    Claim,
    GaussianDP,
    OutputAndWork,
    PrivacyClaim,
    Profile,
    Renyi,
    ZeroConcentrated,
    claim_from_json,
)
from attacklab.model.errors import UsageError, UsageTypeError

INNER: list[Claim] = [
    PrivacyClaim(1.0),
    PrivacyClaim(0.5, 1e-6),
    ZeroConcentrated(0.25),
    Renyi((8.0,), (0.5,)),
    GaussianDP(1.0),
    Profile([(0.0, 0.25), (1.0, 0.125)]),
]


@pytest.mark.parametrize("inner", INNER, ids=str)
def test_it_promises_of_the_two_together_what_the_inner_claim_does(inner: Claim) -> None:
    claim = OutputAndWork(inner)
    assert claim.points == inner.points
    assert claim.nominal == inner.nominal
    assert claim.ceiling == inner.ceiling
    for epsilon in (0.0, 0.3, 1.0, 7.0):
        assert claim.delta_at(epsilon) == inner.delta_at(epsilon)
        assert claim.at(epsilon) == inner.at(epsilon)
        assert claim.near(epsilon) == inner.near(epsilon)
    assert claim.composed(3) == OutputAndWork(inner.composed(3))
    if not isinstance(inner, Profile):
        assert claim.group(2) == OutputAndWork(inner.group(2))
    assert claim != inner
    assert str(inner) in str(claim) != str(inner)


@pytest.mark.parametrize("inner", INNER, ids=str)
def test_it_is_read_as_it_was_written(inner: Claim) -> None:
    claim = OutputAndWork(inner)
    assert claim_from_json(json.loads(json.dumps(claim.to_json()))) == claim


@pytest.mark.parametrize("inner", [1.0, None, "ε = 1", PrivacyClaim])
def test_what_is_no_claim_is_refused(inner: Any) -> None:
    with pytest.raises(UsageTypeError, match="claim must be a claim"):
        OutputAndWork(inner)


def test_work_is_covered_once() -> None:
    with pytest.raises(UsageError, match="covers work already"):
        OutputAndWork(OutputAndWork(PrivacyClaim(1.0)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "output_and_work"}, "not a claim"),
        ({"kind": "output_and_work", "claim": {"kind": "magic"}}, "not 'magic'"),
        ({"kind": "output_and_work", "claim": 1}, "a claim is a JSON object"),
        ({"kind": "output_and_work", "claim": {"epsilon": 1.0}, "epsilon": 1.0}, "not a claim"),
    ],
)
def test_json_that_is_no_such_claim_is_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        claim_from_json(data)
