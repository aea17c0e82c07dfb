"""Counted bits tell utilities apart where weights are drawn by rejection, and not where the work is fixed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from attacklab.auditing.attacks.work import Work
from attacklab.auditing.referee import audit
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from mechanisms.exponential.base2.weighted_sampling import IntegerWeights, sample_by_rejection
from mechanisms.exponential.exact import exact_exponential_fixed_work
from mechanisms.exponential.naive import naive_exponential

EPSILON = 0.25
ALL_BEST = NeighbouringPair.utilities([1.0] * 9, [0.0] * 9, sensitivity=1.0)
"""9 weights of 1 are drawn in 9 of 16 rounds of so many bits; the sum of 9 weights of e^(−ε/2) is just below 8."""


def audited(sampler: Callable[..., int], trials: int) -> Finding:
    target = Target.selection(partial(naive_exponential, epsilon=EPSILON), epsilon=EPSILON).exact(sampler)
    (finding,) = audit(target.covering_work(), [Work(ALL_BEST)], trials=trials, seed=5)
    return finding


def test_bits_of_rejection_refute_the_claim_and_fixed_work_does_not() -> None:
    """A false alarm has probability at most 1e-6, at this fixed seed; the lazy one's advantage is about 0.43."""

    def lazy(given: Any, bits: Any) -> int:
        """Weights 226/2^8 for each unit below 1: a little above e^(−ε/2)."""
        return sample_by_rejection(IntegerWeights(tuple(256 if utility == 1 else 226 for utility in given)), bits)

    fixed = exact_exponential_fixed_work(epsilon=EPSILON, utility_range=(0, 1)).release
    assert PrivacyClaim(EPSILON).ceiling < 0.13
    caught, sound = audited(lazy, 1_000), audited(fixed, 1_000)
    assert caught.verdict is Verdict.VIOLATED
    assert caught.advantage is not None
    assert caught.advantage.estimate > 0.3
    assert sound.verdict is Verdict.NOT_DETECTED
