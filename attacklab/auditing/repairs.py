"""A finding with the catalogue's flaw that it shows, and the call of `exactdp` that repairs it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from attacklab.auditing.flaws import Flaw, catalogue
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import FAILURE, ON_LATTICE, ROUNDED, TOO_LITTLE, Finding
from attacklab.model.targets import Kind, Target

FAILS, LITTLE_NOISE, LATTICE, ROUNDING = "fails", "little_noise", "lattice", "rounded_utilities"
"""The names of the flaws that an attack may come across whatever it looks for."""

NAMES: Mapping[str, str] = {FAILURE: FAILS, TOO_LITTLE: LITTLE_NOISE, ON_LATTICE: LATTICE, ROUNDED: ROUNDING}
"""Those flaws as findings have them, in one line, and their names."""

EXPONENTS = range(-1021, 971)
"""The exponents of the grids that `exactdp` has."""

MOST_STEPS = 2**44
"""Noise of more steps than that may not fit such a grid."""


def flaw_of(finding: Finding) -> Flaw | None:
    """The catalogue's entry of the flaw that a finding shows; None where its attack is somebody's own."""
    return catalogue().get(NAMES.get(finding.flaw, finding.attack))


def explained(finding: Finding, target: Target) -> Finding:
    """The finding with the call that repairs the target, if it shows a flaw that is known."""
    known = finding.refutes and flaw_of(finding) is not None
    return replace(finding, repair_code=exact_call(target)) if known else finding


def exact_call(target: Target) -> str:
    """A call of the library `exactdp` that does what a target does and claims no more; empty if none is known.

    The step is about a thousandth of the sensitivity, or of the range of a record.
    """
    claim = target.claim
    if not isinstance(claim, PrivacyClaim) or target.kind is Kind.DATASET:
        return ""
    integers = target.kind is Kind.NOISE and target.domain is not None and target.domain.integers
    sensitivity = _double(target.sensitivity, up=True)
    lower, upper = map(float, target.bounds or (0.0, sensitivity))
    exponent = 0 if integers else math.frexp(upper - lower)[1] - 11
    epsilon = _double(claim.epsilon, up=False)
    if exponent not in EXPONENTS or math.ldexp(max(-lower, upper, upper - lower), -exponent) > MOST_STEPS * epsilon:
        return ""
    given, step = f"epsilon={epsilon!r}, sensitivity={sensitivity!r}", f"step=2**{exponent}"
    if target.kind is Kind.SELECTION:
        return f"select({given})(utilities)"
    if target.kind is Kind.NOISE:
        return _noise_call(given, step, claim.delta, integers=integers)
    if not all(math.ldexp(bound, -exponent).is_integer() for bound in (lower, upper)):
        return ""
    relation = f", relation={str(target.relation)!r}" if target.relation else ""
    return f"bounded_{target.kind}(epsilon={epsilon!r}, lower={lower!r}, upper={upper!r}, {step}{relation})(records)"


def _noise_call(given: str, step: str, delta: float, *, integers: bool) -> str:
    if delta:
        return f"gaussian({given}, delta={_double(delta, up=False)!r}, {step})(answer)"
    return f"geometric({given})(answer)" if integers else f"laplace({given}, {step})(answer)"


def _double(value: float, *, up: bool) -> float:
    """The nearest double that is not below a value, or not above it."""
    double = float(value)
    is_beyond = double < value if up else double > value
    return math.nextafter(double, math.inf if up else 0.0) if is_beyond else double
