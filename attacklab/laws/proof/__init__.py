"""The three ways to a proof: by exact laws on pairs or on a finite domain, and by a certificate for every pair.

`prove` decides a claim on one pair, or on every pair of neighbours among given inputs; `prove_all` on each of some
pairs; `prove_every_pair` on every pair of neighbours that there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from attacklab.laws import Limits
from attacklab.laws.proof.certificates import find_checker, prove_every_pair
from attacklab.laws.proof.inputs import prove_inputs
from attacklab.laws.proof.pairs import (
    LIMITS,
    OTHER_PROOFS,
    SECONDS,
    SLACK,
    default_pair,
    laws_of,
    prove_all,
    prove_pair,
)
from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding
from attacklab.model.floats import default_errors
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target

__all__ = [
    "LIMITS",
    "OTHER_PROOFS",
    "SECONDS",
    "SLACK",
    "default_pair",
    "find_checker",
    "laws_of",
    "prove",
    "prove_all",
    "prove_every_pair",
    "prove_inputs",
    "prove_pair",
]


@default_errors
def prove(
    target: Target,
    pair: NeighbouringPair | None = None,
    *,
    inputs: Sequence[Any] | None = None,
    limits: Limits = LIMITS,
    seconds: float = math.inf,
    progress: Callable[[str], None] | None = None,
    spec: str | None = None,
) -> Finding:
    """Decide a target's claim on one pair, or on every pair of neighbours among some inputs.

    Args:
        target: one that has a sampler.
        pair: the two inputs.
        inputs: instead of a pair, the inputs of a finite domain (see `attacklab.model.domains.finite`).
        limits: when to stop enumerating a law.
        seconds: when to stop whatever is being done; see `attacklab.laws.deadline` for what that can end.
        progress: called at the start and now and then with a line that says how far the proof has come.
        spec: the words after `attacklab prove` that repeat this, for the line that replays the finding.

    Returns:
        PROVED, PROVED_WITH_SLACK, VIOLATED, or INCONCLUSIVE where the limits or the time left too much of a law open;
        for inputs also ERROR, where the sampler cannot be enumerated.

    Raises:
        UsageError: a pair and inputs were given, or neither; or what `prove_pair` and `prove_inputs` raise.
        LawError: the sampler cannot be enumerated on a pair; the message says why.
    """
    if (pair is None) == (inputs is None):
        raise UsageError("prove takes a pair or inputs; give one of them")
    rest: dict[str, Any] = {"limits": limits, "seconds": seconds, "progress": progress, "spec": spec}
    return prove_pair(target, pair, **rest) if pair is not None else prove_inputs(target, inputs or (), **rest)
