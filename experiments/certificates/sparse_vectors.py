"""Drafts of the certificates of the sparse vector technique."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from mechanisms.sparse_vector.exact_fast import exact_above_threshold_fast, exact_numeric_sparse_fast

from attacklab.certificates import Draft
from experiments.targets.sparse_vectors import COUNTS, STOPPING
from mechanisms.grid import Grid
from mechanisms.sparse_vector.exact import exact_above_threshold, exact_numeric_sparse


def _above_threshold(epsilon: str, **parameters: Any) -> Draft:
    return Draft(
        theorem="above_threshold",
        functions={"reference": exact_above_threshold, "fast": exact_above_threshold_fast},
        parameters=parameters,
        neighbours="answers to queries, each at most the sensitivity apart",
        claim={"kind": "pure", "epsilon": epsilon},
    )


def _numeric(epsilon: str, **parameters: Any) -> Draft:
    return Draft(
        theorem="numeric_sparse",
        functions={"reference": exact_numeric_sparse, "fast": exact_numeric_sparse_fast},
        parameters=parameters,
        neighbours="answers to queries, each at most the sensitivity apart",
        claim={"kind": "pure", "epsilon": epsilon},
    )


HALVES = {"epsilon_threshold": Fraction(1, 2), "epsilon_answers": Fraction(1, 2)}
THIRDS = {"epsilon_threshold": Fraction(1, 3), "epsilon_answers": Fraction(1, 3), "epsilon_values": Fraction(1, 3)}
UNLIKE: dict[str, Any] = {
    "threshold": Fraction(-7, 4),
    "positives": 3,
    "epsilon_threshold": Fraction(3, 7),
    "epsilon_answers": 0.75,
    "sensitivity": Fraction(5, 3),
    "grid": Grid(-2),
}

DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "exact_above_threshold": lambda: _above_threshold("1", **STOPPING, **HALVES, grid=COUNTS),
    "exact_numeric_sparse": lambda: _numeric("1", **STOPPING, **THIRDS, grid=COUNTS),
    "unlike_above_threshold": lambda: _above_threshold("33/28", **UNLIKE),
    "unlike_numeric_sparse": lambda: _numeric("193/140", **UNLIKE, epsilon_values=Fraction(1, 5)),
}
"""Named `unlike_…`: the same mechanisms at parameters of which none is 1 and no two are the same."""
