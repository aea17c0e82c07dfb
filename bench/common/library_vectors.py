"""Test vectors against the samplers of real libraries, each in its own environment, over the line protocol.

The programs are those of `examples/vectors/`, which run where only their library is. What a library gets wrong is
listed where a public document says the same (`KNOWN`); a row that is wrong in any other way is left out, with a
warning, and SECURITY.md says what to do then.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from attacklab.libraries.environments import Environment, environments
from attacklab.model.errors import TargetError
from attacklab.model.findings import Verdict
from attacklab.processes.lines import Limits
from attacklab.reporting.experiment import measured_here
from attacklab.vectors.checking import Budget, CaseFinding, check
from attacklab.vectors.program import VectorProgram

ROOT = Path(__file__).parents[2]
SECONDS = 300.0
"""What one request may take."""

Row: TypeAlias = dict[str, Any]
File: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """A library, how it is driven, and about what.

    Attributes:
        library: its name.
        versions: the versions of it that are asked.
        driven: for each type, what it is driven by, and the mechanisms that it is asked for.
        trials: outputs for a sampled case; None for those of the experiment.
        how: a sentence for the page.
    """

    library: str
    versions: Sequence[str]
    driven: Mapping[str, tuple[str, Sequence[str]]]
    trials: int | None
    how: str

    @property
    def program(self) -> Path:
        """What serves it."""
        return ROOT / "examples" / "vectors" / f"{self.library}_program.py"


SUMS = ("forward_sum", "backward_sum", "pairwise_sum", "compensated_sum")
NOISE = ("discrete_laplace", "discrete_gaussian")

ASKED = (
    Asked(
        "diffprivlib",
        ("0.6.6",),
        {
            "law": ("seeded numbers", ("bernoulli_exp", *NOISE)),
            "trace": ("requests", ("bernoulli_exp",)),
            "sum": ("ε = ∞", SUMS),
        },
        None,
        "diffprivlib takes any source of random numbers: one whose numbers are decided when they are compared makes "
        "requests of its coins, and a coin that compares a double with one of 53 bits asks for another probability "
        "([how far it is off](existing_code.md); the distance is the size of one rounding, and by itself not a "
        "vulnerability). Its sum is asked at ε = ∞, where it adds no noise.",
    ),
    Asked(
        "tumult",
        ("0.20.0",),
        {
            "law": ("seeded numbers", ("uniform_below", "bernoulli", "bernoulli_exp", *NOISE)),
            "trace": ("requests", ("bernoulli_exp",)),
        },
        None,
        "Tumult Core draws every coin by one function, which can be replaced by requests or by a seeded generator.",
    ),
    Asked(
        "opendp",
        ("0.14.1", "0.16.0"),
        {"law": ("samples", NOISE)},
        100_000,
        "OpenDP is asked for 100,000 outputs a case.",
    ),
)
"""The libraries whose samplers can be asked."""

CASACUBERTA = "https://arxiv.org/abs/2207.10635"
OPENDP_2638 = "https://github.com/opendp/opendp/issues/2638"
KNOWN: Mapping[tuple[str, str, str, str], str] = {
    ("diffprivlib", "0.6.6", "trace", "bernoulli_exp"): "[existing_code](existing_code.md)",
    **{("diffprivlib", "0.6.6", "sum", name): CASACUBERTA for name in SUMS},
    **{("opendp", "0.14.1", "law", name): OPENDP_2638 for name in NOISE},
}
"""Where it is published that a library, its version and mechanism fail a type."""


def library_rows(files: Mapping[str, File], budget: Budget, earlier: Sequence[Row], *, quick: bool) -> dict[str, Any]:
    """Ask every library whose environment is built; keep earlier rows of the others. A quick run asks none.

    Args:
        files: the vectors by type.
        budget: of a sampled case.
        earlier: the rows of an earlier run.
        quick: whether only earlier rows are wanted.

    Returns:
        `rows`, and `absent`: the commands that build what is missing.

    Warns:
        UserWarning: a row is left out, because what it says is not public.
    """
    rows, absent = [], []
    described = {environment.name: environment for environment in environments(ROOT)}
    for asked in ASKED:
        for version in asked.versions:
            environment = described[f"{asked.library}-{version}"]
            if quick or environment.is_missing:
                absent.append(environment.build)
                rows += [row for row in earlier if (row["library"], row["version"]) == (asked.library, version)]
            else:
                rows += ask_library(asked, environment, files, budget)
    return {"rows": _public(rows), "absent": absent}


def ask_library(asked: Asked, environment: Environment, files: Mapping[str, File], budget: Budget) -> list[Row]:
    """The rows of one version of a library.

    Raises:
        TargetError: it did not answer as it must.
    """
    scaled = replace(budget, trials=asked.trials or budget.trials)
    program = VectorProgram([str(environment.python), "-W", "ignore", str(asked.program)], Limits(seconds=SECONDS))
    rows = []
    try:
        for type_, (driven, mechanisms) in asked.driven.items():
            for name in mechanisms:
                file = only(files[type_], name)
                findings = list(check([file], program, scaled))
                rows.append(
                    {
                        "library": asked.library,
                        "version": environment.version,
                        "type": type_,
                        "mechanism": name,
                        "driven": driven,
                        **counted(findings),
                        "measured": measured_here(),
                    }
                )
    finally:
        program.close()
    return rows


def only(file: File, mechanism: str) -> File:
    """A file with the cases of one mechanism."""
    groups = [group for group in file["groups"] if group["mechanism"] == mechanism]
    return {**file, "groups": groups, "cases": sum(len(group["cases"]) for group in groups)}


def counted(findings: Sequence[CaseFinding]) -> dict[str, Any]:
    """How many cases an implementation was asked, how many it got wrong, under which flags.

    Raises:
        TargetError: an answer was not one.
    """
    failed = [finding for finding in findings if finding.verdict is Verdict.ERROR]
    if failed:
        raise TargetError(f"case {failed[0].case} of type {failed[0].type}: {failed[0].reason}")
    asked = [finding for finding in findings if finding.verdict is not Verdict.NOT_APPLICABLE]
    wrong = [finding for finding in asked if finding.verdict is Verdict.VIOLATED]
    flags = {flag for finding in wrong for flag in finding.flags}
    return {"asked": len(asked), "wrong": len(wrong), "flags": sorted(flags)}


def _public(rows: Sequence[Row]) -> list[Row]:
    """The rows that are right, and those that are wrong as is known."""
    shown = []
    for row in rows:
        link = KNOWN.get((row["library"], row["version"], row["type"], row["mechanism"]), "")
        if row["wrong"] and not link:
            warnings.warn(
                f"{row['library']} {row['version']} fails {row['type']} vectors in a way that is not known to be "
                "public; the row is left out, see SECURITY.md",
                stacklevel=2,
            )
            continue
        shown.append({**row, "link": link})
    return shown
