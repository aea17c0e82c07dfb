"""A claim that covers the work of an output as well: how many bits, rounds or operations it took.

The mechanism whose output is the pair (output, work) keeps the inner claim. So does the output alone, by
post-processing.

Source: Ratliff and Vadhan, 'A Framework for Differential Privacy Against Timing Attacks' (arXiv 2409.05623), joint
output and timing privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attacklab.model.claims.base import Claim, PrivacyClaim
from attacklab.model.errors import UsageError, UsageTypeError


@dataclass(frozen=True, slots=True)
class OutputAndWork(Claim):
    """The pair (output, work) keeps a claim.

    Args:
        claim: of any other kind; what it promises of an output holds for the output and its counted work together.

    Raises:
        UsageTypeError: it is not a claim.
        UsageError: it covers work already.
    """

    claim: Claim

    def __post_init__(self) -> None:
        if not isinstance(self.claim, Claim):
            raise UsageTypeError(f"claim must be a claim, such as PrivacyClaim(1.0), not {self.claim!r}")
        if isinstance(self.claim, OutputAndWork):
            raise UsageError("the claim covers work already")

    def __str__(self) -> str:
        return f"{self.claim} for output and work together"

    def delta_at(self, epsilon: float) -> float:
        """The profile of the inner claim; see `Claim.delta_at`."""
        return self.claim.delta_at(epsilon)

    @property
    def nominal(self) -> PrivacyClaim:
        """That of the inner claim."""
        return self.claim.nominal

    @property
    def inner(self) -> Claim:
        """What is promised of the pair."""
        return self.claim

    @property
    def points(self) -> tuple[float, ...]:
        """Those of the inner claim."""
        return self.claim.points

    @property
    def ceiling(self) -> float:
        """That of the inner claim."""
        return self.claim.ceiling

    def at(self, epsilon: float) -> PrivacyClaim:
        """The inner claim at one point of its profile."""
        return self.claim.at(epsilon)

    def near(self, epsilon: float) -> PrivacyClaim:
        """What the inner claim says is near; see `Claim.near`."""
        return self.claim.near(epsilon)

    def composed(self, answers: int) -> OutputAndWork:
        """What is promised of so many answers and their work; see `Claim.composed`."""
        return OutputAndWork(self.claim.composed(answers))

    def group(self, size: int) -> OutputAndWork:
        """What is promised to so many people; see `Claim.group`."""
        return OutputAndWork(self.claim.group(size))

    def to_json(self) -> dict[str, Any]:
        """Its kind and the inner claim."""
        return {"kind": "output_and_work", "claim": self.claim.to_json()}
