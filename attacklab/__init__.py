"""A security test-suite and attack lab for floating-point flaws in differential-privacy implementations.

A name that this module exports is imported when it is first used. So the pytest plugin costs nothing if it is not used.
"""

# mypy: implicit-reexport
# ruff: noqa: F401

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attacklab.api import Report, audit
    from attacklab.attacks import ATTACKS, BlackBox, LowBitLaplace, ZeroRounding
    from attacklab.draws.work import seeing_work, with_bits
    from attacklab.laws import (
        Law,
        Limits,
        advantage,
        certify,
        enumerate_law,
        hockey_stick,
        one_uniform,
        privacy_loss,
        smallest_epsilon,
        step_law,
    )
    from attacklab.laws.proof import prove
    from attacklab.model.claims import GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated
    from attacklab.model.domains import Categories, Domain, Graphs, Pattern, Queries, Records, Streams
    from attacklab.model.domains.finite import all_databases, all_utilities
    from attacklab.model.findings import Finding, Verdict
    from attacklab.model.neighbours import NeighbouringPair, Relation
    from attacklab.model.random_bits import REJECTED, RandomBits, SeededBits, SystemBits, TapedBits
    from attacklab.model.releases import one_by_one
    from attacklab.model.targets import Kind, Target

_EXPORTS = {
    "api": "Report audit",
    "attacks": "ATTACKS BlackBox LowBitLaplace ZeroRounding",
    "draws.work": "seeing_work with_bits",
    "laws": "Law Limits advantage certify enumerate_law hockey_stick one_uniform privacy_loss "
    "smallest_epsilon step_law",
    "laws.proof": "prove",
    "model.claims": "GaussianDP PrivacyClaim Profile Renyi ZeroConcentrated",
    "model.domains": "Categories Domain Graphs Pattern Queries Records Streams",
    "model.domains.finite": "all_databases all_utilities",
    "model.findings": "Finding Verdict",
    "model.neighbours": "NeighbouringPair Relation",
    "model.random_bits": "REJECTED RandomBits SeededBits SystemBits TapedBits",
    "model.releases": "one_by_one",
    "model.targets": "Kind Target",
}
"""The names that this package exports, by the module that defines them."""

_HOMES = {name: module for module, names in _EXPORTS.items() for name in names.split()}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
