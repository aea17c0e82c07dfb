"""The quantities that a formula can compute: their arguments, their certified bounds, and which side is unsafe."""

from __future__ import annotations

import difflib
import enum
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from numbers import Real
from typing import TypeAlias

from attacklab.calibration import budgets, concentrated, gaussian, privacy_loss, renyi, tails
from attacklab.calibration.grids import GRIDS
from attacklab.calibration.refinement import LARGEST, is_narrow, refined
from attacklab.model.errors import UsageError
from attacklab.model.intervals import Interval

Argument: TypeAlias = float | int | tuple[float, ...]
Arguments: TypeAlias = Mapping[str, Argument]


class Unsafe(enum.StrEnum):
    """The side of the bound on which a formula's number promises more than the mechanism keeps."""

    TOO_SMALL = "too small"
    TOO_LARGE = "too large"


LEAST = math.ulp(0.0)
POSITIVE = (LEAST, LARGEST, "above 0")
COUNT = (1, 10**9, "at least 1")
RANGES: Mapping[str, tuple[float, float, str]] = {
    **dict.fromkeys(("epsilon", "sensitivity", "sigma", "scale", "rho", "total"), POSITIVE),
    **dict.fromkeys(("keys", "l0", "releases", "steps", "size"), COUNT),
    **dict.fromkeys(("tail", "parts", "rdp"), (0.0, LARGEST, "at least 0")),
    "delta": (LEAST, math.nextafter(1.0, 0.0), "in (0, 1)"),
    "composed_epsilon delta": (0.0, math.nextafter(1.0, 0.0), "in [0, 1)"),
    "threshold_gaussian delta": (LEAST, 0.5, "in (0, 1/2], where the threshold is above 0"),
    "rate": (LEAST, 1.0, "in (0, 1]"),
    "alpha": (math.nextafter(1.0, 2.0), LARGEST, "above 1"),
    "threshold": (2, LARGEST, "at least 2"),
    "selection_delta threshold": (1.0, LARGEST, "at least 1"),
}
"""The least and the largest value of an argument, and the range in words, by ARGUMENT or by "QUANTITY ARGUMENT"."""


@dataclass(frozen=True)
class Quantity:
    """A number that formulas compute from a claim or a noise scale.

    Attributes:
        name: the name on the command line. A formula is called with keyword arguments, named as in the grid.
        meaning: what the certified bound is, in one line.
        enclose: a function from these arguments to the certified bound, an interval that contains the exact number.
            Every number beyond the interval on the unsafe side is unsafe, and every number beyond it on the other side
            is safe.
        source: the source of the theorem.
        unsafe: the side of the bound on which a returned number is unsafe.
    """

    name: str
    meaning: str
    enclose: Callable[..., Interval] = field(repr=False)
    source: str
    unsafe: Unsafe = Unsafe.TOO_SMALL

    @property
    def grid(self) -> Sequence[Arguments]:
        """The sets of arguments at which formulas are tested."""
        return GRIDS[self.name]

    @property
    def signature(self) -> str:
        """The call of a formula, such as `gaussian_sigma(epsilon, delta, sensitivity)`."""
        return f"{self.name}({', '.join(self.grid[0])})"

    def bound(self, arguments: Arguments) -> Interval:
        """Return the certified bound at some arguments. It is computed once and kept.

        Raises:
            UsageError: these are not the arguments of this quantity, or one is out of its range.
        """
        if set(arguments) != set(self.grid[0]):
            raise UsageError(f"{self.signature} needs exactly these arguments, not {', '.join(arguments) or 'none'}")
        for name, value in arguments.items():
            self._require(name, value)
        hashable = {key: tuple(value) if isinstance(value, Sequence) else value for key, value in arguments.items()}
        return _bound(self, tuple(sorted(hashable.items())))

    def _require(self, name: str, value: Argument) -> None:
        whole = RANGES[name] is COUNT or (name == "threshold" and self.name != "selection_delta")
        whole |= name == "tail" and self.name.startswith("discrete")
        low, high, text = RANGES.get(f"{self.name} {name}") or RANGES[name]
        for number in value if isinstance(value, Sequence) else [value]:
            is_number = isinstance(number, Real) and not isinstance(number, bool) and math.isfinite(number)
            if not is_number or not low <= number <= high or (whole and number != int(number)):
                kind = "an integer" if whole else "a number"
                raise UsageError(f"{name} of {self.name} must be {kind}, {text}, not {number!r}")


@lru_cache(maxsize=4096)
def _bound(about: Quantity, arguments: tuple[tuple[str, Argument], ...]) -> Interval:
    if about.source in (_ZCDP, _RDP, _DOROSHENKO, _HALVED):  # more bits do not narrow these intervals
        return about.enclose(**dict(arguments))
    return refined(lambda: about.enclose(**dict(arguments)), is_narrow)


_BALLE = "Balle and Wang 2018, theorem 8"
_DONG = f"Dong, Roth and Su 2022, corollary 3.3; {_BALLE}"
_DWORK = "Dwork, McSherry, Nissim and Smith 2006, proposition 1"
_ZCDP = (
    "Canonne, Kamath and Steinke 2020, proposition 12; attacklab/model/claims/conversion.py; docs/how_to/calibration.md"
)
_RDP = "Canonne, Kamath and Steinke 2020, proposition 12; attacklab/calibration/renyi.py"
_DOROSHENKO = "Doroshenko and others 2022, section 4; attacklab/calibration/privacy_loss.py"
_VADHAN = "Vadhan 2017, lemma 2.2, with equality where δ is small"
_GHOSH = "Ghosh, Roughgarden and Sundararajan 2009"
_CANONNE = "Canonne, Kamath and Steinke 2020, definition 1"
_STABILITY = "Korolova et al. 2009; Rogers 2023, algorithm 1"
_WILSON = "Wilson and others 2020, section 3; attacklab/calibration/tails.py"
_HALVED = "Wilson and others 2020, section 3, with half of δ for the noise"
_SPENT = "Dwork and Roth 2014, theorem 3.16"
_KAIROUZ = "Kairouz, Oh and Viswanath 2015, theorem 3.3"


def _rows() -> Iterator[tuple[str, str, Callable[..., Interval], str]]:
    is_kept = "the Gaussian mechanism is (ε, δ)-DP"
    yield "gaussian_sigma", f"the least σ at which {is_kept}", gaussian.sigma, _BALLE
    yield "gaussian_delta", f"the least δ at which {is_kept}", gaussian.delta, _BALLE
    yield "gaussian_epsilon", f"the least ε at which {is_kept}", gaussian.epsilon, _BALLE
    together = "the least ε at which m releases of the Gaussian mechanism are (ε, δ)-DP together"
    yield "gaussian_composed_epsilon", together, gaussian.epsilon, _DONG
    lost = "the least ε at which Laplace noise of this scale is ε-DP"
    yield "laplace_epsilon", lost, lambda scale, sensitivity: budgets.quotient(sensitivity, scale), _DWORK
    least = "the least scale at which Laplace noise is ε-DP"
    yield "laplace_scale", least, lambda epsilon, sensitivity: budgets.quotient(sensitivity, epsilon), _DWORK
    yield "zcdp_delta", "the least δ at ε that all ρ-zCDP mechanisms keep", concentrated.delta, _ZCDP
    yield "zcdp_epsilon", "the least ε at δ that all ρ-zCDP mechanisms keep", concentrated.epsilon, _ZCDP
    yield "rdp_epsilon", "the least ε at δ that all mechanisms with (alpha, rdp)-RDP keep", renyi.epsilon, _RDP
    yield "laplace_tail", "P[X > t] of Laplace noise", tails.laplace, "its density"
    yield "gaussian_tail", "P[X > t] of Gaussian noise", tails.gaussian, "its density"
    yield "discrete_laplace_tail", "P[X > t] of discrete Laplace noise", tails.discrete_laplace, _GHOSH
    yield "discrete_gaussian_tail", "P[X > t] of discrete Gaussian noise", tails.discrete_gaussian, _CANONNE
    appear = "the δ of releasing the keys whose count with discrete {} noise is at least the threshold"
    for law, tail in (("Laplace", tails.discrete_laplace), ("Gaussian", tails.discrete_gaussian)):
        name = f"{law.lower()}_threshold_delta"
        yield name, appear.format(law), partial(tails.threshold_delta, tail), _STABILITY
    selected = "of releasing the keys of a person with l0 keys, and their counts, where count and {} noise exceed T"
    noise = selected.format("Gaussian")
    yield "selection_delta", f"the least δ at ε {noise}", tails.selection_delta, _WILSON
    halved = f"the least T at (ε, δ) {noise}, with the least σ at (ε, δ/2)"
    yield "threshold_gaussian", halved, tails.threshold_gaussian, _HALVED
    scaled = f"the least T at (ε, δ) {selected.format('Laplace')}, with the scale l0/ε"
    yield "threshold_laplace", scaled, tails.threshold_laplace, _WILSON
    parts = "the sum of the parts, each the ε of a pure DP release or the ρ of a zCDP one"
    yield (
        "budget_total",
        parts,
        lambda parts: -budgets.remaining(0.0, parts),
        f"{_SPENT}; Bun and Steinke 2016, lemma 1.7",
    )
    most = "the most that each of m releases may spend of a total"
    yield "budget_share", most, lambda total, releases: budgets.quotient(total, releases), _SPENT
    yield "budget_remaining", "what is left of a total after the parts were spent", budgets.remaining, _SPENT
    least = "the least δ′ at mε of m releases that are (ε, δ)-DP each"
    yield "composed_delta", least, lambda delta, releases: budgets.any_of(Interval.of(delta), releases), _KAIROUZ
    least = "the least ε′ at which m releases that are ε-DP each are (ε′, δ)-DP together"
    yield "composed_epsilon", least, budgets.composed_epsilon, _KAIROUZ
    group = "the least δ′ at size · ε that (ε, δ)-DP gives to a group of this size"
    yield "group_delta", group, budgets.group_delta, _VADHAN
    steps = "the least ε at which this many steps of Gaussian noise on Poisson samples are (ε, δ)-DP together"
    yield "sampled_gaussian_epsilon", steps, privacy_loss.sampled_gaussian_epsilon, _DOROSHENKO


_TOO_LARGE = ("budget_share", "budget_remaining")
QUANTITIES = tuple(Quantity(*row, Unsafe.TOO_LARGE if row[0] in _TOO_LARGE else Unsafe.TOO_SMALL) for row in _rows())


def quantity(name: str) -> Quantity:
    """Return the quantity with a name. If there is none, raise a `UsageError` that names a similar one, or all."""
    known = {entry.name: entry for entry in QUANTITIES}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    raise UsageError(f"there is no quantity {name!r}; {hint}")
