"""Low bits of Gaussian noise (see attacklab.attacks.low_bit_gaussian)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks import samplers
from attacklab.attacks.low_bit_gaussian import LowBitGaussian
from attacklab.attacks.samplers import ANY, Assumed, Model
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Estimate, Finding
from attacklab.model.floats import format_of
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role
from experiments.common import curves
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.sweeps import Maker, sweep
from experiments.targets import gaussians as targets

QUESTION = "Which samplers of Gaussian noise can be recognised by the low bits of their outputs?"

EPSILONS = (0.01, 0.1, 0.5, 1.0, 4.0)
TARGETS: tuple[tuple[Maker, str, Role, Model], ...] = (
    (targets.naive_gaussian_box_muller, "Box–Muller", Role.NAIVE, samplers.BOX_MULLER),
    (targets.naive_gaussian_box_muller_binary32, "Box–Muller, binary32", Role.NAIVE, samplers.BOX_MULLER),
    (targets.naive_gaussian_polar, "polar method", Role.NAIVE, samplers.POLAR),
    (targets.naive_gaussian_numpy_legacy, "numpy RandomState (polar)", Role.NAIVE, samplers.POLAR_SECOND_FIRST),
    (targets.naive_gaussian_python, "Python random.gauss (Box–Muller)", Role.NAIVE, samplers.BOX_MULLER_LIBRARY),
    (targets.naive_gaussian_inverse_cdf, "SciPy inverse CDF", Role.NAIVE, samplers.INVERSE_CDF),
    (targets.naive_gaussian_ziggurat, "numpy Generator (ziggurat)", Role.NAIVE, ANY),
    (targets.naive_gaussian_ziggurat_binary32, "numpy Generator, binary32", Role.NAIVE, ANY),
    (targets.exact_rounded_gaussian, "exact, rounded ideal Gaussian", Role.EXACT, ANY),
)
RECOGNISED_AT = 1.0
DENSITIES: tuple[tuple[Model, type[Any], str], ...] = (
    (samplers.BOX_MULLER, np.float64, "Box–Muller, pairs"),
    (samplers.POLAR, np.float64, "polar method, pairs"),
    (samplers.INVERSE_CDF, np.float64, "SciPy inverse CDF"),
)
BINADES = tuple(range(-14, 2))


def collect(settings: Settings) -> Collected:
    """Audit each sampler at each ε. Measure which outputs its model recognises, and how dense its outputs are."""
    trials = settings.budget(20_000, 1_000)
    findings = sweep((make for make, *_ in TARGETS), EPSILONS, LowBitGaussian(), settings, trials=trials)
    rng = np.random.default_rng(settings.seed)
    return Collected(
        findings,
        {
            "epsilons": EPSILONS,
            "recognised": [_recognised(make(RECOGNISED_AT), model, trials, rng) for make, _, _, model in TARGETS],
            "binades": BINADES,
            "density": [_density(model, dtype, settings.budget(2_000, 200), rng) for model, dtype, _ in DENSITIES],
        },
    )


def _recognised(target: Target, model: Model, trials: int, rng: np.random.Generator) -> list[float]:
    """Return, for the answers 0 and 1, the share of outputs that can come from 0 by the model."""
    shares = []
    for answer in (0.0, 1.0):
        outputs = target.outputs(answer, trials * model.answers, rng)
        rows = outputs.reshape(trials, 2) if model.answers == 2 else outputs
        shares.append(_share(model, rows, targets.sigma_of(RECOGNISED_AT)))
    return shares


def _share(model: Model, outputs: NDArray[np.floating], sigma: float) -> float:
    assumed = Assumed(sigma, 1 / sigma, format_of(outputs))
    return float(np.mean(model.reachable(outputs, np.zeros(outputs.shape), 0.0, assumed)))


def _density(model: Model, dtype: type[Any], count: int, rng: np.random.Generator) -> list[float]:
    """Return the share of all numbers, or pairs, that the sampler can reach, for each binade of their modulus."""

    def noise(binade: int) -> NDArray[np.floating]:
        modulus = np.ldexp(rng.uniform(1, 2, count), binade)
        if model.answers == 1:
            return modulus.astype(dtype)
        angle = rng.uniform(0, 2 * np.pi, count)
        pairs = np.stack([modulus * np.cos(angle), modulus * np.sin(angle)], axis=1)
        # A modulus and an angle of this generator make pairs like Box–Muller's own; other low bits make them any pairs.
        return (pairs.view(np.int64) ^ rng.integers(1 << 20, size=pairs.shape)).view(np.float64).astype(dtype)

    return [_share(model, noise(binade), 1.0) for binade in BINADES]


def ideal_advantage(epsilon: float, answers: int) -> float:
    """Return the largest advantage against ideal Gaussian noise on this many answers, each one sensitivity apart."""
    return math.erf(math.sqrt(answers / 8) / targets.sigma_of(epsilon))


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the advantage against ε for one answer and for two, the shares recognised, and the density."""
    caption = (
        "Above: advantage of the bet 'reachable from 0 only' at δ = 10⁻⁵. Below: outputs that the model of "
        "each sampler recognises at ε = 1, and the share of all numbers that a sampler can produce."
    )
    return [
        curves.figure(
            "low_bit_gaussian",
            caption,
            [_advantages(data, 1), _advantages(data, 2), _recognised_panel(data), _density_panel(data)],
        )
    ]


def _advantages(data: dict[str, Any], answers: int) -> Panel:
    epsilons = data["measured"]["epsilons"]
    measured = [
        curves.advantage_series(
            _of(data, make, answers), lambda finding: finding.claim.nominal.epsilon / answers, label, role
        )
        for make, label, role, model in TARGETS
        if model.answers == answers
    ]
    ideal = [ideal_advantage(epsilon, answers) for epsilon in epsilons]
    ceiling = [PrivacyClaim(epsilon, targets.DELTA).composed(answers).ceiling for epsilon in epsilons]
    series = [
        *measured,
        curves.line("ideal mechanism, best bet", Role.IDEAL, epsilons, ideal),
        curves.line("ceiling of the claim", Role.CEILING, epsilons, ceiling),
    ]
    return curves.panel(
        f"answers 0 and 1, {('one output', 'two outputs in a row')[answers - 1]}",
        "claimed ε of an output",
        "distinguishing advantage P[E] − Q[E]",
        series,
        x_scale="log",
    )


def _recognised_panel(data: dict[str, Any]) -> Panel:
    places = list(reversed(range(len(TARGETS))))
    from_0, from_1 = zip(*data["measured"]["recognised"], strict=True)
    series = [
        curves.marks("truly from f(D) = 0", Role.NAIVE, from_0, places),
        curves.marks("truly from f(D) = 1", Role.OTHER, from_1, places),
    ]
    return curves.panel(
        "outputs that could have come from f(D) = 0, ε = 1",
        "share of outputs (or pairs)",
        "",
        series,
        y_names=[label for _, label, _, _ in reversed(TARGETS)],
    )


def _density_panel(data: dict[str, Any]) -> Panel:
    sizes = [1.5 * 2.0**binade for binade in data["measured"]["binades"]]
    series = [
        curves.line(label, Role.NAIVE, sizes, shares)
        for (_, _, label), shares in zip(DENSITIES, data["measured"]["density"], strict=True)
    ]
    return curves.panel(
        "what a sampler can produce",
        "modulus of the noise, in σ",
        "share of all numbers (or pairs)",
        series,
        x_scale="log",
    )


def _of(data: dict[str, Any], make: Maker, answers: int) -> list[Finding]:
    return [
        finding
        for finding in curves.findings_of(data, make.__name__)
        if finding.samples and finding.samples.answers == answers
    ]


def explain(data: dict[str, Any]) -> str:
    """Say what is seen at ε = 1 and at the least ε, and why."""

    def at(make: Maker, answers: int, epsilon: float = 1.0) -> Estimate:
        findings, claimed = _of(data, make, answers), answers * epsilon
        return curves.advantage_of(next(finding for finding in findings if curves.claimed_epsilon(finding) == claimed))

    pairs = [at(make, 2).estimate for make, _, _, model in TARGETS if model.answers == 2]
    recognised = zip(data["measured"]["recognised"], TARGETS, strict=True)
    return PARAGRAPHS["low_bit_gaussian"].format(
        own=min(share for (share, _), (_, _, role, _) in recognised if role is Role.NAIVE),
        ideal_one=ideal_advantage(1.0, 1),
        ideal_two=ideal_advantage(1.0, 2),
        pairs=f"{min(pairs):.3f} to {max(pairs):.3f}",
        inverse=f"{at(targets.naive_gaussian_inverse_cdf, 1).estimate:.3f}",
        ziggurat=f"{at(targets.naive_gaussian_ziggurat, 1).estimate:.3f}",
        least=f"{at(targets.naive_gaussian_ziggurat, 1, EPSILONS[0]).estimate:.3f}",
        epsilon=EPSILONS[0],
        ideal_least=ideal_advantage(EPSILONS[0], 1),
        exact_one=f"{at(targets.exact_rounded_gaussian, 1).estimate:.4f}",
    )
