"""Real samplers of integer noise and the clock: whether time tells neighbours apart, and the noise.

Two answers one apart take turns, and so do two of the same answer; see `attacklab.auditing.timed`. Samplers of
libraries run in environments of their own, which measure their times, and are listed only if it is public that their
times follow the noise, or if they are not told apart; of what else is found a warning says that the maintainers have to
know first.

Sources: Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We There Yet? Timing and Floating-Point Attacks on
Differential Privacy Systems', section VI; Canonne, Kamath and Steinke 2020, 'The Discrete Gaussian for Differential
Privacy', section 5.4; OpenDP's issues 303 and 1324; libprio-rs's issue 645; Google's 'Attack Model for the Differential
Privacy Libraries', which leaves time to whoever runs them.
"""

from __future__ import annotations

import math
import os
import secrets
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from attacklab.auditing.statistics.inference import clopper_pearson, share_of_alpha
from attacklab.auditing.statistics.timing import CONFIDENCE, TimingTest, shift_told_apart, timing_test
from attacklab.auditing.timed import Turns, clock_step, in_turns, processor
from attacklab.libraries.environments import environments
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from attacklab.processes.targets import ProcessRelease, isolated
from attacklab.reporting.experiment import Collected, Data, Settings
from attacklab.reporting.figures import Figure, Role, Series
from experiments.common import curves
from experiments.common.paragraphs import PARAGRAPHS
from experiments.observed_work import exact_fixed_work, naive_geometric
from experiments.targets import exact_discrete_laplace

QUESTION = "How many answers tell two neighbours apart by the time that integer noise takes to draw?"

ANSWER = 7
"""Inside the range of the sampler of fixed work, whose outputs are 0 to 15."""
PAIR, EQUAL = NeighbouringPair(ANSWER, ANSWER + 1, None), NeighbouringPair(ANSWER, ANSWER, None)
ALPHA = 1e-6
PRECISION = 53


def secrets_geometric(answer: int, trials: int, rng: np.random.Generator) -> list[int]:  # noqa: ARG001 - cannot be seeded
    """Two-sided geometric noise at ε = 1, a coin of e^−1 after the other from the operating system's randomness."""
    heads = math.floor(math.exp(-1) * (1 << PRECISION))

    def length() -> int:
        run = 0
        while secrets.randbelow(1 << PRECISION) < heads:
            run += 1
        return run

    return [answer + length() - length() for _ in range(trials)]


def secrets_loop() -> Target:
    """What a textbook with the module `secrets` does."""
    return Target.noise(secrets_geometric, epsilon=1.0)


@dataclass(frozen=True)
class Case:
    """A sampler.

    Attributes:
        name: what it is called in figures.
        role: naive or exact, or that of a library.
        make: makes its target; of a library's, it is given the interpreter of the environment.
        environment: that of the library, where it is one's.
        is_public: whether it is public that its time follows the noise.
    """

    name: str
    role: Role
    make: Callable[..., Target]
    environment: str | None = None
    is_public: bool = True


def _of_library(spec: str, environment: str, *, is_public: bool) -> Case:
    name = f"{environment.replace('-', ' ')} ({spec.partition(':')[2]})"
    return Case(name, Role.OTHER, lambda python: isolated(spec, python=python), environment, is_public)


CASES = (
    Case("loop (numpy)", Role.NAIVE, naive_geometric),
    Case("loop (secrets)", Role.NAIVE, secrets_loop),
    Case("fixed work (exact)", Role.EXACT, exact_fixed_work),
    Case("table (exact)", Role.EXACT, exact_discrete_laplace),
    _of_library("opendp:laplace_integer", "opendp-0.16.0", is_public=True),
    _of_library("opendp:gaussian_integer", "opendp-0.16.0", is_public=True),
    _of_library("pydp:laplace_integer", "pydp-1.1.5", is_public=False),
    _of_library("diffprivlib:geometric", "diffprivlib-0.6.6", is_public=False),
)


def collect(settings: Settings) -> Collected:
    """Time every sampler that is here.

    Warns:
        UserWarning: a sampler is told apart that nobody has said so of.
    """
    turns = settings.budget(20_000, 2_000)
    pythons = {known.name: known.python for known in environments(Path.cwd()) if not known.is_missing}
    rows, absent = [], []
    for number, case in enumerate(CASES):
        if case.environment is not None and (settings.share < 1 or case.environment not in pythons):
            absent.append(case.name)
            continue
        row = _row(case, case.make(*filter(None, [_python(case, pythons)])), turns, settings.generator(number))
        if case.is_public or not (row["is_told_apart"] or row["noise_is_told"]):
            rows.append(row)
        else:
            warnings.warn("NEW FAILURE, withheld: a library's times are told apart; tell its maintainers", stacklevel=2)
    load = os.getloadavg()[0]
    return Collected(timings={"rows": rows, "absent": absent, "turns": turns, "processor": processor(), "load": load})


def _python(case: Case, pythons: dict[str, Path]) -> str | None:
    return None if case.environment is None else str(pythons[case.environment])


def _row(case: Case, target: Target, turns: int, rng: np.random.Generator) -> dict[str, Any]:
    """What the clock says of one sampler."""
    alpha = share_of_alpha(ALPHA, 3 * len(CASES))
    target = replace(target, domain=None)
    try:
        equal = in_turns(target, EQUAL, turns, rng)
        apart = in_turns(target, PAIR, turns, rng)
    finally:
        if isinstance(target.release, ProcessRelease):
            target.release.close()
    test, noise = apart.test(), _of_noise(equal)
    is_told_apart = test.p_value <= alpha
    decided = max(noise.right + noise.wrong, 1)
    lower, upper = clopper_pearson(noise.right, decided, 1 - CONFIDENCE)
    return {
        "name": case.name,
        "role": case.role,
        "microseconds": float(np.median(apart.times)) / 1000,
        "equal_p_value": equal.test().p_value,
        "is_told_apart": is_told_apart,
        "shift": None if is_told_apart else _shift(equal, apart, alpha, rng),
        "p_value": test.p_value,
        "right": test.right,
        "wrong": test.wrong,
        "needed": asdict(test.turns_needed) if is_told_apart else None,
        "same_output": apart.repeats,
        "noise_is_told": noise.p_value <= alpha,
        "noise_p_value": noise.p_value,
        "noise": [noise.right / decided, float(lower), float(upper)],
    }


def _shift(equal: Turns, apart: Turns, alpha: float, rng: np.random.Generator) -> float | None:
    """How many nanoseconds longer one input would always have to take to be told apart; None if no shift would be."""
    step = clock_step(equal, apart)
    if step is None:
        return None
    first, second = apart.times
    shift = shift_told_apart(first, second, apart.groups, alpha=alpha, step=step, rng=rng)
    return shift if math.isfinite(shift) else None


def _of_noise(turns: Turns) -> TimingTest:
    """Whether, of two answers to one input, the time tells which has more noise."""
    noise = np.array([[abs(float(output) - ANSWER) for output in outputs] for outputs in turns.outputs])
    is_larger = noise[0] > noise[1]
    first, second = turns.times
    larger, smaller = np.where(is_larger, first, second), np.where(is_larger, second, first)
    return timing_test(larger, smaller, ["" if apart else None for apart in noise[0] != noise[1]])


def timing_figures(data: Data) -> list[Figure]:
    """Answers that tell neighbours apart, and how surely time tells the noise, by sampler."""
    rows = data["timings"]["rows"]
    names = [row["name"] for row in rows]
    needed = [
        (place, row["role"], tuple(row["needed"][end] for end in ("estimate", "lower", "upper")))
        for place, row in enumerate(rows)
        if row["is_told_apart"]
    ]
    noise = [(place, row["role"], tuple(row["noise"])) for place, row in enumerate(rows)]
    evens = curves.line("a guess", Role.CEILING, [0.5, 0.5], [-0.5, len(rows) - 0.5])
    answers = "answers of each neighbour that tell them apart"
    told = "which of two answers has more noise, by time"
    panels = [
        curves.panel(answers, "answers (no mark: not told apart)", "", _marks(needed), y_names=names),
        curves.panel(told, "share of right bets, where one is made", "", [*_marks(noise), evens], y_names=names),
    ]
    caption = "Integer noise at ε = 1 under the clock of one machine, with 95 % bounds."
    return [curves.figure("timing", caption, [panel for panel in panels if panel.series])]


def _marks(points: Sequence[tuple[int, str, tuple[float, ...]]]) -> list[Series]:
    """A mark for each sampler, by its role, and one for each of its bounds."""
    labels = {Role.NAIVE: "naive", Role.EXACT: "exact", Role.OTHER: "library"}
    of_roles = {role: [(figures[0], place) for place, named, figures in points if named == role] for role in labels}
    series = [curves.marks(labels[role], role, *zip(*at, strict=True)) for role, at in of_roles.items() if at]
    bounds = [(bound, place) for place, _, (_, *ends) in points for bound in ends]
    return [*series, curves.marks("bounds", Role.OTHER, *zip(*bounds, strict=True))] if bounds else series


def timing_table(data: Data) -> list[list[str]]:
    """What was measured of each sampler."""
    head = ["sampler", "median", "answers to tell apart", "p", "p, equal inputs", "more noise takes longer", "p"]
    return [head, *(_cells(row) for row in data["timings"]["rows"])]


def _cells(row: dict[str, Any]) -> list[str]:
    told = _answers(row) if row["is_told_apart"] else f"not told apart{_power(row)}"
    share, lower, upper = row["noise"]
    return [
        row["name"],
        f"{row['microseconds']:.1f} µs",
        told,
        f"{row['p_value']:.2g}",
        f"{row['equal_p_value']:.2g}",
        f"{share:.1%} ({lower:.1%} to {upper:.1%})" if row["noise_is_told"] else "not told",
        f"{row['noise_p_value']:.2g}",
    ]


def _answers(row: dict[str, Any]) -> str:
    needed = row["needed"]
    return f"{needed['estimate']:,.0f} ({needed['lower']:,.0f} to {needed['upper']:,.0f})"


def _power(row: dict[str, Any]) -> str:
    """What would have been told apart, where nothing was; nothing of a record from before that was asked."""
    if "shift" not in row:
        return ""
    return " (no shift would be)" if row["shift"] is None else f" (a shift of {row['shift']:,.0f} ns would be)"


def explain_timings(data: Data) -> str:
    """Say which samplers are told apart, and how soon."""
    measured = data["timings"]
    rows = measured["rows"]
    told = sorted((row for row in rows if row["is_told_apart"]), key=lambda row: row["needed"]["estimate"])
    others = [f"{row['name']}{_power(row)}" for row in rows if not row["is_told_apart"]]
    absent = f" Not measured here: {'; '.join(measured['absent'])}." if measured["absent"] else ""
    return PARAGRAPHS["timing"].format(
        turns=measured["turns"],
        processor=measured["processor"],
        load=measured["load"],
        told="; ".join(f"{row['name']}, {_answers(row)}" for row in told) or "none",
        others="; ".join(others) or "none",
        alpha=ALPHA,
        absent=absent,
    )
