"""The naive geometric mechanism has the geometric law, and its loops run as long as its noise is large."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mechanisms.laplace.naive_geometric import naive_two_sided_geometric


def test_the_naive_geometric_noise_has_its_law_and_its_loops_run_as_long_as_it_is_large() -> None:
    """20 000 draws stray from a probability by 0.025 with probability below 2·e^−25 (Hoeffding)."""
    outputs = naive_two_sided_geometric(7, 20_000, np.random.default_rng(5), epsilon=1.0, sensitivity=2.0)
    q = math.exp(-0.5)
    for noise in range(-5, 6):
        assert abs(np.mean(outputs == 7 + noise) - (1 - q) / (1 + q) * q ** abs(noise)) < 0.025

    class Counted:
        def __init__(self, seed: int) -> None:
            self.rng, self.uniforms = np.random.default_rng(seed), 0

        def random(self) -> float:
            self.uniforms += 1
            return self.rng.random()

    for seed in range(100):
        rng = Counted(seed)
        noise = naive_two_sided_geometric(0, 1, rng, epsilon=1.0)[0]  # type: ignore[arg-type]
        assert rng.uniforms >= 2 + abs(noise)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"sensitivity": 0.0}, "sensitivity"),
        ({"sensitivity": math.inf}, "sensitivity"),
        ({"trials": -1}, "trials"),
    ],
)
def test_parameters_out_of_range_are_named(changed: dict[str, float], named: str) -> None:
    arguments: dict[str, Any] = {"answer": 0, "trials": 1, "rng": np.random.default_rng(0), "epsilon": 1.0} | changed
    with pytest.raises(ValueError, match=named):
        naive_two_sided_geometric(**arguments)
