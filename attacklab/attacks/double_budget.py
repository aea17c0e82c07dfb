"""Double budget: a mean computed as a noisy sum over a noisy count, each of which spends all of ε.

The pair is n records at the bound u against n + 1 of them. An answer y near −u needs noise that moves the sum and the
count apart by 2n records in all, however that is divided between the two. One more record makes it 2n + 2, so the two
losses add up to nearly 2ε. At y = −u the likelihood ratio is e^(2ε)·(n² + n/ε + 1/(2ε²))/((n + 1)² + (n + 1)/ε +
1/(2ε²)), which `mechanisms/local_sensitivity/README.md` derives. At n = 2/ε the event is common enough to be seen.

The adversary knows the bounds and ε. It bets that y lies in a window around −u.

A negative result does not rule out a budget that is overspent in any other way than on a sum and a count, nor this flaw
behind a clamp of the answer to the bounds.

Source: Near and Abuah, 'Programming Differential Privacy', chapter 8, the mean with global sensitivity. The event is
ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Probe, Scenario, as_floats, bounds_of, of_present
from attacklab.attacks.common.failures import despite_failures
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.targets import Kind, Outputs, Target

COMMON_EXPONENT = 2.0
"""The n·ε at which the claim is exceeded most, for ε up to 2: n is proportional to 1/ε."""

NEGATIVE_WINDOW = (-2.8, -0.36)
"""The y/u whose likelihood ratio exceeds e^ε at that n."""


@dataclass(frozen=True)
class DoubleBudget:
    """The attack on a noisy sum over a noisy count."""

    name: str = "double_budget"
    flaw: str = "a noisy sum and a noisy count each spend all of ε"

    def applies_to(self, target: Target) -> bool:
        """Means only."""
        return target.kind is Kind.MEAN

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Some records at the bound of larger magnitude, against one more of them."""
        largest = max(bounds_of(target), key=abs)
        size = max(1, round(COMMON_EXPONENT / target.claim.nominal.epsilon))
        low, high = sorted(largest * end for end in NEGATIVE_WINDOW)
        event = Event(
            f"the answer lies in [{low!r}, {high!r}]",
            partial(_between, low=low, high=high),
            of_present(f"{low!r} <= float(output) <= {high!r}"),
        )
        fewer, more = np.full(size, largest), np.full(size + 1, largest)
        pair = NeighbouringPair.records(fewer, more, Relation.ADD_REMOVE)
        yield from despite_failures([Scenario(pair, (event,))], probe)


def _between(outputs: Outputs, *, low: float, high: float) -> NDArray[np.bool_]:
    values = as_floats(outputs)
    return (low <= values) & (values <= high)
