"""A process that is unlike any other: memory that nobody has written to is random there."""

from __future__ import annotations

from typing import Any

import numpy as np

from attacklab.laws import enumerate_law
from attacklab.laws.fresh_process import fill_empty_arrays, require_agreement
from attacklab.model.random_bits import RandomBits
from attacklab.processes.fresh import run_in_fresh_process


def _empty() -> Any:
    return np.empty(8).tobytes(), np.empty_like(np.zeros((2, 3), dtype=np.int8)).tobytes()


def _differs() -> bool:
    """Whether unwritten memory holds two things; by chance it does not with probability at most 2^-40."""
    fill_empty_arrays()
    return bool(_empty() != _empty()) and np.empty((2, 2), dtype=object).shape == (2, 2)


def test_what_nobody_has_written_differs_from_call_to_call() -> None:
    assert run_in_fresh_process(_differs)


def fills_what_it_made(bits: RandomBits) -> int:
    table = np.empty(2, dtype=np.int64)
    table[:] = bits.take(1)
    return int(table.sum())


def test_a_sampler_that_writes_before_it_reads_is_confirmed() -> None:
    assert require_agreement(enumerate_law(fills_what_it_made), fills_what_it_made, runs=10) == 10
