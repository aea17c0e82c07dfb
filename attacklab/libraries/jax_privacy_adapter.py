"""JAX Privacy: the noise that its Gaussian privatizer adds to the sum of clipped gradients.

An answer is one coordinate of that sum, and a trial is one coordinate. Gradients are clipped to a norm of 1, so that is
the sensitivity of the sum. The scale of the noise is the textbook's √(2·ln(1.25/δ))/ε, for ε up to 1. Answers that the
gradient's format lacks are refused. bfloat16 comes out as binary32, which holds all its numbers: numpy has no bfloat16.

`gaussian_float32_gdp` claims what dp-accounting's event for this noise stands for: μ-GDP, μ being 1 over its noise
multiplier.

Every block of outputs has its own key, whose 64 bits are drawn from `rng`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

DISTRIBUTION = "jax-privacy"
UNSEEDED = False

BLOCK = 1 << 13  # coordinates of a gradient. JAX compiles for every shape, so there is only one


def _privatizer(dtype_name: str, scale: float, **claim: Any) -> dict[str, Any]:
    import jax
    from jax_privacy.noise_addition import gaussian_privatizer

    dtype = jax.numpy.dtype(dtype_name)

    def drawn(gradient: Any, rng: np.random.Generator) -> Any:
        key = jax.random.wrap_key_data(rng.integers(1 << 32, size=2, dtype=np.uint32))
        privatizer = gaussian_privatizer(stddev=scale, prng_key=key)
        noisy, _ = privatizer.update(gradient, privatizer.init(gradient))
        outputs = np.asarray(noisy)
        return outputs.astype(np.float32) if dtype_name == "bfloat16" else outputs

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        gradient = jax.numpy.full((BLOCK,), answer, dtype)
        if gradient[0].item() != answer:
            raise ValueError(f"the answer {answer} cannot be represented in {dtype}")
        return np.concatenate([drawn(gradient, rng) for _ in range(-(-trials // BLOCK))])[:trials]

    release(0.0, 1, np.random.default_rng(0))  # compiles
    return {"kind": "noise", "release": release, **claim}


def _gaussian(dtype_name: str, /, *, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    return _privatizer(dtype_name, math.sqrt(2 * math.log(1.25 / delta)) / epsilon, epsilon=epsilon, delta=delta)


def _gdp(*, epsilon: float = 1.0) -> dict[str, Any]:
    from dp_accounting import GaussianDpEvent

    scale = GaussianDpEvent(1 / epsilon).noise_multiplier
    return _privatizer("float32", scale, claim={"kind": "gdp", "mu": 1 / scale}, noise_scale=scale)


MECHANISMS: dict[str, Any] = {
    "gaussian_float32": partial(_gaussian, "float32"),
    "gaussian_bfloat16": partial(_gaussian, "bfloat16"),  # its noise in the same format
    "gaussian_float32_gdp": _gdp,
}
