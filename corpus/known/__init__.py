"""The specimens on which attacks may be developed."""

from corpus.common.specimen import Specimen, in_groups
from corpus.known import (
    budgets,
    few_values,
    hidden_formats,
    lattices,
    lost_weights,
    public_reports,
    samplers,
    sensitivity,
    streams,
    thresholds,
    whole_outputs,
)

KNOWN: tuple[Specimen, ...] = in_groups(
    whole_outputs,
    few_values,
    hidden_formats,
    samplers,
    lattices,
    sensitivity,
    lost_weights,
    public_reports,
    budgets,
    thresholds,
    streams,
)
