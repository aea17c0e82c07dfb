"""Batches: how a sample is cut, and that a target which cannot be replayed is not mixed up."""

from __future__ import annotations

import itertools

import pytest

from attacklab.errors import TargetError
from attacklab.execution.batches import BATCH_OUTPUTS, Bench, Role, Sample
from attacklab.execution.runners import Here
from attacklab.targets import Target
from tests.attacklab.execution import process_targets as own
from tests.attacklab.execution.process_targets import Bets


@pytest.mark.parametrize(("answers", "trials"), [(1, 1), (1, 63), (1, 1_000_003), (7, 400_001), (70_000, 100)])
@pytest.mark.parametrize("spend_all", [False, True])
def test_a_sample_is_cut_into_batches_of_bounded_size_that_add_up(answers: int, trials: int, spend_all: bool) -> None:
    sample = Sample(0, 0, "", Role.JUDGE, (0,), answers, trials, spend_all)
    batches = list(sample.batches())
    assert [batch.number for batch in batches] == list(range(len(batches)))
    assert list(itertools.accumulate(batch.rows for batch in batches)) == [batch.done for batch in batches]
    assert batches[-1].done == trials
    assert batches[-1].looked_at
    assert all(batch.rows * answers <= BATCH_OUTPUTS or batch.rows == 1 for batch in batches)
    assert sum(batch.looked_at for batch in batches) == 1 or not spend_all


def test_a_target_without_a_seed_is_not_mixed_up_across_processes() -> None:
    target = Target.dataset(own.unseeded, epsilon=1.0)
    outlines = Bench(target, [Bets()], 0).outlines(0)
    sample = Sample(0, 0, outlines[0].digest(), Role.JUDGE, (0,), 1, 10, spend_all=False)
    with pytest.raises(
        TargetError, match="unseeded gave different outputs when it was probed again with the same seed, so"
    ):
        list(Here(Bench(target, [Bets()], 0)).counts(sample, sample.batches()))
