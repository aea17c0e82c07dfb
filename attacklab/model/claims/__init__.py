"""The claims that mechanisms make: (ε, δ)-DP, ρ-zCDP, (α, ε)-RDP, μ-GDP, or any privacy profile."""

from collections.abc import Callable, Mapping
from typing import Any

from attacklab.model.claims.base import Claim, PrivacyClaim, directions
from attacklab.model.claims.gaussian import GaussianDP
from attacklab.model.claims.profile import Profile
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
]


KINDS: Mapping[str | None, Callable[..., Claim]] = {
    claim.kind: claim for claim in (PrivacyClaim, ZeroConcentrated, Renyi, GaussianDP, Profile, Stability)
}
"""The class for each `kind` in the JSON of a claim. The JSON of an (ε, δ) claim has no kind."""


def claim_from_json(data: Mapping[str, Any]) -> Claim:
    """Read a claim that `Claim.to_json` wrote.

    Raises:
        UsageError: `data` is not such a claim; the message says what is wrong.
    """
    if not isinstance(data, Mapping):
        raise UsageError(f"a claim is a JSON object, not {data!r}")
    kind, rest = data.get("kind"), {name: value for name, value in data.items() if name != "kind"}
    if kind not in list(KINDS):
        raise UsageError(f"kind of a claim must be {', '.join(filter(None, KINDS))}, not {kind!r}")
    try:
        return KINDS[kind](**rest)
    except UsageError:
        raise
    except TypeError as error:
        raise UsageError(f"not a claim: {data!r} ({error})") from error
