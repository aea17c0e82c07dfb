"""All pages of a folder of reports as one page of HTML, for a browser without a network.

At its head is the scoreboard: the naive targets of each mechanism beside its exact ones. It shows the record of the
experiment `matrix`; the field `measured` there says which targets belong to which mechanism.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attacklab.model.errors import from_extra
from attacklab.model.findings import CERTIFICATE, EXACT_LAW, Finding, Verdict, decisive, read_record
from attacklab.reporting.experiment import DATA
from attacklab.reporting.rendering import render
from attacklab.reporting.wording import inputs_text, shown_by

with from_extra("pages"):
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

VARIANTS = ("naive", "exact")


def lab_page(reports: Path, index: Path) -> str:
    """Return one page of HTML: the scoreboard, the index, and below them every page of the reports.

    Args:
        reports: the folder of the reports, where the HTML will be too.
        index: the path of the index in it.
    """
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    pages = [path for folder in (reports, reports / "measured") for path in sorted(folder.glob("*.md"))]
    anchors = {path: path.relative_to(reports).with_suffix("").as_posix() for path in pages}
    sections = {}
    for path in [index, *(page for page in pages if page != index)]:
        tokens = markdown.parse(path.read_text(encoding="utf-8"))
        _lead(tokens, path.parent, reports, anchors)
        sections[anchors[path]] = markdown.renderer.render(tokens, markdown.options, {})
    matrix = reports / DATA / "matrix.json"
    record = read_record(matrix) if matrix.is_file() else {}
    families = record.get("measured", {}).get("families")
    board = scoreboard(record["findings"], families) if families else None
    return render("lab_page.html", sections=sections, board=board)


def scoreboard(findings: Sequence[Finding], families: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the rows of the scoreboard, by mechanism and variant, and a sentence that counts them.

    Args:
        findings: all findings on the targets.
        families: the names of the targets of each mechanism.
    """
    targets: dict[str, list[Finding]] = {}
    for finding in findings:
        targets.setdefault(finding.target, []).append(finding)
    rows = {
        family: [
            [_entry(name, targets[name]) for name in names if name.startswith(variant) and name in targets]
            for variant in VARIANTS
        ]
        for family, names in families.items()
    }
    naive, exact = ([entry for row in rows.values() for entry in row[side]] for side in (0, 1))
    by_law = sum(entry["refuted_by"] == {EXACT_LAW} for entry in naive)
    summary = (
        f"{sum(bool(entry['refuted_by']) for entry in naive) - by_law} of {len(naive)} naive mechanisms broken by "
        f"samples, {by_law} by exact laws; {sum(entry['certified'] for entry in exact)} of {len(exact)} exact ones "
        "certified."
    )
    return {"summary": summary, "rows": rows}


def _entry(name: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return what a cell shows: the target's name, its colour, the attacks that refuted it, and its main finding."""
    refuting = [finding for finding in findings if finding.refutes]
    certified = [finding for finding in findings if finding.attack == CERTIFICATE and finding.verdict is Verdict.PROVED]
    told = (refuting or certified or decisive(findings))[0]
    inputs = f" Inputs: {inputs_text(told)}." if refuting and told.pair else ""
    return {
        "name": name.partition("_")[2].replace("_", " "),
        "refuted_by": {finding.attack for finding in refuting},
        "certified": bool(certified),
        "colour": "red" if refuting else "green" if certified else "grey",
        "sentence": f"{shown_by(told)}: {told.verdict_in_scope}. {told.reason}.{inputs}",
        "replay": told.replay,
    }


def _lead(tokens: Sequence[Token], folder: Path, reports: Path, anchors: dict[Path, str]) -> None:
    """Turn links to other pages into links to sections of this page, and make all other paths relative to `reports`."""
    for token in tokens:
        for name in ("href", "src"):
            address = str(token.attrs.get(name, ""))
            if address and "://" not in address:
                path = Path(folder, address)
                path = next((page for page in anchors if page.resolve() == path.resolve()), path)
                token.attrs[name] = f"#{anchors[path]}" if path in anchors else path.relative_to(reports).as_posix()
        _lead(token.children or (), folder, reports, anchors)
