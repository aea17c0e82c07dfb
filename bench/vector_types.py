"""Which type of test vectors catches which flaw: the files of `vectors/` held against implementations with known flaws.

Each cell is measured: the cases of one type are put to one implementation as `attacklab vectors check` puts them to a
program. The exact implementations stand beside them as a control. Real libraries are asked where they can be driven by
given random numbers or requests, or without noise; rows of libraries whose environment is not built are kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from attacklab.auditing.flaws import catalogue
from attacklab.model.findings import Verdict
from attacklab.processes.lines import Limits
from attacklab.reporting.experiment import Collected, Data, Settings
from attacklab.reporting.figures import Cell, Figure, Matrix
from attacklab.vectors import read_file
from attacklab.vectors.checking import Budget, check
from attacklab.vectors.program import VectorProgram
from bench.common import PARAGRAPHS
from bench.common.library_vectors import ASKED, counted, library_rows
from experiments.vectors import exact_twins
from experiments.vectors.flawed import IMPLEMENTATIONS

QUESTION = "Which type of test vectors catches which flaw?"

ROOT = Path(__file__).parent.parent
EXAMPLE = ("examples/vectors/program.py", "naive")
TYPES = ("law", "pair", "tape", "trace", "special", "calibration", "rounding", "sum")
CONTROL = "exact twins"
ALPHA = 1e-9
"""The probability that samples refute a sound implementation in one cell."""

SECONDS = 120.0
"""What one request to a program may take."""

QUICK_EVERY = 12
"""A quick run takes one case in so many of each mechanism."""

NOT_A_FLAW = ("black_box", "fails", "lattice", "little_noise")
"""Entries of the list of flaws that stand for no flaw of their own, or for one that real and naive samplers have."""

Ask: TypeAlias = Callable[..., Mapping[str, Any]]
Row: TypeAlias = dict[str, Any]


def collect(settings: Settings) -> Collected:
    """Put the files to every implementation, and to the libraries whose environments are built."""
    files = {name: _file(name, thin=settings.share < 1) for name in TYPES}
    budget = Budget(settings.budget(1_000, 20), ALPHA, settings.seed)
    rows = [_row(CONTROL, "", (), exact_twins.answer, files, budget)]
    rows += [_row(entry.name, entry.wrong, entry.flaws, entry.answer, files, budget) for entry in IMPLEMENTATIONS]
    example = VectorProgram([sys.executable, str(ROOT / EXAMPLE[0]), EXAMPLE[1]], Limits(seconds=SECONDS))
    try:
        rows.append(
            _row(" ".join(EXAMPLE), "the probability of a coin is rounded to a double", (), example, files, budget)
        )
    finally:
        example.close()
    flags = {name: sorted(file["notes"]) for name, file in files.items()}
    measured = {"trials": budget.trials, "alpha": ALPHA, "flags": flags, "implementations": rows}
    earlier = settings.previous["timings"]["rows"] if settings.previous else []
    return Collected(measured=measured, timings=library_rows(files, budget, earlier, quick=settings.share < 1))


def _file(name: str, *, thin: bool) -> Mapping[str, Any]:
    file = read_file(ROOT / "vectors" / f"{name}.json")
    if not thin:
        return file
    groups = [{**group, "cases": group["cases"][::QUICK_EVERY]} for group in file["groups"]]
    return {**file, "groups": groups, "cases": sum(len(group["cases"]) for group in groups)}


def _row(
    name: str, wrong: str, flaws: Sequence[str], ask: Ask, files: Mapping[str, Mapping[str, Any]], budget: Budget
) -> Row:
    cells = {type_: counted(list(check([file], ask, budget))) for type_, file in files.items()}
    return {"name": name, "wrong": wrong, "flaws": list(flaws), "types": cells}


def figures(data: Data) -> list[Figure]:
    """The implementations by the types."""
    rows = data["measured"]["implementations"]
    matrix = Matrix(
        title="Test vectors against implementations with known flaws",
        row_names=[row["name"] for row in rows],
        column_names=TYPES,
        cells=[[_drawn(row["types"][type_]) for type_ in TYPES] for row in rows],
    )
    caption = (
        "Red: how many cases of a type an implementation gets wrong. Grey: how many it was asked, all of them right."
    )
    return [Figure(name="vector_types", caption=caption, panels=[matrix])]


def _drawn(measured: Mapping[str, Any]) -> Cell:
    if not measured["asked"]:
        return Cell(verdict=Verdict.NOT_APPLICABLE)
    if measured["wrong"]:
        return Cell(verdict=Verdict.VIOLATED, text=str(measured["wrong"]))
    return Cell(verdict=Verdict.NOT_DETECTED, text=str(measured["asked"]))


def caught(row: Row) -> bool:
    """Whether any type catches an implementation."""
    return any(counted["wrong"] for counted in row["types"].values())


def idle_flags(data: Data) -> list[str]:
    """The flags, each with its type, under which every implementation is right."""
    covered = [
        (type_, flag)
        for row in data["measured"]["implementations"]
        for type_, counted in row["types"].items()
        for flag in counted["flags"]
    ]
    listed = data["measured"]["flags"].items()
    return [f"{flag} ({type_})" for type_, flags in listed for flag in flags if (type_, flag) not in covered]


def missed_flaws(data: Data) -> list[str]:
    """The flaws of the lab's list that no caught implementation stands for."""
    seen = {flaw for row in data["measured"]["implementations"] if caught(row) for flaw in row["flaws"]}
    return [name for name in catalogue() if name not in seen and name not in NOT_A_FLAW]


def explain(data: Data) -> str:
    """Say what catches what, and what nothing catches."""
    measured = data["measured"]
    control, *rows = measured["implementations"]
    wrong = sum(counted["wrong"] for counted in control["types"].values())
    idle = idle_flags(data)
    return PARAGRAPHS["vector_types"].format(
        count=len(rows),
        trials=measured["trials"],
        control=f"{wrong or 'no'} wrong case{'' if wrong == 1 else 's'}",
        seen=sum(map(caught, rows)),
        idle=f", except {', '.join(idle)}" if idle else "",
        caught="\n".join(f"| {row['name']} | {row['wrong']} | {_by_type(row)} |" for row in rows if caught(row)),
        unseen="\n".join(
            f"| {row['name']} | {row['wrong']} | {', '.join(_asked(row)) or 'nothing'} | {', '.join(row['flaws'])} |"
            for row in rows
            if not caught(row)
        ),
        missed=", ".join(missed_flaws(data)) or "none",
    )


def _by_type(row: Row) -> str:
    cells = {type_: row["types"][type_] for type_ in TYPES if row["types"][type_]["wrong"]}
    return "; ".join(f"{type_} {counted['wrong']} ({', '.join(counted['flags'])})" for type_, counted in cells.items())


def _asked(row: Row) -> Iterator[str]:
    return (type_ for type_ in TYPES if row["types"][type_]["asked"])


def explain_timings(data: Data) -> str:
    """Say how libraries were driven."""
    rows = data["timings"]["rows"]
    measured = sorted({f"{row['library']} {row['version']}" for row in rows})
    drivers = " ".join(entry.how for entry in ASKED)
    return PARAGRAPHS["vector_types_libraries"].format(drivers=drivers, libraries=", ".join(measured) or "none")


def timing_table(data: Data) -> list[list[str]]:
    """What libraries made of the vectors."""
    head = ["library", "type", "mechanism", "driven by", "cases", "wrong", "flags among them", "known from", "measured"]
    return [
        head,
        *(
            [
                f"{row['library']} {row['version']}",
                row["type"],
                row["mechanism"],
                row["driven"],
                str(row["asked"]),
                str(row["wrong"]),
                ", ".join(row["flags"]),
                row["link"] if row["wrong"] else "",
                row["measured"]["date"],
            ]
            for row in data["timings"]["rows"]
        ),
    ]
