"""Utilities at the end of a number format (see attacklab.attacks.score_overflow)."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from attacklab.attacks.score_overflow import ScoreOverflow
from attacklab.claims import PrivacyClaim
from attacklab.findings import Finding
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role
from attacklab.targets import Target
from experiments import targets
from experiments.common.curves import advantage_of, ceiling_series, claimed_epsilon, findings_of, line
from experiments.common.sweeps import Rows, sweep

QUESTION = "What does a selection give away when utilities come near the end of their number format?"

EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
SHOWN = 0.5
FORMS = (
    "The smallest step",
    "Weights at the largest double",
    "Differences of integers",
    "Integers between two doubles",
)
STEP, WEIGHTS, DIFFERENCES, DOUBLES = range(4)
PARAGRAPH = """\
These are selections at the end of a number format, at ε = {epsilon:g}, where the claim allows {ceiling:.3f}. Weights
e^(εu/2) that are used as they are overflow at utilities of {height:g}, which the adversary finds by looking at
outputs: there the mechanism finds no outcome, and a quarter of Δu lower it does, which gives advantage {weights:.2f}.
In the second form, scores are kept in eight bits and their maximum is subtracted in eight bits: {high} and −{high}
differ by {twice}, which wraps around to {wrapped}, so the worse outcome becomes the better one, with advantage
{differences:.2f} against {low} and −{low}. Integers near 2^{power} lie between two doubles, and one more or less
sends each to one or the other, {apart} apart: a mechanism that subtracts the largest utility, and so withstands the
first form, has {doubles:.2f}, and noisy max has {noisy:.2f}. The exact mechanism clamps integers to ±2^53, within
which they are doubles, and has at most {exact:.3f} in all four forms."""


def naive_exponential_int8(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, scores and their differences in int8."""
    return _in_integers(np.int8, epsilon, "naive_exponential_int8")


def naive_exponential_int32(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, scores and their differences in int32."""
    return _in_integers(np.int32, epsilon, "naive_exponential_int32")


def _in_integers(dtype: DTypeLike, epsilon: float, name: str) -> Target:
    return Target.selection(partial(wrapping_exponential, epsilon=epsilon, dtype=dtype), epsilon=epsilon, name=name)


def wrapping_exponential(
    utilities: ArrayLike, trials: int, rng: np.random.Generator, *, epsilon: float, dtype: DTypeLike
) -> NDArray[np.int64]:
    """Select with weights exp(ε·(u − max u)/2) of scores that are kept, and subtracted, in a machine integer.

    The flaw: the difference wraps around, and the lowest score becomes one above the highest.

    Args:
        utilities: one whole utility an outcome, shape (outcomes,), of sensitivity 1; larger is better.
        trials: how many selections.
        rng: the source of randomness.
        epsilon: the claimed ε.
        dtype: the machine integer.

    Returns:
        The index of the selected outcome, one a trial.
    """
    scores: NDArray[Any] = np.asarray(utilities).astype(dtype)
    exponents = epsilon * (scores - scores.max()).astype(np.float64) / 2
    shares = np.cumsum(np.exp(exponents - exponents.max()))
    return np.searchsorted(shares / shares[-1], rng.random(trials), side="right").astype(np.int64, copy=False)


TARGETS: Rows = (
    (targets.naive_exponential, "naive", Role.NAIVE),
    (targets.naive_exponential_stabilised, "naive, largest utility subtracted", Role.NAIVE),
    (naive_exponential_int8, "naive, int8", Role.NAIVE),
    (naive_exponential_int32, "naive, int32", Role.NAIVE),
    (targets.naive_laplace_noisy_max, "naive, Laplace noisy max", Role.NAIVE),
    (targets.exact_exponential, "exact", Role.EXACT),
)


def collect(settings: Settings) -> Collected:
    """Audit each mechanism at each ε."""
    trials = settings.budget(50_000, 2_000)
    findings = sweep((make for make, *_ in TARGETS), EPSILONS, ScoreOverflow(), settings, trials=trials)
    return Collected(findings, {"epsilons": EPSILONS, "ideal": [_ideal(epsilon) for epsilon in EPSILONS]})


def _ideal(epsilon: float) -> list[float | None]:
    """What the ideal mechanism gives the bet on outcome 0, by form.

    Two equal utilities against two others show nothing. (x, −x) against (x − 1, 1 − x) depends on x.
    """
    swapped = math.tanh(epsilon / 4)
    return [swapped, 0.0, None, swapped]


def figures(data: dict[str, Any]) -> list[Figure]:
    """Advantage against ε, a panel a form."""
    return [
        Figure(
            name="score_overflow",
            caption="Advantage of the bets on outcome 0 and on a failure, without its sign, against ε.",
            panels=[_panel(data, form) for form in range(len(FORMS))],
        )
    ]


def _panel(data: dict[str, Any], form: int) -> Panel:
    epsilons = data["measured"]["epsilons"]
    measured = [
        line(label, role, epsilons, [_seen(data, make.__name__, at, form) for at in epsilons])
        for make, label, role in TARGETS
    ]
    ideal = [row[form] for row in data["measured"]["ideal"]]
    known = [] if None in ideal else [line("ideal mechanism", Role.IDEAL, epsilons, ideal)]
    return Panel(
        title=FORMS[form],
        x_label="claimed ε",
        y_label="distinguishing advantage |P[E] − Q[E]|",
        x_scale="log",
        series=[*measured, *known, ceiling_series(epsilons)],
    )


def _finding(data: dict[str, Any], target: str, epsilon: float, form: int) -> Finding:
    return [one for one in findings_of(data, target) if claimed_epsilon(one) == epsilon][form]


def _seen(data: dict[str, Any], target: str, epsilon: float, form: int) -> float:
    return abs(advantage_of(_finding(data, target, epsilon, form)).estimate)


def explain(data: dict[str, Any]) -> str:
    """Say where each form breaks at one ε."""

    def first_of(target: str, form: int, side: str = "first") -> list[float]:
        pair = _finding(data, target, SHOWN, form).pair
        assert pair is not None  # noqa: S101 - every judged finding has one
        return [float(value) for value in pair[side]["readable"]]

    high = int(first_of("naive_exponential_int8", DIFFERENCES)[0])
    tie = int(first_of("naive_exponential_stabilised", DOUBLES)[0])
    return PARAGRAPH.format(
        epsilon=SHOWN,
        ceiling=PrivacyClaim(SHOWN).ceiling,
        height=first_of("naive_exponential", WEIGHTS)[0],
        weights=_seen(data, "naive_exponential", SHOWN, WEIGHTS),
        high=high,
        low=high - 1,
        twice=2 * high,
        wrapped=256 - 2 * high,
        differences=_seen(data, "naive_exponential_int8", SHOWN, DIFFERENCES),
        power=tie.bit_length() - 1,
        apart=int(math.ulp(float(tie))),
        doubles=_seen(data, "naive_exponential_stabilised", SHOWN, DOUBLES),
        noisy=_seen(data, "naive_laplace_noisy_max", SHOWN, DOUBLES),
        exact=max(_seen(data, "exact_exponential", SHOWN, form) for form in range(len(FORMS))),
    )
