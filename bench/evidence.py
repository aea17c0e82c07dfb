"""How often audits err, how soon they decide, and how far that is from the best there can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.auditing.referee import audit
from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts, Verdict
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from bench.common import PARAGRAPHS
from bench.common.known_flaws import audit_known_flaws
from experiments import targets
from experiments.common.curves import figure, line, marks, panel
from experiments.common.simulated_audits import (
    Decision,
    OneEvent,
    by_betting,
    by_clopper_pearson,
    counts_at_looks,
    fewest_trials,
    looks,
)
from experiments.targets.making import GRID
from mechanisms.laplace.naive import naive_randomized_response

QUESTION = "How often is a sound target accused, and how many trials does a flaw take?"

EPSILON = 1.0
CLAIM = PrivacyClaim(EPSILON)
FALSE_ALARM_ALPHA = 0.01
FALSE_ALARM_TRIALS = 20_000
FALSE_ALARM_LOOKS = len(looks(FALSE_ALARM_TRIALS))
CONFIDENCE = 0.95
"""The confidence of the bounds on the measured rate of false alarms."""

POWER_ALPHA = 1e-6
POWER_TRIALS = 100_000_000
REAL_EPSILONS = (1.05, 1.1, 1.2, 1.5, 2.0, 3.0)
RARE = 0.01
"""P[E] of the rare event whose power is measured beside that of randomized response."""


def collect(settings: Settings) -> Collected:
    """False alarms, then power, then the known flaws."""
    findings, flaws, seconds = audit_known_flaws(settings)
    measured = {
        "false_alarms": _false_alarms(settings),
        "real": _real_audits(settings),
        "power": _power(settings),
        "flaws": flaws,
    }
    return Collected(findings, measured, {"flaws": seconds})


def _false_alarms(settings: Settings) -> list[dict[str, Any]]:
    """The rate of false alarms of targets that sit on their claim."""
    audits = settings.budget(10_000, 300)
    randomized = 1 / (1 + math.exp(-EPSILON))
    step = math.exp(-EPSILON * 2.0**GRID.exponent)
    sound = {
        "randomized response": (randomized, 1 - randomized),
        "ideal discrete Laplace": (1 / (1 + step), math.exp(-EPSILON) / (1 + step)),
    }
    measured = []
    for number, (name, (p, q)) in enumerate(sound.items()):
        rng = np.random.default_rng([settings.seed, number])
        decisions = [
            by_betting(CLAIM, counts_at_looks(p, q, FALSE_ALARM_TRIALS, rng), FALSE_ALARM_ALPHA) for _ in range(audits)
        ]
        stopped = sorted(decision.trials for decision in decisions if decision.violated)
        lower, upper = clopper_pearson(len(stopped), audits, 1 - CONFIDENCE)
        measured.append(
            {
                "target": name,
                "audits": audits,
                "alarms": len(stopped),
                "stopped_at": stopped,
                "rate": [float(lower), len(stopped) / audits, float(upper)],
            }
        )
    return measured


def _real_audits(settings: Settings) -> dict[str, int]:
    """Audits by the referee, each judged a second time from the decisions of its event."""
    answers_true = OneEvent(True, False, np.asarray)
    at_most_0 = OneEvent(0.0, 1.0, lambda outputs: np.asarray(outputs <= 0))
    broken = Target.dataset(_randomized_response(1.5), epsilon=EPSILON, name="randomized response at 1.5")
    cases = (
        (Target.dataset(_randomized_response(EPSILON), epsilon=EPSILON, name="randomized response"), answers_true),
        (targets.exact_discrete_laplace(EPSILON), at_most_0),
        (broken, answers_true),
        (broken, answers_true),
    )
    audits, agreed = settings.budget(100, 5), 0
    for number, (target, attack) in enumerate(cases):
        for run in range(audits):
            attack.decisions.clear()
            (finding,) = audit(
                target, [attack], trials=FALSE_ALARM_TRIALS, alpha=FALSE_ALARM_ALPHA, seed=number * audits + run
            )
            assert finding.counts is not None  # noqa: S101 - nothing here fails
            simulated = by_betting(
                CLAIM, attack.counts(finding.counts.trials, finding.trials_needed), FALSE_ALARM_ALPHA
            )
            agreed += simulated == Decision(finding.counts.trials, finding.verdict is Verdict.VIOLATED)
    return {"audits": audits * len(cases), "agreed": agreed}


def _randomized_response(epsilon: float) -> Callable[..., NDArray[np.bool_]]:
    def release(truth: bool, trials: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        return naive_randomized_response(truth, trials, rng, epsilon=epsilon)

    return release


def _power(settings: Settings) -> list[dict[str, Any]]:
    """Trials to decision against the real ε, for the event of randomized response and for a rare one."""
    runs = settings.budget(60, 5)
    rng = np.random.default_rng([settings.seed, 2])
    measured = []
    for epsilon in REAL_EPSILONS:
        truth = 1 / (1 + math.exp(-epsilon))
        for event, p, q in (("common", truth, 1 - truth), ("rare", RARE, RARE * math.exp(-epsilon))):
            betting = [by_betting(CLAIM, _seen(p, q, rng), POWER_ALPHA) for _ in range(runs)]
            clopper = [by_clopper_pearson(CLAIM, _seen(p, q, rng), POWER_ALPHA, POWER_TRIALS) for _ in range(runs)]
            measured.append(
                {
                    "epsilon": epsilon,
                    "event": event,
                    "fewest": fewest_trials(CLAIM, p, q, POWER_ALPHA),
                    "betting": fmean(decision.trials for decision in betting),
                    "clopper_pearson": fmean(decision.trials for decision in clopper),
                    "missed": sum(not decision.violated for decision in betting + clopper),
                }
            )
    return measured


def _seen(p: float, q: float, rng: np.random.Generator) -> Iterator[Counts]:
    return counts_at_looks(p, q, POWER_TRIALS, rng)


def figures(data: dict[str, Any]) -> list[Figure]:
    """False alarms by look, power, and the trials that known flaws take."""
    measured = data["measured"]
    panels = [
        _alarm_panel(measured["false_alarms"]),
        _flaw_panel([flaw for flaw in measured["flaws"] if flaw["violated"]]),
        _power_panel(measured["power"], "common", "randomized response"),
        _power_panel(measured["power"], "rare", f"a rare event, P[E] = {RARE:g}"),
    ]
    caption = "False alarms of targets that sit on their claim; trials to decision of known flaws and of subtle ones."
    return [figure("evidence", caption, panels)]


def _alarm_panel(alarms: Sequence[dict[str, Any]]) -> Panel:
    series = []
    looked = looks(FALSE_ALARM_TRIALS)
    for alarm, role in zip(alarms, (Role.EXACT, Role.OTHER), strict=True):
        hits = [sum(stop <= look for stop in alarm["stopped_at"]) for look in looked]
        lower, upper = clopper_pearson(hits, alarm["audits"], 1 - CONFIDENCE)
        rates = [hit / alarm["audits"] for hit in hits]
        series.append(
            Series(label=alarm["target"], role=role, x=looked, y=rates, lower=lower.tolist(), upper=upper.tolist())
        )
    allowed = line("α", Role.CEILING, looked, [FALSE_ALARM_ALPHA] * len(looked))
    title = f"sound targets on their claim, {alarms[0]['audits']:,} audits each"
    return panel(title, "trials", "share of audits with a false alarm so far", [*series, allowed], x_scale="log")


def _flaw_panel(flaws: Sequence[dict[str, Any]]) -> Panel:
    flaws = sorted(flaws, key=lambda flaw: -flaw["trials"])
    trials = marks("outputs drawn", Role.NAIVE, [flaw["trials"] for flaw in flaws], map(float, range(len(flaws))))
    names = [f"{flaw['target'].removeprefix('naive_')}: {flaw['attack']}" for flaw in flaws]
    title, label = "known flaws at default settings", "outputs until the claim is refuted"
    return panel(title, label, "", [trials], x_scale="log", y_names=names)


def _power_panel(power: Sequence[dict[str, Any]], event: str, title: str) -> Panel:
    points = [point for point in power if point["event"] == event]
    excess = [point["epsilon"] - EPSILON for point in points]
    labels = (
        ("Clopper–Pearson, α spent over the looks", "clopper_pearson", Role.OTHER),
        ("betting (the referee)", "betting", Role.EXACT),
        ("the fewest of any test", "fewest", Role.IDEAL),
    )
    return panel(
        f"{title}, α = {POWER_ALPHA:g}",
        f"real ε beyond the claimed {EPSILON:g}",
        "trials to decision, mean",
        [line(label, role, excess, [point[key] for point in points]) for label, key, role in labels],
        x_scale="log",
        y_scale="log",
    )


def explain(data: dict[str, Any]) -> str:
    """Say how often sound targets were accused and what the decisions cost."""
    measured = data["measured"]
    alarms, power, real = measured["false_alarms"], measured["power"], measured["real"]
    (subtle,) = (point for point in power if point["epsilon"] == 1.1 and point["event"] == "common")
    ratios = [point["betting"] / point["fewest"] for point in power]
    refuted = [flaw for flaw in measured["flaws"] if flaw["violated"]]
    undecided = [f"`{flaw['target']}` ({flaw['attack']})" for flaw in measured["flaws"] if not flaw["violated"]]
    rates = " and ".join(
        f"{alarm['alarms']} accused {alarm['target']} (a rate between {alarm['rate'][0]:.2%} and "
        f"{alarm['rate'][2]:.2%} at 95 % confidence)"
        for alarm in alarms
    )
    return PARAGRAPHS["evidence"].format(
        audits=alarms[0]["audits"],
        alpha=FALSE_ALARM_ALPHA,
        looked=FALSE_ALARM_LOOKS,
        rates=rates,
        real=real["audits"],
        agreed="all" if real["agreed"] == real["audits"] else real["agreed"],
        power_alpha=POWER_ALPHA,
        betting=subtle["betting"],
        clopper=subtle["clopper_pearson"],
        fewest=subtle["fewest"],
        least_ratio=min(ratios),
        most_ratio=max(ratios),
        soonest=min(flaw["trials"] for flaw in refuted),
        latest=max(flaw["trials"] for flaw in refuted),
        undecided=f"; not refuted: {', '.join(undecided)}" if undecided else "",
    )


def explain_timings(data: dict[str, Any]) -> str:
    """Say how many seconds the decisions took."""
    pairs = zip(data["measured"]["flaws"], data["timings"]["flaws"], strict=True)
    seconds = [timed["decision_seconds"] for flaw, timed in pairs if flaw["violated"]]
    return PARAGRAPHS["evidence_timings"].format(quickest=min(seconds), slowest=max(seconds))
