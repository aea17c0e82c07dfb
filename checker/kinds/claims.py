"""What claims ask for, compared with what was computed."""

from __future__ import annotations

from fractions import Fraction

from checker.core.certificate import Certificate, Refused, rational


def pure_epsilon(certificate: Certificate) -> Fraction:
    """Return the ε of a claim of pure differential privacy."""
    claim = certificate.claim
    if set(claim) != {"kind", "epsilon"} or claim["kind"] != "pure":
        raise Refused(f"this theorem is about pure differential privacy, not {dict(claim)}")
    return rational(claim["epsilon"], "epsilon")


def require_neighbours(certificate: Certificate, *known: str) -> str:
    """Return which inputs are neighbours, one of those that the theorem knows."""
    if certificate.neighbours not in known:
        raise Refused(f"neighbours are {certificate.neighbours!r}, this theorem knows {', '.join(map(repr, known))}")
    return certificate.neighbours
