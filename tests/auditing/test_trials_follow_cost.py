"""How many trials default audits spend where outputs are cheap, what only those show, and how samples are cut."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy

from attacklab import BlackBox, Domain, GaussianDP, NeighbouringPair, PrivacyClaim, Relation, Target
from attacklab.attacks.base import Event, Scenario
from attacklab.auditing.clock import STEPS
from attacklab.auditing.judge import DEFAULT_TRIALS, may_refute, points_of
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.samples import BATCH_BYTES, BATCH_OUTPUTS, FIRST_BATCH, Role, Sample
from attacklab.auditing.statistics.choosing import trials_needed
from attacklab.model.claims import Claim
from attacklab.model.findings import Counts
from tests.ideal import two_sided_geometric

WHOLE = Domain(integers=True)
BIT = Domain(integers=True, bounds=(0.0, 1.0))


def geometric(epsilon: float) -> Callable[..., Any]:
    return lambda answer, trials, rng: int(answer) + two_sided_geometric(rng, trials, epsilon)


def response(truth: float, nothing: float = 0.0) -> Callable[..., Any]:
    """The bit with one probability, an unmistakable answer with another, and the other bit."""

    def release(answer: Any, trials: int, rng: np.random.Generator) -> Any:
        uniform, bit = rng.random(trials), int(answer)
        return np.where(uniform < nothing, 10 + bit, np.where(uniform < nothing + truth, bit, 1 - bit))

    return release


def on_grid(answer: Any, trials: int, rng: np.random.Generator) -> Any:
    """Noise and answers on a grid of 2^−10, so that no low bit tells anything."""
    return (round(float(answer) * 1024) + np.rint(rng.normal(0.0, 1024 * NARROW, trials))) / 1024


def bit(epsilon: float) -> float:
    return float(scipy.special.expit(epsilon))


def two_sided(epsilon: float) -> tuple[float, float]:
    """P[n ≥ 0] and P[n ≥ 1] of two-sided geometric noise."""
    ratio = math.exp(-epsilon)
    return 1 / (1 + ratio), ratio / (1 + ratio)


NARROW = 0.975
BEYOND_ONE = float(scipy.stats.norm.sf(0.0)), float(scipy.stats.norm.sf(1 / NARROW))
"""P[n > 0] and P[n > 1] of Gaussian noise."""

SUBTLE: dict[str, tuple[Target, Claim, tuple[float, float]]] = {
    "geometric noise of ε = 1.02": (
        Target.noise(geometric(1.02), epsilon=1.0, domain=WHOLE),
        PrivacyClaim(1.0),
        two_sided(1.02),
    ),
    "δ = 0.0023 for 0.002": (
        Target.noise(response(0.9977 * bit(0.5), 0.0023), epsilon=1.0, delta=0.002, domain=BIT),
        PrivacyClaim(1.0, 0.002),
        (0.0023, 0.0),
    ),
    "Gaussian noise 2.5 % too small, on a grid": (
        Target.noise(on_grid, claim=GaussianDP(1.0)),
        GaussianDP(1.0),
        BEYOND_ONE,
    ),
}


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that hardly moves, so that there is time for all trials on any machine."""
    ticks = iter(range(10**9))
    monkeypatch.setattr("attacklab.auditing.drawing.own_seconds", lambda _: 1e-7 * next(ticks))


@pytest.mark.slow
@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("flaw", SUBTLE)
def test_a_flaw_that_100_000_trials_miss_is_found_where_outputs_are_cheap(flaw: str) -> None:
    """Whoever knows the event needs more than 100,000 trials of it, by its law, and fewer than there may be."""
    target, claim, (p, q) = SUBTLE[flaw]
    needed = [trials_needed(point, p, q, DEFAULT_ALPHA) or math.inf for point in points_of(claim)]
    assert DEFAULT_TRIALS < min(needed) < STEPS[-1]
    attacks = [BlackBox()]
    assert not any(finding.refutes for finding in audit(target, attacks, trials=DEFAULT_TRIALS))
    assert any(finding.refutes for finding in audit(target, attacks))


@pytest.mark.slow
def test_an_audit_at_the_edge_of_the_claim_accuses_no_more_often_than_alpha() -> None:
    """With probability 10^−9 at the most, more than 9 of 16 audits at α = 0.05 accuse a sound target."""
    target = Target.noise(response(bit(1.0)), epsilon=1.0, domain=BIT)
    attacks = [BlackBox(learning=256)]
    accused = [any(one.refutes for one in audit(target, attacks, alpha=0.05, seed=seed)) for seed in range(16)]
    assert scipy.stats.binom.sf(9, 16, 0.05) < 1e-9
    assert sum(accused) <= 9


@pytest.mark.parametrize(
    ("counts", "trials", "expected"),
    [
        (Counts(73_700, 26_500, 100_000), 5_000_000, True),  # a little beyond e
        (Counts(73_300, 26_800, 100_000), 150_000, False),  # by too little for so few
        (Counts(73_106, 26_894, 100_000), 5_000_000, True),  # the very edge: rates close by would
        (Counts(731_059, 268_941, 1_000_000), 1_200_000, False),
        (Counts(60_000, 40_000, 100_000), 5_000_000, False),  # far within the claim
        (Counts(40_000, 60_000, 100_000), 5_000_000, False),
        (Counts(26_500, 73_700, 100_000), 5_000_000, True),  # the other way about
        (Counts(8, 0, 100_000), 5_000_000, True),  # rare, and never seen on one side
    ],
)
def test_more_trials_are_drawn_only_where_rates_near_those_seen_would_refute_the_claim(
    counts: Counts, trials: int, expected: bool
) -> None:
    far = Counts(counts.trials // 2, counts.trials // 2, counts.trials)
    for seen in ([counts], [far, counts]):
        assert may_refute([PrivacyClaim(1.0)], seen, trials, 1e-7) is expected


ANY = Event("any", lambda outputs: np.ones(len(outputs), dtype=bool))


def sample_of(answers: int, trials: int, *, spend_all: bool, **rest: Any) -> Sample:
    scenario = Scenario(NeighbouringPair.records([0], [1], Relation.SUBSTITUTE), (ANY,), answers)
    return Sample("any", scenario, 0, Role.JUDGE, (ANY,), trials, spend_all, **rest)


@pytest.mark.parametrize(("answers", "trials"), [(1, 1), (1, 63), (1, 1_000_003), (7, 400_001), (70_000, 100)])
@pytest.mark.parametrize("spend_all", [False, True])
def test_a_sample_is_cut_into_batches_of_bounded_size_that_add_up(answers: int, trials: int, spend_all: bool) -> None:
    sample = sample_of(answers, trials, spend_all=spend_all)
    batches = list(sample.batches())
    assert [batch.number for batch in batches] == list(range(len(batches)))
    assert list(itertools.accumulate(batch.rows for batch in batches)) == [batch.done for batch in batches]
    assert batches[-1].done == trials
    assert batches[-1].looked_at
    assert all(batch.rows * answers <= BATCH_OUTPUTS or batch.rows == 1 for batch in batches)
    assert sum(batch.looked_at for batch in batches) == 1 or not spend_all


def test_no_batch_between_looks_holds_more_trials_than_were_drawn_before_it() -> None:
    sample = sample_of(1, 1_000_003, spend_all=False, first_look=100_000)
    batches = list(sample.batches())
    assert all(batch.rows <= max(FIRST_BATCH, batch.done - batch.rows) for batch in batches)
    looked = [batch.done for batch in batches if batch.looked_at]
    assert 100_000 <= looked[0] <= 150_000
    assert looked[-1] == 1_000_003


def test_batches_of_large_outputs_are_bounded_in_bytes() -> None:
    sample = sample_of(3, 100_000, spend_all=True, output_bytes=1 << 13)
    batches = list(sample.batches())
    assert all(batch.rows * 3 << 13 <= BATCH_BYTES for batch in batches)
    assert batches[0].rows * 4 << 13 > BATCH_BYTES
    assert sum(batch.rows for batch in batches) == 100_000
