"""The specimens on which attacks may be developed."""

from bench.detection.known import (
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

KNOWN: tuple[Specimen, ...] = in_groups(
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
