"""How often the attack names the answer, 0 or 1, behind a noisy answer of the textbook's Laplace sampler.

The browser draws, and inverts, the same sampler with a logarithm of its own: both sides of its game use one and the
same. What is counted here uses a correctly rounded logarithm, because numpy's differs in the last bit between
processors, and the figure may not. The model is that of `attacklab.attacks.samplers`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.samplers import TEXTBOOK, reachable
from attacklab.model.claims import PrivacyClaim
from attacklab.model.floats import Doubles

EPSILONS = (2.0, 1.0, 0.5, 0.1, 0.05, 0.01)
ANSWERS = (0.0, 1.0)
SEED = 2012
DRAWS = 1000


def rounded_log(numbers: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Return the double nearest to the logarithm of each number."""
    return np.array([float(gmpy2.log(gmpy2.mpfr(float(number)))) for number in numbers])


MODEL = replace(TEXTBOOK, description="inverse CDF with a correctly rounded log", log=rounded_log)


def collect() -> dict[str, Any]:
    """Return for each ε the advantage that the claim allows, and how often the attack names the right answer."""
    return {"draws": DRAWS, "settings": [_setting(epsilon) for epsilon in EPSILONS]}


def draw(hidden: NDArray[np.int64], rng: np.random.Generator, epsilon: float) -> Doubles:
    """Return noisy answers of the textbook's sampler, one for each hidden answer 0 or 1."""
    centred = rng.random(len(hidden)) - 0.5
    noise = -(1 / epsilon) * np.sign(centred) * rounded_log(1 - 2 * np.abs(centred))
    return np.asarray(hidden + noise, dtype=np.float64)


def origins(outputs: Doubles, epsilon: float) -> NDArray[np.int64]:
    """Return for each double which answers it can come from: 0 for none, 1 for the answer 0, 2 for 1, 3 for both."""
    from_0, from_1 = (reachable(outputs, answer, 1 / epsilon, MODEL) for answer in ANSWERS)
    places: NDArray[np.int64] = from_0 + 2 * from_1.astype(np.int64)
    return places


def named(outputs: Doubles, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each output the answer that the attack names: the only possible one, or the nearer one of both."""
    return np.where(places == 3, outputs > 0.5, places == 2).astype(np.int64)


def _setting(epsilon: float) -> dict[str, Any]:
    rng = np.random.default_rng(SEED)
    hidden = rng.integers(2, size=DRAWS)
    outputs = draw(hidden, rng, epsilon)
    guesses = named(outputs, origins(outputs, epsilon))
    return {
        "epsilon": epsilon,
        "ceiling": round(PrivacyClaim(epsilon).ceiling, 6),
        "right": int((guesses == hidden).sum()),
    }
