"""Noise from generators that can be predicted (see attacklab.attacks.generator_state)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Attack
from attacklab.attacks.generator_seed import GeneratorSeed, recover_seed
from attacklab.attacks.generator_state import GeneratorState, recover_mt19937
from attacklab.attacks.mersenne_twister import StateNotFound
from attacklab.auditing.referee import DEFAULT_ALPHA
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.model.claims import PrivacyClaim
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role
from experiments import targets
from experiments.common.curves import advantage_at, advantage_panel, advantages_by_epsilon, figure, line, marks, panel
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.sweeps import Rows, audits
from experiments.targets.generators import CLOCK_VALUES

QUESTION = "How many answers give the noise generator away, and what is that worth?"

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0)
FEW_EPSILONS = (0.5, 1.0)
TRUTHS = (0.0, 1e3, 1e6)
FEW_TRUTHS = (0.0, 1e3)
COUNTS = (560, 624, 640, 700, 800, 1000, 1300)
FEW_COUNTS = (560, 640, 1000)

STATE: Rows = (
    (targets.naive_histogram, "naive, np.random, one count of a histogram", Role.NAIVE),
    (targets.exact_histogram, "exact, one count of a histogram", Role.EXACT),
)
SEEDED: Rows = (
    (targets.naive_laplace_clock_seeded, "naive, seeded from a clock, one answer", Role.NAIVE),
    (targets.exact_discrete_laplace, "exact, one answer", Role.EXACT),
)


def collect(settings: Settings) -> Collected:
    """Recover states and seeds, and audit each mechanism at each ε."""
    epsilons = FEW_EPSILONS if settings.share < 1 else EPSILONS
    alpha = share_of_alpha(DEFAULT_ALPHA, len(epsilons) * (len(STATE) + len(SEEDED)))
    jobs: tuple[tuple[Attack, Rows, int], ...] = (
        (GeneratorState(), STATE, settings.budget(2_000, 500)),
        (GeneratorSeed(CLOCK_VALUES), SEEDED, settings.budget(20_000, 4_000)),
    )
    findings = []
    for attack, rows, trials in jobs:
        cases = [(attack, make, epsilon) for make, _, _ in rows for epsilon in epsilons]
        findings += audits(cases, alpha, settings, trials=trials)
    state, slowest = _recovering(settings)
    seeds, seconds = _enumerating(settings)
    measured = {"epsilons": epsilons, "state": state, "seed": {"rows": seeds}}
    return Collected(findings, measured, {"slowest_recovery": slowest, "enumeration": seconds})


def _recovering(settings: Settings) -> tuple[dict[str, Any], float]:
    """Recover the states of generators from noisy answers, for some numbers of answers and sizes of the true answers.

    Returns:
        The shares of generators that are recovered, and the seconds that the slowest recovery took.
    """
    answers, truths = (FEW_COUNTS, FEW_TRUTHS) if settings.share < 1 else (COUNTS, TRUTHS)
    generators = settings.budget(2, 1)
    recovered, slowest = [], 0.0
    for truth in truths:
        rates = []
        for count in answers:
            hits = 0
            for number in range(generators):
                generator = np.random.RandomState(settings.seed + number)
                released = truth + generator.laplace(0.0, 1.0, count)
                started = time.perf_counter()
                hits += _predicts(released, truth, generator)
                slowest = max(slowest, time.perf_counter() - started)
            rates.append(hits / generators)
        recovered.append(rates)
    return {"answers": answers, "truths": truths, "generators": generators, "recovered": recovered}, slowest


def _predicts(released: NDArray[np.float64], truth: float, generator: np.random.RandomState) -> bool:
    """Whether a generator can be recovered from the released answers, and then draws what the real one draws next."""
    try:
        recovered = recover_mt19937(released, truth, scale=1.0)
    except StateNotFound:
        return False
    return np.array_equal(recovered.laplace(0.0, 1.0, 1000), generator.laplace(0.0, 1.0, 1000))


def _enumerating(settings: Settings) -> tuple[list[dict[str, Any]], list[float]]:
    """Find seeds from one answer. Return rows (number of possible seeds, whether it was found), and their seconds."""
    rows, seconds = [], []
    for power in range(8, settings.budget(18, 16), 2):
        seed = (1 << power) - 1
        answer = 5.0 + np.random.RandomState(seed).laplace(0.0, 1.0)
        started = time.perf_counter()
        recovered = recover_seed([answer], [5.0], scale=1.0, seeds=range(1 << power))
        seconds.append(time.perf_counter() - started)
        rows.append({"seeds": 1 << power, "found": recovered == [seed]})
    return rows, seconds


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw how many answers recover the state, and the advantage that this gives."""
    state = data["measured"]["state"]
    recovering = panel(
        f"np.random: {state['generators']} generators, truths in units of the noise scale",
        "known answers in a row",
        "share of generators predicted",
        [
            line(f"truths of {truth:g}", Role.NAIVE, state["answers"], rates)
            for truth, rates in zip(state["truths"], state["recovered"], strict=True)
        ],
    )
    measured = advantages_by_epsilon(data, (*STATE, *SEEDED))
    winning = advantage_panel("what the adversary wins", measured, data["measured"]["epsilons"])
    caption = "Left: answers that give the state away. Right: its worth."
    return [figure("generator_state", caption, [recovering, winning])]


def timing_figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the time that enumerating seeds takes."""
    rows, seconds = data["measured"]["seed"]["rows"], data["timings"]["enumeration"]
    cost = seconds[-1] / rows[-1]["seeds"]
    all_powers = [2.0**power for power in (8, 16, 24, 32)]
    enumerating = panel(
        "finding the seed by one answer, on one core",
        "candidates for the seed",
        "seconds",
        [
            marks("measured", Role.NAIVE, [row["seeds"] for row in rows], seconds),
            line(
                f"extrapolated, {cost * 1e6:.1f} µs a seed",
                Role.IDEAL,
                all_powers,
                [cost * seeds for seeds in all_powers],
            ),
        ],
        x_scale="log",
        y_scale="log",
    )
    caption = "The cost of enumerating seeds."
    return [figure("generator_state_seconds", caption, [enumerating])]


def explain(data: dict[str, Any]) -> str:
    """Say how many answers it took and what is seen at ε = 1."""
    state, rows = data["measured"]["state"], data["measured"]["seed"]["rows"]

    def enough(rates: Sequence[float]) -> str:
        return next((str(count) for count, rate in zip(state["answers"], rates, strict=True) if rate == 1), "none")

    return PARAGRAPHS["generator_state"].format(
        least=enough(state["recovered"][0]),
        largest=state["truths"][-1],
        most=enough(state["recovered"][-1]),
        state=advantage_at(data, targets.naive_histogram, 1.0),
        ceiling=PrivacyClaim(1.0).ceiling,
        exact_state=advantage_at(data, targets.exact_histogram, 1.0),
        seeds=rows[-1]["seeds"],
        seed=advantage_at(data, targets.naive_laplace_clock_seeded, 1.0),
        exact_seed=advantage_at(data, targets.exact_discrete_laplace, 1.0),
    )


def explain_timings(data: dict[str, Any]) -> str:
    """Say how long it takes to recover a state, or a seed."""
    timings, seeds = data["timings"], data["measured"]["seed"]["rows"][-1]["seeds"]
    enumeration = timings["enumeration"][-1]
    return PARAGRAPHS["generator_state_timings"].format(
        recovery=timings["slowest_recovery"],
        seeds=seeds,
        enumeration=enumeration,
        all_seeds=enumeration / seeds * 2**32 / 3600,
    )
