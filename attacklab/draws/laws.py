"""The laws of draws, and which shifts of a draw have a bounded cost.

A shift moves a draw z to z + s. What it costs is the largest log of p(z)/p(z + s) over all z, in units of s/scale.
"""

from __future__ import annotations

import enum


class Law(enum.StrEnum):
    """How a draw is distributed, at location 0 and a scale."""

    LAPLACE = "Laplace"
    LOGISTIC = "logistic"
    GUMBEL = "Gumbel"
    EXPONENTIAL = "exponential"
    GEOMETRIC = "geometric"
    GAUSSIAN = "Gaussian"
    UNIFORM = "uniform"
    CHOICE = "choice"
    """One of several, with weights: a place, a coin or an integer between two."""
    ORDER = "order"
    """A permutation or a sample of places."""
    BITS = "raw bits"
    OTHER = "other"

    @property
    def is_symmetric(self) -> bool:
        """Whether a shift of either sign costs |s|/scale at most."""
        return self in (Law.LAPLACE, Law.LOGISTIC)

    @property
    def goes_up(self) -> bool:
        """Whether a shift costs s/scale at most, and none below 0 has a bound."""
        return self in (Law.EXPONENTIAL, Law.GEOMETRIC, Law.GUMBEL)

    @property
    def has_shifts(self) -> bool:
        """Whether a shift of such a draw has a bounded cost, or one that a profile bounds."""
        return self.is_symmetric or self.goes_up or self is Law.GAUSSIAN

    @property
    def is_positive(self) -> bool:
        """Whether no draw is below 0."""
        return self in (Law.EXPONENTIAL, Law.GEOMETRIC)
