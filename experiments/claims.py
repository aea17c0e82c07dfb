"""One Gaussian mechanism under claims of several kinds: what each allows, and what auditing each costs.

The mechanism is noise of σ = Δ = 1, normal or discrete. Half-lines of its outputs are the events that leak most (see
`mechanisms/core/gaussian_claims.py`), so a threshold is all that an adversary has to choose.

Sources: Dong, Roth and Su 2022 (trade-off curves, and the profile of μ-GDP); Bun and Steinke 2016 (ρ = Δ²/2σ²); Mironov
2017 (D_α = α·Δ²/2σ²); Canonne, Kamath and Steinke 2020 (discrete noise keeps ρ-zCDP as normal noise does, but not its
δ(ε)).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.statistics.inference import clopper_pearson, share_of_alpha
from attacklab.model.claims import Claim, GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated
from attacklab.model.findings import Finding, Verdict
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments.common.curves import figure, panel
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.profile_audits import Decision, Draws, HalfLines, decided, edge, fewest_trials_of, replayed
from mechanisms.core.grid import Grid
from mechanisms.gaussian.claims import discrete_gaussian_delta
from mechanisms.gaussian.exact import exact_discrete_gaussian
from mechanisms.gaussian.naive import naive_gaussian

QUESTION = (
    "What does a claim allow, how often is a mechanism at its edge accused, and how many trials does a breach take?"
)

SIGMA = 1.0
EPSILON = 1.0
"""Where the (ε, δ) claim is made, and near which the mechanisms at the edge lie."""

ORDERS = (2.0, 8.0, 32.0)
MU, RHO = GaussianDP(1 / SIGMA), ZeroConcentrated(1 / (2 * SIGMA**2))
CLAIMS: Mapping[str, Claim] = {
    "(ε, δ)": MU.at(EPSILON),
    "ρ-zCDP": RHO,
    "RDP": Renyi(ORDERS, tuple(order / (2 * SIGMA**2) for order in ORDERS)),
    "μ-GDP": MU,
    "profile": Profile(
        functools.partial(discrete_gaussian_delta, sigma=SIGMA), "the profile of discrete Gaussian noise"
    ),
}
LABELS = {
    "(ε, δ)": f"(ε, δ) at ε = {EPSILON:g}",
    "ρ-zCDP": f"ρ-zCDP, ρ = {RHO.rho:g}",
    "RDP": f"RDP at α = {', '.join(f'{order:g}' for order in ORDERS)}",
    "μ-GDP": f"μ-GDP, μ = {MU.mu:g}",
    "profile": "profile of discrete noise",
}
NOISES = {"normal": "normal noise", "discrete": "discrete Gaussian noise on multiples of Δ"}
KEEPS = {"normal": set(CLAIMS) - {"profile"}, "discrete": {"ρ-zCDP", "RDP", "profile"}}
"""Which claims hold of which noise. The profile of neither noise covers that of the other."""

THRESHOLDS = tuple(step / 2 - 1.75 for step in range(12))
"""Half-lines that are bet on; no output of the discrete mechanism lies on one."""

AUDITED_TRIALS = 1_000_000
CURVE_ALPHA = 0.001
"""How often bounds on a point of the trade-off curve may be wrong."""

TYPE_1 = tuple(step / 50 for step in range(51))
LARGEST_EPSILON = 6.0

FALSE_ALARM_ALPHA = 0.01
FALSE_ALARM_TRIALS = 20_000
CONFIDENCE = 0.95
"""The confidence of the bounds on the measured rate of false alarms."""

POWER_ALPHA = 1e-6
POWER_TRIALS = 1_000_000_000
POWER_THRESHOLDS = np.linspace(-1, 5, 13)
SIGMAS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
QUICK_SIGMAS = (0.5, 0.8)
SHOWN_SIGMA = 0.8
FIXED_DELTAS = (1e-3, 1e-6)
FAMILIES: Mapping[str, Claim] = {"μ-GDP": MU, "ρ-zCDP": RHO}


def collect(settings: Settings) -> Collected:
    """Audits of both mechanisms, curves, false alarms, power."""
    findings = _audits(settings)
    measured = {"curves": _curves(settings), "false_alarms": _false_alarms(settings), "power": _power(settings)}
    return Collected(findings, measured)


def _release(noise: str) -> Callable[..., NDArray[Any]]:
    def normal(answer: float, trials: int, rng: np.random.Generator) -> NDArray[Any]:
        return naive_gaussian(answer, trials, rng, sigma=SIGMA)

    def discrete(answer: float, trials: int, rng: np.random.Generator) -> NDArray[Any]:
        return np.asarray(exact_discrete_gaussian(SIGMA, grid=Grid(0)).many(answer, trials, SeededBits(rng)))

    return {"normal": normal, "discrete": discrete}[noise]


def _audits(settings: Settings) -> list[Finding]:
    """The referee's audits of each noise under each claim."""
    cases = [(noise, kind) for noise in NOISES for kind in CLAIMS]
    return [
        finding
        for noise, kind in cases
        for finding in audit(
            Target.noise(_release(noise), claim=CLAIMS[kind], name=f"{NOISES[noise]}: {LABELS[kind]}"),
            [HalfLines(THRESHOLDS)],
            trials=settings.budget(AUDITED_TRIALS, 50_000),
            alpha=share_of_alpha(DEFAULT_ALPHA, len(cases)),
            seed=settings.seed,
        )
    ]


def _curves(settings: Settings) -> dict[str, Any]:
    """The regions that claims allow, their δ(ε), and what is measured of both."""
    regions = {}
    for kind, claim in CLAIMS.items():
        points = claim.points if isinstance(claim, PrivacyClaim) else claim.points[:: settings.budget(3, 6)]
        regions[kind] = [[epsilon, claim.delta_at(epsilon)] for epsilon in points]
    return {
        "profiles": regions,
        "real": {
            "normal": [[epsilon, MU.delta_at(epsilon)] for epsilon, _ in regions["profile"]],
            "discrete": regions["profile"],
        },
        "measured": {noise: _measured(noise, number, settings) for number, noise in enumerate(NOISES)},
    }


def _measured(noise: str, number: int, settings: Settings) -> list[list[float]]:
    """Type I error, type II error and bounds on the latter, of each half-line."""
    trials = settings.budget(200_000, 20_000)
    rng = settings.generator(0, number)
    first, second = (_release(noise)(answer, trials, rng) for answer in (1.0, 0.0))
    rows = []
    for threshold in THRESHOLDS:
        type_1, misses = float(np.mean(second > threshold)), int(np.count_nonzero(first <= threshold))
        lower, upper = clopper_pearson(misses, trials, CURVE_ALPHA)
        rows.append([type_1, misses / trials, float(lower), float(upper)])
    return rows


def _false_alarms(settings: Settings) -> list[dict[str, Any]]:
    """The rate of false alarms at the edge of each claim."""
    audits = settings.budget(10_000, 100)
    measured = []
    for number, (kind, claim) in enumerate(CLAIMS.items()):
        p, q = edge(claim, EPSILON)
        first, second = (np.array([1 - rate, rate]) for rate in (p, q))
        draws = Draws.of(first, second, audits, FALSE_ALARM_TRIALS, settings.generator(1, number))
        decisions = decided(claim, draws, FALSE_ALARM_ALPHA)
        alarms = sum(decision.violated for decision in decisions)
        lower, upper = clopper_pearson(alarms, audits, 1 - CONFIDENCE)
        again = range(settings.budget(8, 2))
        measured.append(
            {
                "claim": kind,
                "p": p,
                "q": q,
                "audits": audits,
                "alarms": alarms,
                "rate": [float(lower), alarms / audits, float(upper)],
                "replayed": len(again),
                "agreed": sum(replayed(claim, draws, place, FALSE_ALARM_ALPHA) == decisions[place] for place in again),
            }
        )
    return measured


def _power(settings: Settings) -> list[dict[str, Any]]:
    """Trials to decision of tests of a claim of σ = 1 where the real σ is smaller."""
    measured = []
    for number, sigma in enumerate(QUICK_SIGMAS if settings.share < 1 else SIGMAS):
        first, second = (_bins(answer, sigma) for answer in (1.0, 0.0))
        runs = settings.budget(40, 4)
        draws = Draws.of(first, second, runs, POWER_TRIALS, settings.generator(2, number))
        for family, claim in FAMILIES.items():
            again = range(1)
            decisions = decided(claim, draws, POWER_ALPHA)
            points = _fixed_points(family)
            measured.append(
                {
                    "sigma": sigma,
                    "claim": family,
                    "profile": _median(decisions, runs),
                    "fewest": _finite(min(_fewest(claim, first, second))),
                    "fixed": {
                        name: _median(decided(point, draws, POWER_ALPHA), runs) for name, point in points.items()
                    },
                    "replayed": len(again),
                    "agreed": sum(replayed(claim, draws, place, POWER_ALPHA) == decisions[place] for place in again),
                }
            )
    return measured


def _bins(answer: float, sigma: float) -> NDArray[np.float64]:
    return np.diff(special.ndtr((np.array([-np.inf, *POWER_THRESHOLDS, np.inf]) - answer) / sigma))


def _fewest(claim: Claim, first: NDArray[np.float64], second: NDArray[np.float64]) -> Iterator[float]:
    for event in range(1, len(first)):
        yield fewest_trials_of(claim, float(first[event:].sum()), float(second[event:].sum()), POWER_ALPHA)


@functools.cache
def _fixed_points(family: str) -> dict[str, PrivacyClaim]:
    """The (ε, δ) claims that a family's claim implies, and that a plain test is made of."""
    claim = FAMILIES[family]

    def above(epsilon: float, delta: float) -> float:
        return math.log(claim.near(epsilon).delta / delta)

    epsilons = {f"ε = {EPSILON:g}": EPSILON} | {
        f"δ = {delta:g}": float(optimize.brentq(above, 0.1, 10.0, args=(delta,), xtol=1e-6)) for delta in FIXED_DELTAS
    }
    return {name: claim.at(epsilon) for name, epsilon in epsilons.items()}


def _median(decisions: Sequence[Decision], runs: int) -> int | None:
    """The median trials of all runs, those that never refuted counted as longer; None where it is one of these."""
    trials = sorted(decision.trials for decision in decisions if decision.violated)
    return trials[runs // 2] if len(trials) > runs // 2 else None


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def figures(data: dict[str, Any]) -> list[Figure]:
    """What claims allow; what audits cost."""
    measured = data["measured"]
    power = measured["power"]
    return [
        figure(
            "claims_curves",
            "What each claim allows and what noise of σ = Δ = 1 gives away.",
            [_trade_off_panel(measured["curves"]), _delta_panel(measured["curves"])],
        ),
        figure(
            "claims_audits",
            "Trials to refute a claim of too little noise, and false alarms at the edge of each kind of claim.",
            [*(_power_panel(power, family) for family in FAMILIES), _alarm_panel(measured["false_alarms"])],
        ),
    ]


def _trade_off_panel(curves: dict[str, Any]) -> Panel:
    series = [
        Series(label=f"least allowed: {LABELS[kind]}", role=role, x=TYPE_1, y=smallest_type_2(curves["profiles"][kind]))
        for kind, role in (("μ-GDP", Role.CEILING), ("ρ-zCDP", Role.OTHER), ("(ε, δ)", Role.IDEAL))
    ]
    for noise, role in (("normal", Role.NAIVE), ("discrete", Role.EXACT)):
        x, y, lower, upper = (list(column) for column in zip(*curves["measured"][noise], strict=True))
        series.append(
            Series(label=f"measured: {NOISES[noise]}", role=role, x=x, y=y, lower=lower, upper=upper, marks_only=True)
        )
    return panel("Trade-off curve", "type I error", "type II error", series)


def smallest_type_2(profile: Sequence[Sequence[float]]) -> list[float]:
    """The least type II error that points (ε, δ) allow, at each type I error of `TYPE_1`."""
    return [
        max(
            0.0,
            *(
                max(1 - delta - math.exp(epsilon) * error, (1 - delta - error) * math.exp(-epsilon))
                for epsilon, delta in profile
            ),
        )
        for error in TYPE_1
    ]


def _delta_panel(curves: dict[str, Any]) -> Panel:
    def line(label: str, pairs: Sequence[Sequence[float]], role: Role, *, marks_only: bool = False) -> Series:
        x, y = zip(*((x, y) for x, y in pairs if 0.05 <= x <= LARGEST_EPSILON), strict=True)
        return Series(label=label, role=role, x=x, y=y, marks_only=marks_only)

    series = [
        line(f"claimed: {LABELS['RDP']}", curves["profiles"]["RDP"], Role.IDEAL),
        line(f"claimed: {LABELS['ρ-zCDP']}", curves["profiles"]["ρ-zCDP"], Role.OTHER),
        line(f"claimed: {LABELS['μ-GDP']}", curves["profiles"]["μ-GDP"], Role.CEILING),
        line("real: normal noise", curves["real"]["normal"], Role.NAIVE, marks_only=True),
        line("real: discrete Gaussian noise", curves["real"]["discrete"], Role.EXACT, marks_only=True),
    ]
    return panel("Privacy profile", "ε", "δ(ε)", series, y_scale="log")


def _power_panel(power: Sequence[dict[str, Any]], family: str) -> Panel:
    rows = [row for row in power if row["claim"] == family]

    def lines(label: str, role: Role, values: Sequence[float | None]) -> Iterator[Series]:
        shown = [(row["sigma"], value) for row, value in zip(rows, values, strict=True) if value is not None]
        if shown:
            x, y = zip(*shown, strict=True)
            yield Series(label=label, role=role, x=x, y=y)

    roles = (Role.OTHER, Role.NAIVE, Role.CEILING)
    series = [*lines("the whole profile (the referee)", Role.EXACT, [row["profile"] for row in rows])]
    for name, role in zip(_fixed_points(family), roles, strict=True):
        series += lines(f"{name} alone", role, [row["fixed"][name] for row in rows])
    series += lines("the fewest of any test of one event", Role.IDEAL, [row["fewest"] for row in rows])
    return panel(
        f"{LABELS[family]} is claimed, α = {POWER_ALPHA:g}",
        f"real σ, where {SIGMA:g} is claimed",
        "trials to decision, median",
        series,
        y_scale="log",
    )


def _alarm_panel(alarms: Sequence[dict[str, Any]]) -> Panel:
    x = list(range(len(alarms)))
    lower, rate, upper = ([row["rate"][end] for row in alarms] for end in range(3))
    series = [
        Series(label="simulated audits", role=Role.EXACT, x=x, y=rate, lower=lower, upper=upper, marks_only=True),
        Series(label="α", role=Role.CEILING, x=x, y=[FALSE_ALARM_ALPHA] * len(x)),
    ]
    return panel(
        f"at the edge of each claim, {alarms[0]['audits']:,} audits each",
        "",
        "share of audits with a false alarm",
        series,
        x_names=[LABELS[row["claim"]] for row in alarms],
    )


def explain(data: dict[str, Any]) -> str:
    """Say what was refuted, how often a sound pair was accused and what a breach takes."""
    measured = data["measured"]
    alarms, power = measured["false_alarms"], measured["power"]
    refuted = [finding for finding in data["findings"] if finding["verdict"] == Verdict.VIOLATED]
    gaussian, concentrated = (
        next(row for row in power if row["sigma"] == SHOWN_SIGMA and row["claim"] == family) for family in FAMILIES
    )
    checked = [*alarms, *power]
    return PARAGRAPHS["claims"].format(
        gaussian=gaussian,
        claims=len(CLAIMS),
        refuted=f"{len(refuted)} refuted a claim: "
        + "; ".join(f"{finding['target']}, after {finding['counts']['trials']:,} trials" for finding in refuted)
        if refuted
        else "none refuted a claim",
        findings=len(data["findings"]),
        epsilon=EPSILON,
        rho=RHO.rho,
        mu=MU.mu,
        rho_delta=RHO.delta_at(EPSILON),
        mu_delta=MU.delta_at(EPSILON),
        audits=alarms[0]["audits"],
        alpha=FALSE_ALARM_ALPHA,
        alarms=", ".join(f"{row['alarms']} ({row['claim']})" for row in alarms),
        replayed=sum(row["replayed"] for row in checked),
        agreed=sum(row["agreed"] for row in checked),
        sigma=SHOWN_SIGMA,
        at_epsilon=gaussian["fixed"][f"ε = {EPSILON:g}"],
        delta=f"{FIXED_DELTAS[0]:g}",
        at_delta=gaussian["fixed"][f"δ = {FIXED_DELTAS[0]:g}"],
        concentrated=f"{concentrated['profile']:,} trials"
        if concentrated["profile"]
        else "more trials than were spent",
    )
