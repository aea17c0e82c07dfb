"""Candidate neighbouring pairs for a target that nobody wrote an attack for: one module a kind of input.

`answers` for additive noise, `utilities` for selections, `records` for sums and means; `domains.shapes` for datasets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from attacklab.attacks.base import Probe, adapted_pairs, origin
from attacklab.attacks.black_box.candidate_pairs.answers import pairs_of_answers
from attacklab.attacks.black_box.candidate_pairs.records import pairs_of_records
from attacklab.attacks.black_box.candidate_pairs.utilities import pairs_of_utilities
from attacklab.attacks.failures import sampled
from attacklab.model.floats import format_of
from attacklab.model.neighbours import NeighbouringPair, fingerprint
from attacklab.model.targets import Kind, Target

FORMAT_OUTPUTS = 64  # how many outputs show in which format they come


def candidate_pairs(target: Target, probe: Probe, outcomes: Sequence[int], most: int) -> Iterator[NeighbouringPair]:
    """Yield pairs to try on a target: each lies in the target's domain, and none comes twice.

    Args:
        target: its kind, sensitivity, bounds, relation, domain and claim decide which pairs are tried.
        probe: draws outputs of the target.
        outcomes: the numbers of utilities to try, for selections.
        most: the largest number of pairs.

    Returns:
        The pairs; each is exactly a neighbouring pair. Those on which most flaws show come first.
    """
    return islice(_each_once(adapted_pairs(target, _of_kind(target, probe, outcomes))), most)


def _of_kind(target: Target, probe: Probe, outcomes: Sequence[int]) -> Iterable[NeighbouringPair]:
    match target.kind:
        case Kind.NOISE:
            return pairs_of_answers(target, format_of(sampled(probe, origin(target), FORMAT_OUTPUTS)))
        case Kind.SELECTION:
            return pairs_of_utilities(target, probe, outcomes)
        case Kind.SUM | Kind.MEAN:
            return pairs_of_records(target)
        case _:
            return () if target.domain is None else target.domain.pairs(target.relation)


def _each_once(pairs: Iterable[NeighbouringPair]) -> Iterator[NeighbouringPair]:
    seen = set()
    for pair in pairs:
        sides = frozenset(fingerprint(side) for side in (pair.first, pair.second))
        if sides not in seen:
            seen.add(sides)
            yield pair
