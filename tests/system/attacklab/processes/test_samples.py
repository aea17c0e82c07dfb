"""Samples: how they are cut into batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.auditing.drawing import Draws
from attacklab.auditing.referee import audit
from attacklab.auditing.samples import BATCH_BYTES, BATCH_OUTPUTS, FIRST_BATCH, Role, Sample
from attacklab.auditing.scenarios import found_scenarios
from attacklab.model.targets import Target
from tests.system.attacklab.processes import process_targets as own
from tests.system.attacklab.processes.process_targets import Bets

ANY = Event("any", lambda outputs: np.ones(len(outputs), dtype=bool))


def sample_of(answers: int, trials: int, *, spend_all: bool, **rest: Any) -> Sample:
    return Sample("any", Scenario(own.PAIR, (ANY,), answers), 0, Role.JUDGE, (ANY,), trials, spend_all, **rest)


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


@dataclass(frozen=True)
class Sized(Bets):
    """Looks at an output, and bets on few trials."""

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002 - the protocol's form
        probe(own.PAIR.first, 4)
        yield Scenario(own.PAIR, (ANY,), trials=100)


def vectors(records: Any, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.laplace(size=(trials, 1000 * len(records)))


def texts(records: Any, trials: int, rng: np.random.Generator) -> list[tuple[str, int]]:  # noqa: ARG001
    return [("x" * 10_000 * len(records), trial) for trial in range(trials)]


def test_a_scenario_says_how_large_outputs_are() -> None:
    of_vectors, of_texts = (
        found_scenarios(Draws(Target.dataset(release, epsilon=1.0)), Sized(), 0)[1] for release in (vectors, texts)
    )
    assert of_vectors == 8 * 1000
    assert 10_000 <= of_texts < 11_000


@dataclass(frozen=True)
class Blind(Bets):
    """Bets without a look at any output."""

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002 - the protocol's form
        yield Scenario(own.PAIR, (ANY,), trials=10_000)


def test_batches_of_vectors_are_bounded_in_bytes_though_the_attack_looked_at_none() -> None:
    largest = 0

    def recording(records: Any, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        nonlocal largest
        drawn = vectors(records, trials, rng)
        largest = max(largest, drawn.nbytes)
        return drawn

    audit(Target.dataset(recording, epsilon=1.0), [Blind()], trials=10_000, spend_all=True)
    assert BATCH_BYTES / 2 < largest <= BATCH_BYTES


def test_a_scenario_may_take_fewer_trials_than_the_audit_has() -> None:
    (finding,) = audit(Target.dataset(vectors, epsilon=1.0), [Sized()], trials=1000, spend_all=True)
    assert finding.counts is not None
    assert finding.counts.trials == 100


class _BetsOnSums(Bets):
    def applies_to(self, target: Target) -> bool:
        return target.kind == "sum"


def test_an_attack_that_looks_at_numbers_finds_nothing_where_the_target_gives_something_else() -> None:
    def words(records: NDArray[Any], trials: int, rng: np.random.Generator) -> list[str]:
        return [f"about {records.sum() + rng.laplace():.0f}" for _ in range(trials)]

    draws = Draws(Target.sum(words, epsilon=1.0, bounds=(0.0, 1.0)))
    assert found_scenarios(draws, _BetsOnSums(), 1)[0] == ()
