"""PyTorch's samplers on the CPU, their noise added to an answer of the same format, as training code does it.

PyTorch claims no privacy for them; the claim judged here is that of programs that use them this way. An answer must be
a number in the format of the sampler: others are refused, because the sampler would not do that rounding. bfloat16
comes out as binary32, which holds all its numbers: numpy has no bfloat16.

`torch.distributions` draws from PyTorch's global generator, which is seeded before each call; `torch.normal` takes one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

DISTRIBUTION = "torch"
UNSEEDED = False


def _answer(answer: float, dtype: Any) -> Any:
    """The answer as a tensor of the format, whose number it must be."""
    import torch

    tensor = torch.tensor(answer, dtype=dtype)
    if tensor.item() != answer:
        raise ValueError(f"the answer {answer} cannot be represented in {dtype}")
    return tensor


def _array(outputs: Any) -> Any:
    import torch

    return (outputs.float() if outputs.dtype == torch.bfloat16 else outputs).numpy()


def _laplace(dtype_name: str, epsilon: float) -> dict[str, Any]:
    import torch

    dtype = getattr(torch, dtype_name)
    scale = torch.tensor(1 / epsilon, dtype=dtype)

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        torch.manual_seed(int(rng.integers(1 << 63)))
        return _array(torch.distributions.Laplace(_answer(answer, dtype), scale).sample((trials,)))

    return {"kind": "noise", "release": release, "epsilon": epsilon}


def _gaussian(dtype_name: str, epsilon: float, delta: float) -> dict[str, Any]:
    import torch

    dtype = getattr(torch, dtype_name)
    scale = math.sqrt(2 * math.log(1.25 / delta)) / epsilon

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        generator = torch.Generator().manual_seed(int(rng.integers(1 << 63)))
        noise = torch.normal(0.0, scale, (trials,), generator=generator, dtype=dtype)
        return _array(_answer(answer, dtype) + noise)

    return {"kind": "noise", "release": release, "epsilon": epsilon, "delta": delta}


def laplace_float64(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`torch.distributions.Laplace` around the answer, in binary64."""
    return _laplace("float64", epsilon)


def laplace_float32(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`torch.distributions.Laplace` around the answer, in binary32."""
    return _laplace("float32", epsilon)


def laplace_float16(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`torch.distributions.Laplace` around the answer, in binary16."""
    return _laplace("float16", epsilon)


def laplace_bfloat16(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`torch.distributions.Laplace` around the answer, in bfloat16."""
    return _laplace("bfloat16", epsilon)


def gaussian_float64(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`torch.normal` added to the answer, in binary64, with the textbook's scale for ε up to 1."""
    return _gaussian("float64", epsilon, delta)


def gaussian_float32(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`torch.normal` added to the answer, in binary32, with the textbook's scale for ε up to 1."""
    return _gaussian("float32", epsilon, delta)


def gaussian_float16(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`torch.normal` added to the answer, in binary16, with the textbook's scale for ε up to 1."""
    return _gaussian("float16", epsilon, delta)


def gaussian_bfloat16(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`torch.normal` added to the answer, in bfloat16, with the textbook's scale for ε up to 1."""
    return _gaussian("bfloat16", epsilon, delta)


MECHANISMS = (
    laplace_float64,
    laplace_float32,
    laplace_float16,
    laplace_bfloat16,
    gaussian_float64,
    gaussian_float32,
    gaussian_float16,
    gaussian_bfloat16,
)
