"""The pipelines that replays are tested on: no broken one is passed, and no sound one is accused for certain."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from attacklab.align.examine import Status, examine
from attacklab.draws import run, watching
from attacklab.replay.program import as_target
from tests.unit.attacklab.replay.broken import BROKEN
from tests.unit.attacklab.replay.sound import SOUND, Row
from tests.unit.attacklab.replay.unjudged import UNJUDGED

FIXED_BY_THE_CALLER = ("seed_in_a_closure", "seeded_object")
"""Each output of these is the same number, as their caller gave a seed; fresh samples show that."""


@pytest.fixture(scope="module", autouse=True)
def _watched() -> Iterator[None]:
    """Watches all draws, once for all tests."""
    with watching():
        yield


def status(row: Row) -> Status:
    function, claim, first, second = row
    declared = {"epsilon": None, "delta": 0.0, "claim": None, "relation": None, "domain": None} | claim
    target = as_target(function, **declared)

    def release(input_: Any, rng: np.random.Generator) -> Any:
        return next(iter(target.release(input_, 1, rng)))

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # some divide by zero, which is what is wrong with them
        return examine(lambda x, draws: run(release, x, draws), first, second, target.claim, 1).status


@pytest.mark.parametrize("row", [*BROKEN, *UNJUDGED], ids=lambda row: row[0].__name__)
def test_a_broken_pipeline_has_no_witness(row: Row) -> None:
    assert status(row) is not Status.ALIGNED


@pytest.mark.parametrize("row", SOUND, ids=lambda row: row[0].__name__)
def test_nothing_is_certain_against_a_sound_pipeline(row: Row) -> None:
    allowed = (Status.ALIGNED, Status.OPEN)
    assert status(row) in (allowed if row[0].__name__ not in FIXED_BY_THE_CALLER else (Status.SUSPECTED,))
