"""The flaws known in the lab's naive targets, each with the attack that was written for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from attacklab.auditing.attacks import (
    Attack,
    DoubleBudget,
    GeneratorSeed,
    IntegerCast,
    LocalSensitivity,
    LowBitGaussian,
    LowBitLaplace,
    MissingClip,
    PositionChunks,
    Precision,
    SumSensitivity,
    TruncatedAddition,
    ZeroRounding,
)
from attacklab.auditing.referee import audit
from attacklab.model.findings import Finding, Verdict
from attacklab.model.floats import BFLOAT16, BINARY16, BINARY32
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Settings
from experiments import targets

EPSILON = 1.0

FLAWS: Sequence[tuple[Callable[[float], Target], Attack]] = (
    (targets.naive_exponential, ZeroRounding()),
    (targets.naive_exponential_binary32, TruncatedAddition(formats=(BINARY32,))),
    (targets.naive_exponential_binary16, TruncatedAddition(formats=(BINARY16,))),
    (targets.naive_exponential_bfloat16, TruncatedAddition(formats=(BFLOAT16,))),
    (targets.naive_laplace_inverse_cdf, LowBitLaplace()),
    (targets.naive_laplace_numpy, LowBitLaplace()),
    (targets.naive_laplace_numpy_legacy, LowBitLaplace()),
    (targets.naive_gaussian_box_muller, LowBitGaussian()),
    (targets.naive_gaussian_polar, LowBitGaussian()),
    (targets.naive_gaussian_inverse_cdf, LowBitGaussian()),
    (targets.naive_gaussian_ziggurat, LowBitGaussian()),
    (targets.naive_laplace_numpy, Precision()),
    (targets.naive_local_sensitivity_mean, LocalSensitivity()),
    (targets.naive_sum_over_count, DoubleBudget()),
    (targets.naive_ptr_mean, MissingClip()),
    (targets.naive_sample_aggregate, PositionChunks()),
    (targets.naive_laplace_clock_seeded, GeneratorSeed()),
    (targets.naive_bounded_sum_numpy, SumSensitivity()),
    (targets.naive_bounded_sum_correctly_rounded, SumSensitivity()),
    (targets.naive_age_sum_int16, SumSensitivity()),
    (targets.naive_laplace_numpy, IntegerCast()),
)
"""Naive targets and the attack on the flaw that is known of each."""


def audit_known_flaws(settings: Settings) -> tuple[list[Finding], list[dict[str, Any]], list[dict[str, float]]]:
    """Audit each known flaw at default settings.

    Returns:
        The finding of each that took the fewest trials; the trials until the claim is refuted; the seconds until then.
    """
    kept, measured, timings = [], [], []
    for make, attack in FLAWS:
        started = time.perf_counter()
        findings = audit(make(EPSILON), [attack], seed=settings.seed)
        seconds = time.perf_counter() - started
        refuted = [finding for finding in findings if finding.verdict is Verdict.VIOLATED]
        best = min(refuted or findings, key=lambda finding: finding.trials)
        kept.append(best)
        measured.append(
            {"target": make.__name__, "attack": attack.name, "violated": bool(refuted), "trials": best.trials}
        )
        timings.append({"decision_seconds": best.seconds, "audit_seconds": seconds})
    return kept, measured, timings
