"""How often default audits accuse sound targets that spend all of what they claim.

Few trials and a large α make many audits affordable: an audit accuses such a target with probability α at the most,
whatever α is.
"""

from __future__ import annotations

from typing import Any

from attacklab.auditing.referee import audit
from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.reporting.experiment import Collected, Data, Settings
from attacklab.reporting.figures import Figure, Panel, Role
from corpus.common import PARAGRAPHS
from corpus.common.specimen import Specimen, accusers
from corpus.known import KNOWN
from experiments.common.curves import figure, line, marks, panel

QUESTION = "How often does a default audit accuse a sound target that spends all of what it claims?"

ALPHA = 0.2
TRIALS = 500
AUDITS = 2_000
"""How many there are at least, of all targets together."""

CONFIDENCE = 0.95
"""The confidence of the bounds on the rate of false alarms."""

NAMES = (
    "two_answers",
    "of_seven_answers",
    "noise_of_five",
    "binary32_of_integer",
    "uniform_of_many",
    "truth_or_response",
    "integer_sum",
    "response_on_the_best",
    "full_histogram",
    "sum_as_json",
    "fresh_answers",
    "site_by_response",
)
"""Sound specimens with a pair and an event at which the claim is an equation, but for rounding in its last digits."""

EDGE = tuple(specimen for name in NAMES for specimen in KNOWN if specimen.name == name)

QUICK_TARGETS = QUICK_AUDITS = 2


def collect(settings: Settings) -> Collected:
    """Audit each target under as many seeds; a quick run, two of them under two."""
    audits = settings.budget(-(-AUDITS // len(EDGE)), QUICK_AUDITS)
    chosen = EDGE[: settings.budget(len(EDGE), QUICK_TARGETS)]
    return Collected([], {"edge": [_rate(specimen, audits) for specimen in chosen]})


def _rate(specimen: Specimen, audits: int) -> dict[str, Any]:
    """Which audits accused a target, by their seeds, and the rate between its bounds."""
    target = specimen.make()
    accused = {str(seed): accusers(audit(target, trials=TRIALS, alpha=ALPHA, seed=seed)) for seed in range(audits)}
    alarms = {seed: attacks for seed, attacks in accused.items() if attacks}
    lower, upper = clopper_pearson(len(alarms), audits, 1 - CONFIDENCE)
    rate = [float(lower), len(alarms) / audits, float(upper)]
    return {"target": target.name, "audits": audits, "alarms": alarms, "rate": rate}


def figures(data: Data) -> list[Figure]:
    """The rate of each target between its bounds, and α."""
    return [figure("false_alarms", CAPTION, [_panel("sound targets that spend all of their claim", data)])]


def _panel(title: str, data: Data) -> Panel:
    edge = data["measured"]["edge"]
    _, rates, upper = ([rate["rate"][k] for rate in edge] for k in range(3))
    series = [
        marks("default audits", Role.EXACT, rates, range(len(edge))),
        marks("upper bound", Role.OTHER, upper, range(len(edge))),
        line("α", Role.CEILING, [ALPHA, ALPHA], [-0.5, len(edge) - 0.5]),
    ]
    names = [rate["target"] for rate in edge]
    return panel(title, "share of audits with a false alarm", "", series, y_names=names)


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
