"""Short pipelines, broken and sound: no broken one has a witness, and nothing is certain against a sound one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from attacklab.align.examine import Status, examine
from attacklab.draws import run, watching
from corpus.common.specimen import Specimen
from corpus.pipelines import PIPELINES

WITHOUT_WITNESS = (Status.OPEN, Status.SUSPECTED, Status.VIOLATED)
NOT_CERTAIN = (Status.ALIGNED, Status.OPEN)
NAMES = [f"{pipeline.name}-{'broken' if pipeline.broken else 'sound'}" for pipeline in PIPELINES]


@pytest.fixture(scope="module", autouse=True)
def _watched() -> Iterator[None]:
    """Watches all draws, once for all tests."""
    with watching():
        yield


@pytest.mark.parametrize("pipeline", PIPELINES, ids=NAMES)
def test_a_pair_of_a_pipeline_is_examined(pipeline: Specimen) -> None:
    target, pair = pipeline.make(), pipeline.pair

    def release(input_: Any, rng: np.random.Generator) -> Any:
        return next(iter(target.release(input_, 1, rng)))

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # some divide by zero, which is what is wrong with them
        made = examine(lambda x, draws: run(release, x, draws), pair.first, pair.second, target.claim, 1)
    assert made.status in (WITHOUT_WITNESS if pipeline.broken else NOT_CERTAIN)
