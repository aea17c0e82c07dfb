"""Releases made of what libraries have: functions and methods that take one value and return one noisy output.

The child of an isolated target loads this as a plain file in an interpreter that may have nothing but numpy, and may be
as old as Python 3.8: so it imports nothing of the package and uses no newer syntax.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import mmap
import os
from collections.abc import Iterator
from typing import Any

CALL = "release(input, trials, rng)"
"""How the lab calls a release."""


class Forked(Exception):
    """A release forked, and the copy of the process came back from the call too."""


@contextlib.contextmanager
def in_one_process(release: Any) -> Iterator[None]:
    """End every copy of this process that comes back from a call of a release, lest it run the rest of an audit too.

    Raises:
        Forked: in this process, if one has, in this call or in one before it.
    """
    global _last
    caller = os.getpid()
    if _last[0] != caller or _last[1] is not release:
        _last = (caller, release, mmap.mmap(-1, 1))
    copies = _last[2]  # memory that this process shares with its copies
    try:
        yield
    finally:
        if os.getpid() != caller:
            copies[0] = 1
            os._exit(1)
    if copies[0]:
        _last = (0, None, None)
        raise Forked(
            "it forked, and the copy of this process came back from the call as well; the copy was ended; "
            "end it in the release, by os._exit, before it returns"
        )


_last: Any = (0, None, None)
"""The process that called a release last, the release, and a byte that says whether a copy came back."""


class OneByOne:
    """The release that `one_by_one` makes.

    Attributes:
        func: the function, after which the target is named.
    """

    def __init__(self, func: Any) -> None:
        self.func = func

    def __call__(self, input_: Any, trials: int, rng: Any) -> list[Any]:  # noqa: ARG002 - the form of a release
        """Call the function once a trial, each time with a copy of the input of its own."""
        return [self.func(copy.deepcopy(input_)) for _ in range(trials)]


def one_by_one(function: Any) -> OneByOne:
    """A release of a function or a bound method that takes one value and returns one noisy output.

    Args:
        function: called as `function(value)`, once a trial. It draws its own randomness, so a seed replays its outputs
            only if it draws from generators that are seeded from outside.

    Returns:
        A release, `release(input, trials, rng)`, which returns a list of so many outputs.

    Raises:
        TypeError: the function cannot be called with one value, or is a class.
    """
    if not callable(function):
        raise TypeError(f"one_by_one takes a function of one value, not {function!r}")
    require_no_class(function)
    if _takes(function, 1) is False:
        raise TypeError(
            f"one_by_one calls {name_of(function)}(value), but {_told(function)}; wrap it in a function of one value"
        )
    return OneByOne(function)


def as_release(function: Any) -> Any:
    """A function that can be called as a release: itself, or one of one value by `one_by_one`.

    Raises:
        TypeError: it can be called neither way, or is a class.
    """
    require_no_class(function)
    if _takes(function, 3) is not False:
        return function
    if _takes(function, 1):
        return one_by_one(function)
    raise TypeError(
        f"a release is called as {CALL}, and a function of one value as {name_of(function)}(value), "
        f"but {_told(function)}; wrap it in a function of these"
    )


def require_no_class(function: Any) -> None:
    """Refuse a class that stands where one of its objects should.

    Raises:
        TypeError: it is a class.
    """
    if isinstance(function, type):
        name = name_of(function)
        raise TypeError(
            f"{name} is a class, and a call of it gives an object, not outputs; make the object first, "
            f"mechanism = {name}(...), and name that or one of its methods"
        )


def misfit(release: Any) -> str:
    """What is wrong with a release that does not take three arguments; nothing where it does, or nobody knows."""
    signature = _signature(release)
    try:
        if signature is not None:
            signature.bind_partial(None, None, None)
    except TypeError:
        return (
            f"a release is called as {CALL}, but {_told(release)}; "
            f"for a function of one value write one_by_one({name_of(release)})"
        )
    return ""


def member(module: Any, name: str) -> Any:
    """What a module calls `name` or, with dots, `object.attribute`; None if it has no such thing."""
    found = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def name_of(function: Any) -> str:
    """What a function is called."""
    return str(getattr(function, "__name__", type(function).__name__))


def _takes(function: Any, count: int) -> Any:
    """Whether a function can be called with so many values; None if it does not say."""
    signature = _signature(function)
    if signature is None:
        return None
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def _signature(function: Any) -> Any:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # written in C, most often
        return None


def _told(function: Any) -> str:
    return f"{name_of(function)} takes {_signature(function)}"
