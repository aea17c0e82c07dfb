"""Samples: how they are cut into batches."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from attacklab.attacks.base import Event, Scenario
from attacklab.auditing.samples import BATCH_BYTES, BATCH_OUTPUTS, FIRST_BATCH, Role, Sample
from tests.processes import process_targets as own

pytestmark = pytest.mark.slow

ANY = Event("any", lambda outputs: np.ones(len(outputs), dtype=bool))


def sample_of(answers: int, trials: int, *, spend_all: bool, **rest: Any) -> Sample:
    return Sample("any", Scenario(own.PAIR, (ANY,), answers), 0, Role.JUDGE, (ANY,), trials, spend_all, **rest)


@pytest.mark.parametrize(("answers", "trials"), [(1, 1), (1, 63), (1, 1_000_003), (7, 400_001), (70_000, 100)])
@pytest.mark.parametrize("spend_all", [False, True])
def test_a_sample_is_cut_into_batches_of_bounded_size_that_add_up(answers: int, trials: int, spend_all: bool) -> None:
    sample = sample_of(answers, trials, spend_all=spend_all)
    batches = list(sample.batches())
    assert [batch.number for batch in batches] == list(range(len(batches)))
    assert list(itertools.accumulate(batch.rows for batch in batches)) == [batch.done for batch in batches]
    assert batches[-1].done == trials
    assert batches[-1].looked_at
    assert all(batch.rows * answers <= BATCH_OUTPUTS or batch.rows == 1 for batch in batches)
    assert sum(batch.looked_at for batch in batches) == 1 or not spend_all


def test_no_batch_between_looks_holds_more_trials_than_were_drawn_before_it() -> None:
    sample = sample_of(1, 1_000_003, spend_all=False, first_look=100_000)
    batches = list(sample.batches())
    assert all(batch.rows <= max(FIRST_BATCH, batch.done - batch.rows) for batch in batches)
    looked = [batch.done for batch in batches if batch.looked_at]
    assert 100_000 <= looked[0] <= 150_000
    assert looked[-1] == 1_000_003


def test_batches_of_large_outputs_are_bounded_in_bytes() -> None:
    sample = sample_of(3, 100_000, spend_all=True, output_bytes=1 << 13)
    batches = list(sample.batches())
    assert all(batch.rows * 3 << 13 <= BATCH_BYTES for batch in batches)
    assert batches[0].rows * 4 << 13 > BATCH_BYTES
    assert sum(batch.rows for batch in batches) == 100_000
