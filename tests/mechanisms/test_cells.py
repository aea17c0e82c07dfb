"""Cells by the leading bits of doubles, judged by integer arithmetic."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms.cells import Cells

CELLS = Cells(63, binades=20, bits=9)
MIDDLES = CELLS.middles().tolist()


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.integers(2**43, 2**63 - 1) | st.integers(43, 63).map(lambda power: 2**power - 1))
def test_an_integer_is_in_the_cell_whose_middle_is_nearest_in_its_binade(integer: int) -> None:
    """Its double is the integer, or the nearest with 53 bits, half to even."""
    rounded, numbers, middles = (found.tolist()[0] for found in CELLS.locate(np.array([integer])))
    assert rounded == float(integer)
    binade, part = int(rounded).bit_length() - 1, int(rounded) >> int(rounded).bit_length() - 10
    assert numbers == (binade - 43) * 512 + part - 512 + 1
    assert middles == (2 * part + 1) << binade - 10
    if 1 <= numbers <= len(CELLS):
        assert MIDDLES[numbers - 1] == middles


def test_integers_beyond_the_cells_have_numbers_beyond_theirs() -> None:
    _, numbers, _ = CELLS.locate(np.array([0, 1, 2**43 - 1, 2**43, 2**63 - 513, 2**63 - 512, 2**63 - 1]))
    assert (numbers[:3] < 1).all()
    assert numbers[3:].tolist() == [1, len(CELLS), len(CELLS) + 1, len(CELLS) + 1]


def test_each_cell_has_what_its_binade_has() -> None:
    small = Cells(10, binades=2, bits=1)
    assert small.middles().tolist() == [2**8 + 2**6, 2**9 - 2**6, 2**9 + 2**7, 2**10 - 2**7]
    assert small.each(np.array([0.5, 7.0])).tolist() == [0.5, 0.5, 7.0, 7.0]
