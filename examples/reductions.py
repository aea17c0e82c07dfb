"""Audit the reductions of numpy, pandas and diffprivlib as stages, with the bounds that a person would write.

    python examples/reductions.py

Writes a table in Markdown for the versions that are installed; no sample is drawn. What is not installed is left out.
The claims for numpy and pandas are those of real arithmetic, or of tables that lack nothing. Those for diffprivlib are
the sensitivities that it gives its own mechanisms, which this program reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.metadata import version
from importlib.util import find_spec
from itertools import product
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from attacklab import Domain, Records, Target, Verdict, audit

SECONDS = 2.0
Row = tuple[str, Any, str, float, Callable[[Any], Any]]
"""A name, the records, their relation or a metric for records that come or go, the claim, and the function."""


def records(low: float, high: float, *, least: int = 0, most: int = 5000, **rest: bool) -> Domain:
    """Vectors of numbers between two bounds."""
    return Domain(shape=Records(least=least, most=most), bounds=(low, high), **rest)


UNIT, MANY, SIZED = records(0, 1), records(0, 1, least=1), records(0, 1, least=1000, most=1000)
MISSING = records(0, 1, special=True, least=10, most=10)
AGES, BITS, MILLIONS = (records(0, high, integers=True) for high in (120, 1, 1 << 20))
POINTS = [(0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0)]
VISITS = [("a", 0.0), ("a", 1.0), ("b", 0.0), ("b", 1.0)]
ADDED, REPLACED = "absolute", "absolute, one replaced"


def numpy_rows() -> Iterator[Row]:
    """Numpy's reductions."""
    yield "np.sum", UNIT, ADDED, 1, np.sum
    yield "np.sum, float32", UNIT, ADDED, 1, lambda x: np.sum(x.astype(np.float32))
    yield "np.sum, float16", UNIT, ADDED, 1, lambda x: np.sum(x.astype(np.float16))
    yield "np.sum, int8 added up in 64 bits", AGES, ADDED, 120, lambda x: np.sum(x.astype(np.int8))
    yield "np.sum, dtype=int32", MILLIONS, ADDED, 1 << 20, lambda x: np.sum(x, dtype=np.int32)
    yield "np.cumsum, last", UNIT, ADDED, 1, lambda x: np.cumsum(x)[-1] if len(x) else 0.0
    yield "np.clip and np.sum", float, ADDED, 1, lambda x: np.sum(np.clip(x, 0, 1))
    yield "np.clip and np.nansum", float, ADDED, 1, lambda x: np.nansum(np.clip(x, 0, 1))
    yield "np.dot with itself", UNIT, ADDED, 1, lambda x: np.dot(x, x)
    yield "np.mean of 1,000", SIZED, REPLACED, 1e-3, np.mean
    yield "np.mean", MANY, ADDED, 1e-3, np.mean
    yield "np.var of 1,000", SIZED, REPLACED, 0.999e-3, np.var
    yield "np.std of 1,000", SIZED, REPLACED, 1e-3, np.std
    yield "np.median of 1,000", SIZED, REPLACED, 1e-3, np.median
    yield "np.quantile of 1,000", SIZED, REPLACED, 1e-3, lambda x: np.quantile(x, 0.9)
    yield "np.max", MANY, ADDED, 1, np.max
    yield "np.count_nonzero", UNIT, ADDED, 1, np.count_nonzero
    yield "np.histogram, public range", UNIT, "l1", 1, lambda x: np.histogram(x, 4, (0, 1))[0]
    yield "np.histogram, own range", UNIT, "l1", 1, lambda x: np.histogram(x, 4)[0]
    yield "np.bincount", AGES, "l1", 1, lambda x: np.bincount(x, minlength=121)
    yield "np.cov times n", POINTS, ADDED, 1, lambda x: np.cov(np.reshape(x, (-1, 2)).T, ddof=0)[0, 1] * len(x)
    yield "np.corrcoef", POINTS, ADDED, 2, lambda x: np.corrcoef(np.reshape(x, (-1, 2)).T)[0, 1]


def pandas_rows() -> Iterator[Row]:
    """Reductions of pandas."""
    import pandas as pd

    def series(x: Any, kind: Any = float) -> Any:
        return pd.Series(x, dtype=kind)

    def visits(rows: Any) -> Any:
        return pd.DataFrame(rows, columns=["key", "value"]).groupby("key")["value"]

    def coerced(x: Any) -> Any:
        return pd.to_numeric(series(x, object), errors="coerce")

    def dates(x: Any) -> Any:
        return pd.to_datetime(series(x, object), errors="coerce").astype(str).tolist()

    yield "clip and sum", float, ADDED, 1, lambda x: series(x).clip(0, 1).sum()
    yield "clip and mean of ten, some missing", MISSING, REPLACED, 0.1, lambda x: series(x).clip(0, 1).mean()
    yield "mean, range as claim", UNIT, ADDED, 1, lambda x: series(x).mean()
    yield "std, range as claim", MANY, ADDED, 1, lambda x: series(x).std()
    yield "median, range as claim", MANY, ADDED, 1, lambda x: series(x).median()
    yield "sum, float32", UNIT, ADDED, 1, lambda x: series(x).astype("float32").sum()
    yield "sum, Int8", AGES, ADDED, 120, lambda x: series(x, "Int8").sum()
    yield "cov times n", POINTS, ADDED, 1, lambda x: pd.DataFrame(x, columns=["x", "y"]).cov(ddof=0).iat[0, 1] * len(x)
    yield "corr", POINTS, ADDED, 2, lambda x: pd.DataFrame(x, columns=["x", "y"]).corr().iat[0, 1]
    yield "value_counts", AGES, "l1", 1, lambda x: pd.Series(x).value_counts()
    yield (
        "cut in own range, value_counts",
        MANY,
        "l1",
        1,
        lambda x: pd.cut(series(x), 4).value_counts(sort=False).tolist(),
    )
    yield "groupby, size", VISITS, "l1", 1, lambda x: visits(x).size()
    yield "groupby, sum", VISITS, "l1", 1, lambda x: visits(x).sum()
    yield "groupby, mean, half the range as claim", VISITS, "l1", 0.5, lambda x: visits(x).mean()
    yield "groupby, nunique", VISITS, "l1", 1, lambda x: visits(x).nunique()
    yield "groupby, cumcount, largest", VISITS, ADDED, 1, lambda x: visits(x).cumcount().max() if len(x) else 0
    yield "rolling sum of three, summed", UNIT, ADDED, 1, lambda x: series(x).rolling(3, min_periods=1).sum().sum()
    yield "dropna", [0.0, 1.0, math.nan], "symmetric", 1, lambda x: series(x).dropna().tolist()
    yield "ffill", [0.0, 1.0, math.nan], "symmetric", 1, lambda x: series(x).ffill().tolist()
    yield "drop_duplicates", AGES, "symmetric", 1, lambda x: pd.Series(x).drop_duplicates().tolist()
    yield ("to_numeric, coerced", str, "symmetric", 1, lambda x: coerced(x).astype(float).tolist())
    yield "to_datetime, coerced", ["2024-01-31", "31/01/2024"], "symmetric", 1, dates


def diffprivlib_rows() -> Iterator[Row]:
    """What diffprivlib's tools give their mechanisms, and the sensitivity that they tell them."""
    from diffprivlib import tools
    from diffprivlib.tools import histograms, utils

    def told(tool: Callable[[Any], Any], x: Any) -> tuple[Any, float]:
        """What a tool gives without its noise, and the sensitivity of its mechanism."""
        sensitivities: list[float] = []

        def mechanism(*, sensitivity: float, **_: Any) -> Any:
            sensitivities.append(sensitivity)
            return SimpleNamespace(randomise=lambda value: value)

        names = ("LaplaceTruncated", "LaplaceBoundedDomain", "GeometricTruncated", "Geometric")
        with ExitStack() as stack:
            for module, name in product((utils, histograms), names):
                stack.enter_context(mock.patch.object(module, name, mechanism, create=True))
            return tool(x), sensitivities[0]

    functions: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
        "count_nonzero": (BITS, ADDED, tools.count_nonzero),
        "mean": (SIZED, REPLACED, lambda x: tools.mean(x, bounds=(0, 1))),
        "var": (SIZED, REPLACED, lambda x: tools.var(x, bounds=(0, 1))),
        "sum": (SIZED, REPLACED, lambda x: tools.sum(x, bounds=(0, 1))),
        "sum, integers": (AGES, ADDED, lambda x: tools.sum(x, bounds=(0, 120), dtype=int)),
        "histogram": (UNIT, "l1", lambda x: tools.histogram(x, bins=4, range=(0, 1))[0]),
    }
    for name, (domain, metric, tool) in functions.items():
        claim = told(tool, np.zeros(1000, dtype=int if domain.integers else float))[1]
        yield name, domain, metric, claim, lambda x, tool=tool: told(tool, x)[0]


def line(name: str, domain: Any, metric: str, claim: float, function: Callable[[Any], Any]) -> str:
    """One row of the table: the reduction, its claim and what is found."""
    relation = "substitute" if metric == REPLACED else "add-remove"
    metric = metric.partition(",")[0]
    stage = Target.stage(function, stability=claim, metric=metric, domain=domain, relation=relation, name=name)
    (finding,) = audit(stage, seconds=SECONDS)
    shown = finding.reason.rpartition("furthest apart are ")[2]
    if finding.verdict is Verdict.VIOLATED:
        shown = f"{finding.reason.rpartition(': ')[2].partition(', claimed')[0]}"
    return f"| `{name}` | {claim:.12g} | {finding.verdict}: {shown} |"


def main() -> None:
    """Print a table for each library that is installed."""
    for library, rows in (("numpy", numpy_rows), ("pandas", pandas_rows), ("diffprivlib", diffprivlib_rows)):
        if find_spec(library):
            print(f"| {library} {version(library)} | claimed | found |\n|---|---:|---|")
            for row in rows():
                print(line(*row), flush=True)
            print()


if __name__ == "__main__":
    main()
