"""Whatever form an output has, and wherever a target runs, it is judged alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from attacklab.attacks.features import hashes
from attacklab.model.errors import TargetError
from attacklab.model.loading import load_target
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Target
from attacklab.processes.targets import isolated
from tests.processes import forms

pytestmark = pytest.mark.slow

FILE = str(Path(forms.__file__))


def pair_of(form: str) -> NeighbouringPair:
    """Three records and four, behind the one that says the form of the output."""
    place = forms.FORMS.index(form)
    three, four = (np.array([place, *[1.0] * count]) for count in (3, 4))
    return NeighbouringPair.records(three, four, Relation.ADD_REMOVE)


@cache
def loaded(load: Callable[..., Target], name: str) -> Target:
    return load(f"{FILE}:{name}", kind=Kind.DATASET, epsilon=1.0)


@pytest.fixture(scope="module", autouse=True)
def _processes_end() -> Iterator[None]:
    yield
    loaded.cache_clear()


WAYS = (load_target, isolated)


def test_an_output_of_any_form_is_the_same_wherever_it_comes_from() -> None:
    for form in forms.FORMS:
        input_ = pair_of(form).first
        here, there = (loaded(way, "of_any_form").outputs(input_, 3, np.random.default_rng(1)) for way in WAYS)
        assert hashes(there).tolist() == hashes(here).tolist(), form


def test_a_release_without_end_is_stopped_and_called_what_it_is() -> None:
    for way in WAYS:
        with pytest.raises(TargetError, match="4 outputs for 3 trials"):
            loaded(way, "endless").outputs(pair_of("floats").first, 3, np.random.default_rng(1))
