"""Deterministic stages whose claimed stability is wrong, against size, beside stages that keep theirs.

A claim is what a person would write down: how far one record moves the function in real arithmetic, or as it seems. The
distances are exact, and no pair is given: they are those of `attacklab.stages.inputs`. Source: McSherry 2009, 'Privacy
Integrated Queries'; of the flaws, `mechanisms/summation/README.md`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab import Domain, Finding, Records, Relation, Target, Verdict, audit
from attacklab.model.claims import Metric
from attacklab.model.stage import Stage
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Cell, Figure, Matrix, Role
from attacklab.stages.distances import powered_distance
from attacklab.stages.inputs import neighbours
from experiments.common.curves import figure
from experiments.common.paragraphs import PARAGRAPHS
from mechanisms.summation.naive import agreeing_pairs

QUESTION = "How far does one record move what is computed before the noise, in units of what is claimed?"

SIZES = (4, 16, 64, 256, 1024, 4096)
SECONDS, MOST_PAIRS = 2.0, 300
"""The seconds that an audit of a stage may search, and the number of pairs measured at each size."""

STEP, FINE, OFFSET = 2.0**-48, 2.0**-10, 1e6
Reals: TypeAlias = NDArray[np.float64]


def whole(records: Reals, lower: float, step: float) -> list[int]:
    """Return records in steps above a bound, each rounded by itself; differences are exact for the bounds here."""
    return list(map(int, np.rint((records - lower) / step)))


def rescaled_sum(records: Reals) -> float:
    """Return the sum of the records after scaling their own range to [0, 1]."""
    low, high = records.min(), records.max()
    return float(((records - low) / (high - low)).sum()) if high > low else 0.0


def histogram(records: Reals) -> list[int]:
    """Return how many records lie in each of four cells."""
    return list(map(int, np.histogram(records, 4, (0.0, 1.0))[0]))


def running_sums(records: Reals) -> list[int]:
    """Return the sums of the first record, of the first two, and so on, in steps of 2^−10."""
    return list(itertools.accumulate(whole(records, 0.0, FINE)))


def fixed_sum(records: Reals) -> Fraction:
    """Return the sum of records in [0, 1], each rounded to steps of 2^−10."""
    return sum(whole(records, 0.0, FINE)) * Fraction(FINE)


def fixed_gaps(records: Reals) -> Fraction:
    """Return the sum of the distances of successive records, each rounded to steps of 2^−10."""
    return sum(abs(b - a) for a, b in itertools.pairwise(whole(records, 0.0, FINE))) * Fraction(FINE)


def sum_of_steps(records: Reals) -> Fraction:
    """Return the sum of record − 1, for records just above 1, each rounded to steps of 2^−48."""
    return sum(whole(records, 1.0, STEP)) * Fraction(STEP)


def one_pass(records: Reals) -> float:
    """Return the sum of squared deviations from the records' mean, by the formula Σx² − (Σx)²/n, which cancels."""
    return float((records**2).sum() - records.sum() ** 2 / len(records))


def squares_about_centre(records: Reals) -> Fraction:
    """Return the sum of squared deviations from a public centre, for records rounded to steps of 2^−10."""
    return sum((step - 512) ** 2 for step in whole(records, OFFSET, FINE)) * Fraction(FINE) ** 2


Claimed: TypeAlias = "float | Fraction | Callable[[int], float | Fraction]"


@dataclass(frozen=True)
class Row:
    """A naive stage with its claim and a sound one with the claim it keeps; a claim may be a function of the size."""

    label: str
    naive: Callable[[Any], Any]
    claimed: Claimed
    sound: Callable[[Any], Any]
    kept: Claimed
    bounds: tuple[float, float] = (0.0, 1.0)
    relation: Relation = Relation.ADD_REMOVE
    metric: Metric = Metric.ABSOLUTE

    def stage(self, role: Role, size: int) -> Stage:
        """Return the naive or the sound stage, on datasets of size//2 to `size` records."""
        function, claimed = (self.naive, self.claimed) if role is Role.NAIVE else (self.sound, self.kept)
        return Target.stage(
            function,
            stability=claimed(size) if callable(claimed) else claimed,
            domain=Domain(shape=Records(least=size // 2, most=size), bounds=self.bounds),
            metric=self.metric,
            relation=self.relation,
            name=f"{role} {self.label}",
        )


SUBSTITUTE, UNIT = Relation.SUBSTITUTE, (0.0, 1.0)
ROWS = (
    Row("sum, rounded once", math.fsum, STEP, sum_of_steps, STEP, (1.0, 1 + STEP), SUBSTITUTE),
    Row("sum in 16 bits", lambda x: int(x.astype("h").sum(dtype="h")), 120, lambda x: sum(map(int, x)), 120, (0, 120)),
    Row("squares in one pass", one_pass, 1, squares_about_centre, 0.25, (OFFSET, OFFSET + 1)),
    Row("pairs that agree", agreeing_pairs, 1, agreeing_pairs, lambda size: size - 1),
    Row("sum over own range", rescaled_sum, 1, fixed_sum, 1),
    Row("sum cut at own percentile", lambda x: float(np.minimum(x, np.quantile(x, 0.9)).sum()), 1, fixed_sum, 1),
    Row("every second record", lambda x: float(x[::2].sum()), 1, fixed_sum, 1),
    Row("median", lambda x: float(np.median(x)), lambda size: Fraction(1, size), lambda x: int((x > 0.5).sum()), 1),
    Row("gaps between records", lambda x: float(np.abs(np.diff(x)).sum()), 1, fixed_gaps, 2),
    Row("histogram, one replaced", histogram, 1, histogram, 2, UNIT, SUBSTITUTE, Metric.L1),
    Row("running sums", running_sums, 1 << 10, running_sums, lambda size: size << 10, UNIT, SUBSTITUTE, Metric.L1),
    Row("count in tens", lambda x: round(len(x), -1), 1, len, 1),
)


def collect(settings: Settings) -> Collected:
    """Measure each stage at each size, and audit the naive ones at the size where they exceed their claim most."""
    sizes, seconds = SIZES[: settings.budget(len(SIZES), 3)], SECONDS * max(settings.share, 0.1)
    rows: list[dict[str, Any]] = [
        {"label": row.label, "role": role, "ratios": [ratio(row.stage(role, size), settings.seed) for size in sizes]}
        for role in (Role.NAIVE, Role.EXACT)
        for row in ROWS
    ]
    audited: list[Finding] = []
    for row, measured in zip(ROWS, rows, strict=False):
        worst = sizes[measured["ratios"].index(max(measured["ratios"]))]
        audited += audit(row.stage(Role.NAIVE, worst), seconds=seconds, seed=settings.seed)
    reasons = [finding.reason for finding in audited if finding.refutes]
    timings = {"seconds": seconds, "reasons": reasons}
    return Collected(measured={"sizes": sizes, "rows": rows}, timings=timings, timed_findings=audited)


def ratio(stage: Stage, seed: int) -> float:
    """Return the largest distance found between neighbours' outputs, over the claim; an L2 metric would be squared."""
    pairs = itertools.islice(neighbours(stage, seed), MOST_PAIRS)
    outputs = ([stage.function(stage.dataset(side)) for side in pair] for pair in pairs)
    return float(max(powered_distance(a, b, stage.claim.metric) for a, b in outputs) / stage.claim.bound)


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw a table of ratios for the naive stages, and one for the sound stages."""
    measured = data["measured"]
    caption = "The largest distance found between the outputs of neighbours, in units of the claim. Red: above 1."
    tables = []
    for role in (Role.NAIVE, Role.EXACT):
        rows = [row for row in measured["rows"] if row["role"] == role]
        cells = [[_cell(value) for value in row["ratios"]] for row in rows]
        columns, names = [f"{size:,}" for size in measured["sizes"]], [row["label"] for row in rows]
        title = "as people write them" if role is Role.NAIVE else "with a claim that they keep"
        tables.append(Matrix(title=f"{title}, by records", row_names=names, column_names=columns, cells=cells))
    return [figure("stages", caption, tables)]


def _cell(value: float) -> Cell:
    text = f"{value:.0f}" if value >= 10 else f"{value:.3g}"
    return Cell(verdict=Verdict.VIOLATED if value > 1 else Verdict.NOT_DETECTED, text=text)


def explain(data: dict[str, Any]) -> str:
    """Say by how much the naive stages exceed their claims."""
    measured = data["measured"]
    naive, sound = ([row for row in measured["rows"] if row["role"] == role] for role in (Role.NAIVE, Role.EXACT))
    worst = max(naive, key=lambda row: max(row["ratios"]))
    return PARAGRAPHS["stages"].format(
        naive=len(naive),
        refuted=sum(max(row["ratios"]) > 1 for row in naive),
        largest=max(max(row["ratios"]) for row in sound),
        small=sum(max(row["ratios"][:1]) <= 1 for row in naive),
        least=measured["sizes"][0],
        worst=worst["label"],
        off=max(worst["ratios"]),
    )


def explain_timings(data: dict[str, Any]) -> str:
    """Say how many audits refute a naive stage."""
    timings = data["timings"]
    return PARAGRAPHS["stages_audited"].format(audited=len(ROWS), **timings, refuted=len(timings["reasons"]))
