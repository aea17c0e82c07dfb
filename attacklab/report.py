"""The index page of reports/: one entry an experiment, written from the records alone."""

from __future__ import annotations

import json
from pathlib import Path

import jinja2

from attacklab.findings import SCHEMA, Verdict, write_whole

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
| target | attack | event | advantage | claim allows | ε at least | verdict |
|---|---|---|---|---|---|---|
{% for finding in entry.findings -%}
| {{ finding.target }} | {{ finding.attack }} | {{ finding.event or finding.reason }} | {{ advantage(finding) }} \
| {{ "%.3g"|format(finding.ceiling) }} | {{ epsilon(finding) }} | **{{ finding.verdict }}** |
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
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.get("schema") != SCHEMA or "experiment" not in data:
            raise ValueError(f"{path} is not the record of an experiment")
        entries.append(data)
    page = INDEX.render(entries=entries, advantage=_advantage, epsilon=_epsilon)
    index = reports / "index.md"
    write_whole(index, page.rstrip() + "\n")
    return index


def _advantage(finding: dict[str, object]) -> str:
    bounds = finding["advantage"]
    if not isinstance(bounds, dict):
        return ""
    return f"{bounds['estimate']:.4g} [{bounds['lower']:.4g}, {bounds['upper']:.4g}]"


def _epsilon(finding: dict[str, object]) -> str:
    lower = finding["epsilon_lower"]
    if finding["verdict"] == Verdict.NOT_DETECTED:
        return f"(detectable advantage {finding['smallest_detectable']:.3g})"
    return f"{lower:.3g}" if isinstance(lower, float) else ""
