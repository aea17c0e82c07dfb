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
from typing import Any

import numpy as np

DISTRIBUTION = "jax-privacy"
UNSEEDED = False

BLOCK = 1 << 13  # coordinates of a gradient. JAX compiles for every shape, so there is only one


def _textbook_scale(epsilon: float, delta: float) -> float:
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def _privatizer(dtype_name: str, scale: float) -> dict[str, Any]:
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
    return {"kind": "noise", "release": release}


def gaussian_float32(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`gaussian_privatizer` on a gradient in binary32."""
    return {**_privatizer("float32", _textbook_scale(epsilon, delta)), "epsilon": epsilon, "delta": delta}


def gaussian_bfloat16(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`gaussian_privatizer` on a gradient in bfloat16, the noise in the same format."""
    return {**_privatizer("bfloat16", _textbook_scale(epsilon, delta)), "epsilon": epsilon, "delta": delta}


def gaussian_float32_gdp(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`gaussian_privatizer` on a gradient in binary32, with noise of scale 1/ε, claiming ε-GDP."""
    from dp_accounting import GaussianDpEvent

    event = GaussianDpEvent(1 / epsilon)
    claim = {"kind": "gdp", "mu": 1 / event.noise_multiplier}
    return {**_privatizer("float32", event.noise_multiplier), "claim": claim, "noise_scale": event.noise_multiplier}
