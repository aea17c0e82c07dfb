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
from bench.detection.specimen import Specimen

KNOWN: tuple[Specimen, ...] = (
    *whole_outputs.SPECIMENS,
    *few_values.SPECIMENS,
    *hidden_formats.SPECIMENS,
    *samplers.SPECIMENS,
    *lattices.SPECIMENS,
    *sensitivity.SPECIMENS,
    *lost_weights.SPECIMENS,
    *budgets.SPECIMENS,
    *thresholds.SPECIMENS,
    *streams.SPECIMENS,
)
