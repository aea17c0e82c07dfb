"""A security test-suite and attack lab for floating-point flaws in differential-privacy implementations.

What this module exports is imported when it is first used, so that the pytest plugin costs nothing where it is not.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attacklab.attacks import ATTACKS
    from attacklab.claims import GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated
    from attacklab.domains import Domain
    from attacklab.findings import Finding, Verdict
    from attacklab.neighbours import NeighbouringPair, Relation
    from attacklab.proof import prove
    from attacklab.random_bits import REJECTED, RandomBits, SeededBits, SystemBits, TapedBits
    from attacklab.referee import audit
    from attacklab.releases import one_by_one
    from attacklab.targets import Kind, Target

__all__ = [
    "ATTACKS",
    "REJECTED",
    "Domain",
    "Finding",
    "GaussianDP",
    "Kind",
    "NeighbouringPair",
    "PrivacyClaim",
    "Profile",
    "RandomBits",
    "Relation",
    "Renyi",
    "SeededBits",
    "SystemBits",
    "TapedBits",
    "Target",
    "Verdict",
    "ZeroConcentrated",
    "audit",
    "one_by_one",
    "prove",
]

_HOMES = {
    "ATTACKS": "attacks",
    "REJECTED": "random_bits",
    "Domain": "domains",
    "Finding": "findings",
    "GaussianDP": "claims",
    "Kind": "targets",
    "NeighbouringPair": "neighbours",
    "PrivacyClaim": "claims",
    "Profile": "claims",
    "RandomBits": "random_bits",
    "Relation": "neighbours",
    "Renyi": "claims",
    "SeededBits": "random_bits",
    "SystemBits": "random_bits",
    "TapedBits": "random_bits",
    "Target": "targets",
    "Verdict": "findings",
    "ZeroConcentrated": "claims",
    "audit": "referee",
    "one_by_one": "releases",
    "prove": "proof",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
