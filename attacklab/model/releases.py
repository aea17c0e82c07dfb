"""Makes releases from functions of one value, and arrays of outputs from what a release returns.

The child process of an isolated target uses this module in a Python that may have no package but numpy.
"""

from __future__ import annotations

import contextlib
import copy
import functools
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
"""How a release is called, for messages."""

_FILES: set[str] = set()
"""The names in `sys.modules` under which `module_at` put files."""

PLAIN = {float: np.float64, int: np.int64, bool: np.bool_}
"""For each Python type of numbers, the numpy type with the same values."""


@contextlib.contextmanager
def in_one_process() -> Iterator[None]:
    """If a release forks, end the fork after the block, so that it does not run the audit a second time."""
    caller = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != caller:
            os._exit(1)


class one_by_one:  # noqa: N801 - it is used as a function
    """A release made from a function or bound method that takes one value and returns one noisy output.

    Args:
        function: called once a trial, as `func(value, rng)` if its second parameter is named `rng`, and otherwise as
            `func(value)`. In the latter case, a seed repeats its outputs only if it draws from generators that are
            seeded from outside.

    Attributes:
        draws_elsewhere: whether the function is called without `rng`, so that it draws from another generator.

    Raises:
        UsageTypeError: the function cannot be called with one value, or is a class.
    """

    def __init__(self, function: Any) -> None:
        if not callable(function):
            raise UsageTypeError(f"one_by_one takes a function of one value, not {function!r}")
        require_no_class(function)
        self.func = function
        self.draws_elsewhere = not _asks_for_rng(function)
        if self.draws_elsewhere and not _takes(function, 1):
            raise UsageTypeError(
                f"one_by_one calls {name_of(function)}(value), but {_call_of(function)}; wrap it to take one value"
            )

    def __call__(self, input_: Any, trials: int, rng: Any) -> list[Any]:
        """Call the function once a trial, each time with a new copy of the input."""
        further = () if self.draws_elsewhere else (rng,)
        return [self.func(copy.deepcopy(input_), *further) for _ in range(trials)]


def as_release(function: Any) -> Any:
    """Return a release: the function itself, or `one_by_one(function)` if it is a function of one value.

    A function whose second parameter is named `rng` is a function of one value. So is one whose second or third
    parameter has a default, as in `f(value, scale=0.1, clip=1.0)`, unless they are named `trials` and `rng`.

    Raises:
        UsageTypeError: the function can be called in neither way, or is a class.
    """
    require_no_class(function)
    if _asks_for_rng(function) or (_takes(function, 1) and (_has_settings(function) or not _takes(function, 3))):
        return one_by_one(function)
    if why := misfit(function):
        raise UsageTypeError(why)
    return function


def require_no_class(function: Any) -> None:
    """Check that `function` is not a class or an unbound method, for which the user must first make an object.

    Raises:
        UsageTypeError: `function` is a class, or an unbound method.
    """
    name, is_class = getattr(function, "__qualname__", ""), isinstance(function, type)
    if is_class or (inspect.isfunction(function) and [one.name for one in parameters_of(function)[:1]] == ["self"]):
        owner, _, method = (name, "", "") if is_class else name.rpartition(".")
        what, wanted = (f"method of the class {owner}", f"mechanism.{method}") if method else ("class", "that")
        raise UsageTypeError(f"{name} is a {what}; make an object first, mechanism = {owner}(...), and name {wanted}")


def misfit(release: Any) -> str:
    """Return why a release cannot take three arguments; empty if it can, or its signature is unknown."""
    if _takes(release, 3):
        return ""
    takes_one = _asks_for_rng(release) or _takes(release, 1)
    advice = f"write one_by_one({name_of(release)})" if takes_one else "wrap it in a function of these three"
    return f"a release is called as {CALL}, but {_call_of(release)}; {advice}"


def member(module: Any, name: str) -> Any:
    """Return the object that a module or an adapter calls `name`, such as `f` or `object.f`; None if there is none."""
    named = vars(module)
    if "DISTRIBUTION" in named and name in named.get("MECHANISMS", ()):
        return named["MECHANISMS"][name]
    return functools.reduce(lambda value, part: getattr(value, part, None), name.split("."), module)


def module_at(place: str) -> ModuleType:
    """Import a module by its name, or a file by its path, which must end in .py.

    The file can import other files from its folder, but these do not hide installed modules.
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
    """Return the version of a module's library, else its `__version__`, else a digest of its file."""
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
    """Return the name of a function, or of an object's type if it has no name."""
    return str(getattr(function, "__name__", type(function).__name__))


def gathered(released: Any, trials: int) -> Any:
    """Return what a release returned as an array, one output a trial along the first axis, with every bit kept.

    Args:
        released: a list or tuple, an iterator of outputs, or an object with `__array__`.
        trials: the expected number of outputs. At most one more is taken from an iterator.

    Returns:
        The array. Its dtype is object for a list, unless all outputs are numbers of one type. None for anything else.
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
    """Return the values of a list as an array, of dtype object unless all are numbers of one type."""
    types = set(map(type, values))
    kind = types.pop() if len(types) == 1 else object
    if kind in PLAIN or issubclass(kind, (np.number, np.bool_)):
        try:
            return np.array(values, dtype=PLAIN.get(kind, kind))
        except OverflowError:  # an integer of more than 64 bits
            pass
    return np.fromiter(values, dtype=object, count=len(values))


def parameters_of(function: Any) -> list[inspect.Parameter]:
    """Return the parameters of a function, [] if they are unknown."""
    signature = _signature(function)
    return [] if signature is None else list(signature.parameters.values())


def _takes(function: Any, count: int) -> bool:
    """Whether a function can be called with `count` positional arguments; True if its signature is unknown."""
    signature = _signature(function)
    try:
        return signature is None or bool(signature.bind(*[None] * count))
    except TypeError:
        return False


def _asks_for_rng(function: Any) -> bool:
    """Whether a function is called as `function(value, rng)`: its second parameter is named `rng`.

    It is not called so if that parameter has a default other than None, from which it then draws.
    """
    second = parameters_of(function)[1:2]
    asks = any(one.name == "rng" and (one.default is one.empty or one.default is None) for one in second)
    return asks and _takes(function, 2)


def _has_settings(function: Any) -> bool:
    """Whether the second or third parameter is a setting: it has a default and is not named `trials` or `rng`."""
    return any(
        one.default is not one.empty and one.kind is one.POSITIONAL_OR_KEYWORD and one.name != name
        for one, name in zip(parameters_of(function)[1:3], ("trials", "rng"), strict=False)
    )


def _signature(function: Any) -> Any:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # written in C, most often
        return None


def _call_of(function: Any) -> str:
    return f"{name_of(function)} takes {_signature(function)}"
