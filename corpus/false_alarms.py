"""How often default audits accuse sound targets that spend all of what they claim.

Small budgets and a large α make many audits affordable: an audit accuses such a target with probability α at the most,
whatever α is. Every other audit is given trials, as in a test; the others seconds, as by default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from attacklab.auditing.referee import audit
from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Collected, Data, Settings
from attacklab.reporting.figures import Figure, Role
from corpus.common import PARAGRAPHS
from corpus.common.exact_noise import answered, laplace_law, noisy, pushed, response_law, scale_of
from corpus.common.specimen import Computed, Specimen, accusers, sound
from corpus.known import KNOWN
from corpus.known.compositions import BY_PLANT, REED, low_threshold
from corpus.known.noise import BIT, THOUSANDS, WHOLE_01, normal_law
from experiments.common.curves import figure, line, marks, panel
from mechanisms.core.grid import Grid
from mechanisms.gaussian.exact import exact_discrete_gaussian

QUESTION = "How often does a default audit accuse a sound target that spends all of what it claims?"

ALPHA = 0.2
BUDGETS: tuple[Mapping[str, Any], ...] = ({"trials": 500}, {"seconds": 0.3})
"""The budgets of audits: the first for even seeds, the second for odd ones."""

AUDITS = 2_000
"""The least number of audits, over all targets together."""

CONFIDENCE = 0.95
"""The confidence of the bounds on the rate of false alarms."""

NAMES = (
    "two_answers",
    "answers_with_eight",
    "binary32_of_integer",
    "integer_sum",
    "full_histogram",
    "sum_as_json",
    "name_and_shame",
    "noisy_stream",
    "site_by_response",
)
"""Sound specimens that spend their whole claim on some pair and event, up to rounding in the last digits."""


def _normal_at(epsilon: float) -> Specimen:
    """Return a sound specimen: discrete Gaussian noise that claims (ε, δ)-DP with its own δ(ε)."""
    law, next_law = normal_law(0, 4.0), normal_law(1, 4.0)
    delta = math.fsum(max(0.0, mass - math.exp(epsilon) * next_law.get(n, 0.0)) for n, mass in law.items())
    term = exact_discrete_gaussian(2, grid=Grid(0))
    return sound(
        f"normal_at_{epsilon:g}",
        Target.noise,
        "discrete Gaussian noise at its δ(ε)",
        lambda answer, trials, rng: term.many(answer, trials, SeededBits(rng)),
        Computed(WHOLE_01, lambda answer: normal_law(answer, 4.0)),
        epsilon=epsilon,
        delta=delta + 1e-15,
        domain=THOUSANDS,
    )


def _keys_law(people: Any) -> Mapping[int, float]:
    count = int((people == "reed").sum())
    return pushed(laplace_law(1), lambda n: count + n if count and count + n >= 4 else 0)


# fmt: off
EDGE = (
    *(specimen for name in NAMES for specimen in KNOWN if specimen.name == name),
    *(
        sound(
            f"response_at_{epsilon:g}", Target.noise, "randomized response on a bit",
            partial(answered, epsilon=epsilon), Computed(WHOLE_01, partial(response_law, epsilon, answers=(0, 1))),
            epsilon=epsilon, domain=BIT
        )
        for epsilon in (0.1, 3.0)
    ),
    *(
        noisy(
            f"geometric_at_{epsilon:g}", Target.noise, "two-sided geometric noise", scale_of(epsilon), WHOLE_01,
            epsilon=epsilon, domain=THOUSANDS
        )
        for epsilon in (0.1, 1.0, 3.0)
    ),
    _normal_at(0.25),
    _normal_at(1.0),
    noisy(
        "is_above_three", Target.noise, "whether the noisy answer is above a threshold", scale_of(1.0), WHOLE_01,
        lambda n: n > 3, epsilon=1.0, domain=THOUSANDS
    ),
    sound(
        "keys_above_four", Target.dataset, "a key of one person passes the threshold as often as δ says", low_threshold,
        Computed(REED, _keys_law, lambda output: output.get("reed", 0)), epsilon=1.0,
        delta=math.exp(-3) / (1 + math.exp(-1)), relation="add-remove", domain=BY_PLANT
    ),
)
# fmt: on

QUICK_TARGETS = QUICK_AUDITS = 2


def collect(settings: Settings) -> Collected:
    """Audit each target under equally many seeds; a quick run audits two targets under two seeds each."""
    audits = settings.budget(-(-AUDITS // len(EDGE)), QUICK_AUDITS)
    chosen = EDGE[: settings.budget(len(EDGE), QUICK_TARGETS)]
    return Collected([], {"edge": [_rate(specimen, audits) for specimen in chosen]})


def _rate(specimen: Specimen, audits: int) -> dict[str, Any]:
    """Audit a target under many seeds. Return the attacks that accused it, by seed, and the rate with its bounds."""
    target = specimen.make()
    accused = {
        str(seed): accusers(audit(target, alpha=ALPHA, seed=seed, **BUDGETS[seed % 2])) for seed in range(audits)
    }
    alarms = {seed: attacks for seed, attacks in accused.items() if attacks}
    lower, upper = clopper_pearson(len(alarms), audits, 1 - CONFIDENCE)
    rate = [float(lower), len(alarms) / audits, float(upper)]
    return {"target": target.name, "audits": audits, "alarms": alarms, "rate": rate}


def figures(data: Data) -> list[Figure]:
    """Draw each target's rate of false alarms, its upper bound, and α."""
    edge = data["measured"]["edge"]
    _, rates, upper = zip(*(rate["rate"] for rate in edge), strict=True)
    series = [
        marks("default audits", Role.EXACT, rates, range(len(edge))),
        marks("upper bound", Role.OTHER, upper, range(len(edge))),
        line("α", Role.CEILING, [ALPHA, ALPHA], [-0.5, len(edge) - 0.5]),
    ]
    names, title = [rate["target"] for rate in edge], "sound targets that spend all of their claim"
    drawn = panel(title, "share of audits with a false alarm", "", series, y_names=names)
    return [figure("false_alarms", CAPTION, [drawn])]


CAPTION = "The share of whole default audits that accuse a sound target at the edge of its claim, with bounds of 95 %."


def explain(data: Data) -> str:
    """Say how many audits there were, how many accused their target, and how many were allowed to."""
    edge = data["measured"]["edge"]
    audits, alarms = sum(rate["audits"] for rate in edge), sum(len(rate["alarms"]) for rate in edge)
    accusers = sorted({attack for rate in edge for attacks in rate["alarms"].values() for attack in attacks})
    worst = max(edge, key=lambda rate: float(rate["rate"][1]))
    return PARAGRAPHS["false_alarms"].format(
        audits=audits,
        targets=len(edge),
        alpha=ALPHA,
        allowed=ALPHA * audits,
        **BUDGETS[0],
        **BUDGETS[1],
        alarms=alarms or "none",
        by=f" (by {', '.join(accusers)})" if accusers else "",
        upper=float(clopper_pearson(alarms, audits, 1 - CONFIDENCE)[1]),
        worst=worst["target"],
        lower_of_worst=worst["rate"][0],
        upper_of_worst=worst["rate"][2],
    )
