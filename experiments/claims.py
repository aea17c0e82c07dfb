"""What claims of five kinds allow, what noise gives away, and what audits say of noise that keeps some of them.

Sources: Dong, Roth and Su 2022, 'Gaussian Differential Privacy' (trade-off curves, μ-GDP); Bun and Steinke 2016 (zCDP);
Mironov 2017 (RDP); Canonne, Kamath and Steinke 2020 (discrete Gaussian noise).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.statistics.inference import clopper_pearson, share_of_alpha
from attacklab.model.claims import Claim, GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated
from attacklab.model.findings import Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments.common.curves import figure, panel
from experiments.common.paragraphs import PARAGRAPHS
from mechanisms.core.grid import Grid
from mechanisms.gaussian.claims import discrete_gaussian_delta
from mechanisms.gaussian.exact import exact_discrete_gaussian
from mechanisms.gaussian.naive import naive_gaussian

QUESTION = "What does a claim of each kind allow, and which claims does an audit refute for normal and discrete noise?"

SIGMA = 1.0
EPSILON = 1.0
"""Where the (ε, δ) claim is made."""

ORDERS = (2.0, 8.0, 32.0)
MU, RHO = GaussianDP(1 / SIGMA), ZeroConcentrated(1 / (2 * SIGMA**2))
CLAIMS: Mapping[str, Claim] = {
    "(ε, δ)": MU.at(EPSILON),
    "ρ-zCDP": RHO,
    "RDP": Renyi(ORDERS, tuple(order / (2 * SIGMA**2) for order in ORDERS)),
    "μ-GDP": MU,
    "profile": Profile(partial(discrete_gaussian_delta, sigma=SIGMA), "the profile of discrete Gaussian noise"),
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

CURVE_ALPHA = 0.001
TYPE_1 = tuple(step / 50 for step in range(51))
LARGEST_EPSILON = 6.0


@dataclass(frozen=True)
class HalfLines:
    """An attack on additive noise that bets on half-lines from thresholds above the lower of two answers."""

    thresholds: tuple[float, ...]
    name: str = "half_lines"
    flaw: str = "too little noise"

    def applies_to(self, target: Target) -> bool:  # noqa: ARG002 - applies to the targets of this module
        """Any target of this module."""
        return True

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002 - needs neither
        """The answers 1 and 0, and the half-lines."""
        yield Scenario(NeighbouringPair(1.0, 0.0, None), tuple(map(_half_line, self.thresholds)))


def _half_line(threshold: float) -> Event:
    return Event(f"the answer is at least {threshold:g}", lambda outputs: np.asarray(outputs >= threshold))


def collect(settings: Settings) -> Collected:
    """Audits of both noises under each claim, and curves."""
    return Collected(_audits(settings), _curves(settings))


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
            trials=settings.budget(1_000_000, 50_000),
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
    real = {"normal": [[e, MU.delta_at(e)] for e, _ in regions["profile"]], "discrete": regions["profile"]}
    measured = {noise: _measured(noise, number, settings) for number, noise in enumerate(NOISES)}
    return {"profiles": regions, "real": real, "measured": measured}


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


def figures(data: dict[str, Any]) -> list[Figure]:
    """What claims allow, and what noise gives away."""
    caption = "What each claim allows and what noise of σ = Δ = 1 gives away."
    return [figure("claims", caption, [_trade_off_panel(data["measured"]), _delta_panel(data["measured"])])]


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
        max(0.0, *(max(1 - d - math.exp(e) * error, (1 - d - error) * math.exp(-e)) for e, d in profile))
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


def explain(data: dict[str, Any]) -> str:
    """Say what was refuted."""
    refuted = [finding for finding in data["findings"] if finding["verdict"] == Verdict.VIOLATED]
    told = [f"{finding['target']}, after {finding['counts']['trials']:,} trials" for finding in refuted]
    return PARAGRAPHS["claims"].format(
        claims=len(CLAIMS),
        findings=len(data["findings"]),
        refuted=f"{len(told)} refuted a claim: {'; '.join(told)}" if told else "none refuted a claim",
        rho_delta=RHO.delta_at(EPSILON),
        mu_delta=MU.delta_at(EPSILON),
    )
