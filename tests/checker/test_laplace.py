"""Theorems on Laplace mechanisms accept the exact ones and refuse what differs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from checker.core.certificate import Refused
from experiments.certificates import DRAFTS
from tests.checker.conftest import Checked

DISCRETE = DRAFTS["exact_discrete_laplace"]()


def test_discrete_laplace_is_private_for_every_pair(checked: Checked) -> None:
    assert checked(DISCRETE).statement == "1-DP for every pair of answers at most 1 apart"


def test_a_smaller_claim_than_the_noise_gives_is_refused(checked: Checked) -> None:
    with pytest.raises(Refused, match="lose 1, more than 1/2"):
        checked(DISCRETE, claim={"kind": "pure", "epsilon": "1/2"})


def test_the_statement_names_the_sensitivity_of_the_parameters(checked: Checked) -> None:
    wider = {**DISCRETE.parameters, "sensitivity": Fraction(3)}
    assert checked(DISCRETE, parameters=wider).statement == "1-DP for every pair of answers at most 3 apart"
