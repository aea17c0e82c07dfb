"""A security test-suite and attack lab for floating-point flaws in differential-privacy implementations.

What this module exports is imported when it is first used, so that the pytest plugin costs nothing where it is not.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attacklab.attacks import ATTACKS
    from attacklab.auditing.referee import audit
    from attacklab.laws.proof import prove
    from attacklab.model.claims import GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated
    from attacklab.model.domains import Domain
    from attacklab.model.findings import Finding, Verdict
    from attacklab.model.neighbours import NeighbouringPair, Relation
    from attacklab.model.random_bits import REJECTED, RandomBits, SeededBits, SystemBits, TapedBits
    from attacklab.model.releases import one_by_one
    from attacklab.model.seeing_work import seeing_work
    from attacklab.model.targets import Kind, Target

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
    "seeing_work",
]

_HOMES = {
    "ATTACKS": "attacks",
    "REJECTED": "model.random_bits",
    "Domain": "model.domains",
    "Finding": "model.findings",
    "GaussianDP": "model.claims",
    "Kind": "model.targets",
    "NeighbouringPair": "model.neighbours",
    "PrivacyClaim": "model.claims",
    "Profile": "model.claims",
    "RandomBits": "model.random_bits",
    "Relation": "model.neighbours",
    "Renyi": "model.claims",
    "SeededBits": "model.random_bits",
    "SystemBits": "model.random_bits",
    "TapedBits": "model.random_bits",
    "Target": "model.targets",
    "Verdict": "model.findings",
    "ZeroConcentrated": "model.claims",
    "audit": "auditing.referee",
    "one_by_one": "model.releases",
    "prove": "laws.proof",
    "seeing_work": "model.seeing_work",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
