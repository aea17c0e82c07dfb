"""What it costs to find an exact law: runs, time and memory (see attacklab.laws.enumeration)."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from attacklab.laws import Law, Limits, Progress, enumerate_law
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from mechanisms.exponential.base2.weighted_sampling import IntegerWeights, sample_by_bisection
from mechanisms.exponential.exact import exact_exponential
from mechanisms.published import discrete_gaussian, discrete_laplace
from mechanisms.randomness import RandomBits

QUESTION = "What does an exact law cost, against the number of outcomes, the precision and the number of open tapes?"

SCALE = 10
OUTCOMES = 50
PRECISION = 60
TRACED_RUNS = 20_000
BITS_OF_WIDE = 120
"""A sampler that takes so many single bits leaves as many tapes open after its first run."""
KINDS = {
    "weights": "weights 2^−u, bisection, until closed",
    "base_e": "exponential, base e",
    "laplace": f"discrete Laplace, scale {SCALE}",
    "gaussian": f"discrete Gaussian, σ = {SCALE}",
}
MEGABYTE = 1e6
ON_THIS_MACHINE = ("cpu_seconds", "megabytes")
"""What differs from machine to machine; runs, tapes and outcomes do not."""
PARAGRAPH = """\
Times are CPU seconds. For {weights} outcomes of weights 2^−u, {weights_runs} runs and {weights_seconds:.3f} s leave
nothing unresolved. The exponential mechanism in base e with {outcomes} outcomes takes {base_e_seconds:.2f} s to
2^−{base_e_precision}. Discrete Laplace noise of scale {scale} takes {laplace_runs} runs and {laplace_seconds:.2f} s
to 2^−{precision}, since each coin that it tosses has a law that is found on its own. Discrete Gaussian noise of that
scale calls it and needs {gaussian_runs} runs and {gaussian_seconds:.2f} s, because e^−γ is another coin for every
proposed value. Python's memory, without GMP's numbers, peaks at {megabytes:.1f} MB for the largest of the laws that
took {traced} runs or fewer. Open tapes are what takes memory: a path that waits to be run shares all but its last
decision with others, and {tapes} such paths take {tape_megabytes:.0f} MB."""


@dataclass(frozen=True)
class Case:
    """A law to find.

    Attributes:
        kind: one of `KINDS`.
        size: how many outcomes the mechanism has, or the scale of its noise.
        precision: minus the binary logarithm of the mass that may be left unresolved; 0 to close the law.
    """

    kind: str
    size: int
    precision: int = PRECISION


@dataclass(frozen=True)
class Cost:
    """What it took.

    Attributes:
        kind: as in `Case`.
        size: as in `Case`.
        precision: as in `Case`.
        runs: runs, those for the laws of called samplers included.
        cpu_seconds: CPU time.
        megabytes: the most of Python's memory in use, where it was traced.
        outcomes: outcomes found.
        unresolved: mass left unresolved.
    """

    kind: str
    size: int
    precision: int
    runs: int
    cpu_seconds: float
    megabytes: float | None
    outcomes: int
    unresolved: float


def collect(settings: Settings) -> Collected:
    """Find each law, and then leave many tapes open."""
    precisions = (8, 14) if settings.quick else (20, 40, 60, 80, 100)
    cases = [
        *(Case("weights", outcomes, 0) for outcomes in ((10, 87) if settings.quick else (10, 30, 87, 200, 400))),
        *(
            Case("base_e", outcomes)
            for outcomes in ((10, OUTCOMES) if settings.quick else (10, 25, OUTCOMES, 100, 200))
        ),
        *(Case("base_e", OUTCOMES, precision) for precision in precisions if precision != PRECISION),
        *(Case(kind, SCALE, precision) for kind in ("laplace", "gaussian") for precision in precisions),
    ]
    costs = [vars(measure(case)) for case in cases]
    tapes = [open_tapes(runs) for runs in ((10, 100) if settings.quick else (100, 1_000, 9_000))]
    parts = {"costs": [_parted(cost) for cost in costs], "open_tapes": [_parted(one) for one in tapes]}
    return Collected(
        measured={name: [seeded for seeded, _ in rows] for name, rows in parts.items()},
        timings={name: [timed for _, timed in rows] for name, rows in parts.items()},
    )


def _parted(cost: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is the same on every machine, and what depends on it."""
    return (
        {name: value for name, value in cost.items() if name not in ON_THIS_MACHINE},
        {name: value for name, value in cost.items() if name in ON_THIS_MACHINE},
    )


def _joined(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [{**seeded, **timed} for seeded, timed in zip(data["measured"][name], data["timings"][name], strict=True)]


def _costs(data: dict[str, Any]) -> list[Cost]:
    return [Cost(**cost) for cost in _joined(data, "costs")]


def _open_tapes(data: dict[str, Any]) -> list[dict[str, float]]:
    return _joined(data, "open_tapes")


def measure(case: Case) -> Cost:
    """Find one law; and again with Python's memory traced, which takes four times as long, unless it is large."""
    reports: list[Progress] = []
    started = time.process_time()
    law = _find(case, reports)
    seconds = time.process_time() - started
    return Cost(
        **vars(case),
        runs=reports[-1].runs,
        cpu_seconds=seconds,
        megabytes=_traced_megabytes(lambda: _find(case, [])) if reports[-1].runs <= TRACED_RUNS else None,
        outcomes=len(law),
        unresolved=float(law.unresolved),
    )


def _traced_megabytes(work: Callable[[], Any]) -> float:
    """The most of Python's memory in use while it runs, in MB; what GMP allocates is not counted."""
    tracemalloc.start()
    try:
        work()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak / MEGABYTE


def _find(case: Case, reports: list[Progress]) -> Law:
    limits = Limits(unresolved=Fraction(1, 1 << case.precision) if case.precision else Fraction(0))
    find = partial(enumerate_law, limits=limits, progress=reports.append)
    match case.kind:
        case "weights":
            return find(sample_by_bisection, IntegerWeights(tuple(1 << u for u in reversed(range(case.size)))))
        case "base_e":
            return find(exact_exponential(epsilon=1).release, tuple(-u / 4 for u in range(case.size)))
        case "laplace":
            return find(discrete_laplace, Fraction(SCALE))
        case _:
            return find(discrete_gaussian, Fraction(SCALE**2))


def open_tapes(runs: int) -> dict[str, float]:
    """How many tapes so many runs leave open, and the memory that they take, in MB."""
    reports: list[Progress] = []
    limits = Limits(runs=runs, tapes=1 << 21)
    megabytes = _traced_megabytes(
        lambda: enumerate_law(sum_of_bits, BITS_OF_WIDE, limits=limits, progress=reports.append)
    )
    return {"tapes": reports[-1].tapes, "megabytes": megabytes}


def sum_of_bits(count: int, bits: RandomBits) -> int:
    """Take bits one by one and add them up."""
    return sum(bits.take(1) for _ in range(count))


def timing_figures(data: dict[str, Any]) -> list[Figure]:
    """Time against outcomes and precision, runs against precision, memory against open tapes."""
    costs = _costs(data)
    by_size = [_of(costs, kind, precision=p) for kind, p in (("weights", 0), ("base_e", PRECISION))]
    by_precision = [_of(costs, "base_e", size=OUTCOMES), _of(costs, "laplace"), _of(costs, "gaussian")]
    return [
        Figure(
            name="law_cost",
            caption="What exact laws cost: time, runs and Python's memory, by the number of outcomes and by precision.",
            panels=[
                _panel(quantity, x, groups)
                for quantity in QUANTITIES
                for x, groups in (("size", by_size), ("precision", by_precision))
            ],
        ),
        Figure(
            name="law_cost_tapes",
            caption="What runs that wait cost.",
            panels=[_tapes_panel(_open_tapes(data))],
        ),
    ]


QUANTITIES = {"cpu_seconds": "CPU seconds", "runs": "runs", "megabytes": "peak of Python's memory, MB"}
X_LABELS = {"size": "number of outcomes", "precision": "precision, −log2 of the unresolved mass"}


def _of(costs: Sequence[Cost], kind: str, *, size: int | None = None, precision: int | None = None) -> list[Cost]:
    """The costs of one kind, of one size or precision if that is given, in ascending order."""
    chosen = [one for one in costs if one.kind == kind and size in (None, one.size)]
    chosen = [one for one in chosen if precision in (None, one.precision)]
    return sorted(chosen, key=lambda one: (one.precision, one.size))


def _panel(quantity: str, x: str, groups: Sequence[Sequence[Cost]]) -> Panel:
    measured = [[one for one in group if getattr(one, quantity) is not None] for group in groups]
    return Panel(
        title=f"{QUANTITIES[quantity]}, by {'outcomes' if x == 'size' else 'precision'}",
        x_label=X_LABELS[x],
        y_label=QUANTITIES[quantity],
        x_scale="log" if x == "size" else "linear",
        y_scale="log",
        series=[
            Series(
                label=_label(group[0], x),
                role=Role.EXACT,
                x=[getattr(one, x) for one in group],
                y=[getattr(one, quantity) for one in group],
            )
            for group in measured
        ],
    )


def _tapes_panel(open_tapes: Sequence[dict[str, float]]) -> Panel:
    return Panel(
        title=f"Memory by open tapes: {BITS_OF_WIDE} single bits and their sum",
        x_label="runs waiting",
        y_label="peak of Python's memory, MB",
        x_scale="log",
        y_scale="log",
        series=[
            Series(
                label="measured",
                role=Role.EXACT,
                x=[one["tapes"] for one in open_tapes],
                y=[one["megabytes"] for one in open_tapes],
            )
        ],
    )


def _label(cost: Cost, x: str) -> str:
    if cost.kind != "base_e":
        return KINDS[cost.kind]
    return f"{KINDS['base_e']}, " + (f"{OUTCOMES} outcomes" if x == "precision" else f"to 2^−{PRECISION}")


def explain_timings(data: dict[str, Any]) -> str:
    """Say what the laws cost."""
    costs = _costs(data)
    (weights,) = _of(costs, "weights", size=87)
    (base_e,) = _of(costs, "base_e", size=OUTCOMES, precision=PRECISION)
    precision = min(PRECISION, max(one.precision for one in _of(costs, "laplace")))
    (laplace,), (gaussian,) = (_of(costs, kind, precision=precision) for kind in ("laplace", "gaussian"))
    widest = _open_tapes(data)[-1]
    return PARAGRAPH.format(
        weights=weights.size,
        weights_runs=weights.runs,
        weights_seconds=weights.cpu_seconds,
        outcomes=base_e.size,
        base_e_seconds=base_e.cpu_seconds,
        base_e_precision=base_e.precision,
        scale=SCALE,
        precision=precision,
        laplace_runs=laplace.runs,
        laplace_seconds=laplace.cpu_seconds,
        gaussian_runs=gaussian.runs,
        gaussian_seconds=gaussian.cpu_seconds,
        megabytes=max(one.megabytes for one in costs if one.megabytes is not None),
        traced=TRACED_RUNS,
        tapes=f"{widest['tapes']:,}".replace(",", " "),
        tape_megabytes=widest["megabytes"],
    )
