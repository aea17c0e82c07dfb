"""The quantities that a formula can be held to: its arguments, what is certified, and which side is unsafe."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TypeAlias

from attacklab.calibration import budgets, concentrated, gaussian, tails
from attacklab.calibration.grids import GRIDS
from attacklab.calibration.refinement import is_narrow, refined
from attacklab.model.errors import UsageError
from attacklab.model.intervals import Interval

Argument: TypeAlias = float | int | tuple[float, ...]
Arguments: TypeAlias = Mapping[str, Argument]


class Unsafe(enum.StrEnum):
    """The side on which a returned number promises what the mechanism does not keep."""

    TOO_SMALL = "too small"
    TOO_LARGE = "too large"


@dataclass(frozen=True)
class Quantity:
    """A number that formulas compute from a claim or a noise scale.

    Attributes:
        name: as the command line calls it; a formula is called with keyword arguments of the names in its grid.
        meaning: what the certified bound is, in one line.
        enclose: the certified bound from these arguments. No number beyond it on the unsafe side is safe, and every
            number beyond it on the other side is; where the best possible number is not known exactly, the interval
            reaches from the one to the other.
        source: of the theorem.
        unsafe: on which side of the bound a returned number is unsafe.
        is_limited_by_bits: whether the interval becomes as narrow as wanted with more bits; not where nobody knows the
            best possible number.
    """

    name: str
    meaning: str
    enclose: Callable[..., Interval] = field(repr=False)
    source: str
    unsafe: Unsafe = Unsafe.TOO_SMALL
    is_limited_by_bits: bool = True

    @property
    def grid(self) -> Sequence[Arguments]:
        """The arguments that it is asked for."""
        return GRIDS[self.name]

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of what a formula is given."""
        return tuple(self.grid[0])

    @property
    def signature(self) -> str:
        """How a formula of it is called."""
        return f"{self.name}({', '.join(self.arguments)})"

    def bound(self, arguments: Arguments) -> Interval:
        """The certified bound at some arguments, computed once.

        Raises:
            ValueError: they are not the arguments of this quantity.
        """
        if set(arguments) != set(self.arguments):
            raise UsageError(f"{self.signature} cannot be asked for {', '.join(arguments) or 'nothing'}")
        return _bound(self.name, tuple(sorted(arguments.items())))


@lru_cache(maxsize=4096)
def _bound(name: str, arguments: tuple[tuple[str, Argument], ...]) -> Interval:
    known = quantity(name)
    if not known.is_limited_by_bits:
        return known.enclose(**dict(arguments))
    return refined(lambda: known.enclose(**dict(arguments)), is_narrow)


_LARGE = Unsafe.TOO_LARGE
_BALLE = "Balle and Wang 2018, theorem 8"
_ZCDP = "Canonne, Kamath and Steinke 2020, proposition 12; attacklab/model/claims/cuts.py; docs/how_to/calibration.md"
_STABILITY = "Korolova et al. 2009; Rogers 2023, algorithm 1"
_BETWEEN = "one between two integers acts as the larger"
_KAIROUZ = "Kairouz, Oh and Viswanath 2015, theorem 3.3"

QUANTITIES: tuple[Quantity, ...] = (
    Quantity("gaussian_sigma", "the least σ at which the Gaussian mechanism is (ε, δ)-DP", gaussian.sigma, _BALLE),
    Quantity("gaussian_delta", "the least δ at which the Gaussian mechanism is (ε, δ)-DP", gaussian.delta, _BALLE),
    Quantity("gaussian_epsilon", "the least ε at which the Gaussian mechanism is (ε, δ)-DP", gaussian.epsilon, _BALLE),
    Quantity(
        "gaussian_composed_epsilon",
        "the least ε at which m releases of the Gaussian mechanism are (ε, δ)-DP together",
        gaussian.composed_epsilon,
        "Dong, Roth and Su 2022, corollary 3.3; " + _BALLE,
    ),
    Quantity(
        "gaussian_rho",
        "the least ρ at which the Gaussian mechanism is ρ-zCDP",
        gaussian.rho,
        "Bun and Steinke 2016, proposition 1.6",
    ),
    Quantity(
        "laplace_epsilon",
        "the least ε at which Laplace noise of this scale is ε-DP",
        lambda scale, sensitivity: budgets.ratio(sensitivity, scale),
        "Dwork, McSherry, Nissim and Smith 2006, proposition 1",
    ),
    Quantity(
        "laplace_scale",
        "the least scale at which Laplace noise is ε-DP",
        lambda epsilon, sensitivity: budgets.ratio(sensitivity, epsilon),
        "Dwork, McSherry, Nissim and Smith 2006, proposition 1",
    ),
    Quantity(
        "zcdp_delta",
        "the least δ at ε that all ρ-zCDP mechanisms keep",
        concentrated.delta,
        _ZCDP,
        is_limited_by_bits=False,
    ),
    Quantity(
        "zcdp_epsilon",
        "the least ε at δ that all ρ-zCDP mechanisms keep",
        concentrated.epsilon,
        _ZCDP,
        is_limited_by_bits=False,
    ),
    Quantity("laplace_tail", "P[X > t] of Laplace noise", tails.laplace, "its density"),
    Quantity("gaussian_tail", "P[X > t] of Gaussian noise", tails.gaussian, "its density"),
    Quantity(
        "discrete_laplace_tail",
        "P[X > t] of discrete Laplace noise",
        tails.discrete_laplace,
        "Ghosh, Roughgarden and Sundararajan 2009",
    ),
    Quantity(
        "discrete_gaussian_tail",
        "P[X > t] of discrete Gaussian noise",
        tails.discrete_gaussian,
        "Canonne, Kamath and Steinke 2020, definition 1",
    ),
    Quantity(
        "laplace_threshold_delta",
        "the δ of releasing the keys whose count with discrete Laplace noise is at least the threshold",
        partial(tails.threshold_delta, tails.discrete_laplace),
        _STABILITY,
    ),
    Quantity(
        "gaussian_threshold_delta",
        "the δ of releasing the keys whose count with discrete Gaussian noise is at least the threshold",
        partial(tails.threshold_delta, tails.discrete_gaussian),
        _STABILITY,
    ),
    Quantity(
        "laplace_threshold",
        f"where thresholds on counts with discrete Laplace noise begin to keep δ ({_BETWEEN})",
        partial(tails.threshold, tails.discrete_laplace),
        _STABILITY,
    ),
    Quantity(
        "gaussian_threshold",
        f"where thresholds on counts with discrete Gaussian noise begin to keep δ ({_BETWEEN})",
        partial(tails.threshold, tails.discrete_gaussian),
        _STABILITY,
    ),
    Quantity(
        "budget_total",
        "the sum of the parts, each the ε of a pure DP release or the ρ of a zCDP one",
        budgets.total,
        "Dwork and Roth 2014, theorem 3.16; Bun and Steinke 2016, lemma 1.7",
    ),
    Quantity(
        "budget_share",
        "the most that each of m releases may spend of a total",
        budgets.share,
        "Dwork and Roth 2014, theorem 3.16",
        _LARGE,
    ),
    Quantity(
        "budget_remaining",
        "what is left of a total after the parts were spent",
        budgets.remaining,
        "Dwork and Roth 2014, theorem 3.16",
        _LARGE,
    ),
    Quantity(
        "composed_delta", "the least δ′ at mε of m releases that are (ε, δ)-DP each", budgets.composed_delta, _KAIROUZ
    ),
    Quantity(
        "composed_epsilon",
        "the least ε′ at which m releases that are ε-DP each are (ε′, δ)-DP together",
        budgets.composed_epsilon,
        _KAIROUZ,
    ),
)


def quantity(name: str) -> Quantity:
    """The quantity of a name.

    Raises:
        ValueError: there is none of that name; the message names the nearest, or all.
    """
    known = {entry.name: entry for entry in QUANTITIES}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    raise UsageError(f"there is no quantity {name!r}; {hint}")
