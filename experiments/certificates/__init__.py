"""What the lab states of its exact targets for every pair of neighbours: a draft of a certificate for each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attacklab.certificates import Draft
from experiments.certificates import (
    bounded,
    finite,
    gaussian,
    histogram,
    laplace,
    means,
    partitions,
    quantiles,
    sampled,
    selections,
    sparse_vectors,
    sums,
    unlike,
)

DRAFTS: Mapping[str, Callable[[], Draft]] = {
    **bounded.DRAFTS,
    **finite.DRAFTS,
    **gaussian.DRAFTS,
    **histogram.DRAFTS,
    **laplace.DRAFTS,
    **means.DRAFTS,
    **partitions.DRAFTS,
    **quantiles.DRAFTS,
    **sampled.DRAFTS,
    **selections.DRAFTS,
    **sparse_vectors.DRAFTS,
    **sums.DRAFTS,
    **unlike.DRAFTS,
}
"""The drafts by the name of the target; names with `array_`, `small_` or `unlike_` first are of no target."""
