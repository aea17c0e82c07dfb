"""The pages of reports/: an index and one page for each experiment, written from the records and figures alone.

The page of an experiment shows only what the seed determines. What depends on the machine has a page of its own under
`measured/`; where that is all there is, the index leads there.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import jinja2

from attacklab.errors import UsageError
from attacklab.files import write_whole
from attacklab.findings import Finding, Verdict, lower_text, read_record, upper_text
from attacklab.plain_text import plain
from attacklab.reporting.experiment import DATA, FIGURES, MEASURED
from attacklab.reporting.proofs import PROOFS, index_line, proofs_page
from attacklab.reporting.thumbnails import write_thumbnail
from attacklab.reporting.wording import claim_text, judged_text

Rows: TypeAlias = Sequence[Sequence[str]]
"""A table, its head first."""

LONGEST_TABLE = 40
"""A table of more rows, its head not counted, is a file of its own beside the page."""

COLUMNS = 4
"""How many experiments stand side by side in the index."""

THUMBNAILS = "thumbnails"
FIGURE = {"name": str, "caption": str}
DRAWN = {"name": str, "paragraph": str, "figures": [FIGURE]}
SEEDED_SHAPE = {"experiment": {**DRAWN, "question": str, "seed": int, "quick": bool}}
MEASURED_SHAPE = {
    "environment": {"system": str, "machine": str, "python": str, "numpy": str},
    "experiment": {**DRAWN, "seconds": (int, float), "table": [[str]]},
}
"""What pages show of a record: a type, a list of one shape, or an object's shapes by their keys."""

HEAD = ("target", "attack", "findings", "clearest at ε", "advantage", "claim allows", "ε at least")

WRITTEN = "Written by `attacklab run`"
"""What every index says of itself."""

TEMPLATES = jinja2.Environment(autoescape=False, keep_trailing_newline=True)  # noqa: S701 - Markdown, from our records
INDEX = TEMPLATES.from_string(
    """\
# What the experiments found

Written by `attacklab run`; not to be edited by hand. What a seed determines is in `data/`; times, machines and versions
are in `measured/`.
{% if proofs %}
{{ proofs }}
{% endif %}
|{{ " |" * columns }}
|{{ "---|" * columns }}
{% for row in entries | batch(columns) -%}
|{% for entry in row %} {{ entry }} |{% endfor %}
{% endfor %}"""
)
FIGURE_LIST = """\
{% for figure in entry.figures %}
![{{ figure.caption }}](figures/{{ figure.name }}.png)

{{ figure.caption }} ([SVG](figures/{{ figure.name }}.svg))
{% endfor %}
{%- if table %}
{{ table }}
{% endif %}
"""
PAGE = TEMPLATES.from_string(
    """\
# {{ entry.name }}

*{{ entry.question }}*

{{ entry.paragraph }}
"""
    + FIGURE_LIST
    + """\
{% if has_timings -%}
What was timed: [{{ entry.name }} on one machine](measured/{{ entry.name }}.md).

{% endif -%}
Data: [{{ entry.name }}.json](data/{{ entry.name }}.json), seed {{ entry.seed }}\
{{ ", quick run" if entry.quick else "" }}.
{%- if is_measured %} Times, machine and versions: [measured/{{ entry.name }}.json](measured/{{ entry.name }}.json).
{%- endif %} [All experiments](index.md).
"""
)
MEASURED_PAGE = TEMPLATES.from_string(
    """\
# {{ entry.name }}, as measured on one machine

*{{ question }}*

{{ entry.paragraph }}
"""
    + FIGURE_LIST
    + """\
Measured {{ "on " ~ environment.date if environment.date else "once" }} on {{ environment.system }} \
{{ environment.machine }} with Python {{ environment.python }} and numpy {{ environment.numpy }}, in \
{{ entry.seconds }} s. Another machine gives other figures. Data: [{{ entry.name }}.json]({{ entry.name }}.json).
{%- if has_page %} What the seed determines: [{{ entry.name }}](../{{ entry.name }}.md).{% endif %} \
[All experiments](../index.md).
"""
)


def require_index(reports: Path) -> None:
    """Make sure that `write_index` overwrites nobody else's index.

    Raises:
        UsageError: it would.
    """
    index = reports / "index.md"
    if index.is_file() and WRITTEN not in index.read_text(encoding="utf-8", errors="replace"):
        raise UsageError(f"{index} was not written by attacklab, so it is kept; choose another --output")


def write_index(reports: Path) -> Path:
    """Write `index.md`, the page of proofs and one for each experiment, with long tables and thumbnails, from records.

    Nothing is written unless every record can be read.

    Returns:
        The index's path.

    Raises:
        UsageError: a file there is not a record, lacks what its page shows, or names a figure that is missing.
        OSError: the folder cannot be written.
    """
    records = [
        (_read(path, SEEDED_SHAPE), _measured(reports, path)) for path in sorted((reports / DATA).glob("*.json"))
    ]
    entries = [_write_pages(reports, data, measured) for data, measured in records]
    index = reports / "index.md"
    proofs = proofs_page(reports)
    if proofs:
        _write(reports / PROOFS / "index.md", proofs)
    columns = min(COLUMNS, len(entries) or 1)
    _write(index, INDEX.render(entries=entries, columns=columns, proofs=index_line(reports)))
    return index


def _read(path: Path, shape: Mapping[str, Any]) -> dict[str, Any]:
    data = read_record(path)
    if "experiment" not in data:
        raise UsageError(f"{path} is not the record of an experiment; move it elsewhere")
    fault = _fault(data, shape, "the record")
    if fault:
        raise UsageError(f"{path} is malformed: {fault}; run the experiment {path.stem} again")
    if data["experiment"]["name"] != path.stem:
        raise UsageError(f"{path} is the record of {data['experiment']['name']!r}; give the file that name")
    return data


def _fault(value: Any, shape: Any, place: str) -> str:
    """The first part of a value that does not have its shape; empty if there is none."""
    if isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            return f"{place} is not an object"
        missing = [key for key in shape if key not in value]
        if missing:
            return f"{place} lacks {', '.join(missing)}"
        parts = ((value[key], part, key) for key, part in shape.items())
    elif isinstance(shape, list):
        if not isinstance(value, list):
            return f"{place} is not a list"
        parts = ((item, shape[0], f"{place}[{number}]") for number, item in enumerate(value))
    else:
        return "" if isinstance(value, shape) else f"{place} is {value!r}"
    return next(filter(None, (_fault(*part) for part in parts)), "")


def _measured(reports: Path, data: Path) -> dict[str, Any] | None:
    """What was measured with a record; None for a record from before the two were kept apart."""
    path = reports / MEASURED / data.name
    return _read(path, MEASURED_SHAPE) if path.is_file() else None


def _write_pages(reports: Path, data: dict[str, Any], measured: dict[str, Any] | None) -> str:
    """Write the pages of one experiment; return its entry in the index."""
    entry = data["experiment"]
    name = entry["name"]
    timed = measured["experiment"] if measured else {}
    has_timings = bool(measured and timed["paragraph"])
    has_page = bool(entry["paragraph"] or entry["figures"] or data["findings"] or not has_timings)
    page, measured_page = reports / f"{name}.md", reports / MEASURED / f"{name}.md"
    if has_page:
        table = _table(summarised(data["findings"]), page, reports / DATA / f"{name}.csv")
        _write(page, PAGE.render(entry=entry, table=table, has_timings=has_timings, is_measured=measured is not None))
    if measured and has_timings:
        table = _table(timed["table"], measured_page, reports / MEASURED / f"{name}.csv")
        known = {"question": entry["question"], "environment": measured["environment"], "has_page": has_page}
        _write(measured_page, MEASURED_PAGE.render(entry=timed, table=table, **known))
    folder, shown = (reports, entry) if has_page else (reports / MEASURED, timed)
    return _index_entry(reports, folder, name, entry["question"], shown["figures"])


def _index_entry(reports: Path, folder: Path, name: str, question: str, figures: Sequence[Mapping[str, str]]) -> str:
    """The cell of an experiment in the index: a thumbnail of its first figure, its name and its question."""
    page = (folder / f"{name}.md").relative_to(reports).as_posix()
    entry = f"[**{name}**]({page}): {_cell(question)}"
    if not figures:
        return entry
    figure, thumbnail = folder / FIGURES / f"{figures[0]['name']}.png", folder / THUMBNAILS / f"{name}.png"
    if not figure.is_file():
        raise UsageError(f"{figure} is missing; run the experiment {name} again")
    write_thumbnail(figure, thumbnail)
    return f"[![{name}]({thumbnail.relative_to(reports).as_posix()})]({page})<br>{entry}"


def _table(rows: Rows, page: Path, file: Path) -> str:
    """The table in Markdown or, if it is long, a link to the CSV file that it is written to."""
    body = rows[1:]
    if len(body) <= LONGEST_TABLE:
        file.unlink(missing_ok=True)
        return "\n".join(_markdown(rows)) if body else ""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_whole(file, text.getvalue())
    return f"The table has {len(body)} rows: [{file.name}]({file.relative_to(page.parent).as_posix()})."


def _markdown(rows: Rows) -> list[str]:
    head, *body = ([_cell(cell) for cell in row] for row in rows)
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *body)]


def _cell(text: str) -> str:
    return plain(text).replace("|", r"\|").replace("<", "&lt;")


def _write(path: Path, page: str) -> None:
    write_whole(path, page.rstrip() + "\n")


def summarised(findings: Sequence[Finding]) -> Rows:
    """A row for each target under each attack: how often which verdict, and the finding furthest above its ceiling."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.target, finding.attack), []).append(finding)
    return [HEAD, *((target, attack, *_summary(group)) for (target, attack), group in groups.items())]


def _summary(group: list[Finding]) -> list[str]:
    order = list(Verdict)
    verdicts = [finding.verdict_in_scope for finding in sorted(group, key=lambda finding: order.index(finding.verdict))]
    counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    judged = [(finding.advantage, finding) for finding in group if finding.advantage is not None]
    if not judged:
        return [counted, "", group[0].reason, "", ""]
    advantage, clearest = max(judged, key=lambda pair: max(pair[0].lower, -pair[0].upper) - pair[1].ceiling)
    return [
        counted,
        f"{claim_text(clearest)}, {judged_text(clearest)}" if clearest.judged_at else f"{clearest.judged.epsilon:g}",
        f"{advantage.estimate:.4g} [{lower_text(advantage.lower, 4)}, {upper_text(advantage.upper, 4)}]",
        f"{clearest.ceiling:.4g}",
        lower_text(clearest.epsilon_lower or 0.0),
    ]
