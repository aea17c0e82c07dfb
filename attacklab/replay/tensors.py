"""Tensors of PyTorch that remember which draws they are made of, as arrays do.

An operation on one is done on plain tensors, and then looked at by the rules for arrays: those hold every number of a
tensor exactly. What only moves numbers moves the draws' numbers with them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from attacklab.replay.seeds import note_seed
from attacklab.replay.session import Affine, Session
from attacklab.replay.traced import NUMPYS, Traced, combined, lost, plain, selected, wrapped

MOVING = (
    *("view", "view_as", "reshape", "flatten", "squeeze", "unsqueeze", "transpose", "t", "permute", "expand"),
    *("clone", "contiguous", "detach", "__getitem__", "expand_as", "reshape_as", "unflatten", "flip"),
)
CASTING = ("to", "float", "double", "half", "bfloat16", "cpu", "type", "type_as", "requires_grad_")


class TracedTensor(torch.Tensor, Traced):  # type: ignore[misc] # PyTorch may not be installed
    """A tensor whose numbers remember their draws."""

    tag = None

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = getattr(func, "__name__", ""), kwargs or {}
        with torch._C.DisableTorchFunctionSubclass():
            if name == "__rsub__":
                func, name, args = torch.sub, "sub", (torch.as_tensor(args[1]), args[0])
            return _done(func, name, args, kwargs)

    def bare(self) -> Any:
        """The same numbers, in the same memory."""
        with torch._C.DisableTorchFunctionSubclass():
            return self.as_subclass(torch.Tensor)

    def to_array(self) -> Any:
        """The same numbers as an array that remembers as much."""
        numbers = _bare(self)
        return numbers if self.tag is None else wrapped(np.array(numbers), self.tag, self.session)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.clone()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return plain(self).__reduce_ex__(protocol)


def tensor_of(array: Any, into: Any) -> Any:
    """A tensor of an array that may remember its draws.

    Args:
        array: the numbers.
        into: the tensor to write them to, or the type of a new one.
    """
    made = torch.as_tensor(np.array(plain(array)))
    if isinstance(into, torch.Tensor):
        with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
            into.copy_(made.reshape(into.shape))
        made = into
    else:
        made = made.to(into)
    return made if getattr(array, "tag", None) is None else _tagged(made, array.tag, array.session)


def _tagged(tensor: Any, tag: Affine, session: Session) -> Any:
    if isinstance(tensor, torch.nn.Parameter):
        return tensor
    traced = tensor if isinstance(tensor, TracedTensor) else tensor.as_subclass(TracedTensor)
    if type(tensor) is torch.Tensor:  # whoever holds it holds the noise
        tensor.__class__, traced = TracedTensor, tensor
    traced.tag, traced.session = tag, session
    return traced


def _done(func: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
    tensors = [one for one in args if isinstance(one, TracedTensor) and one.tag is not None]
    is_in_place = name.endswith("_") and not name.endswith("__") and name != "requires_grad_"
    if name.startswith("__i") and name[3:-2] in NUMPYS:
        name, is_in_place = name[3:-2], True
    numpy_name = NUMPYS.get(name.strip("_"), name.strip("_"))
    is_computed = numpy_name in NUMPYS.values()
    if not tensors or Session.current is None:
        return func(*args, **kwargs)
    if name in ("numpy", "tolist", "item"):
        array = tensors[0].to_array()
        return array if name == "numpy" else getattr(array, name)()
    before = [_as_array(one) for one in args] if is_computed else []
    computed = func(*args, **kwargs)
    if name in MOVING or name in CASTING:
        return _moved(func, name, tensors[0], args, kwargs, computed)
    if is_computed:
        if "alpha" in kwargs and kwargs["alpha"] != 1:
            before[1] = before[1] * kwargs["alpha"]
        result = combined(numpy_name, tuple(before), _bare(computed))
        if isinstance(result, Traced) and result.tag is not None:
            return tensor_of(result, computed if is_in_place else computed.dtype)
        if numpy_name.startswith(("less", "greater")):
            return torch.as_tensor(result)
    elif name == "argmax":
        return torch.as_tensor(selected(tensors[0].to_array(), "argmax", int(computed)))
    elif isinstance(computed, torch.Tensor) and name != "__get__":
        lost(tuple(one.to_array() for one in tensors), name, _bare(computed))
    if is_in_place and isinstance(args[0], TracedTensor):
        args[0].tag = None
    return computed


def _moved(func: Any, name: str, tensor: Any, args: Any, kwargs: Any, computed: Any) -> Any:
    tag, rest = tensor.tag, args[1:]
    if name in CASTING:
        if computed is tensor or torch.equal(computed.double(), plain(tensor).double()):
            return _tagged(computed, tag, tensor.session)
        return tensor_of(combined("positive", (tensor.to_array(),), _bare(computed)), computed.dtype)

    places = func(torch.arange(tensor.numel()).reshape(tensor.shape), *rest, **kwargs).numpy()
    return _tagged(computed, tag.moved(lambda numbers: np.reshape(numbers, -1)[places]), tensor.session)


def _as_array(value: Any) -> Any:
    if isinstance(value, TracedTensor):
        return value.to_array()
    return np.array(_bare(value)) if isinstance(value, torch.Tensor) else value


def _bare(tensor: Any) -> Any:
    """The numbers of a tensor, without what it remembers."""
    if not isinstance(tensor, torch.Tensor):
        return tensor
    numbers = plain(tensor).detach()
    return (numbers.float() if numbers.dtype == torch.bfloat16 else numbers).numpy()


GLOBAL = SimpleNamespace()
"""What stands for PyTorch's global generator."""


class WatchedTorchGenerator(torch.Generator):  # type: ignore[misc] # PyTorch may not be installed
    """PyTorch's generator, whose draws are known by its seed."""

    def manual_seed(self, seed: int) -> Any:
        """Seed it."""
        note_seed(self, "torch.Generator.manual_seed", seed)
        return super().manual_seed(int(seed))


def seed_global(original: Callable[[int], Any], seed: Any) -> Any:
    """Seed the global generator."""
    note_seed(GLOBAL, "torch.manual_seed", seed)
    return original(int(seed))
