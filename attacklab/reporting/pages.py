"""The index page of reports/: one entry an experiment, written from the records alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jinja2

from attacklab.errors import UsageError
from attacklab.findings import Finding, Verdict, lower_text, read_record, upper_text, write_whole

INDEX = jinja2.Template(
    """\
# What the experiments found

Written by `attacklab run` from the records in `data/`; not to be edited by hand.
{% for entry in entries %}
- [{{ entry.experiment.name }}](#{{ entry.experiment.name }}): {{ entry.experiment.question }}
{%- endfor %}
{% for entry in entries %}

## {{ entry.experiment.name }}

*{{ entry.experiment.question }}*

{{ entry.experiment.paragraph }}
{% for figure in entry.experiment.figures %}
![{{ figure.caption }}](figures/{{ figure.name }}.png)

{{ figure.caption }} ([SVG](figures/{{ figure.name }}.svg))
{% endfor %}
{%- if entry.findings %}
| target | attack | findings | clearest at ε | advantage | claim allows | ε at least |
|---|---|---|---|---|---|---|
{% for row in summarise(entry.findings) -%}
| {{ row | join(" | ") }} |
{% endfor -%}
{% endif %}
Data: [{{ entry.experiment.name }}.json](data/{{ entry.experiment.name }}.json), seed {{ entry.experiment.seed }}\
{{ ", quick run" if entry.experiment.quick else "" }}, {{ entry.experiment.seconds }} s, \
Python {{ entry.environment.python }}, numpy {{ entry.environment.numpy }}.
{% endfor %}""",
    autoescape=False,
    keep_trailing_newline=True,
)


def write_index(reports: Path) -> Path:
    """Write `index.md` from all the records in `reports/data`.

    Returns:
        The page's path.

    Raises:
        ValueError: a file there is not a record.
        OSError: the folder cannot be written.
    """
    entries = []
    for path in sorted((reports / "data").glob("*.json")):
        data = read_record(path)
        if "experiment" not in data:
            raise UsageError(f"{path} is not the record of an experiment")
        entries.append(data)
    page = INDEX.render(entries=entries, summarise=_summarise)
    index = reports / "index.md"
    write_whole(index, page.rstrip() + "\n")
    return index


def _summarise(findings: Sequence[Finding]) -> list[list[str]]:
    """A row for each target under each attack: how often which verdict, and the finding furthest above its ceiling."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.target, finding.attack), []).append(finding)
    rows = ([target, attack, *_summary(group)] for (target, attack), group in groups.items())
    return [[cell.replace("|", r"\|") for cell in row] for row in rows]


def _summary(group: list[Finding]) -> list[str]:
    verdicts = [finding.verdict for finding in group]
    counted = ", ".join(f"{verdicts.count(verdict)} **{verdict}**" for verdict in Verdict if verdict in verdicts)
    judged = [(finding.advantage, finding) for finding in group if finding.advantage is not None]
    if not judged:
        return [counted, "", group[0].reason, "", ""]
    advantage, clearest = max(judged, key=lambda pair: max(pair[0].lower, -pair[0].upper) - pair[1].ceiling)
    return [
        counted,
        f"{clearest.judged.epsilon:g}",
        f"{advantage.estimate:.4g} [{lower_text(advantage.lower, 4)}, {upper_text(advantage.upper, 4)}]",
        f"{clearest.ceiling:.4g}",
        lower_text(clearest.epsilon_lower or 0.0),
    ]
