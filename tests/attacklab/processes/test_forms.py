"""Whatever form an output has, and wherever a target runs, it is judged alike."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from attacklab.attacks import BlackBox, RepeatedNoise
from attacklab.attacks.features import hashes
from attacklab.errors import TargetError
from attacklab.findings import Verdict
from attacklab.loading import load_target
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.processes.targets import ProcessRelease, external, isolated
from attacklab.referee import audit
from attacklab.targets import Kind, Target
from tests.attacklab.processes import forms

FILE = str(Path(forms.__file__))
WAYS = ("here", "child", "program")
TRIALS = 400

Ran = Callable[[str, str], Target]


def pair_of(form: str) -> NeighbouringPair:
    """Three records and four, behind the one that says the form of the output."""
    place = forms.FORMS.index(form)
    three, four = (np.array([place, *[1.0] * count]) for count in (3, 4))
    return NeighbouringPair.records(three, four, Relation.ADD_REMOVE)


def load(way: str, name: str) -> Target:
    if way == "program":
        return external([sys.executable, FILE, name], kind=Kind.DATASET, epsilon=1.0)
    return (isolated if way == "child" else load_target)(f"{FILE}:{name}", kind=Kind.DATASET, epsilon=1.0)


@pytest.fixture(scope="module")
def ran() -> Iterator[Ran]:
    """Loads a target, once, in each of the ways."""
    made: list[Target] = []

    @cache
    def run(way: str, name: str) -> Target:
        made.append(load(way, name))
        return made[-1]

    yield run
    for target in made:
        if isinstance(target.release, ProcessRelease):
            target.release.close()


def test_an_output_of_any_form_is_the_same_wherever_it_comes_from(ran: Ran) -> None:
    for form in forms.FORMS:
        input_ = pair_of(form).first
        here, *others = [ran(way, "of_any_form").outputs(input_, 3, np.random.default_rng(1)) for way in WAYS]
        for outputs in others:
            assert hashes(outputs).tolist() == hashes(here).tolist(), form


@pytest.mark.few(3)
@pytest.mark.parametrize("form", forms.FORMS)
def test_a_target_without_noise_is_refuted_wherever_it_runs(ran: Ran, form: str) -> None:
    for way in WAYS:
        target = replace(ran(way, "of_any_form"), pairs=(pair_of(form),))
        (finding,) = audit(target, [BlackBox()], trials=TRIALS)
        assert finding.verdict is Verdict.VIOLATED, f"{way}: {finding.reason}"
        assert finding.counts is not None
        assert {finding.counts.first, finding.counts.second} == {0, finding.counts.trials}


@pytest.mark.few(2)
@pytest.mark.parametrize("way", WAYS)
def test_a_generator_with_a_fixed_seed_is_refuted_and_noise_in_dicts_is_sound_wherever_it_runs(
    ran: Ran, way: str
) -> None:
    (finding,) = audit(replace(ran(way, "seeded"), pairs=(pair_of("floats"),)), [RepeatedNoise()], trials=TRIALS)
    assert finding.refutes, finding.reason
    assert finding.flaw == "the same outputs come up again, and tell their input"
    target = replace(ran(way, "sound"), pairs=(pair_of("floats"),))
    findings = audit(target, [RepeatedNoise(), BlackBox()], trials=2000)
    assert {finding.verdict for finding in findings if finding.pair} == {Verdict.NOT_DETECTED}
    assert not [finding.reason for finding in findings if finding.verdict is Verdict.ERROR]


def test_a_release_without_end_is_stopped_and_called_what_it_is(ran: Ran) -> None:
    for way in ("here", "child"):
        with pytest.raises(TargetError, match="4 outputs for 3 trials"):
            ran(way, "endless").outputs(pair_of("floats").first, 3, np.random.default_rng(1))
