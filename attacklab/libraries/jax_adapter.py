"""JAX's samplers on the CPU: noise added to an answer of the same format, and selections.

JAX claims no privacy for them; the claim judged here is made by programs that use them this way. An answer must be a
number in the format of the sampler: others are refused, because the sampler would not do that rounding. bfloat16 comes
out as binary32, which holds all its numbers: numpy has no bfloat16.

Utilities are taken as doubles, and their exponents ε·u/2 rounded to the format, in which all that follows is computed.

JAX compiles for every shape, so noise is drawn in blocks of one shape, and one block is drawn in advance. Selections
are drawn in blocks of one shape for each number of outcomes.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

DISTRIBUTION = "jax"
UNSEEDED = False

FORMATS = ("float64", "float32", "float16", "bfloat16")
"""The formats of the samplers. There is one mechanism for each sampler and format."""

BLOCK = 1 << 13  # outputs drawn at a time
CELLS = 1 << 22  # random numbers that a selection holds at a time; a block has as many outputs as that allows


def _additive(sampler_name: str, dtype_name: str, scale: float) -> Any:
    import jax

    if dtype_name == "float64":
        jax.config.update("jax_enable_x64", True)
    dtype = jax.numpy.dtype(dtype_name)
    sampler = getattr(jax.random, sampler_name)

    def drawn(value: Any, rng: np.random.Generator) -> Any:
        outputs = np.asarray(value + scale * sampler(_key(rng), (BLOCK,), dtype))
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


def _key(rng: np.random.Generator) -> Any:
    import jax

    return jax.random.wrap_key_data(rng.integers(1 << 32, size=2, dtype=np.uint32))


def _selection(select: Any, dtype_name: str, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    import jax

    if dtype_name == "float64":
        jax.config.update("jax_enable_x64", True)
    drawn = jax.jit(partial(select, jax), static_argnums=2)

    def release(utilities: Any, trials: int, rng: np.random.Generator) -> Any:
        exponents = jax.numpy.asarray(epsilon / 2 * np.asarray(utilities, dtype=float)).astype(dtype_name)
        block = max(1, min(BLOCK, CELLS // len(exponents)))
        blocks = [np.asarray(drawn(_key(rng), exponents, block)) for _ in range(-(-trials // block))]
        return np.concatenate(blocks)[:trials]

    return {"kind": "selection", "release": release, "epsilon": epsilon}


def _categorical(jax: Any, key: Any, exponents: Any, block: int) -> Any:
    return jax.random.categorical(key, exponents, shape=(block,))


def _gumbel(jax: Any, key: Any, exponents: Any, block: int) -> Any:
    return (exponents + jax.random.gumbel(key, (block, len(exponents)), exponents.dtype)).argmax(1)


MECHANISMS: dict[str, Any] = {
    **{
        f"{name}_{dtype}": partial(make, dtype)
        for name, make in (
            ("laplace", _laplace),
            ("gaussian", _gaussian),  # with the textbook's scale, for ε up to 1
            ("categorical", partial(_selection, _categorical)),
            ("gumbel", partial(_selection, _gumbel)),
        )
        for dtype in FORMATS
    }
}
