"""Watched versions of torch's samplers, if torch is loaded.

A draw is kept as an array of numpy's; what the sampler returns is a tensor, as it is without watching. The default
generator begins each run at a fresh state, so that a state which comes again in another run was set by the code.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attacklab.draws.laws import Law
from attacklab.draws.record import Asked, Recorder, current

Call = Callable[..., Any]


FILLED_OTHERWISE = ("bernoulli_", "cauchy_", "geometric_", "log_normal_", "random_")
DRAWN_OTHERWISE = ("_standard_gamma", "binomial", "poisson", "randint_like")
"""Samplers whose draws are recorded with the law `OTHER`, so that shifts of them have no bounded cost."""


def torch_begins(recorder: Recorder) -> None:
    """Seed torch's default generator afresh for a run."""
    sys.modules["torch"].manual_seed(int(recorder.fresh.integers(1 << 62)))


def torch_functions() -> Iterator[tuple[Any, str, Call]]:
    """Yield (module or class, name, watched function) for each sampler of torch; nothing if it is not loaded."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return
    made = {"randn": Law.GAUSSIAN, "randn_like": Law.GAUSSIAN, "rand": Law.UNIFORM, "rand_like": Law.UNIFORM}
    made |= {"randint": Law.CHOICE, "randperm": Law.ORDER, "bernoulli": Law.CHOICE, "multinomial": Law.CHOICE}
    made |= dict.fromkeys(DRAWN_OTHERWISE, Law.OTHER)
    for name, law in made.items():
        yield torch, name, _watched(torch, law, getattr(torch, name), _as_it_is)
    for name in FILLED_OTHERWISE:
        yield torch.Tensor, name, _watched(torch, Law.OTHER, getattr(torch.Tensor, name), _fill)
    yield torch, "normal", _watched(torch, Law.GAUSSIAN, torch.normal, _normal)
    for name, law in (("normal_", Law.GAUSSIAN), ("uniform_", Law.UNIFORM), ("exponential_", Law.EXPONENTIAL)):
        yield torch.Tensor, name, _watched(torch, law, getattr(torch.Tensor, name), _FILLS[name])


Filled = tuple[Callable[[], Any], Any, Callable[[Any], Any], tuple[Any, ...]]
"""A function that draws, the scale of the draw, a function that turns it into the result, and other parameters."""


def _as_it_is(torch: Any, call: Call, *args: Any, **kwargs: Any) -> Filled:
    del torch
    weights = tuple(np.ravel(arg.detach().numpy()).tolist() for arg in args[:1] if hasattr(arg, "detach"))
    is_like = call.func.__name__.endswith("_like")  # type: ignore[attr-defined]
    return functools.partial(call, *args, **kwargs), 1.0, lambda drawn: drawn, () if is_like else weights


def _normal(torch: Any, call: Call, mean: Any = 0.0, std: Any = 1.0, size: Any = None, **rest: Any) -> Filled:
    shape = torch.broadcast_tensors(torch.as_tensor(mean), torch.as_tensor(std))[0].shape if size is None else size
    zeros = torch.zeros(shape, dtype=rest.get("dtype") or torch.get_default_dtype())
    options = {name: value for name, value in rest.items() if name == "generator"}
    sample = functools.partial(call, zeros, torch.as_tensor(std) + zeros, **options)
    return sample, _plain(std), lambda noise: mean + noise, ()


def _fill_normal(torch: Any, call: Call, into: Any, mean: float = 0.0, std: float = 1.0, **rest: Any) -> Filled:
    del torch
    return functools.partial(call, into, 0.0, std, **rest), std, lambda noise: into.copy_(mean + noise), ()


def _fill_uniform(torch: Any, call: Call, into: Any, low: float = 0.0, high: float = 1.0, **rest: Any) -> Filled:
    del torch
    sample = functools.partial(call, into, 0.0, 1.0, **rest)
    return sample, 1.0, lambda share: into.copy_(low + (high - low) * share), ()


def _fill(torch: Any, call: Call, into: Any, *args: Any, **kwargs: Any) -> Filled:
    del torch
    return functools.partial(call, into, *args, **kwargs), 1.0, into.copy_, ()


def _fill_exponential(torch: Any, call: Call, into: Any, lambd: float = 1.0, **rest: Any) -> Filled:
    del torch
    return functools.partial(call, into, lambd, **rest), 1 / lambd, into.copy_, ()


_FILLS: dict[str, Callable[..., Filled]] = {
    "normal_": _fill_normal,
    "uniform_": _fill_uniform,
    "exponential_": _fill_exponential,
}


def _watched(torch: Any, law: Law, original: Call, reader: Callable[..., Filled]) -> Call:
    """Return a version of the torch sampler `original` that records its draws."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        recorder = current()
        if recorder is None:
            return original(*args, **kwargs)
        given = kwargs.get("generator")
        generator = torch.default_generator if given is None else given
        state = hash(generator.get_state().numpy().tobytes()) if recorder.tells_states else None
        with recorder.inside():
            sample, scale, then, parameters = reader(torch, functools.partial(original), *args, **kwargs)
        kinds: list[Any] = []

        def drawn() -> Any:
            tensor = sample()
            kinds.append(tensor)
            return tensor.detach().to(torch.float64 if tensor.is_floating_point() else tensor.dtype).numpy().copy()

        def back(value: Any) -> Any:
            return then(torch.as_tensor(np.asarray(value)).to(kinds[-1].dtype).reshape(kinds[-1].shape))

        asked = Asked(law, drawn, scale, parameters, back)
        is_known = given is not None
        return recorder.draw(original.__name__, asked, state=state, may_be_fixed=True, is_known=is_known)

    return function


def _plain(value: Any) -> Any:
    return value.detach().numpy() if hasattr(value, "detach") else value
