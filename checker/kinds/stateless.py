"""Functions that cannot remember their calls: what one makes of some arguments now, it makes of them at every call."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dis import get_instructions
from fractions import Fraction
from functools import partial
from types import CodeType, FunctionType
from typing import Any

from checker.core.certificate import Refused

_PURE = (abs, divmod, int, len, max, min, range, Fraction)
_CONSTANTS = (int, float, str, bool, Fraction)


def require_stateless(function: Callable[..., Any]) -> None:
    """Check that a function reaches nothing but its arguments, constants and functions of the same sort.

    Raises:
        Refused: it has variables of another function, defaults or attributes, or uses something else.
    """
    seen: list[Any] = []
    waiting: list[Any] = [function]
    while waiting:
        one = waiting.pop()
        if type(one) is partial:
            waiting += [one.func, *one.args, *one.keywords.values()]
        elif type(one) in _CONSTANTS or any(one is pure for pure in _PURE) or any(one is other for other in seen):
            continue
        elif type(one) is FunctionType:
            waiting += _used_by(one)
            seen.append(one)
        else:
            raise Refused(f"{function!r} uses {one!r:.100}")


def _used_by(function: FunctionType) -> list[Any]:
    """Return what the names of a function's source stand for."""
    code, space = function.__code__, function.__globals__
    if function.__closure__ or function.__defaults__ or function.__kwdefaults__ or function.__dict__:
        raise Refused(f"{function!r} can remember its calls")
    if any(
        one.opname.startswith(("STORE_ATTR", "STORE_GLOBAL", "DELETE_", "IMPORT_")) for one in get_instructions(code)
    ):
        raise Refused(f"{function!r} changes something that stays")
    if any(type(constant) is CodeType for constant in code.co_consts):
        raise Refused(f"{function!r} makes functions of its own")
    named = {one.argval for one in get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    if missing := [name for name in named if name not in space and not hasattr(builtins, name)]:
        raise Refused(f"{function!r} uses {missing}")
    return [space[name] if name in space else getattr(builtins, name) for name in named]


def require_meanings(function: Callable[..., Any], **meanings: Any) -> None:
    """Check that names mean in a function's module what they mean elsewhere.

    Raises:
        Refused: one means something else.
    """
    for name, meaning in meanings.items():
        if function.__globals__.get(name, getattr(builtins, name, None)) is not meaning:
            raise Refused(f"{function.__module__} has a {name} of its own")
