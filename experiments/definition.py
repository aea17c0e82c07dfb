"""What the definition of differential privacy promises, read off exact laws beside the promise.

Sources: Dwork and Roth 2014, definition 2.4 and theorem 2.2 (group privacy); Kasiviswanathan and Smith 2014, 'On the
"Semantics" of Differential Privacy: A Bayesian Formulation'; Dong, Roth and Su 2022 (trade-off curves). The remarks
are those of textbooks and lecture notes; `experiments.common.definition_laws` says which, and what becomes of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import numpy as np
from gmpy2 import mpq

from attacklab.laws import (
    Bounds,
    Law,
    Limits,
    enumerate_law,
    largest_ratio,
    log_bounds,
    smallest_delta,
    smallest_epsilon,
    trade_off,
)
from attacklab.laws.proof import prove
from attacklab.model.claims import PrivacyClaim
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments.common import definition_laws
from experiments.common.bounds import as_floats, middle
from experiments.common.curves import figure, line, marks, panel
from experiments.common.paragraphs import PARAGRAPHS
from experiments.targets import catastrophes, means
from mechanisms.gaussian.claims import discrete_gaussian_delta
from mechanisms.laplace.exact import exact_dyadic_geometric, exact_randomized_response
from mechanisms.published import discrete_gaussian, discrete_laplace

QUESTION = "What does the definition promise, by exact laws, and which remarks on it hold?"

EPSILON = Fraction(1)
SIGMA = 3
STEPS = 4
"""Δ in steps of the grid, for discrete Laplace noise. In steps of Δ it would be randomized response with more outcomes:
every outcome has the privacy loss ε or −ε."""
LARGEST_GROUP = 5
RANGE = 12
"""The public range of the mechanism whose law is closed."""
RATIO = Fraction(3, 8)
"""Its ratio, the least of at most 4 bits that keeps within ε."""
PRIORS = tuple(i / 20 for i in range(1, 20))
TYPE_1_ERRORS = tuple(i / 20 for i in range(21))
LIGHTEST = mpq(1, 1 << 20)
"""Outcomes lighter than this say nothing sharp about a posterior: what is unresolved may weigh as much."""
LABELS = {
    "laplace": f"discrete Laplace, in steps of Δ/{STEPS}",
    "response": "randomized response",
    "geometric": "clamped geometric, fixed work",
    "gaussian": f"discrete Gaussian, σ = {SIGMA}",
}
PURE = ("laplace", "response", "geometric")
SMALL_DELTA = 1e-6
"""The δ of the approximate max divergence."""
BELIEFS = (*(Fraction(1, 1 << power) for power in range(1, 11)), Fraction(1, 2000))
"""Prior probabilities of two rows that are the same for certain."""
EXPECTED_VICTIMS = tuple(Fraction(10) ** power for power in range(-4, 3))
COIN_POWERS = tuple(range(44, 65))
GROUP_DELTA = Fraction(1, 1 << 20)
ONE_RECORD_MORE = NeighbouringPair.records([0], [0, 1], Relation.ADD_REMOVE)
"""Neighbouring databases of the catastrophe mechanism."""
STEP = Fraction(1, 10)
"""The ε of each of the answers that a definition by 1 + ε would have to add up."""


def collect(settings: Settings) -> Collected:
    """Find the laws on neighbouring inputs, and what follows from them; decide the catastrophe mechanism's claim."""
    limits = Limits(unresolved=Fraction(1, 1 << settings.budget(60, 40)))
    laws = {name: law(limits) for name, law in LAWS.items()}
    epsilons = [Fraction(i, settings.budget(20, 4)) for i in range(int(2 * EPSILON * settings.budget(20, 4)) + 1)]
    errors = sorted({*TYPE_1_ERRORS, 1 / (1 + math.exp(EPSILON))})
    claim = PrivacyClaim(float(EPSILON))
    measured = {
        "priors": PRIORS,
        "posterior": {name: _posteriors(*laws[name](1)) for name in LABELS},
        "posterior_claim": [claim.posterior_bounds(prior) for prior in PRIORS],
        "group_sizes": list(range(1, LARGEST_GROUP + 1)),
        "group_epsilon": {name: [_epsilon(*laws[name](k)) for k in range(1, LARGEST_GROUP + 1)] for name in PURE},
        "group_ratio": [str(largest_ratio(*laws["geometric"](k)).upper) for k in range(1, LARGEST_GROUP + 1)],
        "group_delta": [
            as_floats(smallest_delta(*laws["gaussian"](k), k * EPSILON)) for k in range(1, LARGEST_GROUP + 1)
        ],
        "delta_formula": [discrete_gaussian_delta(epsilon, sigma=SIGMA) for epsilon in epsilons],
        "epsilons": [float(epsilon) for epsilon in epsilons],
        "delta": {
            name: [as_floats(smallest_delta(*laws[name](1), epsilon)) for epsilon in epsilons] for name in LABELS
        },
        "type_1": errors,
        "type_2": {name: _type_2(*laws[name](1), errors) for name in LABELS},
        "divergences": {name: _divergences(*laws[name](1)) for name in LABELS},
        **_remarks(),
    }
    targets = (catastrophes.naive_catastrophe(), catastrophes.exact_catastrophe())
    return Collected([prove(target, ONE_RECORD_MORE) for target in targets], measured)


def _shifted(
    sampler: Callable[..., int], parameter: Fraction, sensitivity: int, limits: Limits
) -> Callable[[int], tuple[Law, Law]]:
    """The laws of additive noise on answers that k records move by k times the sensitivity, by k."""
    law = enumerate_law(sampler, parameter, limits=limits)
    return lambda k: (law, law.map(lambda noise: noise + k * sensitivity))


def _responses(limits: Limits) -> Callable[[int], tuple[Law, Law]]:
    """The laws of what k people answer whose truths all change, by k."""
    response = exact_randomized_response(epsilon=EPSILON)
    laws = [enumerate_law(response.release, truth, limits=limits) for truth in (False, True)]
    return lambda k: (reduce(Law.product, [laws[0]] * k), reduce(Law.product, [laws[1]] * k))


def _clamped(_limits: Limits) -> Callable[[int], tuple[Law, Law]]:
    """The closed laws of the geometric mechanism on a range, on answers k apart in its middle, by k."""
    mechanism = exact_dyadic_geometric(ratio=RATIO, lower=0, upper=RANGE).release
    start = (RANGE - LARGEST_GROUP) // 2
    return lambda k: (enumerate_law(mechanism, start), enumerate_law(mechanism, start + k))


LAWS: dict[str, Callable[[Limits], Callable[[int], tuple[Law, Law]]]] = {
    "laplace": partial(_shifted, discrete_laplace, STEPS / EPSILON, STEPS),
    "response": _responses,
    "geometric": _clamped,
    "gaussian": partial(_shifted, discrete_gaussian, Fraction(SIGMA**2), 1),
}


def _posteriors(p: Law, q: Law) -> list[list[float]]:
    """For each prior, the lowest and the highest posterior of the first input, certified to be reached.

    Seen an outcome of ratio P(o)/Q(o) ≥ r, the posterior odds are at least r times the prior's.
    """
    reached = [outcome for outcome in {*p, *q} if max(p.mass(outcome), q.mass(outcome)) >= LIGHTEST]
    lowest = min(mpq(p[outcome].upper) / q[outcome].lower for outcome in reached)
    highest = max(mpq(p[outcome].lower) / q[outcome].upper for outcome in reached)
    return [
        [float(ratio * prior / (ratio * prior + 1 - prior)) for ratio in (lowest, highest)]
        for prior in map(mpq, PRIORS)
    ]


def _epsilon(p: Law, q: Law) -> float:
    """The ε below which no pure claim holds: the larger certified lower bound of the two directions."""
    return log_bounds(Bounds(max(largest_ratio(p, q).lower, largest_ratio(q, p).lower), math.inf))[0]


def _type_2(p: Law, q: Law, errors: list[float]) -> list[float]:
    """The trade-off curve at the given type I errors."""
    type_1, type_2 = zip(*trade_off(p, q), strict=True)
    return [float(error) for error in np.interp(errors, [float(a) for a in type_1], [float(b) for b in type_2])]


def _divergences(p: Law, q: Law) -> dict[str, float]:
    """The max divergence but for `SMALL_DELTA`, and the Kullback-Leibler divergence."""
    return {
        "approximate": smallest_epsilon(p, q, SMALL_DELTA)[1],
        "kullback_leibler": definition_laws.kullback_leibler(p, q),
    }


def _remarks() -> dict[str, Any]:
    """What becomes of remarks on the definition."""
    return {
        "beliefs": [float(prior) for prior in BELIEFS],
        "belief_quotients": {
            name: [float(definition_laws.belief_quotient(prior, together=together)) for prior in BELIEFS]
            for name, together in (("together", True), ("independent", False))
        },
        "added_up": str(definition_laws.ratio_of_answers(STEP)),
        "expected_victims": [float(victims) for victims in EXPECTED_VICTIMS],
        "victims": [definition_laws.victims(victims / means.PEOPLE) for victims in EXPECTED_VICTIMS],
        "catastrophe": [definition_laws.catastrophe_deltas(power) for power in COIN_POWERS],
        "group_sum": list(definition_laws.group_deltas(GROUP_DELTA, LARGEST_GROUP)),
    }


def figures(data: dict[str, Any]) -> list[Figure]:
    """Five figures: δ(ε) and trade-off curves; posteriors; groups; what a bound stands for; what δ risks."""
    measured = data["measured"]
    return [
        figure(
            "definition_curves",
            f"Exact laws on neighbouring inputs beside what ε = {float(EPSILON):g} promises.",
            [_delta_panel(measured), _trade_off_panel(measured)],
        ),
        figure(
            "definition_posterior",
            "The belief in one of two neighbours, before and after one answer.",
            [_posterior_panel(measured, 1), _posterior_panel(measured, 0)],
        ),
        figure(
            "definition_groups",
            "What is left of the promise to k people together.",
            [_group_epsilon_panel(measured), _group_delta_panel(measured), _group_sum_panel(measured)],
        ),
        figure(
            "definition_remarks",
            "Remarks on the definition: beliefs about rows that go together, e^ε or 1 + ε, and which divergence.",
            [_belief_panel(measured), _factor_panel(measured), _divergence_panel(measured)],
        ),
        figure(
            "definition_delta",
            "What δ risks, and a coin of probability δ in doubles.",
            [_victims_panel(measured), _catastrophe_panel(measured)],
        ),
    ]


def _delta_panel(measured: dict[str, Any]) -> Panel:
    epsilons = measured["epsilons"]
    series = [
        *(_exact(label, epsilons, map(middle, measured["delta"][name])) for name, label in LABELS.items()),
        line("discrete Gaussian, by its formula", Role.IDEAL, epsilons, measured["delta_formula"]),
        line(
            f"most that {float(EPSILON):g}-DP allows",
            Role.CEILING,
            epsilons,
            [largest_delta(epsilon) for epsilon in epsilons],
        ),
    ]
    return panel("Hockey-stick divergence δ(ε′)", "ε′", "smallest δ", series)


def largest_delta(epsilon: float) -> float:
    """The largest δ at another ε that pure DP at `EPSILON` allows: max(0, (e^ε − e^ε′)/(1 + e^ε))."""
    return max(0.0, (math.exp(EPSILON) - math.exp(epsilon)) / (1 + math.exp(EPSILON)))


def smallest_type_2(error: float, delta: float = 0.0) -> float:
    """The trade-off curve of the claim (`EPSILON`, δ) at a type I error."""
    growth = math.exp(EPSILON)
    return max(0.0, 1 - delta - growth * error, (1 - delta - error) / growth)


def _trade_off_panel(measured: dict[str, Any]) -> Panel:
    errors = measured["type_1"]
    series = [
        *(_exact(label, errors, measured["type_2"][name]) for name, label in LABELS.items()),
        line(
            f"least that {float(EPSILON):g}-DP allows",
            Role.CEILING,
            errors,
            [smallest_type_2(error) for error in errors],
        ),
    ]
    return panel("Trade-off curve", "type I error", "smallest type II error", series)


def _posterior_panel(measured: dict[str, Any], end: int) -> Panel:
    priors = measured["priors"]
    name = ("lowest", "highest")[end]
    series = [
        *(
            _exact(label, priors, (ends[end] for ends in measured["posterior"][mechanism]), marks_only=True)
            for mechanism, label in LABELS.items()
        ),
        line(
            f"the {name} that {float(EPSILON):g}-DP allows",
            Role.CEILING,
            priors,
            [ends[end] for ends in measured["posterior_claim"]],
        ),
        line("nothing learnt", Role.IDEAL, priors, priors),
    ]
    return panel(f"The {name} posterior", "prior probability", "posterior probability", series)


def _group_epsilon_panel(measured: dict[str, Any]) -> Panel:
    sizes = measured["group_sizes"]
    series = [
        *(_exact(LABELS[name], sizes, measured["group_epsilon"][name]) for name in PURE),
        line("claim, kε", Role.CEILING, sizes, [k * float(EPSILON) for k in sizes]),
    ]
    return panel("Pure mechanisms", "records that differ, k", "smallest ε", series)


def _group_delta_panel(measured: dict[str, Any]) -> Panel:
    sizes = measured["group_sizes"]
    series = [
        _exact("exact law", sizes, map(middle, measured["group_delta"])),
        line("claim, k·exp((k − 1)ε)·δ", Role.CEILING, sizes, [group_claim(measured, k).delta for k in sizes]),
    ]
    return panel(LABELS["gaussian"], "records that differ, k", "smallest δ at kε", series, y_scale="log")


def _group_sum_panel(measured: dict[str, Any]) -> Panel:
    sizes, rows = measured["group_sizes"], measured["group_sum"]
    series = [
        marks("a mechanism that needs it", Role.EXACT, sizes, [row["needed"] for row in rows]),
        line("sum in the proof", Role.IDEAL, sizes, [row["sum"] for row in rows]),
        line("theorem, k·exp((k − 1)ε)·δ", Role.CEILING, sizes, [row["theorem"] for row in rows]),
    ]
    return panel(
        "ε = ln 3, δ = 2^−20: the sum cannot be improved",
        "records that differ, k",
        "smallest δ at kε",
        series,
        y_scale="log",
    )


def _belief_panel(measured: dict[str, Any]) -> Panel:
    priors, quotients = measured["beliefs"], measured["belief_quotients"]
    ends, ratio = [priors[0], priors[-1]], definition_laws.RATIO
    series = [
        marks("rows that are the same", Role.NAIVE, priors, quotients["together"]),
        marks("independent rows", Role.EXACT, priors, quotients["independent"]),
        line("printed for all beliefs, e^ε", Role.CEILING, ends, [ratio] * 2),
        line("holds for all beliefs, exp(2ε)", Role.IDEAL, ends, [ratio**2] * 2),
    ]
    return panel(
        "Belief with and without one's row, ε = ln 3",
        "prior probability",
        "largest quotient of the two posteriors",
        series,
        x_scale="log",
    )


def _factor_panel(measured: dict[str, Any]) -> Panel:
    totals, answers = [i / 10 for i in range(21)], definition_laws.ANSWERS
    series = [
        line("e^ε, and exp(ε/10) ten times", Role.EXACT, totals, [math.exp(total) for total in totals]),
        line("1 + ε/10 ten times", Role.NAIVE, totals, [(1 + total / answers) ** answers for total in totals]),
        line("1 + ε once", Role.CEILING, totals, [1 + total for total in totals]),
        marks("ten randomized responses of ratio 1.1", Role.NAIVE, [1.0], [float(Fraction(measured["added_up"]))]),
    ]
    return panel("A factor e^ε or 1 + ε", "ε", "largest ratio of probabilities", series)


def _divergence_panel(measured: dict[str, Any]) -> Panel:
    def series(key: str, label: str, role: Role) -> Series:
        return marks(label, role, range(len(LABELS)), [measured["divergences"][name][key] for name in LABELS])

    largest = [measured["group_epsilon"][name][0] for name in PURE]
    rows = [
        marks("max divergence (the Gaussian has none)", Role.EXACT, range(len(PURE)), largest),
        series("approximate", f"max divergence but for δ = {SMALL_DELTA:g}", Role.OTHER),
        series("kullback_leibler", "Kullback-Leibler divergence", Role.NAIVE),
    ]
    return panel("Worst case and mean of the privacy loss", "", "nats", rows, x_names=list(LABELS.values()))


def _victims_panel(measured: dict[str, Any]) -> Panel:
    expected, rows = measured["expected_victims"], measured["victims"]

    def series(key: str, label: str, role: Role) -> Series:
        return line(label, role, expected, [row[key] for row in rows])

    drawn = [
        series("loss", "a loss above ε, each answers for oneself", Role.NAIVE),
        series("one", "a record comes out, one at most", Role.CEILING),
        series("each", "a record comes out, each by its own coin", Role.EXACT),
        series("all", "a record comes out, all or none", Role.OTHER),
    ]
    return panel(
        f"{means.PEOPLE:,} people, (ε, δ)-DP",
        "n·δ",
        "probability that somebody is harmed",
        drawn,
        x_scale="log",
        y_scale="log",
    )


def _catastrophe_panel(measured: dict[str, Any]) -> Panel:
    rows = measured["catastrophe"]
    claimed = [row["claimed"] for row in rows]
    drawn = [
        line("naive, random() < δ", Role.NAIVE, claimed, [row["naive"] for row in rows]),
        marks("exact coin", Role.EXACT, claimed, [row["exact"] for row in rows]),
        line("claimed", Role.CEILING, claimed, claimed),
    ]
    return panel(
        "Publish everything with probability δ",
        "claimed δ",
        "needed δ, by exact laws",
        drawn,
        x_scale="log",
        y_scale="log",
    )


def group_claim(measured: dict[str, Any], size: int) -> PrivacyClaim:
    """What the discrete Gaussian's own claim at `EPSILON` promises to a group."""
    return PrivacyClaim(float(EPSILON), measured["group_delta"][0][1]).group(size)


def _exact(label: str, x: Iterable[float], y: Iterable[float], *, marks_only: bool = False) -> Series:
    return Series(label=label, role=Role.EXACT, x=list(x), y=list(y), marks_only=marks_only)


def explain(data: dict[str, Any]) -> str:
    """Set the laws' figures beside the claim's, and say which remarks hold."""
    measured = data["measured"]
    even = measured["priors"].index(0.5)
    at_half = measured["epsilons"].index(0.5)
    largest = measured["group_sizes"][-1]
    return PARAGRAPHS["definition"].format(
        measured=measured,
        epsilon=float(EPSILON),
        posterior=measured["posterior"]["laplace"][even][1],
        posterior_claim=measured["posterior_claim"][even][1],
        posterior_gaussian=measured["posterior"]["gaussian"][even][1],
        largest=largest,
        group_claim=group_claim(measured, largest).delta,
        group_delta=measured["group_delta"][-1][1],
        other_epsilon=measured["epsilons"][at_half],
        laplace_delta=middle(measured["delta"]["laplace"][at_half]),
        response_delta=middle(measured["delta"]["response"][at_half]),
        delta_sum=measured["group_sum"][-1],
        quotient=measured["belief_quotients"]["together"][-1],
        independent=max(measured["belief_quotients"]["independent"]),
        added_up=float(Fraction(measured["added_up"])),
        people=means.PEOPLE,
        hundredth=measured["victims"][measured["expected_victims"].index(0.01)],
        one_victim=measured["victims"][measured["expected_victims"].index(1.0)],
        coin=measured["catastrophe"][-1],
        coin_power=COIN_POWERS[-1],
        verdicts=[finding["verdict"] for finding in data["findings"]],
        times=measured["catastrophe"][-1]["naive"] / measured["catastrophe"][-1]["claimed"],
        kullback_leibler=measured["divergences"]["response"]["kullback_leibler"],
        gaussian=measured["divergences"]["gaussian"],
        small_delta=SMALL_DELTA,
        gap=max(
            max(abs(formula - bound) for bound in bounds)
            for formula, bounds in zip(measured["delta_formula"], measured["delta"]["gaussian"], strict=True)
        ),
    )
