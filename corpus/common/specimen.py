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
"""The probability of each output; outputs are hashable."""


@dataclass(frozen=True)
class Witness:
    """What shows that a claim is broken.

    Attributes:
        pair: a neighbouring pair.
        event: a function that tells whether an output belongs to the event.
        trials: the number of outputs of each input that refutes the claim with confidence 1 − 10^−9.
    """

    pair: NeighbouringPair
    event: Callable[[Any], bool]
    trials: int = 4_000


@dataclass(frozen=True)
class Computed:
    """What shows that a claim is kept on one pair.

    Attributes:
        pair: a neighbouring pair.
        law: a function from an input to the law of its output; a mass of up to 10^−12 may be missing.
        key: a function from an output to its key in the law.
    """

    pair: NeighbouringPair
    law: Callable[[Any], Law]
    key: Callable[[Any], Hashable] = lambda output: output


@dataclass(frozen=True)
class Specimen:
    """A broken or a sound target.

    Attributes:
        name: the name in tables.
        broken: whether the claim is false.
        make: a function that returns the target.
        why: what breaks the claim, or why it is kept, in one sentence.
        witness: for a broken target, the pair and the event that refute the claim.
        computed: for a sound target, its law on a pair, if that is small enough to write down.
        group: the name of the class to which the specimen belongs.
        pair: for a pipeline, the neighbours on which the claim is broken or kept.
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
    """Return a specimen whose claim is false, with the pair and the event that show it; `kind` gets the options."""
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
    """Return a specimen that keeps its claim, with its law if that can be computed; `kind` gets the options."""
    return Specimen(name, False, made(name, kind, release, options), why, computed=computed)


def accusers(findings: Sequence[Finding]) -> list[str]:
    """Return the names of the attacks that refuted a claim, each once."""
    return list(dict.fromkeys(finding.attack for finding in findings if finding.refutes))


def record_pair(
    first: Sequence[Any], second: Sequence[Any], relation: Relation = Relation.SUBSTITUTE
) -> NeighbouringPair:
    """Return a pair of neighbouring datasets, made from their records."""
    return NeighbouringPair.records(np.array(first), np.array(second), relation)


def in_group(group: str, *specimens: Specimen) -> tuple[Specimen, ...]:
    """Return the specimens as members of a group."""
    return tuple(replace(specimen, group=group) for specimen in specimens)


def made(
    name: str, kind: Callable[..., Target], release: Callable[..., Any], options: Mapping[str, Any]
) -> Callable[[], Target]:
    """Return a function that makes the target `kind(release, **options)` with this name."""
    return lambda: replace(kind(release, **options), name=name)
