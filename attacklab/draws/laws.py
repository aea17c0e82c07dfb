"""The laws of draws, and the shifts of a draw that have a bounded cost.

A shift moves a draw z to z + s. Its cost is the maximum of ln(p(z)/p(z + s)) over all z.
"""

from __future__ import annotations

import enum


class Law(enum.StrEnum):
    """The distribution of a draw, at location 0."""

    LAPLACE = "Laplace"
    LOGISTIC = "logistic"
    GUMBEL = "Gumbel"
    EXPONENTIAL = "exponential"
    GEOMETRIC = "geometric"
    GAUSSIAN = "Gaussian"
    UNIFORM = "uniform"
    CHOICE = "choice"
    """One of several values, with weights: an index, a coin, or an integer in a range."""
    ORDER = "order"
    """A permutation of indices, or a sample of indices without replacement."""
    BITS = "raw bits"
    OTHER = "other"

    @property
    def is_symmetric(self) -> bool:
        """Whether a shift by s of either sign costs at most |s|/scale."""
        return self in (Law.LAPLACE, Law.LOGISTIC)

    @property
    def goes_up(self) -> bool:
        """Whether a shift by s > 0 costs at most s/scale, and a shift by s < 0 has no bound."""
        return self in (Law.EXPONENTIAL, Law.GEOMETRIC, Law.GUMBEL)

    @property
    def has_shifts(self) -> bool:
        """Whether a shift has a bounded cost, or (Gaussian) a cost that a privacy profile bounds."""
        return self.is_symmetric or self.goes_up or self is Law.GAUSSIAN

    @property
    def is_positive(self) -> bool:
        """Whether no draw is below 0."""
        return self in (Law.EXPONENTIAL, Law.GEOMETRIC)
