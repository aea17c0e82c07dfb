"""SciPy's samplers, as textbook code uses them: noise is drawn in floating point and added to the answer.

SciPy claims no privacy for them; the claim judged here is that of programs that use them this way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DISTRIBUTION = "scipy"
UNSEEDED = False


def laplace(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`stats.laplace.rvs` added to the answer."""
    from scipy import stats

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        return answer + stats.laplace.rvs(scale=1 / epsilon, size=trials, random_state=rng)

    return {"kind": "noise", "release": release, "epsilon": epsilon}


def laplace_inverse_cdf(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`stats.laplace.ppf` of uniform numbers, added to the answer."""
    from scipy import stats

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        # A uniform of 0 gives infinite noise; it is drawn with probability 2^-53.
        return answer + stats.laplace.ppf(rng.random(trials), scale=1 / epsilon)

    return {"kind": "noise", "release": release, "epsilon": epsilon}
