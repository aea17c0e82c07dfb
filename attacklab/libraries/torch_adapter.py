"""PyTorch's samplers on the CPU: noise added to an answer of the same format, and selections.

PyTorch claims no privacy for them; the claim judged here is that of programs that use them this way. An answer must be
a number in the format of the sampler: others are refused, because the sampler would not do that rounding. bfloat16
comes out as binary32, which holds all its numbers: numpy has no bfloat16.

Utilities are taken as doubles, and their exponents ε·u/2 rounded to the format, in which all that follows is computed.

`torch.distributions` draws from PyTorch's global generator, which is seeded before each call; others are given one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

DISTRIBUTION = "torch"
UNSEEDED = False

CELLS = 1 << 22
"""Random numbers that are held at a time."""


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


def _selection(dtype_name: str, epsilon: float, select: Any) -> dict[str, Any]:
    import torch

    def release(utilities: Any, trials: int, rng: np.random.Generator) -> Any:
        exponents = torch.tensor(epsilon / 2 * np.asarray(utilities, dtype=float)).to(getattr(torch, dtype_name))
        generator = torch.Generator().manual_seed(int(rng.integers(1 << 63)))
        return select(exponents, trials, generator).numpy()

    return {"kind": "selection", "release": release, "epsilon": epsilon}


def _multinomial(exponents: Any, trials: int, generator: Any) -> Any:
    import torch

    return torch.multinomial(torch.softmax(exponents, 0), trials, replacement=True, generator=generator)


def _gumbel(exponents: Any, trials: int, generator: Any) -> Any:
    import torch

    def drawn(rows: int) -> Any:
        uniforms = torch.rand((rows, len(exponents)), generator=generator, dtype=exponents.dtype)
        return (exponents - (-uniforms.log()).log()).argmax(1)

    rows = max(1, CELLS // len(exponents))
    return torch.cat([drawn(min(rows, trials - done)) for done in range(0, trials, rows)])


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


def multinomial_float64(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`torch.multinomial` of `torch.softmax`, in binary64."""
    return _selection("float64", epsilon, _multinomial)


def multinomial_float32(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`torch.multinomial` of `torch.softmax`, in binary32."""
    return _selection("float32", epsilon, _multinomial)


def multinomial_float16(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`torch.multinomial` of `torch.softmax`, in binary16."""
    return _selection("float16", epsilon, _multinomial)


def multinomial_bfloat16(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`torch.multinomial` of `torch.softmax`, in bfloat16."""
    return _selection("bfloat16", epsilon, _multinomial)


def gumbel_float64(*, epsilon: float = 1.0) -> dict[str, Any]:
    """The largest of the exponents with Gumbel noise from `torch.rand` added, in binary64."""
    return _selection("float64", epsilon, _gumbel)


def gumbel_float32(*, epsilon: float = 1.0) -> dict[str, Any]:
    """The largest of the exponents with Gumbel noise from `torch.rand` added, in binary32."""
    return _selection("float32", epsilon, _gumbel)


def gumbel_float16(*, epsilon: float = 1.0) -> dict[str, Any]:
    """The largest of the exponents with Gumbel noise from `torch.rand` added, in binary16."""
    return _selection("float16", epsilon, _gumbel)


def gumbel_bfloat16(*, epsilon: float = 1.0) -> dict[str, Any]:
    """The largest of the exponents with Gumbel noise from `torch.rand` added, in bfloat16."""
    return _selection("bfloat16", epsilon, _gumbel)


def gaussian_one_seed_float32(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`torch.normal` added to each of two answers, from generators of one seed, in binary32."""
    import torch

    scale = math.sqrt(2 * math.log(1.25 / delta)) / epsilon

    def release(answers: Any, trials: int, rng: np.random.Generator) -> Any:
        seed = int(rng.integers(1 << 63))
        noisy = []
        for answer in answers:
            generator = torch.Generator().manual_seed(seed)
            noise = torch.normal(0.0, scale, (trials,), generator=generator, dtype=torch.float32)
            noisy.append(_answer(float(answer), torch.float32) + noise)
        return torch.stack(noisy, 1).numpy()

    domain = {"shape": {"form": "queries", "size": 2, "patterns": ["one"]}}
    return {"kind": "dataset", "release": release, "epsilon": epsilon, "delta": delta, "domain": domain}


MECHANISMS = (
    laplace_float64,
    laplace_float32,
    laplace_float16,
    laplace_bfloat16,
    gaussian_float64,
    gaussian_float32,
    gaussian_float16,
    gaussian_bfloat16,
    multinomial_float64,
    multinomial_float32,
    multinomial_float16,
    multinomial_bfloat16,
    gumbel_float64,
    gumbel_float32,
    gumbel_float16,
    gumbel_bfloat16,
    gaussian_one_seed_float32,
)
