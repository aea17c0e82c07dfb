"""SmartNoise Synth: a covariance, whose version 1.0.5 clips the records and then takes those that are not clipped.

Published as issue 622 of opendp/smartnoise-sdk; version 1.0.6 repairs it.
"""

from __future__ import annotations

import sys
from importlib.metadata import distribution
from typing import Any

import numpy as np
import pandas as pd

from attacklab import NeighbouringPair, Target, one_by_one

# The package around this module imports a scikit-learn that has no wheels for this Python.
sys.path.append(str(distribution("smartnoise-synth").locate_file("snsynth/models")))
from dp_covariance import DPcovariance

COLUMNS = ["age", "income"]


def covariance(records: Any) -> list[float]:
    """The noisy covariances of two columns between 0 and 1, of 20 records."""
    bounds = pd.DataFrame([[0.0, 0.0], [1.0, 1.0]])
    model = DPcovariance(n=20, cols=COLUMNS, rng=bounds, global_eps=1.0)
    return model.release(pd.DataFrame(records, columns=COLUMNS))


RECORDS = np.random.default_rng(0).random((20, 2))
CHANGED = np.vstack([RECORDS[:-1], [[9.0, -5.0]]])
target = Target.dataset(
    one_by_one(covariance), epsilon=1.0, relation="substitute", pairs=[NeighbouringPair(RECORDS, CHANGED, "substitute")]
)
