"""The pages of reports/: an index and one page for each experiment, written from the records and figures alone.

The page of an experiment shows only what the seed determines. What depends on the machine has a page of its own under
`measured/`; if an experiment has no other page, the index links to that one. If the code of the checkout has changed
since a record was made, its page says so at the top, and says when and where the record was made.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from attacklab.model.errors import UsageError
from attacklab.model.files import write_whole
from attacklab.model.findings import Finding, Verdict, lower_text, read_record, upper_text
from attacklab.reporting.experiment import DATA, FIGURES, MEASURED
from attacklab.reporting.lab import FOLDER
from attacklab.reporting.proofs import PROOFS, proofs_page
from attacklab.reporting.rendering import UndefinedError, cell, render
from attacklab.reporting.sources import digests
from attacklab.reporting.wording import claim_text, judged_text

Rows: TypeAlias = Sequence[Sequence[str]]
"""The rows of a table. The first row is its header."""

LONGEST_TABLE = 40
"""A table with more rows than this, not counting its header, is written to a CSV file instead of the page."""

COLUMNS = 4
"""The number of experiments side by side in the index."""

INDEX_NAME = "index.md"
OF_THE_LAB = "About the lab itself"
"""The heading above the experiments of `corpus`."""

HEAD = ("target", "attack", "findings", "clearest at ε", "advantage", "claim allows", "ε at least")

WRITTEN = "Written by `attacklab run`"
"""Every index contains this line. `require_index` recognises an index by it."""


def require_index(reports: Path) -> None:
    """Make sure that `write_index` overwrites nobody else's index.

    Raises:
        UsageError: `index.md` exists, and attacklab did not write it.
    """
    index = reports / INDEX_NAME
    if index.is_file() and WRITTEN not in index.read_text(encoding="utf-8", errors="replace"):
        raise UsageError(f"{index} was not written by attacklab, so it is kept; choose another --output")


def write_index(reports: Path, lab: Path | None = None) -> Path:
    """Write `index.md`, the page of proofs, a page for each experiment and the long tables, all from the records.

    Nothing is written unless every record can be read.

    Args:
        reports: the folder of the records, and of what is written.
        lab: the checkout. A page is marked as older if its code has changed since; with None, no page is marked.

    Returns:
        The index's path.

    Raises:
        UsageError: a file there is not a record, lacks what its page shows, or names a figure that is missing.
        OSError: the folder cannot be written.
    """
    for path, text in rendered(reports, lab).items():
        if text is None:
            path.unlink(missing_ok=True)
        else:
            write_whole(path, text)
    return reports / INDEX_NAME


@dataclass(frozen=True, slots=True)
class _Record:
    """The two records of one experiment.

    Attributes:
        reports: the folder of the reports.
        data: the record of what the seed determines.
        measured: the record of what depends on the machine.
        made: when and where the records were made, if the code has changed since; else None.
    """

    reports: Path
    data: Mapping[str, Any]
    measured: Mapping[str, Any]
    made: str | None

    @property
    def name(self) -> str:
        return str(self.data["experiment"]["name"])

    @property
    def has_page(self) -> bool:
        """Whether there is more to show than timings."""
        entry, timed = self.data["experiment"], self.measured["experiment"]
        return bool(entry["paragraph"] or entry["figures"] or self.data["findings"] or not timed["paragraph"])

    @property
    def shown(self) -> Any:
        """The entry `experiment` that the index shows: in `data`, or in `measured` if there are only timings."""
        return (self.data if self.has_page else self.measured)["experiment"]

    @property
    def folder(self) -> Path:
        return self.reports if self.has_page else self.reports / MEASURED


def _records(reports: Path, lab: Path | None) -> Iterator[_Record]:
    for path in sorted((reports / DATA).glob("*.json")):
        data, measured = _read(path), _read(reports / MEASURED / path.name)
        entry, origin = data["experiment"], None
        if lab is not None and entry.get("sources") != digests(lab, f"{entry['package']}.{path.stem}"):
            origin = _when_and_where(measured["environment"])
        yield _Record(reports, data, measured, origin)


def _when_and_where(environment: Mapping[str, str]) -> str:
    date = f"on {environment['date']}" if environment.get("date") else "once"
    return "{} on {system} {machine} with Python {python} and numpy {numpy}".format(date, **environment)


def rendered(reports: Path, lab: Path | None = None) -> dict[Path, str | None]:
    """Return the text of every file that `write_index` writes, by path; None for a CSV file that is not needed."""
    records, texts = list(_records(reports, lab)), dict[Path, str | None]()
    for record in records:
        try:
            texts |= _pages(record)
        except (KeyError, TypeError, UndefinedError) as error:
            told = f"a record of {record.name} in {reports} is malformed: {error}; run the experiment again"
            raise UsageError(told) from error
    proofs, line = proofs_page(reports)
    if proofs:
        texts[reports / PROOFS / "index.md"] = proofs
    tables: dict[str, list[str]] = {"": [], OF_THE_LAB: []}
    for record in records:
        tables["" if record.data["experiment"]["package"] == FOLDER else OF_THE_LAB].append(_index_entry(record))
    columns = min(COLUMNS, max(map(len, tables.values())) or 1)
    texts[reports / INDEX_NAME] = render("index.md", tables=tables, columns=columns, proofs=line)
    return texts


def _read(path: Path) -> dict[str, Any]:
    data = read_record(path)
    if "experiment" not in data:
        raise UsageError(f"{path} is not the record of an experiment; move it elsewhere")
    if data["experiment"]["name"] != path.stem:
        raise UsageError(f"{path} is the record of {data['experiment']['name']!r}; give the file that name")
    return data


def _pages(record: _Record) -> dict[Path, str | None]:
    """Return the text of each page and of the CSV file of an experiment, by path; None if it needs no CSV file."""
    reports, name = record.reports, record.name
    texts: dict[Path, str | None] = {}
    if record.has_page:
        page, file = reports / f"{name}.md", reports / DATA / f"{name}.csv"
        table, texts[file] = _table(summarised(record.data["findings"]), page, file)
        texts[page] = render("experiment.md", record=record, shown=record.shown, table=table, measured="")
    timed = record.measured["experiment"]
    if timed["paragraph"]:
        made = _when_and_where(record.measured["environment"])
        texts[reports / MEASURED / f"{name}.md"] = render("experiment.md", record=record, shown=timed, measured=made)
    return texts


def _index_entry(record: _Record) -> str:
    """Return the cell of an experiment in the index: its first figure, its name and its question."""
    name = record.name
    page = (record.folder / f"{name}.md").relative_to(record.reports).as_posix()
    entry = f"[**{name}**]({page}): {cell(record.data['experiment']['question'])}"
    if record.made is not None:
        entry += " *(older)*"
    for figure in record.shown["figures"][:1]:
        picture = _figure(record, figure).relative_to(record.reports).as_posix()
        entry = f"[![{name}]({picture})]({page})<br>{entry}"
    return entry


def _figure(record: _Record, figure: Mapping[str, str]) -> Path:
    path = record.folder / FIGURES / f"{figure['name']}.svg"
    if not path.is_file():
        raise UsageError(f"{path} is missing; run the experiment {record.name} again")
    return path


def _table(rows: Rows, page: Path, file: Path) -> tuple[str, str | None]:
    """Return the table in Markdown and None; for a long table, return a link to `file` and that file's text."""
    body = rows[1:]
    if len(body) <= LONGEST_TABLE:
        lines = [f"| {' | '.join(map(cell, row))} |" for row in (rows[0], ["---"] * len(rows[0]), *body)]
        return "\n".join(lines) if body else "", None
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    link = file.relative_to(page.parent).as_posix()
    return f"The table has {len(body)} rows: [{file.name}]({link}).", text.getvalue()


def summarised(findings: Sequence[Finding]) -> Rows:
    """Return a header, and a row for each target and attack: verdict counts, and the finding most above its ceiling."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.target, finding.attack), []).append(finding)
    return [HEAD, *((target, attack, *_summary(group)) for (target, attack), group in groups.items())]


def _summary(group: list[Finding]) -> list[str]:
    order = list(Verdict)
    verdicts = [finding.verdict_in_scope for finding in sorted(group, key=lambda finding: order.index(finding.verdict))]
    counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    judged = [(finding.shown.advantage, finding) for finding in group if finding.shown.advantage is not None]
    if not judged:
        return [counted, "", group[0].reason, "", ""]
    advantage, clearest = max(judged, key=lambda pair: max(pair[0].lower, -pair[0].upper) - pair[1].shown.ceiling)
    return [
        counted,
        f"{claim_text(clearest)}, {judged_text(clearest)}"
        if clearest.shown.judged_at
        else f"{clearest.judged.epsilon:g}",
        f"{advantage.estimate:.4g} [{lower_text(advantage.lower, 4)}, {upper_text(advantage.upper, 4)}]",
        f"{clearest.shown.ceiling:.4g}",
        lower_text(clearest.shown.epsilon_lower or 0.0),
    ]
