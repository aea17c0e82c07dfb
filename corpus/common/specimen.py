"""What a specimen is: a target whose claim is known to be broken or kept, and how somebody else can check that."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from attacklab.model.findings import Finding
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target

Rng: TypeAlias = np.random.Generator

Law: TypeAlias = Mapping[Any, float]
"""The probability of each output, which is hashable."""


@dataclass(frozen=True)
class Witness:
    """What shows that a claim is broken.

    Attributes:
        pair: a neighbouring pair.
        event: whether one output belongs to the event.
        trials: outputs of either input that suffice to refute the claim with confidence 1 − 10^−9.
    """

    pair: NeighbouringPair
    event: Callable[[Any], bool]
    trials: int = 4_000


@dataclass(frozen=True)
class Computed:
    """What shows that a claim is kept on one pair.

    Attributes:
        pair: a neighbouring pair.
        law: the law of the output of an input, all but a mass of 10^−12.
        key: what the law calls an output.
    """

    pair: NeighbouringPair
    law: Callable[[Any], Law]
    key: Callable[[Any], Hashable] = lambda output: output


@dataclass(frozen=True)
class Specimen:
    """A broken or a sound target.

    Attributes:
        name: how it is called in tables.
        broken: whether its claim is false.
        make: makes the target.
        why: what breaks the claim, or why it is kept, one sentence.
        witness: of a broken one, what refutes the claim.
        computed: of a sound one, its law, where that is small enough to write down.
        group: its class.
        pair: of a pipeline, the neighbours on which the claim is broken or kept.
    """

    name: str
    broken: bool
    make: Callable[[], Target]
    why: str = ""
    witness: Witness | None = None
    computed: Computed | None = None
    group: str = ""
    pair: NeighbouringPair | None = None


def broken(
    name: str,
    kind: Callable[..., Target],
    why: str,
    release: Callable[..., Any],
    pair: NeighbouringPair,
    event: Callable[[Any], bool],
    *,
    trials: int = 4_000,
    **options: Any,
) -> Specimen:
    """A specimen whose claim is false, with the pair and the event that show it; options are the target's."""
    make = made(name, kind, release, options)
    return Specimen(name, True, make, why, Witness(pair, event, trials))


def sound(
    name: str,
    kind: Callable[..., Target],
    why: str,
    release: Callable[..., Any],
    computed: Computed | None = None,
    **options: Any,
) -> Specimen:
    """A specimen that keeps its claim, with its law where that can be computed; options are the target's."""
    return Specimen(name, False, made(name, kind, release, options), why, computed=computed)


def accusers(findings: Sequence[Finding]) -> list[str]:
    """The attacks that refuted a claim, each once."""
    return list(dict.fromkeys(finding.attack for finding in findings if finding.refutes))


def record_pair(
    first: Sequence[Any], second: Sequence[Any], relation: Relation = Relation.SUBSTITUTE
) -> NeighbouringPair:
    """A pair of neighbours from their records."""
    return NeighbouringPair.records(np.array(first), np.array(second), relation)


def in_group(group: str, *specimens: Specimen) -> tuple[Specimen, ...]:
    """The specimens as members of a group."""
    return tuple(replace(specimen, group=group) for specimen in specimens)


def made(
    name: str, kind: Callable[..., Target], release: Callable[..., Any], options: Mapping[str, Any]
) -> Callable[[], Target]:
    """What makes a target of a kind under a name."""
    return lambda: replace(kind(release, **options), name=name)
