"""Flaws reported in public, and those of a training step, are named at their lines; their repaired twins are not."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest

from attacklab.model.findings import Verdict
from attacklab.replay import replay
from tests.unit.attacklab.replay import gradient_steps as steps
from tests.unit.attacklab.replay.public_flaws import FLAWS

BROKEN_STEPS: list[tuple[Callable[..., Any], Any, dict[str, Any], str]] = [
    (steps.real_batch_size, (steps.SHORT, steps.SHORTER), steps.CLAIM, "the scale of the noise follows the data"),
    (steps.noise_before_averaging, (steps.SHORT, steps.SHORTER), steps.CLAIM, "the noise is too small"),
    (steps.gradients_in_bfloat16, (steps.SHORT, steps.SHORTER), steps.CLAIM, "the noise is too small"),
    (steps.one_key_for_two_sums, (steps.SHORT, steps.SHORTER), steps.SHUFFLED_CLAIM, "the same noise is added to two"),
    (steps.shuffled_parts, (steps.FEATURES, steps.ONE_EMPTY), steps.SHUFFLED_CLAIM, "the noise is too small"),
]
SOUND_STEPS = [
    (steps.sound_step, (steps.SHORT, steps.SHORTER), steps.CLAIM),
    (steps.poisson_parts, (steps.FEATURES, steps.ONE_EMPTY), steps.SHUFFLED_CLAIM),
]


@pytest.mark.parametrize("row", FLAWS, ids=lambda row: row[0].__name__)
def test_a_flaw_reported_in_public_is_found_again_and_its_repair_is_not_accused(row: Any) -> None:
    flawed, repaired, claim, first, second = row
    if repaired is not None:
        worst = replay(flawed, [(first, second)], **claim)[0]
        assert worst.refutes
        assert worst.witness is not None
        assert "# flaw" in linecache.getline(worst.witness.file, worst.witness.line)
    verdicts = {finding.verdict for finding in replay(repaired or flawed, [(first, second)], **claim)}
    assert verdicts == {Verdict.NOT_DETECTED}


@pytest.mark.parametrize("row", BROKEN_STEPS, ids=lambda row: row[0].__name__)
def test_what_is_wrong_with_a_training_step_is_named(row: Any) -> None:
    step, pair, claim, flaw = row
    worst = replay(step, [pair], **claim)[0]
    assert worst.refutes
    assert worst.flaw.startswith(flaw)
    assert worst.witness is not None
    assert "# flaw" in linecache.getline(worst.witness.file, worst.witness.line)


@pytest.mark.parametrize("row", SOUND_STEPS, ids=lambda row: row[0].__name__)
def test_a_sound_training_step_is_not_accused(row: Any) -> None:
    step, pair, claim = row
    assert {finding.verdict for finding in replay(step, [pair], **claim)} == {Verdict.NOT_DETECTED}
