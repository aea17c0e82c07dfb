"""Short pipelines, broken and sound: no broken one has a witness, and nothing is certain against a sound one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from attacklab.align.examine import Status, examine
from attacklab.draws import run, watching
from attacklab.model.releases import as_release
from attacklab.model.targets import Target
from tests.unit.attacklab.align.broken import BROKEN
from tests.unit.attacklab.align.sound import SOUND, Row
from tests.unit.attacklab.align.unjudged import UNJUDGED

WITHOUT_WITNESS = (Status.OPEN, Status.SUSPECTED, Status.VIOLATED)
ROWS = [
    *((row, WITHOUT_WITNESS) for row in (*BROKEN, *UNJUDGED)),
    *((row, (Status.ALIGNED, Status.OPEN)) for row in SOUND),
]


@pytest.fixture(scope="module", autouse=True)
def _watched() -> Iterator[None]:
    """Watches all draws, once for all tests."""
    with watching():
        yield


@pytest.mark.parametrize(("row", "allowed"), ROWS, ids=[row[0].__name__ for row, _ in ROWS])
def test_a_pair_of_a_pipeline_is_examined(row: Row, allowed: tuple[Status, ...]) -> None:
    function, claim, first, second = row
    target = Target.dataset(as_release(function), **claim)

    def release(input_: Any, rng: np.random.Generator) -> Any:
        return next(iter(target.release(input_, 1, rng)))

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # some divide by zero, which is what is wrong with them
        assert examine(lambda x, draws: run(release, x, draws), first, second, target.claim, 1).status in allowed
