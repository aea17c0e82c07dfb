"""What exactness costs: exact mechanisms timed against their naive twins, in turns in one run."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from attacklab.random_bits import SeededBits, SystemBits
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from bench.common.stages import Parts, nanoseconds_of
from bench.common.timing import Work, in_turns, seconds
from experiments.targets.making import GRID
from mechanisms.certified import CHUNK
from mechanisms.exponential import exact_fast, exact_rows, levels
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact_base2 import exact_exponential_base2
from mechanisms.exponential.exact_fast import LevelSampler, exact_exponential_fast
from mechanisms.exponential.exact_fixed_work import FixedWork, exact_exponential_fixed_work, fixed_work_selection
from mechanisms.exponential.exact_rows import exact_exponential_rows
from mechanisms.exponential.naive import naive_exponential_rows, naive_exponential_stabilised
from mechanisms.gaussian.exact_fast import exact_discrete_gaussian_each, exact_discrete_gaussian_fast
from mechanisms.gaussian.exact_rounded import exact_rounded_gaussian_each, exact_rounded_gaussian_fast
from mechanisms.gaussian.mixture import Mixture
from mechanisms.gaussian.rounding_filter import RoundingFilter
from mechanisms.grid import Grid
from mechanisms.laplace.exact_fast import exact_discrete_laplace_each, exact_discrete_laplace_fast
from mechanisms.laplace.exact_rounded import exact_rounded_laplace_each, exact_rounded_laplace_fast
from mechanisms.laplace.floor_filter import floor_filter

QUESTION = "What does an exact mechanism cost compared with its naive twin?"

EPSILON = 1.0
OUTCOMES = (100, 1_000, 10_000, 75_000, 250_000, 1_000_000)
REFERENCE_OUTCOMES = (100, 1_000, 10_000, 75_000)
FIXED_WORK_OUTCOMES = (100, 1_000, 10_000)
REPEATED_OUTCOMES = (100, 75_000, 1_000_000)
ROWS = ((1_000, 100), (10_000, 10), (100, 1_000))
RANGES = (10, 100, 1_000, 10_000, 100_000)
RANGE_OUTCOMES = 1_000
TRIALS = (100, 1_000, 10_000, 100_000, 1_000_000)
ETA = BaseTwoEta.from_epsilon(EPSILON, y=4)
WORK = FixedWork.from_epsilon(EPSILON)
PUBLISHED = "0.12 s at 1 000 outcomes, 8.3 s at 5 000 and 55 s at 10 000 in Python, about 10 s at 75 000 in Rust"
PARAGRAPH = """\
One draw of the exact exponential mechanism, set-up included, compared with naive numpy on the same utilities:
{one_draw}. Many draws from one mechanism: {repeated}. One draw from each row of an array, {rows}. Peak memory beside
the result, compared with naive numpy's: {memory}. The bit-by-bit reference of the base-2 mechanism takes
{reference_seconds:.2f} s and {reference_megabytes:.0f} MB at {reference_outcomes} outcomes (published for that
mechanism: {published}). Selection with fixed work, whose bits and operations depend on public parameters alone, takes
{fixed_work}. A million noisy answers compared with numpy's own sampler of the same shape: {noise}.
Exactness by levels costs the counting of outcomes instead of the exponentiation of their utilities; exact additive
noise costs a logarithm (or a quantile) with a proven error bound. All ratios are medians of runs in turns on one
machine.

{stages}"""


def utilities_of(outcomes: int, shape: str, rng: np.random.Generator) -> np.ndarray:
    """Utilities 0, 1, 2, …, all equal, random counts, or random reals."""
    if shape == "u(o) = o":
        return np.arange(outcomes, dtype=np.float64)
    if shape == "all equal":
        return np.zeros(outcomes)
    if shape == "counts below 1,000":
        return rng.integers(0, 1_000, outcomes).astype(np.float64)
    return rng.normal(0.0, 10.0, outcomes)


SHAPES = ("u(o) = o", "normal of σ = 10", "all equal", "counts below 1,000")

PARTS: Parts = {
    "bits": ((SeededBits, "take"), (SeededBits, "words")),
    "reading and clamping": (
        (levels, "exact_numbers"),
        (exact_rows, "_rows"),
        (levels, "within_range"),
        (exact_rows, "within_range"),
    ),
    "public parameters": ((levels, "public_parameters"), (exact_rows, "public_parameters")),
    "exponents": (
        (levels, "exponents_below"),
        (exact_rows, "exponents_below"),
        (levels.LevelledUtilities, "exponent"),
    ),
    "weights and their sums": (
        (exact_fast._Blocks, "__init__"),
        (exact_rows._Rows, "__init__"),
        (exact_fast, "weights_at"),
        (exact_rows, "weights_at"),
    ),
    "tables": ((exact_fast._Tables, "__init__"),),
    "proposals": (
        (exact_fast._Blocks, "proposal"),
        (exact_fast._Tables, "of_cells"),
        (exact_fast._Tables, "proposals"),
        (exact_rows._Rows, "_selected"),
    ),
    "acceptance": (
        (exact_fast.LevelSampler, "_accepts"),
        (exact_fast.LevelSampler, "_accepted"),
        (exact_rows, "decided"),
    ),
}
"""The parts of a selection."""


def collect(settings: Settings) -> Collected:
    """Time everything in turns with its naive twin."""
    rng = np.random.default_rng(settings.seed)
    bits = SeededBits(settings.generator(1))
    budget = settings.budget(100, 5) / 100
    largest = settings.budget(1_000_000, 75_000)
    trials = settings.budget(1_000_000, 100_000)

    def fast(utilities: np.ndarray, count: int) -> Work:
        return lambda: exact_exponential_fast(utilities, count, bits, epsilon=EPSILON)

    def naive(utilities: np.ndarray, count: int) -> Work:
        return lambda: naive_exponential_stabilised(utilities, count, rng, epsilon=EPSILON)

    one_draw = [
        {"outcomes": outcomes, "shape": shape, **in_turns(fast(utilities, 1), naive(utilities, 1), budget=budget)}
        for shape in SHAPES
        for outcomes in OUTCOMES
        if outcomes <= largest
        for utilities in [utilities_of(outcomes, shape, rng)]
    ]
    repeated = [
        {
            "outcomes": outcomes,
            "shape": shape,
            **in_turns(fast(utilities, trials), naive(utilities, trials), budget=3 * budget),
        }
        for shape in SHAPES
        for outcomes in REPEATED_OUTCOMES
        if outcomes <= largest
        for utilities in [utilities_of(outcomes, shape, rng)]
    ]
    against_trials = [
        {"trials": count, **in_turns(fast(utilities, count), naive(utilities, count), budget=budget)}
        for utilities in [utilities_of(1_000, SHAPES[1], rng)]
        for count in TRIALS
        if count <= trials
    ]
    reference = [
        {"outcomes": outcomes, **_reference_cost(outcomes, bits)}
        for outcomes in REFERENCE_OUTCOMES
        if outcomes <= settings.budget(75_000, 1_000)
    ]
    fixed_work = [_fixed_work_cost(outcomes, fast, bits, budget, rng) for outcomes in FIXED_WORK_OUTCOMES]
    ranges = [
        {"range": width, **in_turns(fast(utilities, 1), naive(utilities, 1), budget=budget)}
        for width in RANGES
        for utilities in [np.linspace(0.0, width, RANGE_OUTCOMES)]
    ]
    rows = [
        {
            "queries": queries,
            "outcomes": outcomes,
            "shape": shape,
            **in_turns(
                partial(exact_exponential_rows, utilities, bits, epsilon=EPSILON),
                partial(naive_exponential_rows, utilities, rng, epsilon=EPSILON),
                budget=budget,
            ),
        }
        for shape in SHAPES
        for queries, outcomes in ROWS
        for utilities in [utilities_of(queries * outcomes, shape, rng).reshape(queries, outcomes)]
    ]
    return Collected(
        timings={
            "rows": rows,
            "stages": _stages(trials, rng, bits, runs=settings.budget(1_000, 20)),
            "selection_memory": _selection_memory(largest, trials, rng, bits),
            "one_draw": one_draw,
            "repeated": repeated,
            "trials": trials,
            "against_trials": against_trials,
            "reference": reference,
            "fixed_work": fixed_work,
            "ranges": ranges,
            "noise": _noise(trials, rng, bits, budget),
            "noise_parts": _noise_parts(bits, runs=settings.budget(200, 20)),
            "memory": _memory(trials, bits),
        },
    )


def _reference_cost(outcomes: int, bits: SeededBits) -> dict[str, float]:
    """Seconds and peak megabytes of one draw by the base-2 reference, measured in separate runs."""
    utilities = [float(utility) for utility in range(outcomes)]
    draw = partial(exact_exponential_base2, utilities, bits, eta=ETA, utility_range=(0, outcomes))
    taken = min(seconds(draw) for _ in range(3))
    tracemalloc.start()
    draw()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"seconds": taken, "megabytes": peak / 1e6}


def _fixed_work_cost(
    outcomes: int, fast: Callable[[np.ndarray, int], Work], bits: SeededBits, budget: float, rng: np.random.Generator
) -> dict[str, float]:
    """One draw with fixed work beside one of the fast path, and how long it takes once the levels are known."""
    utilities = rng.integers(-40, 1, outcomes).astype(np.float64)
    draw = partial(exact_exponential_fixed_work, utilities, bits, work=WORK, utility_range=(-4096, 4096))
    selection = fixed_work_selection(WORK, 8192, outcomes)
    levels = tuple(int(level) for level in utilities.max() - utilities)
    timed = in_turns(draw, fast(utilities, 1), budget=budget)
    selecting = median(seconds(partial(selection, levels, bits)) for _ in range(5))
    return {"outcomes": outcomes, "bits": selection.bits, "selecting_seconds": selecting, **timed}


def _stages(trials: int, rng: np.random.Generator, bits: SeededBits, runs: int) -> dict[str, dict[str, float]]:
    """Nanoseconds of the parts of the commonest selections, a draw."""
    few, many = rng.normal(0.0, 10.0, 100), rng.normal(0.0, 10.0, 1_000)
    array = rng.normal(0.0, 10.0, (1_000, 100))
    calls: dict[str, tuple[Work, int, int]] = {
        "one draw, 100 outcomes": (partial(exact_exponential_fast, few, 1, bits, epsilon=EPSILON), 1, runs),
        "one draw, 1,000 outcomes": (partial(exact_exponential_fast, many, 1, bits, epsilon=EPSILON), 1, runs),
        "a draw of an array of 1,000 × 100": (
            partial(exact_exponential_rows, array, bits, epsilon=EPSILON),
            len(array),
            max(1, runs // 20),
        ),
        f"a draw of {trials:,}, 1,000 outcomes": (
            partial(exact_exponential_fast, many, trials, bits, epsilon=EPSILON),
            trials,
            max(1, runs // 200),
        ),
    }
    return {
        name: {part: spent / draws for part, spent in nanoseconds_of(work, PARTS, runs=often).items()}
        for name, (work, draws, often) in calls.items()
    }


def _selection_memory(
    outcomes: int, trials: int, rng: np.random.Generator, bits: SeededBits
) -> list[dict[str, str | float]]:
    """Peak bytes beside the result, of exact selections and of naive ones."""
    utilities = rng.normal(0.0, 10.0, outcomes)
    array = rng.normal(0.0, 10.0, (1_000, 100))
    calls: dict[str, tuple[Work, Work]] = {
        f"one draw, {outcomes:,} outcomes": (
            partial(exact_exponential_fast, utilities, 1, bits, epsilon=EPSILON),
            partial(naive_exponential_stabilised, utilities, 1, rng, epsilon=EPSILON),
        ),
        f"{trials:,} draws, {outcomes:,} outcomes": (
            partial(exact_exponential_fast, utilities, trials, bits, epsilon=EPSILON),
            partial(naive_exponential_stabilised, utilities, trials, rng, epsilon=EPSILON),
        ),
        "1,000 rows of 100": (
            partial(exact_exponential_rows, array, bits, epsilon=EPSILON),
            partial(naive_exponential_rows, array, rng, epsilon=EPSILON),
        ),
    }
    return [
        {"call": name, "bytes": _bytes_beside(exact), "baseline_bytes": _bytes_beside(naive)}
        for name, (exact, naive) in calls.items()
    ]


def _bytes_beside(work: Work) -> int:
    work()
    tracemalloc.start()
    output = work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return int(peak - output.nbytes)


def _noise(trials: int, rng: np.random.Generator, bits: SeededBits, budget: float) -> dict[str, dict[str, float]]:
    """Exact additive noise against numpy's own of the same shape: one answer many times, or as many answers."""
    epsilon = Fraction(EPSILON)
    counts = rng.integers(0, 1_000, trials).astype(np.float64)
    fine, finest = Grid(-36), Grid(-45)

    def laplace() -> Any:
        return rng.laplace(0.0, 1.0, trials)

    def normal() -> Any:
        return rng.normal(0.0, 1.0, trials)

    def rounded(grid: Grid) -> Work:
        return lambda: exact_rounded_laplace_fast(0.0, trials, bits, epsilon=epsilon, grid=grid)

    def gaussian(grid: Grid) -> Work:
        return lambda: exact_rounded_gaussian_fast(0.0, trials, bits, sigma=1.0, grid=grid)

    def discrete(grid: Grid) -> Work:
        return lambda: exact_discrete_laplace_fast(0.0, trials, bits, epsilon=epsilon, grid=grid)

    def each(mechanism: Callable[..., Any], **public: Any) -> Work:
        return lambda: mechanism(counts, bits, **public)

    exact: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "rounded ideal Laplace": (rounded(GRID), laplace),
        "discrete Laplace": (discrete(GRID), laplace),
        "rounded ideal Gaussian": (gaussian(GRID), normal),
        "discrete Gaussian": (
            lambda: exact_discrete_gaussian_fast(0.0, trials, bits, sigma=1.0, grid=GRID),
            normal,
        ),
        "rounded Laplace, steps of 2^−36": (rounded(fine), laplace),
        "rounded Laplace, steps of 2^−45": (rounded(finest), laplace),
        "discrete Laplace, steps of 2^−36": (discrete(fine), laplace),
        "discrete Laplace, steps of 2^−45": (discrete(finest), laplace),
        "rounded Gaussian, steps of 2^−36": (gaussian(fine), normal),
        "rounded Gaussian, steps of 2^−45": (gaussian(finest), normal),
        "rounded Laplace on each of as many answers": (
            each(exact_rounded_laplace_each, epsilon=epsilon, grid=GRID),
            lambda: counts + laplace(),
        ),
        "discrete Laplace on each (a histogram)": (
            each(exact_discrete_laplace_each, epsilon=epsilon, grid=Grid(0)),
            lambda: counts + laplace(),
        ),
        "rounded Gaussian on each": (
            each(exact_rounded_gaussian_each, sigma=1.0, grid=GRID),
            lambda: counts + normal(),
        ),
        "discrete Gaussian on each": (
            each(exact_discrete_gaussian_each, sigma=1.0, grid=Grid(0)),
            lambda: counts + normal(),
        ),
    }
    return {name: in_turns(work, baseline, budget=3 * budget) for name, (work, baseline) in exact.items()}


def _noise_parts(bits: SeededBits, runs: int) -> dict[str, dict[str, float]]:
    """Nanoseconds a draw of the parts of additive noise, each run by itself on a chunk: the median of some runs."""
    words, outputs = bits.words(CHUNK), np.empty(CHUNK)
    leading, answers = (words >> np.uint64(1)).view(np.int64), np.linspace(0.0, 1e3, CHUNK)
    floors, rounding, noise = floor_filter(Fraction(4)), RoundingFilter(Fraction(4)), np.ones(CHUNK)
    fine_floors, mixture = floor_filter(Fraction(2**45)), Mixture(Fraction(2**45))
    parts: dict[str, Work] = {
        "words of a seeded generator": lambda: bits.words(CHUNK),
        "words of the system's entropy": lambda: SystemBits().words(CHUNK),
        "Laplace": lambda: floors(leading, words, 0.5),
        "Gaussian": lambda: rounding(words, 0.0),
        "fine Laplace": lambda: fine_floors(leading, words, 0.5),
        "fine Gaussian": lambda: mixture.decide(words),
        "bringing to the grid": lambda: GRID.split(answers),
        "adding and clamping": lambda: GRID.write_values(7.0, noise, outputs),
    }
    taken = {name: 1e9 * median(seconds(part) for _ in range(runs)) / CHUNK for name, part in parts.items()}
    calls = {
        "rounded or discrete Laplace": (1, ("Laplace",)),
        "rounded Gaussian": (1, ("Gaussian",)),
        "rounded or discrete Laplace, steps of 2^−45": (1, ("fine Laplace",)),
        "rounded Gaussian, steps of 2^−45": (1, ("fine Gaussian",)),
    }
    return {
        name: {
            "words of a seeded generator": count * taken["words of a seeded generator"],
            "words of the system's entropy instead": count * taken["words of the system's entropy"],
            "deciding them": sum(taken[part] for part in deciding),
            "adding and clamping": taken["adding and clamping"],
            "bringing to the grid, where answers differ": taken["bringing to the grid"],
        }
        for name, (count, deciding) in calls.items()
    }


def _memory(trials: int, bits: SeededBits) -> list[dict[str, int]]:
    """Peak bytes beyond the output array, for a tenth of the trials and for all of them."""
    sampler = LevelSampler(np.arange(1_000, dtype=np.float64), epsilon=EPSILON)
    sampler.draw(1, bits)
    rows = []
    for count in (trials // 10, trials):
        tracemalloc.start()
        output = sampler.draw(count, bits)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        rows.append({"trials": count, "bytes_beyond_output": peak - output.nbytes})
    return rows


def timing_figures(data: dict[str, Any]) -> list[Figure]:
    """Cost against outcomes, against trials, against the utility range, and of additive noise."""
    measured = data["timings"]

    def series(
        label: str, role: Role, rows: list[dict[str, Any]], x: str, y: str = "seconds", scale: float = 1e3
    ) -> Series:
        return Series(label=label, role=role, x=[row[x] for row in rows], y=[scale * row[y] for row in rows])

    by_shape = {shape: [row for row in measured["one_draw"] if row["shape"] == shape] for shape in SHAPES}
    outcomes = Panel(
        title="one draw, set-up included",
        x_label="number of outcomes",
        y_label="milliseconds",
        x_scale="log",
        y_scale="log",
        series=[
            *(series(f"naive, {s}", Role.NAIVE, rows, "outcomes", "baseline_seconds") for s, rows in by_shape.items()),
            *(series(f"exact, fast path, {s}", Role.EXACT, rows, "outcomes") for s, rows in by_shape.items()),
            series("exact base-2, reference", Role.EXACT, measured["reference"], "outcomes"),
            series("exact, fixed work", Role.EXACT, measured["fixed_work"], "outcomes"),
        ],
    )
    trials = Panel(
        title="many draws, 1,000 outcomes, set-up included",
        x_label="number of draws",
        y_label="milliseconds",
        x_scale="log",
        y_scale="log",
        series=[
            series("naive", Role.NAIVE, measured["against_trials"], "trials", "baseline_seconds"),
            series("exact, fast path", Role.EXACT, measured["against_trials"], "trials"),
        ],
    )
    ranges = Panel(
        title=f"one draw, {RANGE_OUTCOMES:,} outcomes",
        x_label="utility range, in units of Δu",
        y_label="milliseconds",
        x_scale="log",
        series=[
            series("naive", Role.NAIVE, measured["ranges"], "range", "baseline_seconds"),
            series("exact, fast path", Role.EXACT, measured["ranges"], "range"),
        ],
    )
    names = list(measured["noise"])
    noise = Panel(
        title=f"{measured['trials']:,} noisy answers",
        x_label="",
        y_label="time over numpy's own sampler",
        x_names=names,
        series=[
            Series(
                label="exact, fast path",
                role=Role.EXACT,
                x=range(len(names)),
                y=[measured["noise"][name]["ratio"] for name in names],
                marks_only=True,
            ),
            Series(label="numpy", role=Role.NAIVE, x=range(len(names)), y=[1.0] * len(names), marks_only=True),
        ],
    )
    caption = "Cost of exact mechanisms beside their naive twins; medians of runs in turns."
    return [Figure(name="speed", caption=caption, panels=[outcomes, trials, ranges, noise])]


def explain_timings(data: dict[str, Any]) -> str:
    """List the ratios."""
    measured = data["timings"]

    def ratios(rows: list[dict[str, Any]]) -> str:
        return "; ".join(
            f"{shape}: "
            + ", ".join(f"{row['ratio']:.2f} × at {row['outcomes']}" for row in rows if row["shape"] == shape)
            for shape in SHAPES
        )

    by_size: dict[str, list[float]] = {}
    for row in measured["rows"]:
        by_size.setdefault(f"{row['queries']:,} of {row['outcomes']:,}", []).append(row["ratio"])
    rows = ", ".join(f"{size}: {min(found):.2f} to {max(found):.2f} ×" for size, found in by_size.items())
    reference = measured["reference"][-1]
    return PARAGRAPH.format(
        one_draw=ratios(measured["one_draw"]),
        repeated=ratios(measured["repeated"]),
        rows=rows,
        memory=", ".join(
            f"{row['call']} {row['bytes'] / row['baseline_bytes']:.2f} ×" for row in measured["selection_memory"]
        ),
        stages=_table_of_stages(measured["stages"]),
        reference_seconds=reference["seconds"],
        reference_megabytes=reference["megabytes"],
        reference_outcomes=reference["outcomes"],
        published=PUBLISHED,
        fixed_work=", ".join(
            f"{1000 * row['seconds']:.2g} ms and {row['bits']} bits at {row['outcomes']} outcomes "
            f"({row['ratio']:.0f} × the fast path; {1000 * row['selecting_seconds']:.2g} ms once utilities are read)"
            for row in measured["fixed_work"]
        ),
        noise=", ".join(f"{name} {row['ratio']:.2f} ×" for name, row in measured["noise"].items()),
    ) + _table_of_noise(measured["noise_parts"])


def _table_of_noise(parts: dict[str, dict[str, float]]) -> str:
    """Say where the time of additive noise goes, in a table."""
    names = list(parts)
    head = ["", "", "Where the time of additive noise goes, in nanoseconds a draw, each part run by itself:", ""]
    head += [f"| part | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    rows = [(part, " | ".join(f"{parts[name][part]:.1f}" for name in names)) for part in parts[names[0]]]
    return "\n".join([*head, *(f"| {part} | {found} |" for part, found in rows)])


def _table_of_stages(stages: dict[str, dict[str, float]]) -> str:
    """Say where the time of each call goes, in a table."""
    names = list(stages)
    rows = [[part, *(stages[name][part] for name in names)] for part in next(iter(stages.values()))]
    rows.append(["together", *(sum(stages[name].values()) for name in names)])
    head = ["Where the time of a selection goes, in nanoseconds a draw, the clock's own time included:", ""]
    head += [f"| part | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    return "\n".join([*head, *(f"| {part} | {' | '.join(f'{one:,.1f}' for one in found)} |" for part, *found in rows)])
