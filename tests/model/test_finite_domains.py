"""Lists of small domains hold every vector once, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from attacklab.model.domains.finite import all_databases, all_utilities
from attacklab.model.errors import UsageError


def listed(vectors: list[Any]) -> list[list[Any]]:
    return [vector.tolist() for vector in vectors]


def test_every_vector_of_utilities_is_listed_once() -> None:
    assert listed(all_utilities(2, [0, 1])) == [[0], [1], [0, 0], [0, 1], [1, 0], [1, 1]]
    vectors = listed(all_utilities(4, range(9)))
    assert len({tuple(vector) for vector in vectors}) == len(vectors) == 9 + 9**2 + 9**3 + 9**4


def test_databases_begin_with_the_empty_one_and_hold_records_in_every_order() -> None:
    assert listed(all_databases(1, [0.5, 2])) == [[], [0.5], [2.0]]
    assert [one for one in listed(all_databases(2, ["a", "b"])) if len(set(one)) == 2] == [["a", "b"], ["b", "a"]]
    assert len(all_databases(5, [0, 1, 2])) == sum(3**size for size in range(6))


@pytest.mark.parametrize(("most", "values"), [(0, [1]), (2, []), (2, [1, 1]), (9, range(9))])
def test_a_list_that_is_empty_ambiguous_or_endless_is_refused(most: int, values: Any) -> None:
    with pytest.raises(UsageError, match=r"needs vectors of up to 1 or more|there are \d{3},\d{3},\d{3} vectors"):
        all_databases(most, values)
