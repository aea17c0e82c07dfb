"""What mechanisms promise, as people say it: (ε, δ)-DP, ρ-zCDP, (α, ε)-RDP, μ-GDP, or any privacy profile."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from attacklab.model.claims.base import Claim, PrivacyClaim, directions
from attacklab.model.claims.gaussian import GaussianDP
from attacklab.model.claims.profile import Profile, from_accountant
from attacklab.model.claims.renyi import Renyi, ZeroConcentrated
from attacklab.model.claims.stability import Metric, Stability
from attacklab.model.errors import UsageError

__all__ = [
    "Claim",
    "GaussianDP",
    "Metric",
    "PrivacyClaim",
    "Profile",
    "Renyi",
    "Stability",
    "ZeroConcentrated",
    "claim_from_json",
    "directions",
    "from_accountant",
]


def claim_from_json(data: Mapping[str, Any]) -> Claim:
    """The claim that `Claim.to_json` wrote.

    Raises:
        UsageError: it wrote no such thing; the message says what is wrong.
    """
    if not isinstance(data, Mapping):
        raise UsageError(f"a claim is a JSON object, not {data!r}")
    rest = {name: value for name, value in data.items() if name != "kind"}
    try:
        match data.get("kind"):
            case None:
                return PrivacyClaim(**rest)
            case "zcdp":
                return ZeroConcentrated(**rest)
            case "rdp":
                return Renyi(tuple(rest.pop("alpha")), tuple(rest.pop("epsilon")), **rest)
            case "gdp":
                return GaussianDP(**rest)
            case "profile":
                return Profile(**rest)
            case "stability":
                return Stability(Fraction(rest.pop("bound")), Metric(rest.pop("metric")), **rest)
            case kind:
                raise UsageError(f"kind of a claim must be zcdp, rdp, gdp, profile or stability, not {kind!r}")
    except (TypeError, KeyError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"not a claim: {data!r} ({error})") from error
