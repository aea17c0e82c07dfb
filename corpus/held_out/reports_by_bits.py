"""Reports of several bits or numbers, each of which costs, and counts over time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from corpus.common.exact_noise import coins, truth_probability
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import SUBSTITUTE, integer_stream, noise, one_report, replaced

GROUP = "streams and local reports"


def flipped(bits: Any, epsilon: float, trials: int, rng: Rng) -> NDArray[Any]:
    lies = ~coins(truth_probability(epsilon), trials * len(bits), rng).reshape(trials, -1)
    return np.asarray(np.asarray(bits, dtype=np.int64) ^ lies)


def eight_bits(records: Any, epsilon: float, trials: int, rng: Rng) -> NDArray[Any]:
    return flipped([int(records[0]) >> place & 1 for place in range(8)], epsilon, trials, rng)


def one_hot_of_16(records: Any, epsilon: float, trials: int, rng: Rng) -> NDArray[Any]:
    return flipped(np.arange(16) == int(records[0]), epsilon, trials, rng)


def parity(row: int, value: int) -> int:
    return (row & value).bit_count() & 1


def two_coefficients(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    signs_of = np.array([parity(row, int(records[0])) for row in range(8)])
    rows = rng.integers(1, 8, size=(trials, 2))
    signs = signs_of[rows] ^ (rng.random((trials, 2)) < 1 / (1 + math.e))
    return np.concatenate([rows, signs], axis=1)


def running_counts(stream: Any, epsilon: float, trials: int, rng: Rng) -> NDArray[Any]:
    return np.cumsum(np.asarray(stream, dtype=np.int64)) + noise(epsilon, trials, rng, size=len(stream))


def tells_seven_from_one(output: Any) -> bool:
    rows, signs = output[:2], output[2:]
    return all(parity(int(row), 7) == sign != parity(int(row), 1) for row, sign in zip(rows, signs, strict=True))


FILTERS = NeighbouringPair("1" * 32, "0" * 32, SUBSTITUTE)
# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "each_of_eight_bits_at_epsilon", Target.dataset, "a value has eight bits, each of which spends the budget",
        lambda records, trials, rng: eight_bits(records, 1.0, trials, rng), replaced([255], [0]),
        lambda output: output.sum() >= 7, epsilon=1.0, relation=SUBSTITUTE, domain=one_report(256)
    ),
    broken(
        "one_hot_of_16_at_epsilon", Target.dataset, "two bits of a one-hot code differ, each at the whole budget",
        lambda records, trials, rng: one_hot_of_16(records, 1.0, trials, rng), replaced([3], [9]),
        lambda output: output[3] == 1 and output[9] == 0, epsilon=1.0, relation=SUBSTITUTE, domain=one_report(16)
    ),
    broken(
        "filter_of_32_bits", Target.dataset, "32 bits may differ, each at a quarter of the budget",
        lambda text, trials, rng: flipped(list(map(int, text)), 0.25, trials, rng), FILTERS,
        lambda output: output.sum() >= 20, epsilon=1.0, relation=SUBSTITUTE, pairs=(FILTERS,)
    ),
    broken(
        "two_coefficients_at_epsilon", Target.dataset, "two Hadamard coefficients, each at the whole budget",
        two_coefficients, replaced([7], [1]), tells_seven_from_one, trials=20_000, epsilon=1.0, relation=SUBSTITUTE,
        domain=one_report(8)
    ),
    broken(
        "running_counts_at_epsilon", Target.dataset, "an event counts in four running counts, each at the whole budget",
        lambda stream, trials, rng: running_counts(stream, 1.0, trials, rng), replaced([1, 1, 1, 1], [0, 1, 1, 1]),
        lambda output: output.sum() >= 10, epsilon=1.0, relation=SUBSTITUTE, domain=integer_stream(4)
    ),
    sound(
        "eight_bits_at_an_eighth", Target.dataset, "each of eight bits at an eighth of the budget",
        lambda records, trials, rng: eight_bits(records, 1 / 8, trials, rng), epsilon=1.0, relation=SUBSTITUTE,
        domain=one_report(256)
    ),
    sound(
        "one_hot_of_16_at_half", Target.dataset, "both bits that differ at half of the budget",
        lambda records, trials, rng: one_hot_of_16(records, 0.5, trials, rng), epsilon=1.0, relation=SUBSTITUTE,
        domain=one_report(16)
    ),
    sound(
        "running_counts_at_a_quarter", Target.dataset, "each of four running counts at a quarter of the budget",
        lambda stream, trials, rng: running_counts(stream, 0.25, trials, rng), epsilon=1.0, relation=SUBSTITUTE,
        domain=integer_stream(4)
    ),
)
# fmt: on
