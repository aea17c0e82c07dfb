"""PyTorch's samplers on the CPU: noise added to an answer of the same format, and selections.

PyTorch claims no privacy for them; the claim judged here is that of programs that use them this way. An answer must be
a number in the format of the sampler: others are refused, because the sampler would not do that rounding. bfloat16
comes out as binary32, which holds all its numbers: numpy has no bfloat16.

Utilities are taken as doubles, and their exponents ε·u/2 rounded to the format, in which all that follows is computed.

`torch.distributions` draws from PyTorch's global generator, which is seeded before each call; others are given one.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

DISTRIBUTION = "torch"
UNSEEDED = False

FORMATS = ("float64", "float32", "float16", "bfloat16")
"""The formats of the samplers; each sampler is a mechanism in each."""

TWO_ANSWERS = {"shape": {"form": "queries", "size": 2, "patterns": ["one"]}}

CELLS = 1 << 22  # random numbers that are held at a time


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


def _laplace(dtype_name: str, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    import torch

    dtype = getattr(torch, dtype_name)
    scale = torch.tensor(1 / epsilon, dtype=dtype)

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        torch.manual_seed(int(rng.integers(1 << 63)))
        return _array(torch.distributions.Laplace(_answer(answer, dtype), scale).sample((trials,)))

    return {"kind": "noise", "release": release, "epsilon": epsilon}


def _gaussian(dtype_name: str, /, *, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    import torch

    dtype = getattr(torch, dtype_name)
    scale = math.sqrt(2 * math.log(1.25 / delta)) / epsilon

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        generator = torch.Generator().manual_seed(int(rng.integers(1 << 63)))
        noise = torch.normal(0.0, scale, (trials,), generator=generator, dtype=dtype)
        return _array(_answer(answer, dtype) + noise)

    return {"kind": "noise", "release": release, "epsilon": epsilon, "delta": delta}


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


def _gaussian_one_seed(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """Noise from generators of one seed for both of two answers."""
    add = _gaussian("float32", epsilon=epsilon, delta=delta)

    def release(answers: Any, trials: int, rng: np.random.Generator) -> Any:
        state = rng.bit_generator.state
        noisy = []
        for answer in answers:
            rng.bit_generator.state = state
            noisy.append(add["release"](float(answer), trials, rng))
        return np.stack(noisy, 1)

    return {**add, "kind": "dataset", "release": release, "domain": TWO_ANSWERS}


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
    },
    "gaussian_one_seed_float32": _gaussian_one_seed,
}


def _numbers(value: Any) -> Any:
    return value.detach().double().numpy() if hasattr(value, "detach") else value


def _known(law: str, value: Any, scale: Any, shape: Any, into: Any, generator: Any = None) -> dict[str, Any]:
    """What a call draws, as `attacklab.libraries` says."""
    return {"law": law, "value": value, "scale": scale, "shape": tuple(shape), "into": into, "source": generator}


def _drawn(law: str, names: tuple[str, ...], defaults: tuple[float, ...], scale_of: Any = abs) -> Any:
    """What reads a call that fills a tensor: by the names and defaults of its first parameters, and a scale of them."""

    def read(tensor: Any, *args: Any, generator: Any = None, **kwargs: Any) -> dict[str, Any]:
        given = dict(zip(names, defaults, strict=True)) | dict(zip(names, args, strict=False)) | kwargs
        value = given[names[0]] if len(names) == 2 else 0.0
        scale = given["to"] - given["from"] if law == "uniform" else scale_of(given[names[-1]])
        return _known(law, value, scale, tensor.shape, tensor, generator)

    return read


def _normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, dtype: Any = None, **_: Any) -> Any:
    import torch

    parts = [torch.as_tensor(mean), torch.as_tensor(std)]
    shape = torch.broadcast_shapes(*(part.shape for part in parts)) if size is None else size
    tensors = [part.dtype for part in (mean, std) if isinstance(part, torch.Tensor)]
    into = dtype or (tensors[0] if tensors else torch.get_default_dtype())
    return _known("Gaussian", mean, _numbers(std), shape, into, generator)


def _standard(law: str) -> Any:
    def read(*size: Any, generator: Any = None, dtype: Any = None, **_: Any) -> dict[str, Any]:
        import torch

        like = size[0] if size and isinstance(size[0], torch.Tensor) else None
        shape = like.shape if like is not None else size[0] if len(size) == 1 and not isinstance(size[0], int) else size
        into = dtype or (torch.get_default_dtype() if like is None else like.dtype)
        return _known(law, 0, 1, shape, into, generator)

    return read


def _of_distribution(law: str) -> Any:
    def read(made: Any, sample_shape: Any = ()) -> dict[str, Any]:
        tensor = made.rate if law == "exponential" else made.scale
        scale = _numbers(1 / tensor if law == "exponential" else tensor)
        return _known(law, getattr(made, "loc", 0), scale, made._extended_shape(sample_shape), tensor.dtype)

    return read


def _order(n: int, *, generator: Any = None, **_: Any) -> dict[str, Any]:
    import torch

    return {"law": "sampling", "real": lambda rng: rng.permutation(n), "into": torch.int64, "source": generator}


def _integers(low: int, high: Any, size: Any = None, *, generator: Any = None, **_: Any) -> dict[str, Any]:
    import torch

    ends, shape = ((0, low), high) if size is None else ((low, high), size)
    known = {"law": "raw bits", "into": torch.int64, "source": generator}
    return {**known, "real": lambda rng: rng.integers(*ends, size=tuple(shape))}


def _coins(chances: Any, *, generator: Any = None, **_: Any) -> dict[str, Any]:
    odds = _numbers(chances)
    known = {"law": "sampling", "into": chances.dtype, "source": generator}
    return {**known, "real": lambda rng: rng.random(odds.shape) < odds}


SAMPLERS = {
    "torch:normal": _normal,
    "torch:bernoulli": _coins,
    "torch:randperm": _order,
    "torch:randint": _integers,
    **{f"torch:{name}": _standard("Gaussian") for name in ("randn", "randn_like")},
    **{f"torch:{name}": _standard("uniform") for name in ("rand", "rand_like")},
    "torch:Tensor.normal_": _drawn("Gaussian", ("mean", "std"), (0.0, 1.0)),
    "torch:Tensor.cauchy_": _drawn("Cauchy", ("median", "sigma"), (0.0, 1.0)),
    "torch:Tensor.uniform_": _drawn("uniform", ("from", "to"), (0.0, 1.0)),
    "torch:Tensor.exponential_": _drawn("exponential", ("lambd",), (1.0,), lambda rate: 1 / rate),
    **{
        f"torch.distributions:{name}.{method}": _of_distribution(law)
        for name, law in (
            ("Laplace", "Laplace"),
            ("Normal", "Gaussian"),
            ("Gumbel", "Gumbel"),
            ("Cauchy", "Cauchy"),
            ("Exponential", "exponential"),
        )
        for method in ("sample", "rsample")
    },
}
