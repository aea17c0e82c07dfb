"""The catastrophe mechanism as targets: up to two records of 0 or 1, all published with probability 2^−60.

They stand beside `experiments.targets`, whose exact targets have certificates for every pair of neighbours. What is
proved here is every pair of this domain, by exact laws.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from attacklab.model.domains import Domain, Records
from attacklab.model.neighbours import Relation
from attacklab.model.targets import Target
from experiments.targets.making import exact_by_reference, named
from mechanisms.catastrophe.exact import exact_catastrophe as exact
from mechanisms.catastrophe.naive import naive_catastrophe as naive
from mechanisms.randomness import RandomBits

CATASTROPHE = 2.0**-60
"""The δ that both claim."""

FEW_BITS = Domain(shape=Records(most=2), bounds=(0, 1), integers=True)


@named
def naive_catastrophe(epsilon: float = 1.0) -> Target:
    """All records published with probability 2^−60, the coin in doubles."""
    return _target(lambda data, bits: naive(data, bits, delta=CATASTROPHE), epsilon)


@named
def exact_catastrophe(epsilon: float = 1.0) -> Target:
    """All records published with probability 2^−60, exact."""
    return _target(lambda data, bits: exact(data, bits, delta=Fraction(CATASTROPHE)), epsilon)


def _target(mechanism: Callable[..., Any], epsilon: float) -> Target:
    def sampler(records: Any, bits: RandomBits) -> Any:
        """Release the records as a tuple, because an exact law needs hashable outputs."""
        return mechanism(tuple(records.tolist()), bits)

    return exact_by_reference(
        Target.dataset, sampler, epsilon=epsilon, delta=CATASTROPHE, relation=Relation.ADD_REMOVE, domain=FEW_BITS
    )
