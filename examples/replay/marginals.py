"""dpmm: the noisy marginals of a table, which a synthesizer makes records from.

Published as issue 18 of sassoftware/dpmm, in version 0.1.9: whoever fits a model without a domain gets one by the
largest value of each column. A domain that is given is the repair, which later versions ask for.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
from dpmm.models import MSTGM

from attacklab import NeighbouringPair, PrivacyClaim, Target, one_by_one

MODEL = MSTGM(epsilon=1.0, delta=1e-5, compress=False, n_jobs=1)


def marginals(grades: Any, domain: dict[str, int] | None = None) -> Any:
    """The noisy counts of each grade."""
    model = copy.deepcopy(MODEL)  # to make one takes a second
    model.set_domain(domain)
    model.fit(pd.DataFrame({"grade": grades}), marginals_only=True)
    return [counts for _, counts, *_ in model.generator.measures]


def marginals_of_a_domain(grades: Any) -> Any:
    """The noisy counts of each grade, of which there are five."""
    return marginals(grades, {"grade": 5})


GRADES = np.array([0, 1, 1, 2, 2, 2, 3, 4])


def _on_neighbours(release: Any) -> Target:
    pair = NeighbouringPair(GRADES, GRADES[:-1], "add-remove")
    return Target.dataset(one_by_one(release), claim=PrivacyClaim(1.0, 1e-5), relation="add-remove", pairs=[pair])


domain_of_the_data = _on_neighbours(marginals)
sound = _on_neighbours(marginals_of_a_domain)
