"""Whatever form an output has, and wherever a target runs, it is judged alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from attacklab.attacks import BlackBox, RepeatedNoise
from attacklab.attacks.features import hashes
from attacklab.auditing.referee import audit
from attacklab.model.errors import TargetError
from attacklab.model.findings import Verdict
from attacklab.model.loading import load_target
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Target
from attacklab.processes.targets import isolated
from tests.system.attacklab.processes import forms

FILE = str(Path(forms.__file__))
TRIALS = 400


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


@pytest.mark.parametrize("form", ["floats", "ragged_lists", "as_a_tensor"])
def test_a_target_without_noise_is_refuted_wherever_it_runs(form: str) -> None:
    for way in WAYS:
        target = replace(loaded(way, "of_any_form"), pairs=(pair_of(form),))
        (finding,) = audit(target, [BlackBox()], trials=TRIALS)
        assert finding.verdict is Verdict.VIOLATED, finding.reason
        assert finding.counts is not None
        assert {finding.counts.first, finding.counts.second} == {0, finding.counts.trials}


def test_a_generator_with_a_fixed_seed_is_refuted_and_noise_in_dicts_is_sound_in_another_process() -> None:
    (finding,) = audit(
        replace(loaded(isolated, "seeded"), pairs=(pair_of("floats"),)), [RepeatedNoise()], trials=TRIALS
    )
    assert finding.refutes, finding.reason
    assert finding.flaw == "the same outputs come up again, and tell their input"
    target = replace(loaded(isolated, "sound"), pairs=(pair_of("floats"),))
    findings = audit(target, [RepeatedNoise(), BlackBox()], trials=2000)
    assert {finding.verdict for finding in findings if finding.pair} == {Verdict.NOT_DETECTED}
    assert not [finding.reason for finding in findings if finding.verdict is Verdict.ERROR]


def test_a_release_without_end_is_stopped_and_called_what_it_is() -> None:
    for way in WAYS:
        with pytest.raises(TargetError, match="4 outputs for 3 trials"):
            loaded(way, "endless").outputs(pair_of("floats").first, 3, np.random.default_rng(1))
