"""What the lab states of its exact targets for every pair of neighbours: a draft of a certificate for each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attacklab.certificates import Draft
from experiments.certificates import laplace, selections

DRAFTS: Mapping[str, Callable[[], Draft]] = {**laplace.DRAFTS, **selections.DRAFTS}
"""The drafts by the name of the target."""
