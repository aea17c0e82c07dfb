"""A process that is unlike any other: what nothing promises is random there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attacklab.laws import LooksAtDraws, NotDeterministic, enumerate_law
from attacklab.laws.fresh_process import require_agreement, unsettle
from attacklab.model.random_bits import RandomBits
from attacklab.processes.fresh import run_in_fresh_process


class Unnamed:
    """It has no `__repr__` of its own."""


def order() -> Any:
    return tuple(set(range(50)))


def address() -> Any:
    return repr(Unnamed())


def unwritten() -> Any:
    return np.empty(8).tobytes(), np.empty_like(np.zeros((2, 3), dtype=np.int8)).tobytes()


def _differs(function: Callable[[], Any]) -> bool:
    """Whether a function gives two results; by chance it does not with probability at most 2^-40."""
    unsettle([Unnamed])
    return bool(function() != function())


@pytest.mark.parametrize("function", [order, address, unwritten])
def test_what_nothing_promises_differs_from_call_to_call(function: Callable[[], Any]) -> None:
    assert run_in_fresh_process(_differs, function)


def test_sets_and_arrays_are_otherwise_what_they_were() -> None:
    def played() -> bool:
        unsettle([])
        kept = set([3, 1, 2])  # noqa: C405 (made by name)
        kept.add(4)
        made = np.empty((2, 2), dtype=object)
        return (
            kept == {1, 2, 3, 4}
            and sorted(kept) == [1, 2, 3, 4]
            and kept.pop() not in kept
            and len(frozenset("ab") | kept) == 5
            and made.shape == (2, 2)
        )

    assert run_in_fresh_process(played)


def reads_the_first_of_a_set(bits: RandomBits) -> int:
    return next(iter(set(range(3)))) + bits.take(1)


def fills_what_it_made(bits: RandomBits) -> int:
    table = np.empty(2, dtype=np.int64)
    table[:] = bits.take(1)
    return int(table.sum())


def test_a_sampler_that_depends_on_the_order_of_a_set_is_refused() -> None:
    law = enumerate_law(reads_the_first_of_a_set)
    with pytest.raises((NotDeterministic, LooksAtDraws), match="gave another outcome when played again"):
        require_agreement(law, reads_the_first_of_a_set, runs=10)


def test_a_sampler_that_writes_before_it_reads_is_confirmed() -> None:
    assert require_agreement(enumerate_law(fills_what_it_made), fills_what_it_made, runs=10) == 10
