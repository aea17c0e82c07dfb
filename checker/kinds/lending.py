"""Other meanings of a module's names while a function of it runs, to see what it hands on and to whom."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from checker.core.certificate import Refused


@contextmanager
def lent(function: Callable[..., Any], **names: Any) -> Iterator[None]:
    """Give names other meanings in the module of a function, until the context ends.

    Args:
        function: a function of that module.
        names: what each name stands for. The module must have it, or Python.

    Raises:
        Refused: the module has no such name.
    """
    space = function.__globals__
    if missing := [name for name in names if name not in space and not hasattr(builtins, name)]:
        raise Refused(f"{function.__module__} has no {missing}")
    before = {name: space[name] for name in names if name in space}
    space.update(names)
    try:
        yield
    finally:
        for name in names:
            del space[name]
        space.update(before)


def used(function: Callable[..., Any], name: str) -> Any:
    """Return what a function's module means by a name."""
    if name not in function.__globals__:
        raise Refused(f"{function.__module__} has no {name!r}")
    return function.__globals__[name]


class Token:
    """What can be handed on, and nothing else: a number of trials or a source of bits that nobody looks at."""

    __hash__ = None  # type: ignore[assignment] # a look-up would be a look

    def __eq__(self, other: object) -> bool:
        raise Refused("what should only be handed on is compared")

    def __bool__(self) -> bool:
        raise Refused("what should only be handed on is taken for true or false")


class Recorder:
    """Stands for a function: writes down what it is called with, and returns a given result.

    Attributes:
        calls: the positional arguments of each call.
    """

    def __init__(self, result: Any) -> None:
        self._result = result
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *arguments: Any) -> Any:
        """Take a call."""
        self.calls.append(arguments)
        return self._result

    @property
    def call(self) -> tuple[Any, ...]:
        """The arguments of the one call.

        Raises:
            Refused: there was none, or there were more.
        """
        if len(self.calls) != 1:
            raise Refused(f"a function that should be called once is called {len(self.calls)} times")
        return self.calls[0]
