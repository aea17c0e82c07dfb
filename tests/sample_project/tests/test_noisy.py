"""What a library's author tests, and whether it leaks."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.dp_claim(epsilon=1.0, sensitivity=1.0, kind="noise")
def test_does_not_leak(mechanism, dp_audit):
    dp_audit(mechanism)


def test_is_centred_on_the_count(mechanism):
    counts = mechanism(100.0, 10_000, np.random.default_rng(1))
    assert abs(np.mean(counts) - 100) < 0.5
