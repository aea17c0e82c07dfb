"""What is inferred from choices refutes a claim where fresh outputs show it, and is inconclusive where none do."""

from __future__ import annotations

import math
from typing import Any

import pytest

from attacklab.model.findings import Verdict
from attacklab.replay import replay


@pytest.fixture(autouse=True)
def every_inference_is_said() -> None:
    """Here fresh outputs are counted."""


def _sign_and_size_of_one_number(count: int, rng: Any) -> int:
    u = rng.random() - 0.5
    size = math.floor(-math.log(1 - 2 * abs(u)) / 2.35)
    return count + size if u >= 0 else count - size


def _size_by_a_table_and_sign(count: int, rng: Any) -> int:
    u = rng.random()
    sign, rest = (1, 2 * u) if u < 0.5 else (-1, 2 * u - 1)
    return count + sign * math.floor(-math.log1p(-rest) / 2.0)


def _sure_bit(bit: int, rng: Any) -> int:
    return bit if rng.random() < 0.95 else 1 - bit


def _kept_above_a_threshold(count: int, rng: Any) -> bool:
    return bool(count + rng.laplace(0, 0.25) > 0.5)


@pytest.mark.parametrize(
    ("release", "epsilon", "is_violated"),
    [
        (_sign_and_size_of_one_number, 3.2, False),
        (_size_by_a_table_and_sign, 2.8, False),
        (_sure_bit, 1.0, True),
        (_sure_bit, 2.94, False),  # ln 19 is 2.944
        (_kept_above_a_threshold, 1.0, True),
    ],
)
def test_an_inference_from_choices_is_said_if_fresh_outputs_show_it(
    release: Any, epsilon: float, is_violated: bool
) -> None:
    for finding in replay(release, [(0, 1)], epsilon=epsilon):
        assert (finding.verdict is Verdict.VIOLATED) == is_violated, finding.reason
        assert ("fresh outputs of the first input show it" in finding.reason) == is_violated
