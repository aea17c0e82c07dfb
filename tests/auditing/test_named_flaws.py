"""What a finding calls the flaw: that of a sampler only where the sampler's numbers tell more than a lattice does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attacklab.attacks import LowBitLaplace, Precision
from attacklab.auditing.referee import audit
from attacklab.model.findings import ON_LATTICE, Finding
from attacklab.model.targets import Target

STEP = 2.0**-20


def on_lattice(answer: Any, trials: int, rng: np.random.Generator) -> Any:
    return float(answer) + np.rint(rng.laplace(0.0, 0.3, trials) / STEP) * STEP


def narrow(answer: Any, trials: int, rng: np.random.Generator) -> Any:
    return float(answer) + 0.3 * rng.laplace(0.0, 1.0, trials).astype(np.float32).astype(float)


def plain(answer: Any, trials: int, rng: np.random.Generator) -> Any:
    return float(answer) + rng.laplace(0.0, 0.3, trials)


def refuting(release: Callable[..., Any], attack: Any) -> list[Finding]:
    target = Target.noise(release, epsilon=1.0, sensitivity=0.3)
    return [finding for finding in audit(target, [attack], trials=2_000) if finding.refutes]


def test_noise_on_a_lattice_is_called_that_and_no_sampler_is_blamed() -> None:
    found = refuting(on_lattice, LowBitLaplace())
    assert found
    assert {finding.flaw for finding in found} == {ON_LATTICE}
    assert all(f"by noise on the multiples of {STEP!r}" in str(finding.event) for finding in found)
    assert ON_LATTICE in {finding.flaw for finding in refuting(on_lattice, Precision())}


@pytest.mark.parametrize("release", [plain, narrow])
def test_noise_of_floats_lies_on_no_lattice(release: Callable[..., Any]) -> None:
    found = refuting(release, LowBitLaplace())
    assert found
    assert {finding.flaw for finding in found} == {LowBitLaplace().flaw}
