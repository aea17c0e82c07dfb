"""SmartNoise SQL: 40 noisy counts, and the ε that its odometer says they spent.

Published as issue 621 of opendp/smartnoise-sdk: up to version 1.0.6, one of its bounds lacks a logarithm. So it counts
too much rather than too little, which breaks no claim: a replay has to be quiet about both versions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from snsql.sql._mechanisms import Laplace
from snsql.sql.odometer import Odometer
from snsql.sql.privacy import Privacy

from attacklab import NeighbouringPair, PrivacyClaim, Target, one_by_one

EPSILON, DELTA, COUNTS = 0.02, 1e-5, 40


def spent() -> tuple[float, float]:
    """What the odometer says of all counts."""
    odometer = Odometer(Privacy(epsilon=EPSILON, delta=DELTA))
    odometer.spend(COUNTS)
    return odometer.spent


def counts(records: Any) -> Any:
    """How many records there are, with fresh noise each time, and what that costs."""
    mechanism = Laplace(EPSILON, delta=0.0, sensitivity=1)
    return mechanism.release([len(records)] * COUNTS), spent()


RECORDS = np.arange(20)
target = Target.dataset(
    one_by_one(counts),
    claim=PrivacyClaim(*map(float, spent())),
    relation="add-remove",
    pairs=[NeighbouringPair(RECORDS, RECORDS[:-1], "add-remove")],
)
