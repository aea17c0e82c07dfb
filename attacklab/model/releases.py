"""Releases made of functions of one value, and what a release returned as one array of outputs.

The child of an isolated target uses this in an interpreter that may have nothing but numpy.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import importlib.util
import inspect
import itertools
import os
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from attacklab.model.errors import UsageError, UsageTypeError

CALL = "release(input, trials, rng)"
"""How the lab calls a release."""

_FILES: set[str] = set()
"""The names in `sys.modules` that stand for files."""

PLAIN = {float: np.float64, int: np.int64, bool: np.bool_}
"""Python's numbers, and numpy's type of the same values."""


@contextlib.contextmanager
def in_one_process() -> Iterator[None]:
    """End any fork of this process that returns from a call of a release; else it would run the audit a second time."""
    caller = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != caller:
            os._exit(1)


class OneByOne:
    """The release that `one_by_one` makes.

    Attributes:
        func: the function, after which the target is named.
        draws_elsewhere: whether its randomness is not drawn from the generator that it is given.
    """

    def __init__(self, func: Any) -> None:
        self.func = func
        self.draws_elsewhere = not _asks_for_rng(func)

    def __call__(self, input_: Any, trials: int, rng: Any) -> list[Any]:
        """Call the function once a trial, each time with a copy of the input of its own."""
        further = () if self.draws_elsewhere else (rng,)
        return [self.func(copy.deepcopy(input_), *further) for _ in range(trials)]


def one_by_one(function: Any) -> OneByOne:
    """A release of a function or a bound method that takes one value and returns one noisy output.

    Args:
        function: called once a trial, as `function(value, rng)` if its second parameter is named `rng`, and otherwise
            as `function(value)`. One that draws its own randomness is replayed by a seed only if it draws from
            generators that are seeded from outside.

    Returns:
        A release, `release(input, trials, rng)`, which returns a list of `trials` outputs.

    Raises:
        UsageTypeError: the function cannot be called with one value, or is a class.
    """
    if not callable(function):
        raise UsageTypeError(f"one_by_one takes a function of one value, not {function!r}")
    require_no_class(function)
    if _takes(function, 1) is False and not _asks_for_rng(function):
        raise UsageTypeError(
            f"one_by_one calls {name_of(function)}(value), but {_call_of(function)}; wrap it in a function of one value"
        )
    return OneByOne(function)


def as_release(function: Any) -> Any:
    """A function that can be called as a release: itself, or one of one value by `one_by_one`.

    One whose second parameter is named `rng` is a function of one value. So is one whose second and third parameters
    have defaults, `f(value, scale=0.1, clip=1.0)`,
    unless they are named `trials` and `rng`.

    Raises:
        UsageTypeError: it can be called neither way, or is a class.
    """
    require_no_class(function)
    if _asks_for_rng(function):
        return one_by_one(function)
    if _takes(function, 3) is not False and not (_has_settings(function) and _takes(function, 1)):
        return function
    if _takes(function, 1):
        return one_by_one(function)
    raise UsageTypeError(
        f"a release is called as {CALL}, and a function of one value as {name_of(function)}(value), "
        f"but {_call_of(function)}; wrap it in a function with one of these signatures"
    )


def require_no_class(function: Any) -> None:
    """Refuse a class, or a method of one, that stands where an object or its method should.

    Raises:
        UsageTypeError: it is a class, or such a method.
    """
    name, is_class = getattr(function, "__qualname__", ""), isinstance(function, type)
    if is_class or (inspect.isfunction(function) and [*_signature(function).parameters][:1] == ["self"]):
        owner, _, method = (name, "", "") if is_class else name.rpartition(".")
        what, wanted = (f"method of the class {owner}", f"mechanism.{method}") if method else ("class", "that")
        raise UsageTypeError(f"{name} is a {what}; make an object first, mechanism = {owner}(...), and name {wanted}")


def misfit(release: Any) -> str:
    """What is wrong with a release that does not take three arguments; nothing where it does, or nobody knows."""
    signature = _signature(release)
    try:
        if signature is not None:
            signature.bind_partial(None, None, None)
    except TypeError:
        return (
            f"a release is called as {CALL}, but {_call_of(release)}; "
            f"for a function of one value write one_by_one({name_of(release)})"
        )
    return ""


def member(module: Any, name: str) -> Any:
    """What a module calls `name` or `object.attribute`, or the mechanism of a library in its adapter, or None."""
    named = vars(module)
    if "DISTRIBUTION" in named and name in named.get("MECHANISMS", ()):
        return named["MECHANISMS"][name]
    value = module
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def module_at(place: str) -> ModuleType:
    """The module of this name, or the file of this path, whose name ends in .py, run as one.

    A file can import its neighbours, which hide no installed module.
    """
    if not place.endswith(".py"):
        return importlib.import_module(place)
    path = Path(place)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - for such a name there is one
    module = importlib.util.module_from_spec(spec)
    if path.stem not in sys.modules or path.stem in _FILES:  # an older file of this name, but nothing else, gives way
        _FILES.add(path.stem)
        sys.modules[path.stem] = module
    sys.path += [folder for folder in (str(path.parent.resolve()), str(Path.cwd())) if folder not in sys.path]
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if sys.modules.get(path.stem) is module:
            del sys.modules[path.stem]
        raise
    return module


def version_of(module: ModuleType) -> str:
    """The version of what a module defines: that of its library, the one that it states, or a digest of its file."""
    distribution = getattr(module, "DISTRIBUTION", None)
    if distribution is not None:
        try:
            return f"{distribution} {metadata.version(distribution)}"
        except metadata.PackageNotFoundError as error:
            raise UsageError(f"{distribution} is not installed in {sys.prefix}; install it") from error
    declared = getattr(module, "__version__", None)
    if declared is not None:
        return str(declared)
    if module.__file__ is None:
        return "unknown"
    return "sha256:" + hashlib.sha256(Path(module.__file__).read_bytes()).hexdigest()[:16]


def name_of(function: Any) -> str:
    """What a function is called."""
    return str(getattr(function, "__name__", type(function).__name__))


def gathered(released: Any, trials: int) -> Any:
    """An array of outputs, one a trial along the first axis, no bit of them altered.

    Args:
        released: a list or tuple, whatever gives one output after another, or whatever has `__array__`.
        trials: how many outputs there should be; of an iterator one more is taken at the most.

    Returns:
        The array, of dtype object unless all outputs are numbers of one type; None if this is neither.
    """
    if isinstance(released, Iterator):
        released = list(itertools.islice(released, trials + 1))
    if isinstance(released, (list, tuple)):
        return as_outputs(released)
    if not hasattr(released, "__array__") or isinstance(released, (np.generic, np.ma.MaskedArray)):
        return None
    outputs = np.asarray(released)  # a subclass may compare in a way of its own
    return outputs if outputs.ndim else None


def as_outputs(values: Any) -> Any:
    """An array of the values of a list, whatever they are; of numpy's type if all are numbers of one type."""
    types = set(map(type, values))
    kind = types.pop() if len(types) == 1 else object
    if kind in PLAIN or issubclass(kind, (np.number, np.bool_)):
        try:
            return np.array(values, dtype=PLAIN.get(kind, kind))
        except OverflowError:  # an integer of more than 64 bits
            pass
    return np.fromiter(values, dtype=object, count=len(values))


def _takes(function: Any, count: int) -> Any:
    """Whether a function can be called with this number of values; None if its signature is unknown."""
    signature = _signature(function)
    if signature is None:
        return None
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def _asks_for_rng(function: Any) -> bool:
    """Whether a function of one value takes the generator too: its second parameter has such a name.

    If that parameter has a generator as its default, the function draws from the default.
    """
    signature = _signature(function)
    second = list(signature.parameters.values())[1:2] if signature is not None else []
    asks = any(one.name == "rng" and (one.default is one.empty or one.default is None) for one in second)
    return asks and _takes(function, 2) is True


def _has_settings(function: Any) -> bool:
    """Whether the second or third parameter has a default or another name, so that it is a setting."""
    signature = _signature(function)
    places = list(signature.parameters.values())[1:3] if signature is not None else []
    return any(
        one.default is not one.empty and one.kind is one.POSITIONAL_OR_KEYWORD and one.name != name
        for one, name in zip(places, ("trials", "rng"), strict=False)
    )


def _signature(function: Any) -> Any:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # written in C, most often
        return None


def _call_of(function: Any) -> str:
    return f"{name_of(function)} takes {_signature(function)}"
