"""The precision of additive noise (see attacklab.attacks.precision)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from attacklab.attacks.precision import Precision
from attacklab.model.findings import Estimate, Finding
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments import targets
from experiments.common import curves
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.sweeps import Maker, Rows, sweep

QUESTION = "Does adding noise to f(D) give f(D) away, whatever sampler the noise comes from?"

EPSILONS = (0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TARGETS: Rows = (
    (targets.naive_laplace_inverse_cdf, "naive Laplace, textbook inverse CDF", Role.NAIVE),
    (targets.naive_laplace_numpy, "naive Laplace, numpy", Role.NAIVE),
    (targets.naive_gaussian_ziggurat, "naive Gaussian, numpy", Role.NAIVE),
    (targets.naive_gaussian_ziggurat_binary32, "naive Gaussian, numpy in binary32", Role.NAIVE),
    (targets.exact_rounded_laplace, "exact, rounded ideal Laplace", Role.EXACT),
)
FAR, NEAR = 0, 1
"""The indices of the attack's two pairs: the answers 0 and Δ, and two answers that are one ulp apart."""

GRID_EXPONENTS = tuple(range(0, -71, -1))
GRIDS_OF = (
    (targets.naive_laplace_numpy, 0.0, "naive, f(D) = 0", Role.NAIVE),
    (targets.naive_laplace_numpy, 1.0, "naive, f(D) = 1", Role.NAIVE),
    (targets.exact_rounded_laplace, 0.0, "exact, f(D) = 0", Role.EXACT),
    (targets.exact_rounded_laplace, 1.0, "exact, f(D) = 1", Role.EXACT),
)


def collect(settings: Settings) -> Collected:
    """Audit each mechanism at each ε, and find the coarsest grids that outputs lie on."""
    trials = settings.budget(100_000, 5_000)
    findings = sweep((make for make, *_ in TARGETS), EPSILONS, Precision(), settings, trials=trials)
    rng = np.random.default_rng(settings.seed)
    shares = [_shares(make(1.0).outputs(answer, trials, rng)) for make, answer, _, _ in GRIDS_OF]
    return Collected(findings, {"epsilons": EPSILONS, "grid_exponents": GRID_EXPONENTS, "on_grid": shares})


def _shares(outputs: np.ndarray[Any, np.dtype[np.float64]]) -> list[float]:
    """Return, for each power of two in GRID_EXPONENTS, the share of outputs that are its multiples."""
    return [float(np.mean(np.ldexp(outputs, -exponent) % 1 == 0)) for exponent in GRID_EXPONENTS]


def left_out(epsilon: float) -> tuple[float, float]:
    """Return how often ideal Laplace noise about 0 rounds to a double that cannot come out for the answer 1.

    Of the doubles in [2^−(k+1), 2^−k), a share of 2^−k are multiples of 2^−53 and of 2^−(k+1) multiples of 2^−52, which
    is all that the answer 1 gives above 0 and below. In (−2^j, 1 − 2^j) the noise would be beyond −2^j, where its grid
    is twice as coarse as that of the sum.

    Samplers whose scale is a power of two do so just as often. Other scales give their products a structure: of
    neighbouring products with 10 = 8·5/4, ties going to even, 3 in 8 are odd and not half.

    Args:
        epsilon: ε of a mechanism of sensitivity 1.

    Returns:
        The probability that the noise is not a multiple of 2^−53, and that it is a double that is left out.
    """

    def within(lower: float, upper: float) -> float:
        return math.exp(-epsilon * lower) - math.exp(-epsilon * upper)

    binades = [within(2.0 ** -(k + 1), 2.0**-k) for k in range(60)]
    above = sum(share * (1 - 2.0**-k) for k, share in enumerate(binades))
    below = sum(share * (1 - 2.0 ** -(k + 1)) for k, share in enumerate(binades))
    beyond = sum(within(2.0**j - 1, 2.0**j) / 2 for j in range(1, 20))
    return above, (above + below + beyond) / 2


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the advantage against ε for each pair, the ε that is left, and the grids that outputs lie on."""
    epsilons = data["measured"]["epsilons"]
    computed = [left_out(epsilon)[1] for epsilon in epsilons]
    far = (
        curves.line("left out by 1, ideal Laplace noise rounded", Role.OTHER, epsilons, computed),
        curves.ideal_laplace_series("ideal Laplace, best bet", epsilons),
    )
    near = curves.line("ideal mechanism, any bet (below 10⁻¹⁵)", Role.IDEAL, epsilons, [0.0] * len(epsilons))
    caption = (
        "Advantage of the bet on what the other answer leaves out, for two pairs; the ε that is "
        "left of the claim; and how fine the answers are at ε = 1."
    )
    panels = [
        _advantages(data, FAR, "answers 0 and 1, sensitivity 1", *far),
        _advantages(data, NEAR, "answers 2^k near the noise and the number next below it", near),
        _epsilon_panel(data),
        _grids_panel(data),
    ]
    return [curves.figure("precision", caption, panels)]


def _advantages(data: dict[str, Any], pair: int, title: str, *computed: Series) -> Panel:
    measured = [
        curves.advantage_series(map(_oriented, _of_pair(data, make, pair)), curves.claimed_epsilon, label, role)
        for make, label, role in TARGETS
    ]
    return curves.advantage_panel(title, [*measured, *computed], data["measured"]["epsilons"])


def _epsilon_panel(data: dict[str, Any]) -> Panel:
    epsilons = data["measured"]["epsilons"]
    shown = []
    for make, label, role in TARGETS:
        bounds = [max(finding.shown.epsilon_lower or 0.0 for finding in of_one) for of_one in _by_epsilon(data, make)]
        shown.append(curves.line(label, role, epsilons, bounds))
    claim = curves.line("the claim", Role.CEILING, epsilons, epsilons)
    return curves.panel("either pair", "claimed ε", "lower bound on the real ε", [*shown, claim], x_scale="log")


def _grids_panel(data: dict[str, Any]) -> Panel:
    exponents = [-exponent for exponent in data["measured"]["grid_exponents"]]
    series = [
        curves.line(label, role, exponents, shares)
        for (_, _, label, role), shares in zip(GRIDS_OF, data["measured"]["on_grid"], strict=True)
    ]
    return curves.panel("Laplace noise, ε = 1", "k", "share of outputs that are multiples of 2^−k", series)


def _by_epsilon(data: dict[str, Any], make: Maker) -> list[list[Finding]]:
    """Return the findings of a target: for each ε, a list of those on the two pairs."""
    findings, epsilons = curves.findings_of(data, make.__name__), data["measured"]["epsilons"]
    return [[finding for finding in findings if curves.claimed_epsilon(finding) == epsilon] for epsilon in epsilons]


def _of_pair(data: dict[str, Any], make: Maker, pair: int) -> list[Finding]:
    """Return a target's findings on one pair; the near pair is missing where over half of the outputs are equal."""
    return [of_one[pair] for of_one in _by_epsilon(data, make) if pair < len(of_one)]


def _oriented(finding: Finding) -> Finding:
    """Return the finding, with the pair exchanged if its event is likelier on the second answer."""
    advantage = curves.advantage_of(finding)
    if advantage.estimate >= 0 or finding.samples is None:
        return finding
    exchanged = Estimate(-advantage.estimate, -advantage.upper, -advantage.lower)
    return replace(finding, evidence=replace(finding.samples, advantage=exchanged))


def explain(data: dict[str, Any]) -> str:
    """Say what is seen at ε = 1 and at the least ε, and why."""

    def at(make: Maker, pair: int, epsilon: float) -> Finding:
        return next(finding for finding in _of_pair(data, make, pair) if finding.claim.nominal.epsilon == epsilon)

    def shown(finding: Finding) -> str:
        return f"{abs(curves.advantage_of(finding).estimate):.3f}"

    far = at(targets.naive_laplace_numpy, FAR, 1.0)
    return PARAGRAPHS["precision"].format(
        odd=1 - data["measured"]["on_grid"][0][data["measured"]["grid_exponents"].index(-53)],
        far=shown(far),
        epsilon=far.shown.epsilon_lower,
        computed=left_out(1.0)[1],
        near=shown(at(targets.naive_laplace_numpy, NEAR, EPSILONS[0])),
        least=EPSILONS[0],
        exact=shown(at(targets.exact_rounded_laplace, FAR, 1.0)),
        exact_near=shown(at(targets.exact_rounded_laplace, NEAR, 1.0)),
    )
