"""How often default audits accuse sound targets that spend all of what they claim."""

from __future__ import annotations

from attacklab.reporting.experiment import Collected, Data, Settings
from attacklab.reporting.figures import Figure, Role
from bench.common import PARAGRAPHS
from bench.detection.edge import ALPHA, EDGE, TRIALS, Journal, Rate, audited
from experiments.common.curves import figure, line, marks, panel

QUESTION = "How often does a default audit accuse a sound target that spends all of what it claims?"

QUICK_TARGETS = QUICK_AUDITS = 2


def collect(settings: Settings) -> Collected:
    """Take over the audits that the journal has, or do a few."""
    if settings.quick:
        targets = [make() for make in EDGE[:QUICK_TARGETS]]
        rates = [Rate(target.name, QUICK_AUDITS, audited(target, range(QUICK_AUDITS))) for target in targets]
    else:
        rates = Journal().rates()
    return Collected([], {"edge": [rate.to_json() for rate in rates]})


def figures(data: Data) -> list[Figure]:
    """The rate of each target between its bounds, and α."""
    edge = data["measured"]["edge"]
    _, rates, upper = ([rate["rate"][k] for rate in edge] for k in range(3))
    series = [
        marks("default audits", Role.EXACT, rates, range(len(edge))),
        marks("upper bound", Role.OTHER, upper, range(len(edge))),
        line("α", Role.CEILING, [ALPHA, ALPHA], [-0.5, len(edge) - 0.5]),
    ]
    names = [rate["target"] for rate in edge]
    title, label = "sound targets that spend all of their claim", "share of audits with a false alarm"
    return [figure("false_alarms", CAPTION, [panel(title, label, "", series, y_names=names)])]


CAPTION = "The share of whole default audits that accuse a sound target at the edge of its claim, with bounds of 95 %."


def explain(data: Data) -> str:
    """Say how many audits there were and how many accused their target."""
    edge = data["measured"]["edge"]
    audits = sum(rate["audits"] for rate in edge)
    alarms = sum(len(rate["alarms"]) for rate in edge)
    accusers = sorted({attack for rate in edge for attacks in rate["alarms"].values() for attack in attacks})
    worst = max(edge, key=lambda rate: float(rate["rate"][1]))
    return PARAGRAPHS["false_alarms"].format(
        audits=audits,
        targets=len(edge),
        alpha=ALPHA,
        trials=TRIALS,
        alarms=alarms or "none",
        rate=alarms / audits,
        by=f" (by {', '.join(accusers)})" if accusers else "",
        lower=worst["rate"][0],
        upper=worst["rate"][2],
    )
