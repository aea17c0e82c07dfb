"""JAX's samplers on the CPU: noise added to an answer of the same format.

JAX claims no privacy for them; the claim judged here is that of programs that use them this way. An answer must be a
number in the format of the sampler: others are refused, because the sampler would not do that rounding. bfloat16 comes
out as binary32, which holds all its numbers: numpy has no bfloat16.

JAX compiles for every shape, so noise is drawn in blocks of one shape, and one block is drawn in advance.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

DISTRIBUTION = "jax"
UNSEEDED = False

FORMATS = ("float64", "float32", "float16", "bfloat16")  # each sampler is a mechanism in each
BLOCK = 1 << 13  # outputs drawn at a time


def _additive(sampler_name: str, dtype_name: str, scale: float) -> Any:
    import jax

    if dtype_name == "float64":
        jax.config.update("jax_enable_x64", True)
    dtype = jax.numpy.dtype(dtype_name)
    sampler = getattr(jax.random, sampler_name)

    def drawn(value: Any, rng: np.random.Generator) -> Any:
        key = jax.random.wrap_key_data(rng.integers(1 << 32, size=2, dtype=np.uint32))
        outputs = np.asarray(value + scale * sampler(key, (BLOCK,), dtype))
        return outputs.astype(np.float32) if dtype_name == "bfloat16" else outputs

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        value = jax.numpy.asarray(answer, dtype)
        if value.item() != answer:
            raise ValueError(f"the answer {answer} cannot be represented in {dtype}")
        return np.concatenate([drawn(value, rng) for _ in range(-(-trials // BLOCK))])[:trials]

    release(0.0, 1, np.random.default_rng(0))
    return release


def _laplace(dtype_name: str, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    return {"kind": "noise", "release": _additive("laplace", dtype_name, 1 / epsilon), "epsilon": epsilon}


def _gaussian(dtype_name: str, /, *, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    release = _additive("normal", dtype_name, math.sqrt(2 * math.log(1.25 / delta)) / epsilon)
    return {"kind": "noise", "release": release, "epsilon": epsilon, "delta": delta}


MECHANISMS: dict[str, Any] = {
    **{f"laplace_{dtype}": partial(_laplace, dtype) for dtype in FORMATS},
    **{f"gaussian_{dtype}": partial(_gaussian, dtype) for dtype in FORMATS},  # the textbook's scale, for ε up to 1
}
