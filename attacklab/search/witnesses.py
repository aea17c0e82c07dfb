"""Search for the pair of inputs that shows a flaw best, and shrink it to the smallest pair that still shows it.

Every pair is judged as in any audit, by an attack made for it. Three stages: pairs are tried and the one with the most
evidence against the claim is kept; it is changed for as long as the evidence grows; then numbers are taken away and
made simpler for as long as the claim stays refuted. All that is only choosing. The witness that is left is audited on
fresh outputs with an α of its own, and only that is a finding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from attacklab.attacks.base import Attack
from attacklab.attacks.black_box import BlackBox
from attacklab.attacks.black_box.candidate_pairs import candidate_pairs
from attacklab.attacks.black_box.screening import Sampler, screened
from attacklab.errors import UsageError
from attacklab.findings import Finding
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.processes.batches import Prober
from attacklab.referee import DEFAULT_ALPHA, DEFAULT_TRIALS, audit
from attacklab.search.variations import changed, simplified
from attacklab.statistics.betting import evidence
from attacklab.targets import Kind, Target

SEARCH_TRIALS = 2_000
SEARCH_LEARNING = 2_048
PROMISING = math.log(1_000)
"""The evidence that makes a pair worth shrinking, and that a smaller one has to keep."""

MOST_PROPOSED = 200
"""How many pairs are screened where none are given."""

STARTS = 16
"""How many of them a search starts from."""

MOST_CHANGES = 32
"""Improvements before the search stops."""


@dataclass(frozen=True)
class Witness:
    """What a search found.

    Attributes:
        pair: the smallest pair that was found to show the flaw.
        finding: what an audit of that pair on fresh outputs says.
        code: Python that repeats that audit, given the target under the name `target`.
        tried: how many pairs were looked at on the way.
    """

    pair: NeighbouringPair
    finding: Finding
    code: str
    tried: int


def learned_attack(pair: NeighbouringPair) -> Attack:
    """The black-box attack on one pair, with as many outputs to learn from as a search can afford."""
    return BlackBox(pairs=(pair,), learning=SEARCH_LEARNING)


def search(
    target: Target,
    pairs: Iterable[NeighbouringPair] | None = None,
    *,
    attack: Callable[[NeighbouringPair], Attack] = learned_attack,
    trials: int = DEFAULT_TRIALS,
    alpha: float = DEFAULT_ALPHA,
    seed: int = 0,
) -> Witness | None:
    """Search for a pair that refutes the claim, shrink it, and audit what is left.

    Args:
        target: the implementation.
        pairs: where the search starts: drawn from a strategy (`strategies.drawn`), or any others; by default those that
            the black-box attack would try.
        attack: the attack on a given pair.
        trials: the most outputs of either input in the last audit.
        alpha: of the last audit; the search before it costs none.
        seed: what all randomness is derived from.

    Returns:
        The witness and its finding; None where no pair looked worth a last audit.

    Raises:
        ValueError: an argument is out of range, or there are no pairs (a DATASET target needs them given).
        TargetError: the target failed while it was looked at for pairs.
    """
    starts = _proposed(target, seed) if pairs is None else tuple(pairs)
    if not starts:
        raise UsageError("a search needs pairs to start from; those of a dataset target must be given")
    looks = _Looks(target, attack, seed)
    pair = _shrunk(_improved(max(starts, key=looks.at), target, looks), target, looks)
    if looks.at(pair) < PROMISING:
        return None
    last, last_seed = attack(pair), 2 * seed + 1
    findings = audit(target, [last], trials=trials, alpha=alpha, seed=last_seed)
    finding = max(findings, key=_evidence)
    return Witness(pair, finding, replay_code(pair, target, last, trials, alpha, last_seed), looks.tried)


def _proposed(target: Target, seed: int) -> tuple[NeighbouringPair, ...]:
    if target.kind is Kind.DATASET:
        return ()
    probe = Prober(target, 2 * seed, "proposals")
    found = tuple(candidate_pairs(target, probe, BlackBox().outcomes, MOST_PROPOSED))
    return tuple(screened(found, Sampler(probe), target.claim.nominal, kept=STARTS, outputs=SEARCH_LEARNING // 4))


class _Looks:
    """The evidence that each pair shows in a short audit, looked at once."""

    def __init__(self, target: Target, attack: Callable[[NeighbouringPair], Attack], seed: int) -> None:
        self._target, self._attack, self._seed = target, attack, seed
        self._seen: dict[str, float] = {}

    @property
    def tried(self) -> int:
        return len(self._seen)

    def at(self, pair: NeighbouringPair) -> float:
        key = input_code(pair.first) + input_code(pair.second)
        if key not in self._seen:
            findings = audit(
                self._target, [self._attack(pair)], trials=SEARCH_TRIALS, seed=2 * self._seed, spend_all=True
            )
            self._seen[key] = max(map(_evidence, findings))
        return self._seen[key]


def _evidence(finding: Finding) -> float:
    return -math.inf if finding.counts is None else evidence(finding.judged, finding.counts)


def _improved(pair: NeighbouringPair, target: Target, looks: _Looks) -> NeighbouringPair:
    for _ in range(MOST_CHANGES):
        better = max(changed(pair, target), key=looks.at, default=pair)
        if looks.at(better) <= looks.at(pair):
            break
        pair = better
    return pair


def _shrunk(pair: NeighbouringPair, target: Target, looks: _Looks) -> NeighbouringPair:
    while True:
        simpler = next((one for one in simplified(pair, target) if looks.at(one) >= PROMISING), None)
        if simpler is None:
            return pair
        pair = simpler


def input_code(value: Any) -> str:
    """Python that builds an input of a pair, every bit kept."""
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()!r}, dtype=np.{value.dtype.name})" if value.dtype.kind != "O" else repr(value)
    return repr(value)


def replay_code(pair: NeighbouringPair, target: Target, attack: Attack, trials: int, alpha: float, seed: int) -> str:
    """Python that audits `target` by an attack made for this pair."""
    kind = type(attack)
    inputs = f"{input_code(pair.first)},\n    {input_code(pair.second)}"
    if pair.relation in (Relation.NODE, Relation.EDGE):
        made = f"NeighbouringPair.graphs(\n    {inputs},\n    Relation.{pair.relation.name},\n)"
    elif pair.relation is not None:
        made = f"NeighbouringPair.records(\n    {inputs},\n    Relation.{pair.relation.name},\n)"
    else:
        maker = "utilities" if np.ndim(pair.first) else "answers"
        made = f"NeighbouringPair.{maker}(\n    {inputs},\n    sensitivity={target.sensitivity!r},\n)"
    return f"""\
import numpy as np

from attacklab import NeighbouringPair, Relation, audit
from {kind.__module__} import {kind.__name__}

pair = {made}
findings = audit(target, [{kind.__name__}({_settings(attack, pair)})], trials={trials}, alpha={alpha!r}, seed={seed})
"""


def _settings(attack: Any, pair: NeighbouringPair) -> str:
    changed = []
    for one in fields(attack):
        value = getattr(attack, one.name)
        if isinstance(value, tuple) and any(item is pair for item in value):
            changed.append(f"{one.name}=(pair,)")
        elif value != one.default:
            changed.append(f"{one.name}={value!r}")
    return ", ".join(changed)
