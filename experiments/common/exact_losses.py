"""What output and random bits together lose, of every exact target: exactly, between bounds, or at most.

Each entry says how it was found. By *words*: noise by inversion, counted word by word, as `joint_loss` says. By
*enumeration*: the joint law of output and bits on every sequence of bits. By a *bound*: bits are a function of what
is released but with a small probability, so that δ grows by a little. Where noise spreads over too many steps to be
counted one by one, the words are those of a coarser grid, which the entry names, and the bound is that of the target.

A loss is that of the pair of inputs that the entry shows. A bound is for every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from gmpy2 import mpq

from attacklab.laws import Bounds, Law, Limits
from attacklab.laws.enclosures import float_above
from attacklab.laws.proof import default_pair, laws_of
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from experiments import targets
from experiments.common.bounds import as_floats
from experiments.common.joint_loss import Loss, added, loss, table_loss, words_law
from experiments.targets.gaussians import sigma_of
from experiments.targets.making import GRID
from mechanisms.core.compose import Both, Mapped
from mechanisms.core.grid import Grid
from mechanisms.core.inversion import Tails, undecided
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.noisy import Noisy
from mechanisms.core.restated import Restated
from mechanisms.core.smooth import Smooth
from mechanisms.core.snapped import Snapped
from mechanisms.core.term import Mechanism
from mechanisms.core.threshold import AboveThreshold
from mechanisms.gaussian.exact import exact_rounded_gaussian
from mechanisms.local_sensitivity.exact import exact_sample_aggregate, exact_smooth_mean
from mechanisms.summation.exact import exact_bounded_sum

EXACT = tuple(name for name in targets.__all__ if name.startswith("exact_"))
"""The names of all exact targets."""

WHOLE = Grid(0)
AGES: dict[str, Any] = {"lower": 0, "upper": 100, "grid": WHOLE}

COARSER: Mapping[str, tuple[str, Callable[[], Mechanism]]] = {
    **{
        f"exact_rounded_gaussian{kind}": ("quarters", lambda: exact_rounded_gaussian(sigma_of(1.0), grid=GRID))
        for kind in ("", "_zcdp", "_rdp", "_gdp", "_profile")
    },
    "exact_smooth_mean": (
        "whole years",
        lambda: exact_smooth_mean(epsilon=1, delta=targets.exact_smooth_mean().claim.nominal.delta, **AGES),
    ),
    "exact_sample_aggregate": (
        "whole years",
        lambda: exact_sample_aggregate(epsilon=1, statistic=np.mean, chunks=600, key=b"public", named=False, **AGES),
    ),
    "exact_age_sum": ("whole years", lambda: exact_bounded_sum(epsilon=1, **AGES)),
}
"""The grid on which words are counted where that of a target is too fine, and its mechanism there."""

BY_WORDS = (
    "exact_bounded_sum",
    "exact_discrete_gaussian",
    "exact_discrete_gaussian_gdp",
    "exact_discrete_gaussian_profile",
    "exact_discrete_gaussian_rdp",
    "exact_discrete_gaussian_zcdp",
    "exact_discrete_laplace",
    "exact_histogram",
    "exact_rounded_laplace",
    "exact_rounded_laplace_wide",
    "exact_snapping",
    *COARSER,
)

BY_BOUND = (
    "exact_above_threshold",
    "exact_bounded_mean",
    "exact_median_ptr",
    "exact_median_smooth",
    "exact_numeric_sparse",
    "exact_ptr_mean",
    "exact_sum_over_count",
)
"""Several noises each, or one whose scale follows the data: their words are a function of what is released, but with a
small probability."""

_ONE_OF_FOUR = np.array([1, 0, 0, 0]), np.array([0, 0, 0, 0])

INPUTS: Mapping[str, tuple[Any, Any]] = {
    "exact_poisson_count": (np.array([1]), np.array([], dtype=np.int64)),
    "exact_sampled_count": _ONE_OF_FOUR,
    "exact_shuffled_response": _ONE_OF_FOUR,
    "exact_rounded_laplace_wide": (127.0, 128.0),
    "exact_laplace_noisy_max": (np.array([0.5, 0.0]), np.array([0.0, 0.0])),
}
"""Two neighbouring inputs of targets that declare no pair, or that these tell more of."""


def entry(name: str, limits: Limits) -> dict[str, Any]:
    """What is known of one target's joint loss, as JSON: of ε and δ a lower and an upper bound, where null is infinite.

    Args:
        name: of one of `EXACT`.
        limits: of enumerations.
    """
    target: Target = getattr(targets, name)()
    term: Mechanism = target.release.term  # type: ignore[attr-defined]
    nominal = target.claim.nominal
    epsilon, delta = Fraction(nominal.epsilon), Fraction(nominal.delta)
    found: dict[str, Any] = {"epsilon": nominal.epsilon, "claimed_delta": nominal.delta}
    if (unusual := _unusual(term)) is not None:
        found["unusual"] = float_above(unusual)
        found["added_at_most"] = float_above(added(epsilon, unusual))
    if name in BY_BOUND:
        return {**found, "how": "bound"}
    inputs = INPUTS[name] if name in INPUTS else _inputs(target)
    found["inputs"] = [str(np.asarray(input_).tolist()) for input_ in inputs]
    if name not in BY_WORDS:
        return {**found, "how": "enumeration", **_enumerated(target, inputs, limits, epsilon, delta)}
    grid, make = COARSER.get(name, (None, lambda: term))
    laws = [words_law(*_noise(make(), input_)) for input_ in inputs]
    found |= {"how": "words", "grid": grid, "arrays": _of_arrays(term, epsilon, delta)}
    return {**found, **_losses(laws, epsilon, delta, rest_is_apart=True)}


def _inputs(target: Target) -> tuple[Any, Any]:
    pair = default_pair(target)
    return pair.first, pair.second


def _enumerated(
    target: Target, inputs: tuple[Any, Any], limits: Limits, epsilon: Fraction, delta: Fraction
) -> dict[str, Any]:
    joint = target.covering_work()
    laws = laws_of(joint, NeighbouringPair(*inputs, None), limits=limits)
    return _losses(laws, epsilon, delta, rest_is_apart=False)


def _losses(laws: Sequence[Law], epsilon: Fraction, delta: Fraction, *, rest_is_apart: bool) -> dict[str, Any]:
    alone = loss(epsilon, delta, *(law.map(lambda seen: seen[0]) for law in laws))
    joint = loss(epsilon, delta, *laws, rest_is_apart=rest_is_apart)
    added = Bounds(max(joint.delta.lower - alone.delta.upper, mpq(0)), joint.delta.upper - alone.delta.lower)
    return {"bits": _bits(laws), "output": _as_json(alone), "joint": _as_json(joint), "added": as_floats(added)}


def _as_json(found: Loss) -> dict[str, Any]:
    return {"delta": as_floats(found.delta), "epsilon": list(map(_finite, found.epsilon))}


def _finite(number: float) -> float | None:
    return None if number == float("inf") else number


def _bits(laws: Sequence[Law]) -> list[int]:
    """The least and the greatest number of bits among the pairs that the laws list."""
    seen = {pair[1] for law in laws for pair in law.masses}
    return [min(seen), max(seen)]


def _noise(term: Mechanism, input_: Any) -> tuple[Tails, Callable[[int], Any]]:
    """The tails of a term's only noise on an input, and the output for each outcome of it.

    Public maps are left out. Of a vector it is the entry that neighbours differ in: the others have noise of their own.
    """
    match term:
        case Restated() | Mapped():
            return _noise(term.mechanism, input_)
        case Both():
            return _noise(term.parts[0], input_)  # the other one is a public number
        case Smooth():
            return _noise(Noisy(term.query, DiscreteLaplace(2 * term.bound(input_) / term.epsilon)), input_)
        case Snapped():
            snap = term.prepared(input_)
            return snap, lambda outcome: min(max(snap.grid.value(snap.whole + outcome), -snap.bound), snap.bound)
        case Noisy():
            value = int(np.atleast_1d(term.query.of(input_))[0])
            return term.law, lambda outcome: value + outcome
    raise TypeError(f"{type(term).__name__} is not one noise")


def _unusual(term: Mechanism) -> Fraction | None:
    """At most so probable is it, on any input, that bits are not a function of what is released; None if not known."""
    if isinstance(term, AboveThreshold):  # it stops at a public number of positives, which are released
        of_values = term.positives * undecided(term.value_law) if term.value_law else Fraction(0)
        return undecided(term.threshold_law) + ANSWERS * undecided(term.answer_law) + of_values
    work = term.work
    return None if work is None or work.moves else work.otherwise


ANSWERS = len(targets.exact_above_threshold().pairs[0].first)
"""How many answers a sparse vector gets here."""


def _of_arrays(term: Mechanism, epsilon: Fraction, delta: Fraction) -> dict[str, Any] | None:
    """What a value of an array and its number of words lose, where arrays are drawn by a table."""
    noisy = term
    while isinstance(noisy, Restated | Mapped | Both):
        noisy = noisy.parts[0] if isinstance(noisy, Both) else noisy.mechanism
    if not isinstance(noisy, Noisy):
        return None
    found = table_loss(noisy.law, noisy.query.stability, epsilon, delta)
    return {
        "delta": as_floats(found.delta),
        "epsilon_at_least": _finite(found.epsilon),
        "opened": float_above(found.opened),
        "inverted": float_above(found.inverted),
    }
