"""Bounds on the probability of an event, which share no code with those that attacks are judged by."""

from scipy.stats import beta


def bounds(hits: int, trials: int, alpha: float = 1e-9) -> tuple[float, float]:
    """Clopper and Pearson's bounds, each of them wrong with probability alpha."""
    low = beta.ppf(alpha, hits, trials - hits + 1) if hits else 0.0
    high = beta.ppf(1 - alpha, hits + 1, trials - hits) if hits < trials else 1.0
    return float(low), float(high)
