"""Which condition of a domain a pair of inputs breaks, for whoever has declared both."""

from __future__ import annotations

from dataclasses import replace

from attacklab.model.domains.domain import Domain
from attacklab.model.neighbours import NeighbouringPair

CONDITIONS = ("floats_only", "integers", "non_negative", "bounds", "special")
"""The fields of a domain in the order in which they are asked for."""


def broken_condition(domain: Domain, pair: NeighbouringPair) -> str:
    """The first condition that a pair breaks, as it is declared, such as `integers=True`.

    Args:
        domain: one that does not cover the pair.
        pair: the pair.
    """
    tried = Domain(shape=domain.shape, special=True)
    if not tried.covers(pair):
        return "the form of inputs" if domain.shape is None else f"shape={domain.shape!r}"
    for name in CONDITIONS:
        value = getattr(domain, name)
        tried = replace(tried, **{name: value})
        if not tried.covers(pair):
            return f"{name}={value!r}"
    raise ValueError(f"the domain covers the pair: {domain}")
