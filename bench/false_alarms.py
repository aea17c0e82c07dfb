"""How often default audits accuse sound targets that spend all of what they claim."""

from __future__ import annotations

from typing import Any

from attacklab.reporting.experiment import Collected, Data, Settings
from attacklab.reporting.figures import Figure, Panel, Role
from bench.common import PARAGRAPHS
from bench.detection.edge import ALPHA, EDGE, TRIALS, Edge, Journal, Rate, audited
from experiments.common.curves import figure, line, marks, panel

QUESTION = "How often does a default audit accuse a sound target that spends all of what it claims?"

QUICK_TARGETS = QUICK_AUDITS = 2


def collect(settings: Settings) -> Collected:
    """Take over the audits that the journal has of this code, or do a few."""
    rates = ([] if settings.share < 1 else Journal(edge=EDGE).rates()) or _few(EDGE)
    return Collected([], {"edge": [rate.to_json() for rate in rates]})


def _few(edge: Edge) -> list[Rate]:
    targets = [specimen.make() for specimen in edge.specimens[:QUICK_TARGETS]]
    return [Rate(target.name, QUICK_AUDITS, audited(target, range(QUICK_AUDITS), edge.alpha)) for target in targets]


def figures(data: Data) -> list[Figure]:
    """The rate of each target between its bounds, and α."""
    panels = [_panel("sound targets that spend all of their claim", data["measured"]["edge"], ALPHA)]
    return [figure("false_alarms", CAPTION, panels)]


def _panel(title: str, edge: list[dict[str, Any]], alpha: float) -> Panel:
    _, rates, upper = ([rate["rate"][k] for rate in edge] for k in range(3))
    series = [
        marks("default audits", Role.EXACT, rates, range(len(edge))),
        marks("upper bound", Role.OTHER, upper, range(len(edge))),
        line("α", Role.CEILING, [alpha, alpha], [-0.5, len(edge) - 0.5]),
    ]
    names = [rate["target"] for rate in edge]
    return panel(title, "share of audits with a false alarm", "", series, y_names=names)


CAPTION = "The share of whole default audits that accuse a sound target at the edge of its claim, with bounds of 95 %."


def explain(data: Data) -> str:
    """Say how many audits there were and how many accused their target."""
    return _words("false_alarms", data["measured"]["edge"], ALPHA)


def _words(name: str, edge: list[dict[str, Any]], alpha: float) -> str:
    audits = sum(rate["audits"] for rate in edge)
    alarms = sum(len(rate["alarms"]) for rate in edge)
    accusers = sorted({attack for rate in edge for attacks in rate["alarms"].values() for attack in attacks})
    worst = max(edge, key=lambda rate: float(rate["rate"][1]))
    return PARAGRAPHS[name].format(
        audits=audits,
        targets=len(edge),
        alpha=alpha,
        trials=TRIALS,
        alarms=alarms or "none",
        rate=alarms / audits,
        by=f" (by {', '.join(accusers)})" if accusers else "",
        lower=worst["rate"][0],
        upper=worst["rate"][2],
    )
