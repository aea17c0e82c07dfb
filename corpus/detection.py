"""Which broken targets, for which no attack was written, a default audit finds, and which sound ones it accuses.

Attacks may be developed on the specimens in `known/`. The specimens here are held out: nobody looks at them meanwhile,
so the share that is found here is the share to expect elsewhere.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any

from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.model.findings import Finding, Verdict
from attacklab.reporting.experiment import Collected, Data, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from corpus.common import PARAGRAPHS
from corpus.common.specimen import Specimen, accusers
from corpus.held_out import HELD_OUT
from experiments.common.curves import figure, line, marks, panel

QUESTION = "How many flaws does a default audit find that it was not written for, and does it accuse sound targets?"

POWER_TRIALS = (1_000, 10_000, 100_000)

DEFAULT = "default"
"""The key in a record for an audit with the default number of trials, which follows cost and evidence."""

QUICK = ("cut_towards_zero", "five_answers_at_epsilon_3")
"""The specimens of a quick run: one broken and one sound, both decided quickly."""


def collect(settings: Settings) -> Collected:
    """Audit each specimen with growing numbers of trials, then by default; a quick run uses the least number alone."""
    budgets = POWER_TRIALS[:1] if settings.share < 1 else (*POWER_TRIALS, None)
    findings, rows, seconds = [], [], {}
    for specimen in HELD_OUT:
        if settings.share < 1 and specimen.name not in QUICK:
            continue
        new, row, took = _audited(specimen, budgets, settings.seed)
        findings += new
        rows.append(row)
        seconds[specimen.name] = took
    return Collected(findings, {"specimens": rows}, seconds)


def _audited(
    specimen: Specimen, budgets: Sequence[int | None], seed: int
) -> tuple[list[Finding], dict[str, Any], float]:
    """Return the last audit's refuting findings, one for each attack, a row, and that audit's processor seconds."""
    by = {}
    for trials in budgets:
        started = time.process_time()
        findings = audit(specimen.make(), trials=trials, seed=seed)
        took = time.process_time() - started
        by[DEFAULT if trials is None else str(trials)] = accusers(findings)
    row: dict[str, Any] = {
        "name": specimen.name,
        "group": specimen.group,
        "broken": specimen.broken,
        "why": specimen.why,
        "found_by": by,
        "errors": list(dict.fromkeys(finding.reason for finding in findings if finding.verdict is Verdict.ERROR)),
    }
    refuting = {finding.attack: finding for finding in findings if finding.refutes}
    return list(refuting.values()), row, took


def _is_found(row: dict[str, Any]) -> bool:
    """Whether the last audit, which is the default one unless the run is quick, accused the target."""
    return bool(list(row["found_by"].values())[-1])


def _budget(name: str) -> str:
    return "as many trials as evidence and cost warrant" if name == DEFAULT else f"{int(name):,} trials"


def _by_group(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    return groups


def _share_found(rows: Sequence[dict[str, Any]]) -> float:
    return sum(map(_is_found, rows)) / len(rows)


SORTS = (("broken", Role.NAIVE, True), ("sound", Role.EXACT, False))
"""The two series of a panel: label, role, and whether the targets are broken."""


def figures(data: Data) -> list[Figure]:
    """Draw the share of targets that is accused, by class and against the number of trials."""
    rows = data["measured"]["specimens"]
    caption = "What default audits find of broken targets that nobody looked at, and how often they accuse sound ones."
    return [figure("detection", caption, [_class_panel(rows), _power_panel(rows)])]


def _class_panel(rows: Sequence[dict[str, Any]]) -> Panel:
    groups = _by_group(rows)
    names = list(groups)[::-1]

    def rates(label: str, role: Role, *, broken: bool) -> Series:
        shown = [
            (_share_found(of_sort), float(place))
            for place, name in enumerate(names)
            if (of_sort := [row for row in groups[name] if row["broken"] is broken])
        ]
        return marks(label, role, *zip(*shown, strict=True))

    series = [rates(label, role, broken=broken) for label, role, broken in SORTS]
    title = f"default audits, α = {DEFAULT_ALPHA:g}"
    return panel(title, "share of the class that is accused", "", series, y_names=names)


def _power_panel(rows: Sequence[dict[str, Any]]) -> Panel:
    def shares(label: str, role: Role, *, broken: bool) -> Series:
        of_sort = [row for row in rows if row["broken"] is broken]
        trials = [budget for budget in rows[0]["found_by"] if budget != DEFAULT]
        found = [sum(bool(row["found_by"][budget]) for row in of_sort) / len(of_sort) for budget in trials]
        return line(label, role, map(int, trials), found)

    series = [shares(label, role, broken=broken) for label, role, broken in SORTS]
    title = "the share that is accused, by trials"
    return panel(title, "trials, at the most", "share of the targets", series, x_scale="log")


def explain(data: Data) -> str:
    """Say what was found, what was missed, and how many sound targets were accused."""
    rows = data["measured"]["specimens"]
    broken = [row for row in rows if row["broken"]]
    sound = [row for row in rows if not row["broken"]]
    by_attack = Counter(attack for row in broken for attack in list(row["found_by"].values())[-1])
    return PARAGRAPHS["detection"].format(
        broken=len(broken),
        sound=len(sound),
        budget=_budget(list(rows[0]["found_by"])[-1]),
        alpha=DEFAULT_ALPHA,
        found=sum(map(_is_found, broken)),
        accused=sum(map(_is_found, sound)) or "none",
        errors=sum(bool(row["errors"]) for row in rows) or "none",
        shares=", ".join(
            f"{sum(map(_is_found, of))} of {len(of)} ({group})" for group, of in _by_group(broken).items()
        ),
        missed=", ".join(f"`{row['name']}`" for row in broken if not _is_found(row)) or "nothing",
        by_attack=", ".join(f"{attack} {count}" for attack, count in by_attack.most_common()) or "none",
    )


def explain_timings(data: Data) -> str:
    """Say how long a default audit takes."""
    seconds: dict[str, float] = data["timings"]
    sorts = {row["name"]: row["broken"] for row in data["measured"]["specimens"]}
    slowest = max(seconds, key=seconds.__getitem__)
    return PARAGRAPHS["detection_timings"].format(
        median=median(seconds.values()),
        broken=median(took for name, took in seconds.items() if sorts[name]),
        sound=median(took for name, took in seconds.items() if not sorts[name]),
        slowest=slowest,
        longest=seconds[slowest],
    )
