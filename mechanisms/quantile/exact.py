"""A quantile, exactly: the base-e exponential mechanism over a public grid of candidates, by their distance in rank."""

from __future__ import annotations

from mechanisms.core.compose import Mapped
from mechanisms.core.grid import Grid
from mechanisms.core.maps import PointAt
from mechanisms.core.numbers import Number, positive, rational
from mechanisms.core.ranks import RankScores
from mechanisms.core.select import Select


def exact_quantile(*, epsilon: Number, quantile: Number, lower: Number, upper: Number, grid: Grid) -> Mapped:
    """Return a mechanism that selects a candidate by its distance in rank: ε-DP if a record is added or removed."""
    ranks = RankScores(rational("quantile", quantile), rational("lower", lower), rational("upper", upper), grid)
    return Mapped(Select(ranks, positive("epsilon", epsilon)), PointAt(ranks.origin, grid))
