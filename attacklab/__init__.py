"""A security test-suite and attack lab for floating-point flaws in differential-privacy implementations."""

from attacklab.attacks import ATTACKS
from attacklab.claims import PrivacyClaim
from attacklab.findings import Finding, Verdict
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.referee import audit
from attacklab.targets import Kind, Target

__all__ = [
    "ATTACKS",
    "Finding",
    "Kind",
    "NeighbouringPair",
    "PrivacyClaim",
    "Relation",
    "Target",
    "Verdict",
    "audit",
]
