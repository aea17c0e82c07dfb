"""Sound pipelines are not accused, a pass has a witness, and the line that spends most is named."""

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from attacklab import (
    Domain,
    GaussianDP,
    NeighbouringPair,
    PrivacyClaim,
    Records,
    Relation,
    Renyi,
    Target,
    ZeroConcentrated,
    audit,
    one_by_one,
)
from attacklab.align.costs import Cost, delta_of, exceeds, keeps
from attacklab.align.examine import Examined, Status, examine
from attacklab.align.pairs import pairs_of
from attacklab.align.search import searched
from attacklab.attacks import AlignmentAttack
from attacklab.auditing.alignment import alignment
from attacklab.draws import run, watching
from attacklab.model.claims import Claim
from attacklab.model.domains import Queries
from attacklab.model.errors import UsageError
from attacklab.model.findings import Alignment, Finding, Verdict
from corpus.common.specimen import Specimen
from corpus.pipelines import PIPELINES

Body = Callable[[Any, np.random.Generator], Any]


class Row(NamedTuple):
    """A pipeline, and what its alignment may say."""

    name: str
    body: Body
    first: Any
    second: Any
    epsilon: float
    allowed: tuple[Status, ...]


NEITHER = (Status.ALIGNED, Status.OPEN)
ALIGNED, OPEN = (Status.ALIGNED,), (Status.OPEN,)
VIOLATED, SUSPECTED = (Status.VIOLATED,), (Status.SUSPECTED,)

SHORT, LONG = np.array([0.2, 0.9, 0.4]), np.array([0.2, 0.9, 0.4, 1.0])


def mutated(x: list[float], rng: np.random.Generator) -> float:
    """It empties its own input."""
    total = 0.0
    while x:
        total += min(1.0, max(0.0, x.pop()))
    return total + rng.laplace(0, 1)


def quotient(x: Any, rng: np.random.Generator) -> float:
    """A noisy sum over a noisy count."""
    return float((np.clip(x, 0, 1).sum() + rng.laplace(0, 2)) / max(1.0, len(x) + rng.laplace(0, 2)))


ROWS = [
    Row("rounded", lambda x, rng: round(len(x) + rng.laplace(0, 1)), LONG, SHORT, 1.0, ALIGNED),
    Row("clamped", lambda x, rng: max(0.0, len(x) + rng.laplace(0, 1)), LONG, SHORT, 1.0, ALIGNED),
    Row("quotient", quotient, LONG, SHORT, 1.0, ALIGNED),
    Row("quotient, too dear", quotient, LONG, SHORT, 0.9, OPEN),
    Row("weights", lambda x, rng: rng.choice(2, p=x), np.array([0.5, 0.5]), np.array([0.4, 0.6]), 0.3, ALIGNED),
    Row("input of its own", mutated, LONG.tolist(), SHORT.tolist(), 1.0, ALIGNED),
    Row("die cast", lambda x, rng: x if int(rng.integers(0, 4)) < 3 else 1 - x, 0, 1, 1.1, NEITHER),
    Row("Gaussian", lambda x, rng: len(x) + rng.normal(0, 9), LONG, SHORT, 1.0, VIOLATED),
    Row("scale of the data", lambda x, rng: len(x) + rng.laplace(0, len(x)), LONG, SHORT, 1.0, VIOLATED),
    Row("bare count", lambda x, rng: (len(x) + rng.laplace(0, 1), len(x)), LONG, SHORT, 1.0, SUSPECTED),
    Row(
        "NaN in records", lambda x, rng: np.sum(x) + rng.laplace(0, 1), SHORT, np.append(SHORT, np.nan), 1.0, SUSPECTED
    ),
    Row("error on one", lambda x, rng: max(x.tolist()) + rng.laplace(0, 1), np.ones(1), np.ones(0), 1.0, SUSPECTED),
    Row("fixed seed", lambda x, _: len(x) + np.random.default_rng(3).laplace(0, 1), LONG, SHORT, 1.0, SUSPECTED),
    Row("rounded, half", lambda x, rng: round(len(x) + rng.laplace(0, 0.5)), LONG, SHORT, 1.0, OPEN),
    Row("raises on both", lambda *_: [][1], LONG, SHORT, 1.0, OPEN),
    Row("too many coins", lambda x, rng: (rng.random(99).sum() < 0) * len(x), LONG, SHORT, 1.0, OPEN),
]
"""What the alignment says; whatever it suspects is put to samples before anything is said of the claim."""


@pytest.fixture(scope="module", autouse=True)
def _watched() -> Iterator[None]:
    """Watches all draws, once for all tests."""
    with watching():
        yield


def examined(body: Body, first: Any, second: Any, claim: Claim) -> Examined:
    with np.errstate(all="ignore"):
        return examine(lambda input_, draws: run(body, input_, draws), first, second, claim, 1)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_the_alignment_of_a_pair_says(row: Row) -> None:
    made = examined(row.body, row.first, row.second, PrivacyClaim(row.epsilon))
    assert made.status in row.allowed, made.reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (lambda *_: np.random.SFC64().random_raw() > 0, "no draws were recorded"),
        (lambda *_: np.random.SFC64().random_raw() % 4 > 0, "its output changes when its draws are repeated: "),
    ],
)
def test_draws_that_are_not_seen_give_no_witness(body: Body, reason: str) -> None:
    made = examined(body, LONG, SHORT, PrivacyClaim(1.0))
    assert made.status is Status.OPEN
    assert made.reason.startswith(reason)


@pytest.mark.parametrize(("size", "cost"), [(1.0, Cost(1.0)), (2.0, Cost(0.5)), (4.0, Cost(0.25))])
def test_the_cost_of_a_sum_is_its_sensitivity_in_scales(size: float, cost: Cost) -> None:
    made = examined(lambda x, rng: np.clip(x, 0, 1).sum() + rng.laplace(0, size), LONG, SHORT, PrivacyClaim(1.0))
    assert made.cost is not None
    assert made.cost.epsilon == pytest.approx(cost.epsilon)


def test_gaussian_noise_is_judged_by_the_claims_own_arithmetic() -> None:
    def release(x: Any, rng: np.random.Generator) -> Any:
        return x.sum(axis=0) + rng.normal(0, 1, 2)

    first, second = np.array([[0.6, 0.8], [1.0, 0.0]]), np.array([[1.0, 0.0]])
    for claim, status in (
        (GaussianDP(1.01), Status.ALIGNED),
        (GaussianDP(0.99), Status.VIOLATED),
        (ZeroConcentrated(0.51), Status.ALIGNED),
        (ZeroConcentrated(0.49), Status.VIOLATED),
        (Renyi(2.0, 1.01), Status.ALIGNED),
        (Renyi(2.0, 0.99), Status.VIOLATED),
        (PrivacyClaim(1.0, 0.13), Status.ALIGNED),
        (PrivacyClaim(1.0, 0.12), Status.VIOLATED),
    ):
        assert examined(release, first, second, claim).status is status, claim


def test_a_cost_is_held_to_the_claim() -> None:
    assert delta_of(Cost(math.log(3.0)), 0.0) == pytest.approx(0.5)
    assert keeps(PrivacyClaim(1.0), Cost(1.0))
    assert not keeps(PrivacyClaim(1.0), Cost(0.5, 0.1))
    assert keeps(ZeroConcentrated(0.51), Cost(mu=1.0))
    assert not keeps(ZeroConcentrated(0.49), Cost(mu=1.0))
    assert exceeds(PrivacyClaim(1.0), [0.6, 0.6], 0.0)
    assert not exceeds(PrivacyClaim(1.0), [0.6, 0.4], 0.0)


@pytest.mark.parametrize(
    ("target", "least"),
    [
        (Target.noise(lambda *_: [0], epsilon=1.0, domain=Domain(integers=True)), 10),
        (Target.selection(lambda *_: [0], epsilon=1.0, domain=Domain(integers=True)), 12),
        (Target.sum(lambda *_: [0], epsilon=1.0, bounds=(0, 1), domain=Domain(integers=True)), 50),
    ],
    ids=["noise", "selection", "sum"],
)
def test_integer_domains_have_pairs(target: Target, least: int) -> None:
    pairs = list(pairs_of(target))
    assert len(pairs) >= least
    assert all(target.covers(pair) for pair in pairs)


def test_the_pair_that_a_search_returns_is_the_smallest_one_that_is_too_dear() -> None:
    """Records are eighths of 0 to 8; too dear are the pairs with two records from 3 on."""
    target = Target.dataset(lambda *_: [0], epsilon=1.0, domain=Domain(shape=Records(), bounds=(0, 8)))
    made = examined(ROWS[0].body, LONG, SHORT, PrivacyClaim(1.0))

    def judged(pair: NeighbouringPair) -> Examined:
        return replace(made, status=Status.VIOLATED if sum(pair.first >= 3) > 1 else Status.ALIGNED)

    found = searched(target, NeighbouringPair(LONG, SHORT, Relation.ADD_REMOVE), judged, 200, lambda: False)
    assert found is not None
    assert (found.first.tolist(), found.second.tolist()) == ([3.0, 3.0], [3.0])


@pytest.mark.slow
def test_every_change_of_a_vector_is_among_the_first_pairs_of_its_domain() -> None:
    def release(x: Any, trials: int, rng: np.random.Generator) -> Any:
        return x + rng.laplace(0, 1.0, (trials, 4))

    domain = Domain(shape=Queries(size=4, sensitivity=1.0))
    target = Target.dataset(release, epsilon=1.0, domain=domain)
    by = [tuple(np.sign(pair.second - pair.first)) for pair in itertools.islice(pairs_of(target), 12)]
    assert {(1, 1, 1, 1), (1, 0, 0, 0), (1, 1, -1, -1)} <= set(by)
    (finding,) = audit(target, ideal_noise=True, trials=3000)
    assert finding.refutes
    assert finding.shown.epsilon_lower == pytest.approx(4.0)


def test_what_is_computed_in_float32_is_equal_but_for_its_rounding() -> None:
    def release(x: Any, rng: np.random.Generator) -> Any:
        return np.float32(x.sum()) + np.float32(rng.laplace(0, 1.0))

    assert examined(release, LONG, SHORT, PrivacyClaim(1.0)).status is Status.ALIGNED
    assert examined(release, 1e4 * LONG, SHORT, PrivacyClaim(1e4)).reason.endswith("rounding hides its noise")


def aligned(body: Body, pairs: Sequence[tuple[Any, Any]] = ((LONG, SHORT),), epsilon: float = 1.0) -> Finding:
    def release(x: Any, trials: int, rng: np.random.Generator) -> list[Any]:
        return [body(x, rng) for _ in range(trials)]

    declared = [NeighbouringPair(first, second, Relation.ADD_REMOVE) for first, second in pairs]
    target = replace(Target.dataset(release, epsilon=epsilon, pairs=declared, name="pipeline"), version="7")
    (finding,) = audit(target, ideal_noise=True, trials=10_000)
    assert (finding.attack, finding.target_version) == ("alignment", "7")
    assert Finding.from_json(finding.to_json()) == finding
    return finding


def line_of(finding: Finding) -> str:
    assert isinstance(finding.evidence, Alignment)
    return finding.evidence.source


def test_a_bare_part_is_put_to_fresh_samples_and_named() -> None:
    def release(x: Any, rng: np.random.Generator) -> Any:
        noisy = len(x) + rng.laplace(0, 1)
        return {"noisy": noisy, "bare": len(x)}

    finding = aligned(release)
    assert finding.refutes
    assert finding.samples is not None
    assert (finding.samples.counts.first, finding.samples.counts.second) == (400, 0)
    assert line_of(finding) == 'return {"noisy": noisy, "bare": len(x)}'


def test_a_flaw_without_witness_is_found_by_samples_and_named() -> None:
    finding = aligned(lambda x, rng: round(len(x) + rng.laplace(0, 0.25)))
    assert finding.refutes
    assert "the cheapest shifts that were found cost ε = 4" in finding.reason
    assert "rng.laplace(0, 0.25)" in line_of(finding)


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def seconds(self) -> float:
        return self.now


def alignment_of(body: Body, clock: Clock, pairs: int = 1, *, seconds: float = math.inf) -> Finding:
    """The alignment of a release on pairs that are alike; the second round of samples takes a minute."""
    pair = NeighbouringPair(LONG, SHORT, Relation.ADD_REMOVE)
    target = Target.dataset(one_by_one(body), epsilon=1.0, pairs=[pair] * pairs)

    def sampled(*arguments: Any, **settings: Any) -> Sequence[Finding]:
        clock.now += 60.0 if settings["trials"] > 1000 else 2.0
        return audit(*arguments, **settings)

    return alignment(target, sampled, again=lambda trials: f"{trials} trials", seconds=seconds)


@pytest.mark.slow
def test_a_pair_that_the_time_or_the_runs_leave_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("attacklab.auditing.alignment.own_seconds", clock.seconds)

    def release(x: Any, rng: np.random.Generator) -> Any:
        clock.now += 1.0
        return len(x) + rng.laplace(0, 2.0)

    late = alignment_of(release, clock, pairs=8, seconds=1.0)
    assert late.verdict is Verdict.NOT_DETECTED
    assert late.reason.endswith("a test, not a proof); 7 pairs were not tried because the time was up")
    monkeypatch.setattr("attacklab.auditing.alignment.MOST_RUNS", 100)
    long = alignment_of(release, clock, pairs=2)
    assert long.verdict is Verdict.NOT_DETECTED
    assert long.reason.endswith("; 1 pair was not tried because 100 runs were made")


@pytest.mark.parametrize(
    ("seconds", "verdict", "told"),
    [
        (10.0, Verdict.NOT_DETECTED, "; 30,000 trials did not fit in the time; give --trials (in Python, seconds=)"),
        (0.0, Verdict.INCONCLUSIVE, "; 1,000 trials did not fit in the time; give --trials (in Python, seconds=)"),
    ],
)
def test_samples_that_the_time_leaves_out_are_told(
    seconds: float, verdict: Verdict, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr("attacklab.auditing.alignment.own_seconds", clock.seconds)
    made = alignment_of(lambda x, rng: (len(x) + rng.laplace(0, 2.0), rng.poisson(1.0)), clock, seconds=seconds)
    assert (made.verdict, made.replay) == (verdict, "1000 trials")
    assert made.reason.endswith(told)


def test_what_cannot_be_aligned_says_why() -> None:
    bits = Target.noise(lambda *_: [0], epsilon=1.0).exact(lambda answer, bits: answer + bits.take(1))
    (finding,) = audit(bits, [AlignmentAttack()])
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "attacklab prove" in finding.reason
    (finding,) = audit(Target.dataset(lambda *_: [0], epsilon=1.0), [AlignmentAttack()])
    assert "give pairs, or a domain" in finding.reason
    with pytest.raises(UsageError, match="leave one out"):
        audit(bits, [AlignmentAttack()], ideal_noise=True)


WITHOUT_WITNESS = (Status.OPEN, Status.SUSPECTED, Status.VIOLATED)
NOT_CERTAIN = (Status.ALIGNED, Status.OPEN)
NAMES = [f"{pipeline.name}-{'broken' if pipeline.broken else 'sound'}" for pipeline in PIPELINES]


@pytest.mark.parametrize(
    "pipeline",
    [pytest.param(one, marks=[pytest.mark.slow] * (place % 2)) for place, one in enumerate(PIPELINES)],
    ids=NAMES,
)
def test_a_pair_of_a_pipeline_is_examined(pipeline: Specimen) -> None:
    target, pair = pipeline.make(), pipeline.pair

    def release(input_: Any, rng: np.random.Generator) -> Any:
        return next(iter(target.release(input_, 1, rng)))

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # some divide by zero, which is what is wrong with them
        made = examine(lambda x, draws: run(release, x, draws), pair.first, pair.second, target.claim, 1)
    assert made.status in (WITHOUT_WITNESS if pipeline.broken else NOT_CERTAIN)
