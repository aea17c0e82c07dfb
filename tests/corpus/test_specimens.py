"""Specimens: broken ones are refuted by their own witnesses, sound ones by none; no attack has a part in either."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from attacklab.auditing.statistics.inference import assess
from attacklab.model.findings import Counts
from attacklab.model.targets import Target
from corpus.common.specimen import Specimen, Witness
from corpus.false_alarms import EDGE
from corpus.held_out import HELD_OUT
from corpus.known import KNOWN

pytestmark = pytest.mark.slow

ALPHA = 1e-9
"""The probability of calling a sound target broken, or a right law wrong, in one of these tests."""

ALL = (*KNOWN, *HELD_OUT)
BROKEN = [specimen for specimen in ALL if specimen.broken]
SOUND = [specimen for specimen in ALL if not specimen.broken]
COMPUTED = [specimen for specimen in SOUND if specimen.computed is not None]


def _named(specimens: Sequence[Specimen]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("specimen", specimens, ids=lambda specimen: specimen.name)


MANY = 50_000
"""From so many numbers on, an event is asked about each different one once."""


def _outputs(target: Target, input_: Any, trials: int, key: int) -> list[Any]:
    rng = np.random.default_rng([15, key])
    try:
        return list(target.release(input_, trials, rng))
    except (ValueError, KeyError, RuntimeError):  # a release that refuses an input, which its adversary sees
        return list(target.outputs(input_, trials, rng, sees_failures=True))


def _hits(target: Target, input_: Any, witness: Witness, key: int) -> int:
    """How many outputs belong to the event."""
    if witness.trials > MANY:
        outputs = target.outputs(input_, witness.trials, np.random.default_rng([15, key]))
        if outputs.dtype != object and outputs.ndim == 1:
            values, times = np.unique(outputs, return_counts=True)
            return sum(int(count) for value, count in zip(values, times, strict=True) if witness.event(value))
    return sum(bool(witness.event(output)) for output in _outputs(target, input_, witness.trials, key))


def _worst_excess(target: Target, first: int, second: int, trials: int) -> float:
    alpha = ALPHA / len(target.claim.points)
    counts = Counts(first, second, trials)
    return max(assess(target.claim.at(epsilon), counts, alpha).excess_lower for epsilon in target.claim.points)


@_named(BROKEN)
def test_the_witness_of_a_broken_specimen_refutes_its_claim(specimen: Specimen) -> None:
    target, witness = specimen.make(), specimen.witness
    assert target.covers(witness.pair)
    assert not target.why_too_far(witness.pair)
    first, second = (
        _hits(target, side, witness, key) for key, side in enumerate((witness.pair.first, witness.pair.second))
    )
    assert _worst_excess(target, first, second, witness.trials) > 0


def _divergence(specimen: Specimen, epsilon: float) -> float:
    """The larger of the two hockey-stick divergences of the laws that are written beside it."""
    p, q = (specimen.computed.law(side) for side in (specimen.computed.pair.first, specimen.computed.pair.second))
    assert math.fsum(p.values()) == pytest.approx(1, abs=1e-11)
    assert math.fsum(q.values()) == pytest.approx(1, abs=1e-11)
    return max(
        math.fsum(max(0.0, mass - math.exp(epsilon) * other.get(output, 0.0)) for output, mass in one.items())
        for one, other in ((p, q), (q, p))
    )


@_named(COMPUTED)
def test_the_law_of_a_sound_specimen_keeps_its_claim(specimen: Specimen) -> None:
    target = specimen.make()
    assert target.covers(specimen.computed.pair)
    for epsilon in target.claim.points:
        assert _divergence(specimen, epsilon) <= target.claim.delta_at(epsilon) + 1e-11


@_named(EDGE)
def test_an_edge_target_spends_all_of_its_claim(specimen: Specimen) -> None:
    claim = specimen.make().claim.nominal
    assert _divergence(specimen, claim.epsilon) == pytest.approx(claim.delta, abs=1e-9)
    assert claim.delta or _divergence(specimen, claim.epsilon - 1e-6) > 1e-8


@_named(COMPUTED)
def test_a_sound_specimen_has_the_law_that_is_written_beside_it(specimen: Specimen) -> None:
    target, computed = specimen.make(), specimen.computed
    trials = 4_000
    for number, side in enumerate((computed.pair.first, computed.pair.second)):
        law = computed.law(side)
        seen = Counter(computed.key(output) for output in _outputs(target, side, trials, number))
        assert set(seen) <= set(law)
        alpha = ALPHA / len(law)
        for output, mass in law.items():
            # Bernstein's inequality, on either side
            log = math.log(2 / alpha)
            room = math.sqrt(2 * trials * mass * (1 - mass) * log) + log
            assert abs(seen[output] - trials * mass) <= room, output


def test_names_are_unique_and_every_class_has_both_sorts() -> None:
    assert len({specimen.name for specimen in ALL}) == len(ALL)
    assert all(specimen.make().name == specimen.name for specimen in ALL)
    groups = {specimen.group for specimen in KNOWN}
    assert {specimen.group for specimen in BROKEN} == {specimen.group for specimen in SOUND} >= groups
    assert all(specimen.witness is not None for specimen in BROKEN)
    assert all(specimen.witness is None for specimen in SOUND)
