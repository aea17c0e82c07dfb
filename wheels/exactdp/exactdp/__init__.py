"""Exact noise for differential privacy: mechanisms that draw, add and round without floating-point error."""

from exactdp._mechanisms.library import (
    ApproximateDP,
    ZeroConcentratedDP,
    above_threshold,
    bounded_mean,
    bounded_sum,
    gaussian,
    geometric,
    histogram,
    laplace,
    quantile,
    report_noisy_max,
    select,
)

__all__ = [
    "ApproximateDP",
    "ZeroConcentratedDP",
    "above_threshold",
    "bounded_mean",
    "bounded_sum",
    "gaussian",
    "geometric",
    "histogram",
    "laplace",
    "quantile",
    "report_noisy_max",
    "select",
]
