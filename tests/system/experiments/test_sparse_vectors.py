"""Audits of the sparse vector technique's targets: published variants are refuted by outputs, sound ones by nothing."""

from __future__ import annotations

import pytest

from attacklab.attacks import BlackBox
from attacklab.auditing.referee import audit
from attacklab.model.findings import Verdict
from experiments import targets

BROKEN = (
    "naive_above_threshold_endless",
    "naive_above_threshold_noiseless",
    "naive_above_threshold_unscaled",
    "naive_numeric_sparse",
    "naive_numeric_sparse_reused",
)
SOUND = ("exact_above_threshold", "exact_numeric_sparse", "naive_above_threshold")
"""The last one is false only through events that no sample shows."""


def verdicts(name: str) -> set[Verdict]:
    target = getattr(targets, name)()
    attack = BlackBox(pairs=target.pairs, learning=1 << 12)
    return {one.verdict for one in audit(target, [attack], trials=40_000, alpha=1e-9, seed=1)}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_variant_is_refuted_by_events_learned_from_outputs(name: str) -> None:
    assert Verdict.VIOLATED in verdicts(name)


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_algorithm_is_not_refuted(name: str) -> None:
    """A false alarm has probability at most 1e-9."""
    assert verdicts(name) == {Verdict.NOT_DETECTED}
