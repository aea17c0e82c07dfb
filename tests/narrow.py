"""Targets whose answers and outputs are numbers of a format: a naive one and one that keeps its claim."""

from typing import Any

import ml_dtypes
import numpy as np

from attacklab import SeededBits, Target
from attacklab.model.floats import BFLOAT16, BINARY16, BINARY32, BINARY64, Format
from mechanisms.core.grid import Grid
from mechanisms.laplace.exact import exact_rounded_laplace

TYPES: dict[Format, Any] = {
    BINARY64: np.float64,
    BINARY32: np.float32,
    BINARY16: np.float16,
    BFLOAT16: ml_dtypes.bfloat16,
}
NARROW = (BINARY32, BINARY16, BFLOAT16)


EVERY_PATTERN = np.arange(1 << 16, dtype=np.uint16)
"""The bits of every number of a 16-bit format."""


def carried(numbers: Any) -> Any:
    """As a release must return them: of a type that numpy has."""
    return numbers.astype(np.float32) if numbers.dtype == ml_dtypes.bfloat16 else numbers


def require_number_of(form: Format, answer: float) -> None:
    with np.errstate(all="ignore"):
        if float(TYPES[form](answer)) != answer:
            raise ValueError(f"the answer {answer} is no {form.name}")


def naive_laplace_in(form: Format, *, epsilon: float = 1.0) -> Target:
    """Laplace noise rounded to the format, added to the answer in it; another format's answers are refused."""

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        require_number_of(form, answer)
        with np.errstate(all="ignore"):
            return carried(TYPES[form](answer) + rng.laplace(0.0, 1 / epsilon, trials).astype(TYPES[form]))

    return Target.noise(release, epsilon=epsilon, name="naive")


def exact_laplace_in(form: Format, *, epsilon: float = 1.0) -> Target:
    """An exact mechanism's outputs rounded to the format, which costs no privacy; other answers are refused."""
    term = exact_rounded_laplace(epsilon=epsilon, grid=Grid(-20))

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        require_number_of(form, answer)
        outputs = term.many(answer, trials, SeededBits(rng))
        return carried(outputs.astype(np.float32).astype(TYPES[form]))

    return Target.noise(release, epsilon=epsilon, name="exact")
