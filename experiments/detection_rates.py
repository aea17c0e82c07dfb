"""What a default audit finds of broken targets that no attack was written for, and whom it accuses wrongly.

Two sets are reported apart: those on which attacks may be developed, and those that nobody looks at meanwhile. What is
found of the second is what to expect elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from attacklab.findings import Finding, Severity, Verdict
from attacklab.referee import DEFAULT_ALPHA, DEFAULT_TRIALS, audit
from attacklab.reporting.experiment import Collected, Data, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments.detection import SPECIMENS, Specimen
from experiments.detection.edge import ALPHA, EDGE, TRIALS, Journal, Rate, accusers, audited
from experiments.detection.held_out import HELD_OUT

QUESTION = "How many flaws does a default audit find that it was not written for, and does it accuse sound targets?"

POWER_TRIALS = (1_000, 10_000, DEFAULT_TRIALS)
SETS: tuple[tuple[str, tuple[Specimen, ...]], ...] = (("known", SPECIMENS), ("held out", HELD_OUT))

QUICK = (
    "fixed_seed",
    "upper_clip_only",
    "coarse_steps",
    "nucleus",
    "always_the_same",
    "two_answers",
    "cut_towards_zero",
    "five_answers_at_epsilon_3",
)
"""Specimens of a quick run: some that are decided in no time."""
QUICK_EDGE = 2

PARAGRAPH = """\
{broken} broken targets and {sound} sound ones were written apart from the attacks, each broken one with an event that
refutes its claim. Attacks may be developed on those that are known; those that are held out say what to expect of flaws
that nobody has looked at. These are default audits ({trials:,} trials, α = {alpha:g}). {sets} Broken targets refuted by
each attack: {by_attack}. {edge}"""
SET_PARAGRAPH = """\
Of the {name} ones an audit finds {found} of {broken} broken targets and accuses {accused} of the {sound} sound ones;
{errors} end in an error. By class it finds {shares}. What it misses: {missed}."""
EDGE_PARAGRAPH = """\
Of {audits:,} whole default audits of {targets} sound targets that spend all of their claim, at α = {alpha:g} and with
{trials} trials, {alarms} accused their target, a share of {rate:.2%}; the largest rate of one target is between
{lower:.2%} and {upper:.2%} at 95 % confidence."""
TIMINGS_PARAGRAPH = """\
A default audit takes {median:.2f} s of processor time in the median, of broken targets {broken:.2f} s and of sound ones
{sound:.2f} s; the longest, of `{slowest}`, {longest:.1f} s."""


def collect(settings: Settings) -> Collected:
    """Audit all specimens with ever more trials, and take over the false alarms that the journal has."""
    chosen = [(name, one) for name, of in SETS for one in of if not settings.quick or one.name in QUICK]
    findings, rows, seconds = [], [], {}
    for name, specimen in chosen:
        found, row, took = _audited(specimen, POWER_TRIALS[:1] if settings.quick else POWER_TRIALS, settings.seed)
        findings += found
        rows.append({"set": name, **row})
        seconds[specimen.name] = took
    return Collected(findings, {"specimens": rows, "edge": [rate.to_json() for rate in _rates(settings)]}, seconds)


def _audited(specimen: Specimen, budgets: Sequence[int], seed: int) -> tuple[list[Finding], dict[str, Any], float]:
    """A finding of each attack that refutes, who found what by trials, and the last audit's processor seconds."""
    by = {}
    for trials in budgets:
        started = time.process_time()
        found = audit(specimen.make(), trials=trials, seed=seed)
        took = time.process_time() - started
        by[str(trials)] = accusers(found)
    row: dict[str, Any] = {
        "name": specimen.name,
        "group": specimen.group,
        "broken": specimen.broken,
        "why": specimen.why,
        "found_by": by,
        "errors": list(dict.fromkeys(one.reason for one in found if one.verdict is Verdict.ERROR)),
    }
    refuting = {one.attack: one for one in found if one.verdict is Verdict.VIOLATED and one.severity is Severity.CLAIM}
    return list(refuting.values()), row, took


def _rates(settings: Settings) -> list[Rate]:
    if not settings.quick:
        return Journal().rates()
    targets = (make() for make in EDGE[:QUICK_EDGE])
    return [Rate(target.name, QUICK_EDGE, audited(target, range(QUICK_EDGE))) for target in targets]


def _is_found(row: dict[str, Any]) -> bool:
    """Whether an audit with the most trials accused the target."""
    return bool(list(row["found_by"].values())[-1])


def _by_group(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    return groups


def _share_found(rows: Sequence[dict[str, Any]]) -> float:
    return sum(map(_is_found, rows)) / len(rows)


SORTS = (
    ("broken", Role.NAIVE, "known", True),
    ("broken", Role.OTHER, "held out", True),
    ("sound", Role.EXACT, "known", False),
    ("sound", Role.IDEAL, "held out", False),
)
"""What is drawn: a label, its role, a set and whether its targets are broken."""


def figures(data: Data) -> list[Figure]:
    """The rates by class, the share found against trials, and the false alarms at the edge."""
    rows, edge = data["measured"]["specimens"], data["measured"]["edge"]
    panels = [_class_panel(rows), _power_panel(rows), *([_edge_panel(edge)] if edge else [])]
    caption = (
        "What default audits find of targets that no attack was written for, and how often they accuse sound ones."
    )
    return [Figure(name="detection_rates", caption=caption, panels=panels)]


def _class_panel(rows: Sequence[dict[str, Any]]) -> Panel:
    groups = _by_group(rows)
    names = list(groups)[::-1]

    def marks(label: str, role: Role, of: str, *, broken: bool) -> Series | None:
        shown = [
            (_share_found(of_sort), float(place))
            for place, name in enumerate(names)
            if (of_sort := [row for row in groups[name] if row["broken"] is broken and row["set"] == of])
        ]
        if not shown:
            return None
        return Series(label=label, role=role, x=[x for x, _ in shown], y=[y for _, y in shown], marks_only=True)

    drawn = (marks(f"{label}, {of}", role, of, broken=broken) for label, role, of, broken in SORTS)
    return Panel(
        title=f"default audits, α = {DEFAULT_ALPHA:g}",
        x_label="share of the class that is accused",
        y_label="",
        y_names=names,
        series=[series for series in drawn if series],
    )


def _power_panel(rows: Sequence[dict[str, Any]]) -> Panel:
    def line(label: str, role: Role, of: str, *, broken: bool) -> Series | None:
        of_sort = [row for row in rows if row["broken"] is broken and row["set"] == of]
        if not of_sort:
            return None
        trials = list(of_sort[0]["found_by"])
        shares = [sum(bool(row["found_by"][budget]) for row in of_sort) / len(of_sort) for budget in trials]
        return Series(label=label, role=role, x=list(map(int, trials)), y=shares)

    lines = (line(f"{label}, {of}", role, of, broken=broken) for label, role, of, broken in SORTS)
    return Panel(
        title="the share that is accused, by trials",
        x_label="trials, at the most",
        y_label="share of the targets",
        x_scale="log",
        series=[series for series in lines if series],
    )


def _edge_panel(edge: Sequence[dict[str, Any]]) -> Panel:
    places = list(range(len(edge)))
    lower, rates, upper = ([rate["rate"][k] for rate in edge] for k in range(3))
    return Panel(
        title="sound targets that spend all of their claim",
        x_label="",
        y_label="share of audits with a false alarm",
        x_names=[rate["target"] for rate in edge],
        series=[
            Series(
                label="default audits", role=Role.EXACT, x=places, y=rates, lower=lower, upper=upper, marks_only=True
            ),
            Series(label="α", role=Role.CEILING, x=[-0.5, len(edge) - 0.5], y=[ALPHA, ALPHA]),
        ],
    )


def explain(data: Data) -> str:
    """Say what was found, what was missed, and how often sound targets were accused."""
    rows, edge = data["measured"]["specimens"], data["measured"]["edge"]
    broken = [row for row in rows if row["broken"]]
    sound = [row for row in rows if not row["broken"]]
    attacks: dict[str, int] = {}
    for row in broken:
        for attack in list(row["found_by"].values())[-1]:
            attacks[attack] = attacks.get(attack, 0) + 1
    ranked = sorted(attacks.items(), key=lambda item: -item[1])
    return PARAGRAPH.format(
        broken=len(broken),
        sound=len(sound),
        trials=int(list(broken[0]["found_by"])[-1]),
        alpha=DEFAULT_ALPHA,
        sets=" ".join(_of_set(name, [row for row in rows if row["set"] == name]) for name, _ in SETS),
        by_attack=", ".join(f"{attack} {count}" for attack, count in ranked) or "none",
        edge=_of_edge(edge),
    )


def _of_set(name: str, rows: Sequence[dict[str, Any]]) -> str:
    broken = [row for row in rows if row["broken"]]
    sound = [row for row in rows if not row["broken"]]
    groups = _by_group(broken)
    return SET_PARAGRAPH.format(
        name=name,
        broken=len(broken),
        sound=len(sound),
        found=sum(map(_is_found, broken)),
        accused=sum(map(_is_found, sound)) or "none",
        errors=sum(bool(row["errors"]) for row in rows) or "none",
        shares=", ".join(f"{sum(map(_is_found, of))} of {len(of)} ({group})" for group, of in groups.items()),
        missed=", ".join(f"`{row['name']}`" for row in broken if not _is_found(row)) or "nothing",
    )


def _of_edge(edge: Sequence[dict[str, Any]]) -> str:
    if not edge:
        return "False alarms at the claim's edge have not been counted; `python -m experiments.detection` counts them."
    audits = sum(rate["audits"] for rate in edge)
    alarms = sum(len(rate["alarms"]) for rate in edge)
    worst = max(edge, key=lambda rate: float(rate["rate"][1]))
    return EDGE_PARAGRAPH.format(
        audits=audits,
        targets=len(edge),
        alpha=ALPHA,
        trials=TRIALS,
        alarms=alarms or "none",
        rate=alarms / audits,
        lower=worst["rate"][0],
        upper=worst["rate"][2],
    )


def explain_timings(data: Data) -> str:
    """Say how long a default audit takes."""
    seconds: dict[str, float] = data["timings"]
    sorts = {row["name"]: row["broken"] for row in data["measured"]["specimens"]}
    slowest = max(seconds, key=seconds.__getitem__)
    return TIMINGS_PARAGRAPH.format(
        median=median(seconds.values()),
        broken=median(took for name, took in seconds.items() if sorts[name]),
        sound=median(took for name, took in seconds.items() if not sorts[name]),
        slowest=slowest,
        longest=seconds[slowest],
    )
