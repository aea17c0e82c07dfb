"""Audit OpenDP's transformations as stages: does each move its output no further than its own map says?

    python examples/opendp_stages.py

Writes a table in Markdown for the version that is installed; no sample is drawn. Neighbours of a vector of unknown size
have one record more; those of a known size replace one, at distance 2. With Polars (`pip install "opendp[polars]"`) the
year of a frame's timestamps is one more row. What is random (resizing pads and shuffles) and what Python cannot read
(options) is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from opendp import prelude as dp
from opendp.extras.sklearn.linear_model._make_private_theil_sen import make_pairwise_predict

from attacklab import Domain, Records, Target, Verdict, audit

SECONDS = 2.0
STRINGS = ["", "a", "b", "é", "1", "x"]
NUMBERS = [0.0, 1.0, -1.0, 0.1, 1e16, 1e308, 5e-324]
POINTS = [(0.0, 0.0), (1.0, 1.0), (2.0, 1.0)]
"""Lines through two of them are exact. It is random which records make a pair, but for three records at most."""

SET = dp.symmetric_distance()


def numbers(low: Any, high: Any, size: int | None = None) -> Domain:
    """Vectors of up to 2,000 numbers, or of so many."""
    shape = Records(least=size or 0, most=size or 2000)
    return Domain(shape=shape, bounds=(low, high), integers=isinstance(low, int))


def vector(records: Any) -> tuple[Any, Any]:
    """OpenDP's domain and metric of the vectors that these records make."""
    if isinstance(records, list):
        return STRING_VECTORS if isinstance(records[0], str) else FLOAT_VECTORS
    bounds = tuple(map(int if records.integers else float, records.bounds))
    atom = dp.atom_domain(bounds=bounds, **({} if records.integers else {"nan": False}))
    return dp.vector_domain(atom, size=records.shape.most if records.shape.least else None), SET


STRING_VECTORS, INTEGER_VECTORS = ((dp.vector_domain(dp.atom_domain(T=kind)), SET) for kind in (str, int))
FLOAT_VECTORS = dp.vector_domain(dp.atom_domain(T=float, nan=False)), SET
UNIT, SIZED, AGES, SIGNED = numbers(0.0, 1.0), numbers(0.0, 1.0, 1000), numbers(0, 100), numbers(-100, 100)
AGES_SIZED, SIGNED_SIZED, FAR = numbers(0, 100, 100), numbers(-100, 100, 100), numbers(2.0**50, 2.0**50 + 1, 1024)

Row = tuple[str, Any, str, Callable[[Any], Any]]
ROWS: tuple[Row, ...] = (
    ("count", UNIT, "absolute", lambda of: dp.t.make_count(*of)),
    ("count_distinct", AGES, "absolute", lambda _: dp.t.make_count_distinct(*INTEGER_VECTORS)),
    ("count_by_categories", STRINGS, "l1", lambda of: dp.t.make_count_by_categories(*of, ["a", "b"])),
    (
        "b_ary_tree",
        AGES,
        "l1",
        lambda _: dp.t.make_count_by_categories(*INTEGER_VECTORS, [0, 1, 2]) >> dp.t.then_b_ary_tree(4, 2),
    ),
    ("sum, integers", AGES, "absolute", lambda of: dp.t.make_sum(*of)),
    ("sum, signed integers", SIGNED, "absolute", lambda of: dp.t.make_sum(*of)),
    ("sum, integers, sized", AGES_SIZED, "absolute", lambda of: dp.t.make_sum(*of)),
    ("sum, floats, sized", SIZED, "absolute", lambda of: dp.t.make_sum(*of)),
    ("sum, floats far from 0, sized", FAR, "absolute", lambda of: dp.t.make_sum(*of)),
    ("bounded_int_monotonic_sum", AGES, "absolute", lambda _: dp.t.make_bounded_int_monotonic_sum((0, 100))),
    ("bounded_int_split_sum", SIGNED, "absolute", lambda _: dp.t.make_bounded_int_split_sum((-100, 100))),
    ("bounded_int_ordered_sum", SIGNED, "absolute", lambda _: dp.t.make_bounded_int_ordered_sum((-100, 100))),
    ("bounded_float_checked_sum", UNIT, "absolute", lambda _: dp.t.make_bounded_float_checked_sum(2000, (0.0, 1.0))),
    ("bounded_float_ordered_sum", UNIT, "absolute", lambda _: dp.t.make_bounded_float_ordered_sum(2000, (0.0, 1.0))),
    ("sized_bounded_int_checked_sum", SIGNED_SIZED, "absolute", lambda _: _sized("int_checked", 100, (-100, 100))),
    ("sized_bounded_int_monotonic_sum", AGES_SIZED, "absolute", lambda _: _sized("int_monotonic", 100, (0, 100))),
    ("sized_bounded_int_split_sum", SIGNED_SIZED, "absolute", lambda _: _sized("int_split", 100, (-100, 100))),
    ("sized_bounded_int_ordered_sum", SIGNED_SIZED, "absolute", lambda _: _sized("int_ordered", 100, (-100, 100))),
    ("sized_bounded_float_checked_sum", SIZED, "absolute", lambda _: _sized("float_checked", 1000, (0.0, 1.0))),
    ("sized_bounded_float_ordered_sum", SIZED, "absolute", lambda _: _sized("float_ordered", 1000, (0.0, 1.0))),
    ("mean", SIZED, "absolute", lambda of: dp.t.make_mean(*of)),
    ("variance", SIZED, "absolute", lambda of: dp.t.make_variance(*of)),
    ("sum_of_squared_deviations", SIZED, "absolute", lambda of: dp.t.make_sum_of_squared_deviations(*of)),
    ("sum_of_squared_deviations, far from 0", FAR, "absolute", lambda of: dp.t.make_sum_of_squared_deviations(*of)),
    (
        "quantile_score_candidates",
        AGES,
        "linf",
        lambda _: dp.t.make_quantile_score_candidates(*INTEGER_VECTORS, [0, 25, 100], 0.3),
    ),
    ("clamp, floats", NUMBERS, "symmetric", lambda of: dp.t.make_clamp(*of, (0.0, 1.0))),
    ("clamp, integers", AGES, "symmetric", lambda _: dp.t.make_clamp(*INTEGER_VECTORS, (0, 9))),
    ("cast_default, to integers", STRINGS, "symmetric", lambda of: dp.t.make_cast_default(*of, TOA=int)),
    ("cast_default, to floats", STRINGS, "symmetric", lambda of: dp.t.make_cast_default(*of, TOA=float)),
    ("cast_inherent", STRINGS, "symmetric", lambda of: dp.t.make_cast_inherent(*of, TOA=float)),
    ("is_equal", STRINGS, "symmetric", lambda of: dp.t.make_is_equal(*of, "a")),
    ("make_pairwise_predict", POINTS, "symmetric", lambda _: make_pairwise_predict(np.array([25.0, 75.0]))),
    ("find_bin", NUMBERS, "symmetric", lambda of: dp.t.make_find_bin(*of, [0.0, 0.5, 1.0])),
)


def _sized(kind: str, size: int, bounds: tuple[Any, Any]) -> Any:
    return getattr(dp.t, f"make_sized_bounded_{kind}_sum")(size, bounds)


def year_of(stamps: list[int]) -> list[int]:
    """The years of timestamps, in microseconds since 1970, by a transformation of frames: row by row, so stable."""
    import polars as pl

    dp.enable_features("contrib")  # a stage runs in a process of its own
    frames = dp.lazyframe_domain([dp.series_domain("t", dp.datetime_domain(time_unit="us"))])
    query = pl.LazyFrame(schema={"t": pl.Datetime("us")}).select(pl.col("t").dt.year())
    stamped = pl.LazyFrame({"t": pl.Series(stamps, dtype=pl.Datetime("us"))})
    years: list[int] = dp.t.make_stable_lazyframe(frames, SET, query)(stamped).collect()["t"].to_list()
    return years


def line(name: str, records: Any, metric: str, make: Callable[[Any], Any]) -> str:
    """One row of the table: the transformation, its claim and what is found."""
    transformation = make(None if records is POINTS else vector(records))
    is_sized = bool(getattr(getattr(records, "shape", None), "least", 0))

    def function(data: Any) -> Any:
        if records is POINTS:
            return transformation(np.reshape(data, (-1, 2)).astype(float)).tolist()
        return transformation(data if isinstance(data, list) else data.tolist())

    stage = Target.stage(
        function,
        stability=transformation.map(2 if is_sized else 1),
        metric=metric,
        domain=records,
        relation="substitute" if is_sized else "add-remove",
        sizes=(0, 3) if records is POINTS else None,
        name=name,
    )
    return row_of(stage)


def row_of(stage: Any) -> str:
    """Audit a stage; its row of the table."""
    (finding,) = audit(stage, seconds=SECONDS)
    shown = finding.reason.rpartition("furthest apart are ")[2]
    if finding.verdict is Verdict.VIOLATED:
        shown = finding.reason.rpartition(": ")[2].partition(";")[0]
    return f"| `{stage.name}` | {float(stage.claim.bound):.12g} | {finding.verdict}: {shown} |"


def main() -> None:
    """Print the table."""
    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    print(f"| OpenDP {version('opendp')} | claimed | found |\n|---|---:|---|")
    for row in ROWS:
        print(line(*row), flush=True)
    if find_spec("polars"):
        print(row_of(Target.stage(year_of, stability=1, metric="symmetric", domain=int)))


if __name__ == "__main__":
    main()
