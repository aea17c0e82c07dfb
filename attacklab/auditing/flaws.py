"""The flaws that the attacks find, in words for whoever has to repair one: the catalogue in `flaws.toml`.

A finding that shows one says which call of `exactdp` repairs its target.
"""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources

from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import FAILURE, ON_LATTICE, ROUNDED, TOO_LITTLE, Finding
from attacklab.model.targets import Kind, Target

FAILS, LITTLE_NOISE, LATTICE, ROUNDING = "fails", "little_noise", "lattice", "rounded_utilities"
"""The names of the flaws that an attack may come across whatever it looks for."""

NAMES: Mapping[str, str] = {FAILURE: FAILS, TOO_LITTLE: LITTLE_NOISE, ON_LATTICE: LATTICE, ROUNDED: ROUNDING}
"""Maps the text by which a finding states one of those flaws to the flaw's name."""

EXPONENTS = range(-1021, 971)
"""The exponents e for which `exactdp` has a grid of step 2^e."""

MOST_STEPS = 2**44
"""Noise may not fit such a grid if its scale is more than this number of steps."""


@dataclass(frozen=True, slots=True)
class Source:
    """A publication that explains a flaw."""

    title: str  # author, year and title
    url: str

    def __str__(self) -> str:
        return f"{self.title}, {self.url}"


@dataclass(frozen=True, slots=True)
class Weakness:
    """An entry of the Common Weakness Enumeration, with its number and title there."""

    number: int
    title: str

    @property
    def url(self) -> str:
        """The URL of the weakness's description."""
        return f"https://cwe.mitre.org/data/definitions/{self.number}.html"

    def __str__(self) -> str:
        return f"CWE-{self.number}: {self.title}"


@dataclass(frozen=True, slots=True)
class Flaw:
    """A flaw, as the catalogue describes it."""

    name: str  # the name of the attack that looks for it, or one of `NAMES`
    code: str  # its number, which never changes and is never given to another flaw
    title: str  # two words for it, for a narrow column
    sentence: str  # what it is, in at most 40 characters
    weakness: Weakness
    what: str  # what it is, in a few sentences
    example: str  # about ten lines of Python that have the flaw; the last one defines `target`
    leak: str  # why it breaks a claim
    repair: str  # the usual repair, in one line
    read: tuple[Source, ...]  # publications that explain it further; the first is the one to read first


@functools.cache
def catalogue() -> Mapping[str, Flaw]:
    """Return all flaws of `flaws.toml`, by name."""
    data = tomllib.loads(resources.files("attacklab.auditing").joinpath("flaws.toml").read_text(encoding="utf-8"))
    sources = {name: Source(*source) for name, source in data.pop("sources").items()}
    weaknesses = {int(number): Weakness(int(number), title) for number, title in data.pop("weaknesses").items()}
    return {
        name: Flaw(
            name=name,
            weakness=weaknesses[entry["cwe"]],
            read=tuple(sources[key] for key in entry["read"]),
            **{key: text.strip() for key, text in entry.items() if key not in ("cwe", "read")},
        )
        for name, entry in data.items()
    }


def flaw_of(finding: Finding) -> Flaw | None:
    """Return the catalogue's entry for the flaw that a finding shows; None if it has none, as for a user's attack."""
    return catalogue().get(NAMES.get(finding.flaw, finding.attack))


def explained(finding: Finding, target: Target) -> Finding:
    """Return the finding. If it refutes the claim by a known flaw, it gets the call that repairs the target."""
    known = finding.refutes and flaw_of(finding) is not None
    return replace(finding, repair_code=exact_call(target)) if known else finding


def exact_call(target: Target) -> str:
    """Return the text of an `exactdp` call that does what a target does and claims no more; empty if none is known.

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
    """Return the nearest double that is at least `value` if `up`, otherwise the nearest that is at most `value`."""
    double = float(value)
    is_beyond = double < value if up else double > value
    return math.nextafter(double, math.inf if up else 0.0) if is_beyond else double
