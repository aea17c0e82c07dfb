"""Bounds on ε by the counts of one event: enumerated where trials are few, near the best where they are many."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from attacklab.auditing.statistics import ratio
from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.auditing.statistics.ratio import FINE, Reading
from attacklab.model.findings import Counts

PLAIN = Reading(of_second=False, complement=False)
RATES = (0.01, 0.05, 0.1, 0.25, 0.4, 0.5, 0.7, 0.9, 0.99, 1.0)


@pytest.mark.parametrize(
    ("delta", "alpha", "size"),
    [(0.0, 0.3, FINE), (0.0, 0.05, FINE), (0.1, 0.1, FINE), (0.0, 1e-3, FINE), (0.0, 0.05, 1 << 7), (0.1, 0.1, 1 << 7)],
)
def test_a_bound_is_wrong_with_probability_at_most_alpha_whatever_the_rates(
    delta: float, alpha: float, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All counts of 12 trials, each with its probability; also where cells and blocks are few and large."""
    monkeypatch.setattr(ratio, "FINE", size)
    trials = 12
    hits = np.arange(trials + 1)
    bounds = np.array([[PLAIN.epsilon(Counts(more, less, trials), delta, alpha) for less in hits] for more in hits])
    wrong = [
        stats.binom.pmf(hits, trials, p) @ (bounds > max(0.0, math.log(max(p - delta, 1e-300) / q)) + 1e-12) @ law
        for q in RATES
        for law in [stats.binom.pmf(hits, trials, q)]
        for p in {*RATES, *(min(1.0, factor * q + delta) for factor in (1.0, 1.5, 3.0, 8.0))}
    ]
    assert max(wrong) <= alpha
    if size == FINE:
        assert max(wrong) > alpha / 4  # else it would be far from the ratio


@pytest.mark.slow
def test_a_bound_is_seldom_wrong_where_blocks_hold_many_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """More wrong bounds than this among 200 samples at α = 0.1 have a probability below 1e-9."""
    monkeypatch.setattr(ratio, "FINE", 1 << 13)
    p, q, trials, alpha, samples = 0.3, 0.25, 2_000, 0.1, 200
    rng = np.random.default_rng(6)
    drawn = zip(rng.binomial(trials, p, samples), rng.binomial(trials, q, samples), strict=True)
    found = [PLAIN.epsilon(Counts(int(more), int(less), trials), 0.0, alpha) for more, less in drawn]
    assert samples / 25 < sum(bound > math.log(p / q) for bound in found) <= stats.binom.isf(1e-9, samples, alpha)


def by_thinning(more: int, less: int, trials: int, alpha: float) -> float:
    """The largest ε that Fisher's exact test rejects, thinned by e^−ε to the median."""
    low, high = 0.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        kept = round(more * math.exp(-middle))
        rejects = stats.hypergeom.sf(kept - 1, 2 * trials, kept + less, trials) < alpha
        low, high = (middle, high) if rejects else (low, middle)
    return low


@pytest.mark.parametrize("alpha", [0.1, 1e-6])
@pytest.mark.parametrize(
    ("p", "q"), [(0.5, 0.5 * math.exp(-0.1)), (0.9, 0.85), (0.05, 0.045), (0.999, 0.5), (0.5, 1e-3)]
)
def test_no_test_of_a_million_trials_would_show_much_more(p: float, q: float, alpha: float) -> None:
    """Fisher's exact test shows less, and the normal law takes off at least 0.95 of what the bound takes off."""
    trials = 1_000_000
    more, less = round(trials * p), round(trials * q)
    found = PLAIN.epsilon(Counts(more, less, trials), 0.0, alpha)
    best = -stats.norm.ppf(alpha) * math.sqrt((1 / p - 1 + 1 / q - 1) / trials)
    assert found > by_thinning(more, less, trials, alpha)
    assert 0.95 * (math.log(p / q) - found) < best


def test_a_million_trials_prove_what_the_page_on_auditing_says() -> None:
    """An event that all outputs of one input show and none of the other's: ln(n/ln(1/α)), nearly, and never more."""
    page = (Path(__file__).parents[3] / "docs/how_to/auditing.md").read_text("utf-8")
    most = math.log(1_000_000 / math.log(1e6))
    assert most - 0.01 < PLAIN.epsilon(Counts(1_000_000, 0, 1_000_000), 0.0, 1e-6) < most
    assert f"prove ε = {most:.2f} at the very most" in page


@pytest.mark.parametrize(("trials", "size"), [(5, 36), (60, 64), (60, 4_096)])
def test_cells_and_blocks_only_enlarge_the_likelihood_of_extreme_counts(trials: int, size: int) -> None:
    """Against every count by itself, at 200 values of the smaller probability."""
    hits = np.arange(trials + 1)
    for more, less, epsilon in [(trials, 0, 0.5), (trials // 2, trials // 5, 0.2), (trials - 1, trials // 3, 0.8)]:
        problem = ratio._Problem.of(more, less, trials, 0.05, 0.2)
        assert problem is not None
        low, high = clopper_pearson(hits, trials, problem.level)
        extreme = (low[:, np.newaxis] - 0.05) / high >= problem.ratio
        start, end = (float(np.clip((p - 0.05) / math.exp(epsilon), *problem.q)) for p in problem.p)
        q = np.linspace(start, end, 200)[:, np.newaxis]
        first = stats.binom.pmf(hits, trials, np.minimum(math.exp(epsilon) * q + 0.05, 1.0))
        exact = np.einsum("ki,ij,kj->k", first, extreme, stats.binom.pmf(hits, trials, q)).max()
        assert exact <= problem.likelihood(epsilon, size) + 1e-12
        assert problem.likelihood(epsilon, FINE) == pytest.approx(exact, rel=0.1)
        starts, least = problem._blocks(start, end, 8, surely=True)
        assert least.tolist() == [np.append(extreme[:, int(block)], True).argmax() for block in starts]
