"""Every exact target of the lab that has a sampler decides within ten seconds, or says why not and what would.

Run with `pytest -m slow tests/test_exact_targets.py --durations=0`, or read the properties `verdict` and `seconds` in a
JUnit report, to see how long each takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from attacklab.findings import Verdict
from attacklab.neighbours import NeighbouringPair
from attacklab.proof import OTHER_PROOFS, prove_all
from attacklab.targets import Kind, Target
from experiments import targets

SECONDS = 10.0
GRACE = 3.0
"""Seconds for what an alarm cannot interrupt at once on a loaded machine: a long addition, a clean-up."""


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
"""Those that enumeration decides, in a fifth of the time where the machine has nothing else to do."""

PROVABLE: dict[str, Target] = {
    name: made
    for name in sorted(targets.__all__)
    if name.startswith("exact_") and (made := getattr(targets, name)()).sampler is not None
}


def test_most_exact_targets_of_the_lab_have_a_sampler() -> None:
    exact = [name for name in targets.__all__ if name.startswith("exact_")]
    assert len(PROVABLE) > len(exact) / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", PROVABLE)
def test_it_decides_in_time_or_says_why_not(name: str, record_property: Callable[[str, Any], None]) -> None:
    target = PROVABLE[name]
    began = time.monotonic()
    findings = prove_all(target, pairs_of(target), seconds=SECONDS)
    took = time.monotonic() - began
    record_property("seconds", round(took, 1))
    for finding in findings:
        record_property("verdict", str(finding.verdict))
        if finding.verdict is Verdict.INCONCLUSIVE and name not in DECIDED:
            assert f"a proof {OTHER_PROOFS[target.kind]} would decide it" in finding.reason
        else:
            assert finding.verdict in (Verdict.PROVED, Verdict.PROVED_WITH_SLACK), finding.reason
    assert took < SECONDS + GRACE
