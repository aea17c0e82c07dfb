"""Enumeration decides exact targets of the lab."""

from __future__ import annotations

import time

import pytest

from attacklab.laws.proof import prove_all
from attacklab.model.findings import Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind, Target
from experiments import targets

pytestmark = pytest.mark.slow

SECONDS = 10.0
"""Of the processor; a proof takes less than 3."""


def pairs_of(target: Target) -> list[NeighbouringPair] | None:
    """The first pair of a domain of datasets, which have none by their kind."""
    if target.pairs or target.domain is None or target.kind is not Kind.DATASET:
        return None
    return [next(target.domain.pairs(target.relation))]


DECIDED = (
    "exact_exponential",
    "exact_exponential_base2",
    "exact_exponential_fixed_work",
    "exact_exponential_noisy_max",
    "exact_exponential_zcdp",
    "exact_laplace_on_grid",
    "exact_randomized_response",
    "exact_two_sided_geometric",
)


def test_most_exact_targets_of_the_lab_have_a_sampler() -> None:
    exact = [name for name in targets.__all__ if name.startswith("exact_")]
    assert sum(getattr(targets, name)().sampler is not None for name in exact) > len(exact) / 2


@pytest.mark.parametrize("name", DECIDED)
def test_enumeration_decides_in_time(name: str) -> None:
    target = getattr(targets, name)()
    began = time.process_time()
    verdicts = {finding.verdict for finding in prove_all(target, pairs_of(target), seconds=12 * SECONDS)}
    assert time.process_time() - began < SECONDS
    assert verdicts <= {Verdict.PROVED}
