"""Streams of numbers, reports that people send themselves, and an adversary who asks again."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Categories, Domain, Queries, Streams
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target
from corpus.common.exact_noise import coins, discrete_laplace, laplace_law, pushed, response_law, truth_probability
from corpus.common.specimen import Computed, Rng, Specimen, broken, record_pair, sound

GROUP = "streams and local reports"

STEPS = 8
STREAM = Domain(shape=Streams(length=STEPS), integers=True, bounds=(0, 1))
SITES = ("a.org", "b.org", "c.org", "d.org")
ONE_SITE = Domain(shape=Categories(names=SITES, least=1, most=1))


FIRST_STEP = record_pair([1] + [0] * 7, [0] * 8)
LAST_STEP = record_pair([0] * 7 + [1], [0] * 8)
ONE_A_B = NeighbouringPair.records(np.array(["a.org"]), np.array(["b.org"]), Relation.SUBSTITUTE)


def _rows(scale: Fraction | int, trials: int, width: int, rng: Rng) -> NDArray[np.int64]:
    return discrete_laplace(scale, trials * width, rng).reshape(trials, width)


def tree_with_one_budget(stream: NDArray[Any], trials: int, rng: Rng) -> list[list[list[int]]]:
    """All nodes of a binary tree over the stream, each with the noise of one node."""
    outputs = []
    levels = [stream.reshape(-1, 1 << level).sum(axis=1) for level in range(4)]
    for row in _rows(1, trials, 15, rng):
        ends = np.cumsum([0, 8, 4, 2, 1])
        outputs.append([(level + row[a:b]).tolist() for level, a, b in zip(levels, ends, ends[1:], strict=False)])
    return outputs


def stops_when_busy(stream: NDArray[Any], trials: int, rng: Rng) -> list[list[int]]:
    """The stream is given with noise until its first true 1."""
    until = int(np.argmax(stream == 1)) if (stream == 1).any() else STEPS
    return [(stream[:until] + row[:until]).tolist() for row in _rows(1, trials, STEPS, rng)]


def _cell(salt: int, site: str) -> int:
    return hashlib.blake2b(f"{salt}{site}".encode(), digest_size=1).digest()[0] % 16


def hashed_report(sites: NDArray[Any], trials: int, rng: Rng) -> list[tuple[int, int]]:
    """A salted hash of the site into 16 cells, told truly with probability 0.8 and otherwise at random."""
    salts = rng.integers(0, 64, trials)
    truth = rng.random(trials) < 0.8
    guesses = rng.integers(0, 16, trials)
    return [
        (int(salt), _cell(int(salt), str(sites[0])) if is_true else int(guess))
        for salt, is_true, guess in zip(salts, truth, guesses, strict=True)
    ]


def noisy_unary(sites: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.bool_]:
    """One bit for each site, true with 0.75 for one's own and 0.05 for others."""
    mine = np.array([site == sites[0] for site in SITES])
    return np.asarray(rng.random((trials, len(SITES))) < np.where(mine, 0.75, 0.05))


def budget_back_on_failure(answers: NDArray[Any], trials: int, rng: Rng) -> list[list[int]]:
    """A query whose noisy answer is negative costs nothing, and may be asked again."""
    outputs: list[list[int]] = []
    for row in _rows(1, trials, 12, rng):
        released: list[int] = []
        for n in row:
            released.append(int(answers[0] + n))
            if released[-1] >= 0:
                break
        outputs.append(released)
    return outputs


def site_by_response(sites: NDArray[Any], trials: int, rng: Rng) -> list[str]:
    truth = coins(truth_probability(1.0, len(SITES)), trials, rng)
    others = [site for site in SITES if site != sites[0]]
    guesses = rng.integers(0, len(others), trials)
    return [str(sites[0]) if is_true else others[guess] for is_true, guess in zip(truth, guesses, strict=True)]


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "fresh_noise_on_totals", Target.dataset,
        "running totals with fresh noise each: the first step is part of all eight",
        lambda stream, trials, rng: np.cumsum(stream) + _rows(1, trials, STEPS, rng), FIRST_STEP,
        lambda output: float(np.clip(output, 0, 1).sum()) >= 6, epsilon=1.0, domain=STREAM
    ),
    broken(
        "tree_with_one_budget", Target.dataset,
        "a step is part of four nodes of the tree, each of which spends the budget", tree_with_one_budget, FIRST_STEP,
        lambda output: sum(level[0] >= 1 for level in output) >= 3, epsilon=1.0, domain=STREAM
    ),
    broken(
        "stops_when_busy", Target.dataset, "the answers end at the first true 1", stops_when_busy, LAST_STEP,
        lambda output: len(output) == 8, epsilon=1.0, domain=STREAM
    ),
    broken(
        "hashed_report", Target.dataset, "a hashed value told truly with probability 0.8 has an ε of 4", hashed_report,
        ONE_A_B, lambda output: _cell(output[0], "a.org") == output[1], epsilon=2.0, relation="substitute",
        domain=ONE_SITE
    ),
    broken(
        "noisy_unary", Target.dataset, "two bits differ, and the claim counts one", noisy_unary, ONE_A_B,
        lambda output: bool(output[0] and not output[1]), epsilon=2.0, relation="substitute", domain=ONE_SITE
    ),
    broken(
        "budget_back_on_failure", Target.dataset, "a query that gets a negative answer is repeated at no cost",
        budget_back_on_failure, NeighbouringPair(np.array([-1]), np.array([0]), None), lambda output: len(output) >= 4,
        epsilon=1.0, domain=Domain(shape=Queries(size=1), integers=True, bounds=(-5, 5))
    ),
    sound(
        "noisy_stream", Target.dataset, "exact noise on each step, of which one changes",
        lambda stream, trials, rng: [row.tolist() for row in stream + _rows(1, trials, STEPS, rng)],
        Computed(
            FIRST_STEP, lambda stream: pushed(laplace_law(1), lambda n: int(stream[0]) + n), lambda output: output[0]
        ),
        epsilon=1.0, domain=STREAM
    ),
    sound(
        "totals_of_noisy_steps", Target.dataset, "running totals of steps that have noise already",
        lambda stream, trials, rng: np.cumsum(stream + _rows(1, trials, STEPS, rng), axis=1), epsilon=1.0, domain=STREAM
    ),
    sound(
        "site_by_response", Target.dataset, "randomized response among four sites", site_by_response,
        Computed(ONE_A_B, lambda sites: response_law(1.0, sites[0], SITES)), epsilon=1.0, relation="substitute",
        domain=ONE_SITE
    ),
)
# fmt: on
