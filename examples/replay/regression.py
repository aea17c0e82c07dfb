"""diffprivlib: a linear regression, as its documentation fits one.

Published as issues 105 and 104 of IBM/differential-privacy-library, and in every version up to 0.6.6: the squares of a
feature get noise by the lower bound alone, and the two means of a fit with an intercept get the whole of one share of ε
each. Bounds that are symmetric about 0 hide the first, and a fit without an intercept has no second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from diffprivlib.models import LinearRegression

from attacklab import NeighbouringPair, Target, one_by_one


def slope(records: Any) -> Any:
    """The slope of a line through the origin, for numbers between 0 and 1."""
    model = LinearRegression(epsilon=1.0, bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0), fit_intercept=False)
    return model.fit(records[:, :1], records[:, 1]).coef_


def line(records: Any) -> Any:
    """The slope and the intercept of a line, for numbers between −1 and 1."""
    model = LinearRegression(epsilon=1.0, bounds_X=(-1.0, 1.0), bounds_y=(-1.0, 1.0)).fit(records[:, :1], records[:, 1])
    return model.coef_, model.intercept_


def symmetric_slope(records: Any) -> Any:
    """The slope of a line through the origin, for numbers between −1 and 1."""
    model = LinearRegression(epsilon=1.0, bounds_X=(-1.0, 1.0), bounds_y=(-1.0, 1.0), fit_intercept=False)
    return model.fit(records[:, :1], records[:, 1]).coef_


def _on_neighbours(fit: Any, first: list[float], second: list[float]) -> Target:
    """A fit of 20 records on two neighbours: datasets that differ in the last record."""
    records = np.random.default_rng(0).random((19, 2))
    pair = NeighbouringPair(np.vstack([records, first]), np.vstack([records, second]), "substitute")
    return Target.dataset(one_by_one(fit), epsilon=1.0, relation="substitute", pairs=[pair])


one_bound = _on_neighbours(slope, [1.0, 1.0], [0.0, 0.0])
one_share = _on_neighbours(line, [1.0, 1.0], [-1.0, -1.0])
sound = _on_neighbours(symmetric_slope, [1.0, 1.0], [0.0, 0.0])
