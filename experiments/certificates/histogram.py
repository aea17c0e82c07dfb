"""The draft of the certificate of noisy histograms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from mechanisms.laplace.exact_histogram import exact_histogram, exact_histogram_fast

from attacklab.certificates import Draft
from mechanisms.grid import Grid


def _histogram() -> Draft:
    return Draft(
        theorem="histogram",
        functions={"reference": exact_histogram, "fast": exact_histogram_fast},
        parameters={"epsilon": Fraction(1), "grid": Grid(0)},
        neighbours="one count 1 apart",
        claim={"kind": "pure", "epsilon": "1"},
    )


DRAFTS: Mapping[str, Callable[[], Draft]] = {"exact_histogram": _histogram}
