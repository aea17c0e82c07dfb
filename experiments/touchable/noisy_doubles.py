"""Which doubles around a noisy answer can come from the answer 0, which from 1, and whom the attack names.

The sampler is the textbook's inverse CDF, the model that of `attacklab.auditing.attacks.samplers.laplace`. Only the
logarithm is correctly rounded here, because numpy's differs in the last bit between processors, and the figure may not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from attacklab.auditing.attacks.samplers.laplace import TEXTBOOK, reachable
from attacklab.model.claims import PrivacyClaim
from attacklab.model.floats import Doubles

EPSILONS = (2.0, 1.0, 0.5, 0.1, 0.05, 0.01)
ANSWERS = (0.0, 1.0)
SEED = 2012
DRAWS = 1000
SHOWN = 40
"""How many of the draws can be looked at one by one."""

WINDOW = 64
"""How many neighbouring doubles are shown; the noisy answer is the one in the middle."""


def rounded_log(numbers: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """The double nearest to each logarithm."""
    return np.array([float(gmpy2.log(gmpy2.mpfr(float(number)))) for number in numbers])


MODEL = replace(TEXTBOOK, description="inverse CDF with a correctly rounded log", log=rounded_log)


def collect() -> dict[str, Any]:
    """For each ε: draws with the doubles around them, and how often the attack names the right answer."""
    return {"window": WINDOW, "draws": DRAWS, "settings": [_setting(epsilon) for epsilon in EPSILONS]}


def draw(hidden: NDArray[np.int64], rng: np.random.Generator, epsilon: float) -> Doubles:
    """Noisy answers of the textbook's sampler, one for each hidden answer 0 or 1."""
    centred = rng.random(len(hidden)) - 0.5
    noise = -(1 / epsilon) * np.sign(centred) * rounded_log(1 - 2 * np.abs(centred))
    return np.asarray(hidden + noise, dtype=np.float64)


def origins(outputs: Doubles, epsilon: float) -> NDArray[np.int64]:
    """Where each double can come from: 0 nowhere, 1 the answer 0, 2 the answer 1, 3 both."""
    from_0, from_1 = (reachable(outputs, answer, 1 / epsilon, MODEL) for answer in ANSWERS)
    places: NDArray[np.int64] = from_0 + 2 * from_1.astype(np.int64)
    return places


def named(outputs: Doubles, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The answer that the attack names: the only one possible, or the nearer one if both are."""
    return np.where(places == 3, outputs > 0.5, places == 2).astype(np.int64)


def window(output: float) -> Doubles:
    """The neighbouring doubles around an output that is not near 0, in ascending order."""
    magnitudes = np.abs(np.array([output])).view(np.int64) + np.arange(WINDOW)
    magnitudes -= WINDOW // 2 if output > 0 else WINDOW // 2 - 1
    return np.sort(np.copysign(magnitudes.view(np.float64), output))


def _setting(epsilon: float) -> dict[str, Any]:
    rng = np.random.default_rng(SEED)
    hidden = rng.integers(2, size=DRAWS)
    outputs = draw(hidden, rng, epsilon)
    places = origins(outputs, epsilon)
    guesses = named(outputs, places)
    around = np.concatenate([window(float(output)) for output in outputs[:SHOWN]])
    masks = origins(around, epsilon).reshape(SHOWN, WINDOW)
    return {
        "epsilon": epsilon,
        "ceiling": round((1 + PrivacyClaim(epsilon).ceiling) / 2, 6),
        "right": int((guesses == hidden).sum()),
        "certain": int((places != 3).sum()),
        "shown": [
            {
                "answer": int(hidden[number]),
                "output": float(outputs[number]).hex(),
                "named": int(guesses[number]),
                "around": "".join(map(str, masks[number])),
            }
            for number in range(SHOWN)
        ],
    }
