"""What mechanisms promise, as people say it: (ε, δ)-DP, ρ-zCDP, (α, ε)-RDP, μ-GDP, or any privacy profile."""

from attacklab.model.claims.base import Claim, PrivacyClaim, directions
from attacklab.model.claims.gaussian import GaussianDP
from attacklab.model.claims.profile import Profile, from_accountant
from attacklab.model.claims.reading import claim_from_json
from attacklab.model.claims.renyi import Renyi, ZeroConcentrated

__all__ = [
    "Claim",
    "GaussianDP",
    "PrivacyClaim",
    "Profile",
    "Renyi",
    "ZeroConcentrated",
    "claim_from_json",
    "directions",
    "from_accountant",
]
