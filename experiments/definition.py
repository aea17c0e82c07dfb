"""What the definition of differential privacy promises, read off exact laws beside the promise.

Sources: Dwork and Roth 2014, definition 2.4 and theorem 2.2 (group privacy); Kasiviswanathan and Smith 2014, 'On the
"Semantics" of Differential Privacy: A Bayesian Formulation'. The remarks are from textbooks and lecture notes;
`experiments.common.definition_laws` says which, and what becomes of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial, reduce
from typing import Any

from gmpy2 import mpq

from attacklab.laws import Bounds, Law, Limits, enumerate_law, largest_ratio, log_bounds, smallest_delta
from attacklab.laws.proof import prove
from attacklab.model.claims import PrivacyClaim
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role
from experiments.common import definition_laws
from experiments.common.bounds import as_floats, middle
from experiments.common.curves import figure, line, lines, marks, panel
from experiments.common.paragraphs import PARAGRAPHS
from experiments.targets import catastrophes, means
from mechanisms.laplace.exact import exact_randomized_response
from mechanisms.published import discrete_gaussian, discrete_laplace

QUESTION = "What does the definition promise, by exact laws, and which remarks on it hold?"

EPSILON = Fraction(1)
SIGMA = 3
STEPS = 4
"""The sensitivity Δ in steps of the grid, for discrete Laplace noise. If Δ were one step, every outcome would have the
privacy loss ε or −ε, as in randomized response."""
GROUPS = tuple(range(1, 6))
PRIORS = tuple(i / 20 for i in range(1, 20))
LIGHTEST = mpq(1, 1 << 20)
"""Less probable outcomes give no sharp bound on a posterior: the law's unresolved part may weigh as much."""
LABELS = {
    "laplace": f"discrete Laplace, in steps of Δ/{STEPS}",
    "response": "randomized response",
    "gaussian": f"discrete Gaussian, σ = {SIGMA}",
}
BELIEFS = (*(Fraction(1, 1 << power) for power in range(1, 11)), Fraction(1, 2000))
"""Prior probabilities that a person's bit is set."""
EXPECTED_VICTIMS = tuple(Fraction(10) ** power for power in range(-4, 3))
COIN_POWERS = tuple(range(44, 65))


def collect(settings: Settings) -> Collected:
    """Find the laws on neighbouring inputs and what follows from them; decide the catastrophe mechanisms' claims."""
    limits = Limits(unresolved=Fraction(1, 1 << settings.budget(60, 40)))
    laws = {name: law(limits) for name, law in LAWS.items()}
    parts = 2 * settings.budget(10, 2)
    epsilons = [Fraction(i, parts) for i in range(2 * parts + 1)]
    coarse = enumerate_law(discrete_laplace, 1 / EPSILON, limits=limits)
    measured = {
        "posterior": {name: _posteriors(*laws[name](1)) for name in LABELS},
        "group_epsilon": {name: [_epsilon(*laws[name](k)) for k in GROUPS] for name in ("laplace", "response")},
        "group_delta": [as_floats(smallest_delta(*laws["gaussian"](k), k * EPSILON)) for k in GROUPS],
        "epsilons": [float(epsilon) for epsilon in epsilons],
        "delta": {name: [middle(as_floats(smallest_delta(*laws[name](1), e))) for e in epsilons] for name in LABELS},
        "coarse_delta": middle(as_floats(smallest_delta(coarse, coarse.map(lambda noise: noise + 1), Fraction(1, 2)))),
        "belief_quotients": {
            name: [float(definition_laws.belief_quotient(prior, together=together)) for prior in BELIEFS]
            for name, together in (("together", True), ("independent", False))
        },
        "added_up": float(definition_laws.ratio_of_answers(Fraction(1, 10))),
        "victims": [definition_laws.victims(victims / means.PEOPLE) for victims in EXPECTED_VICTIMS],
        "catastrophe": [definition_laws.catastrophe_deltas(power) for power in COIN_POWERS],
        "group_sum": list(definition_laws.group_deltas(Fraction(1, 1 << 20), GROUPS[-1])),
    }
    pair = NeighbouringPair.records([0], [0, 1], Relation.ADD_REMOVE)
    targets = (catastrophes.naive_catastrophe(), catastrophes.exact_catastrophe())
    return Collected([prove(target, pair) for target in targets], measured)


def _shifted(
    sampler: Callable[..., int], parameter: Fraction, sensitivity: int, limits: Limits
) -> Callable[[int], tuple[Law, Law]]:
    """Return a function from k to the laws of the noise and of the noise plus k times the sensitivity."""
    law = enumerate_law(sampler, parameter, limits=limits)
    return lambda k: (law, law.map(lambda noise: noise + k * sensitivity))


def _responses(limits: Limits) -> Callable[[int], tuple[Law, Law]]:
    """Return a function from k to the laws of k people's responses, if all their bits are False and if all are True."""
    response = exact_randomized_response(epsilon=EPSILON)
    laws = [enumerate_law(response.release, truth, limits=limits) for truth in (False, True)]
    return lambda k: (reduce(definition_laws.both, [laws[0]] * k), reduce(definition_laws.both, [laws[1]] * k))


LAWS: dict[str, Callable[[Limits], Callable[[int], tuple[Law, Law]]]] = {
    "laplace": partial(_shifted, discrete_laplace, STEPS / EPSILON, STEPS),
    "response": _responses,
    "gaussian": partial(_shifted, discrete_gaussian, Fraction(SIGMA**2), 1),
}


def _posteriors(p: Law, q: Law) -> list[float]:
    """Return for each prior the highest posterior of the first input that is certified to be reached.

    After an outcome with P(o)/Q(o) ≥ r, the posterior odds are at least r times the prior odds.
    """
    reached = [outcome for outcome in {*p, *q} if max(p.mass(outcome), q.mass(outcome)) >= LIGHTEST]
    ratio = max(mpq(p[outcome].lower) / q[outcome].upper for outcome in reached)
    return [float(ratio * prior / (ratio * prior + 1 - prior)) for prior in map(mpq, PRIORS)]


def _epsilon(p: Law, q: Law) -> float:
    """Return the ε below which no pure claim holds: the larger certified lower bound of the two directions."""
    return log_bounds(Bounds(max(largest_ratio(p, q).lower, largest_ratio(q, p).lower), math.inf))[0]


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw what the claim promises beside the laws, and the remarks beside what holds."""
    measured = data["measured"]
    promised = [_delta_panel(measured), _posterior_panel(measured), _group_panel(measured)]
    remarks = [_belief_panel(measured), _victims_panel(measured), _catastrophe_panel(measured)]
    return [
        figure("definition", f"Exact laws beside what ε = {float(EPSILON):g} promises.", promised),
        figure("definition_remarks", "Remarks on the definition: beliefs, what δ risks, and its coin.", remarks),
    ]


def _delta_panel(measured: dict[str, Any]) -> Panel:
    rows = [(label, Role.EXACT, measured["delta"][name]) for name, label in LABELS.items()]
    largest = math.exp(EPSILON)
    most = [max(0.0, (largest - math.exp(epsilon)) / (1 + largest)) for epsilon in measured["epsilons"]]
    series = lines(measured["epsilons"], [*rows, (f"most that {float(EPSILON):g}-DP allows", Role.CEILING, most)])
    return panel("Hockey-stick divergence δ(ε′)", "ε′", "smallest δ", series)


def _largest_posterior(prior: float) -> float:
    """Return the largest posterior of one of two neighbours after an ε-DP answer, if its prior is `prior`."""
    return 1 / (1 + (1 - prior) / prior * math.exp(-EPSILON))


def _posterior_panel(measured: dict[str, Any]) -> Panel:
    allowed = [_largest_posterior(prior) for prior in PRIORS]
    series = [marks(label, Role.EXACT, PRIORS, measured["posterior"][name]) for name, label in LABELS.items()]
    series += lines(PRIORS, [("allowed", Role.CEILING, allowed), ("nothing learnt", Role.IDEAL, PRIORS)])
    return panel("The highest posterior", "prior probability", "posterior probability", series)


def _group_panel(measured: dict[str, Any]) -> Panel:
    rows = [(LABELS[name], Role.EXACT, group) for name, group in measured["group_epsilon"].items()]
    series = lines(GROUPS, [*rows, ("claim, kε", Role.CEILING, [k * float(EPSILON) for k in GROUPS])])
    return panel("Groups of k people", "records that differ, k", "smallest ε", series)


def _belief_panel(measured: dict[str, Any]) -> Panel:
    priors, quotients = [float(prior) for prior in BELIEFS], measured["belief_quotients"]
    ratio = definition_laws.RATIO
    series = [
        marks("rows that are the same", Role.NAIVE, priors, quotients["together"]),
        marks("independent rows", Role.EXACT, priors, quotients["independent"]),
        line("printed for all beliefs, e^ε", Role.CEILING, priors, [ratio] * len(priors)),
        line("holds for all beliefs, exp(2ε)", Role.IDEAL, priors, [ratio**2] * len(priors)),
    ]
    title = "Belief with and without one's row, ε = ln 3"
    return panel(title, "prior probability", "largest quotient of the two posteriors", series, x_scale="log")


def _victims_panel(measured: dict[str, Any]) -> Panel:
    rows = (
        ("a loss above ε, each answers for oneself", Role.NAIVE, "loss"),
        ("a record comes out, one at most", Role.CEILING, "one"),
        ("a record comes out, each by its own coin", Role.EXACT, "each"),
        ("a record comes out, all or none", Role.OTHER, "all"),
    )
    shown = [(label, role, [row[key] for row in measured["victims"]]) for label, role, key in rows]
    drawn = lines(map(float, EXPECTED_VICTIMS), shown)
    y_label = "probability that somebody is harmed"
    return panel(f"{means.PEOPLE:,} people, (ε, δ)-DP", "n·δ", y_label, drawn, x_scale="log", y_scale="log")


def _catastrophe_panel(measured: dict[str, Any]) -> Panel:
    columns = {name: [row[name] for row in measured["catastrophe"]] for name in ("claimed", "naive", "exact")}
    roles = (("naive", Role.NAIVE), ("exact", Role.EXACT), ("claimed", Role.CEILING))
    drawn = lines(columns["claimed"], [(name, role, columns[name]) for name, role in roles])
    title = "Publish everything with probability δ"
    return panel(title, "claimed δ", "needed δ, by exact laws", drawn, x_scale="log", y_scale="log")


def explain(data: dict[str, Any]) -> str:
    """Set the laws' figures beside the claim's, and say which remarks hold."""
    measured = data["measured"]
    claim, at_half = PrivacyClaim(float(EPSILON)), measured["epsilons"].index(0.5)
    return PARAGRAPHS["definition"].format(
        measured=measured,
        posterior_claim=_largest_posterior(0.5),
        group_claim=GROUPS[-1] * math.exp((GROUPS[-1] - 1) * claim.epsilon) * measured["group_delta"][0][1],
        delta={name: deltas[at_half] for name, deltas in measured["delta"].items()},
        independent=max(measured["belief_quotients"]["independent"]),
        people=means.PEOPLE,
        coin_power=COIN_POWERS[-1],
        verdicts=[finding["verdict"] for finding in data["findings"]],
        times=measured["catastrophe"][-1]["naive"] / measured["catastrophe"][-1]["claimed"],
    )
