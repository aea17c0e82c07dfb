"""SciPy's samplers, as textbook code uses them: noise is drawn in floating point and added to the answer.

SciPy claims no privacy for them; the claim judged here is made by programs that use them this way.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

DISTRIBUTION = "scipy"
UNSEEDED = False


def _laplace(draw: Any, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    from scipy import stats

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        return answer + draw(stats.laplace(scale=1 / epsilon), trials, rng)

    return {"kind": "noise", "release": release, "epsilon": epsilon}


MECHANISMS: dict[str, Any] = {
    "laplace": partial(_laplace, lambda law, trials, rng: law.rvs(size=trials, random_state=rng)),
    "laplace_inverse_cdf": partial(_laplace, lambda law, trials, rng: law.ppf(rng.random(trials))),  # of 0 infinite
}
