"""Specimens written without a look at the attacks, nor at those on which attacks are developed.

They measure what a default audit finds of flaws that it was not written for. So attacks must not be fitted to them,
and a specimen changes only if its label is wrong. Three showed what an attack lacked, and are known since:
`integer_as_binary16`, `integer_through_double` and `sign_of_zero`.
"""

from corpus.common.specimen import Specimen, in_groups
from corpus.held_out import (
    budgets,
    casts,
    failures_and_types,
    few_values,
    hidden_formats,
    lattices,
    lost_weights,
    narrow_scores,
    reports_by_bits,
    samplers,
    sensitivity,
    shapes,
    shared_noise,
    slow_outputs,
    streams,
    subtle_scales,
    thresholds,
    whole_outputs,
    wrong_sums,
)

HELD_OUT: tuple[Specimen, ...] = in_groups(
    whole_outputs,
    failures_and_types,
    few_values,
    hidden_formats,
    samplers,
    lattices,
    sensitivity,
    wrong_sums,
    lost_weights,
    narrow_scores,
    budgets,
    shared_noise,
    thresholds,
    streams,
    reports_by_bits,
    subtle_scales,
    casts,
    shapes,
    slow_outputs,
)
