"""The attack `alignment`: the privacy loss of the code around the noise. `attacklab.auditing.alignment` runs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from attacklab.attacks.base import Probe, Scenario
from attacklab.model.targets import Target


@dataclass(frozen=True)
class AlignmentAttack:
    """The entry of the attack in the registry. It shifts random draws, which pairs and events cannot express."""

    name: str = field(default="alignment", repr=False)
    flaw: str = field(default="the code around the noise loses more than is claimed", repr=False)
    whole_outputs: ClassVar[bool] = True

    def applies_to(self, target: Target) -> bool:
        """Whether the target has no `sampler`; a target that has one is proved instead."""
        return target.sampler is None

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002
        """Return no scenarios, because `attacklab.auditing.alignment` runs this attack."""
        return ()
