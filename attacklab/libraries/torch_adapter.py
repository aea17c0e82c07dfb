"""PyTorch's samplers on the CPU: noise added to an answer of the same format, and selections.

PyTorch claims no privacy for them; the claim judged here is made by programs that use them so. An answer must be
a number in the format of the sampler: others are refused, because the sampler would not do that rounding. bfloat16
comes out as binary32, which holds all its numbers: numpy has no bfloat16.

Utilities are taken as doubles, and their exponents ε·u/2 rounded to the format, in which all that follows is computed.

`torch.distributions` draws from PyTorch's global generator, which is seeded before each call; others get their own.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

DISTRIBUTION = "torch"
UNSEEDED = False

FORMATS = ("float64", "float32", "float16", "bfloat16")
"""The formats of the samplers. There is one mechanism for each sampler and format."""

CELLS = 1 << 22  # random numbers that are held at a time


def _noise(dtype_name: str, draw: Any, **claim: float) -> dict[str, Any]:
    """Make additive noise for answers in a format; `draw(torch, tensor, trials, seed)` returns the outputs."""
    import torch

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        tensor = torch.tensor(answer, dtype=getattr(torch, dtype_name))
        if tensor.item() != answer:
            raise ValueError(f"the answer {answer} cannot be represented in {tensor.dtype}")
        outputs = draw(torch, tensor, trials, int(rng.integers(1 << 63)))
        return (outputs.float() if dtype_name == "bfloat16" else outputs).numpy()

    return {"kind": "noise", "release": release, **claim}


def _laplace(dtype_name: str, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    def draw(torch: Any, answer: Any, trials: int, seed: int) -> Any:
        torch.manual_seed(seed)
        return torch.distributions.Laplace(answer, torch.tensor(1 / epsilon, dtype=answer.dtype)).sample((trials,))

    return _noise(dtype_name, draw, epsilon=epsilon)


def _gaussian(dtype_name: str, /, *, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    def draw(torch: Any, answer: Any, trials: int, seed: int) -> Any:
        generator, scale = torch.Generator().manual_seed(seed), math.sqrt(2 * math.log(1.25 / delta)) / epsilon
        return answer + torch.normal(0.0, scale, (trials,), generator=generator, dtype=answer.dtype)

    return _noise(dtype_name, draw, epsilon=epsilon, delta=delta)


def _selection(select: Any, dtype_name: str, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    import torch

    def release(utilities: Any, trials: int, rng: np.random.Generator) -> Any:
        exponents = torch.tensor(epsilon / 2 * np.asarray(utilities, dtype=float)).to(getattr(torch, dtype_name))
        generator = torch.Generator().manual_seed(int(rng.integers(1 << 63)))
        return select(torch, exponents, trials, generator).numpy()

    return {"kind": "selection", "release": release, "epsilon": epsilon}


def _multinomial(torch: Any, exponents: Any, trials: int, generator: Any) -> Any:
    return torch.multinomial(torch.softmax(exponents, 0), trials, replacement=True, generator=generator)


def _gumbel(torch: Any, exponents: Any, trials: int, generator: Any) -> Any:
    def drawn(rows: int) -> Any:
        uniforms = torch.rand((rows, len(exponents)), generator=generator, dtype=exponents.dtype)
        return (exponents - (-uniforms.log()).log()).argmax(1)

    rows = max(1, CELLS // len(exponents))
    return torch.cat([drawn(min(rows, trials - done)) for done in range(0, trials, rows)])


MECHANISMS: dict[str, Any] = {
    **{
        f"{name}_{dtype}": partial(make, dtype)
        for name, make in (
            ("laplace", _laplace),  # `torch.distributions.Laplace` around the answer
            ("gaussian", _gaussian),  # `torch.normal` added to it, with the textbook's scale, for ε up to 1
            ("multinomial", partial(_selection, _multinomial)),
            ("gumbel", partial(_selection, _gumbel)),
        )
        for dtype in FORMATS
    }
}
