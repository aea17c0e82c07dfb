"""Every exact target is a term, which claims what its target does, and releases as often as it is asked to."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from attacklab.model.claims import PrivacyClaim
from experiments import targets
from mechanisms.core.claims import ApproximateDP
from mechanisms.core.term import encoded
from tests.unit.mechanisms.terms import TARGETS, TERMS, data_of, outputs

DATA: dict[str, Any] = {"number": 1.25, "numbers": [0.0, 1.0, 0.25, 1.0], "keys": ["ash", "elm", "ash"], "bit": True}


def test_every_exact_target_is_of_a_term() -> None:
    assert {name for name in targets.__all__ if name.startswith("exact_")} <= set(TERMS)


@pytest.mark.parametrize("name", TERMS)
def test_a_term_claims_what_its_target_claims_for_the_same_neighbours(name: str) -> None:
    """Claims of other kinds are compared where certificates are proved."""
    target, term = TARGETS[name], TERMS[name]
    assert target.relation is None or target.relation in (term.relation or "").split(" or ")
    if isinstance(target.claim, PrivacyClaim) and name.startswith("exact_"):
        promised = ApproximateDP(Fraction(target.claim.epsilon), Fraction(target.claim.delta))
        assert term.claim.within(promised)


@pytest.mark.parametrize("name", TERMS)
def test_a_term_is_json_down_to_its_leaves(name: str) -> None:
    assert json.loads(json.dumps(encoded(TERMS[name])))["is"]


@pytest.mark.parametrize("name", TERMS)
def test_a_term_releases_as_often_as_it_is_asked_to(name: str) -> None:
    data = DATA[data_of(name)]
    for trials in (0, 1, 5):
        assert len(TARGETS[name].release(data, trials, np.random.default_rng(trials))) == trials
    first = outputs(name, data, 1)
    assert outputs(name, data, 1) == first
    has_noise = any(outputs(name, data, seed) != first for seed in range(40))
    assert has_noise or name in ("exact_ptr_mean", "exact_median_ptr")  # which answer nothing on so few records
