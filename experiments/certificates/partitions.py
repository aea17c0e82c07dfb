"""The drafts of the certificates of histograms by threshold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from attacklab.certificates import Draft
from experiments.targets.partitions import DELTA
from mechanisms.partition_selection.exact import exact_partition_selection, exact_partition_selection_fast


def _draft(epsilon: Fraction, delta: Fraction) -> Draft:
    return Draft(
        theorem="thresholded_histogram",
        functions={"reference": exact_partition_selection, "fast": exact_partition_selection_fast},
        parameters={"epsilon": epsilon, "delta": delta},
        neighbours="add-remove",
        claim={"kind": "approximate", "epsilon": str(epsilon), "delta": str(delta)},
    )


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "exact_partition_selection": lambda: _draft(Fraction(1), DELTA),
    "unlike_partition_selection": lambda: _draft(Fraction(3, 7), Fraction(1, 10**9)),
}
"""Named `unlike_…`: the same mechanism at parameters of a real release, where no product hides a quotient."""
