"""Specimens written without a look at the attacks, nor at those on which attacks are developed.

They measure what a default audit finds of flaws that it was not written for. So attacks must not be fitted to them,
and a specimen changes only if its label is wrong.
"""

from bench.detection.held_out import (
    budgets,
    few_values,
    hidden_formats,
    lattices,
    lost_weights,
    samplers,
    sensitivity,
    streams,
    thresholds,
    whole_outputs,
)
from bench.detection.specimen import Specimen, in_groups

HELD_OUT: tuple[Specimen, ...] = in_groups(
    whole_outputs,
    few_values,
    hidden_formats,
    samplers,
    lattices,
    sensitivity,
    lost_weights,
    budgets,
    thresholds,
    streams,
)
