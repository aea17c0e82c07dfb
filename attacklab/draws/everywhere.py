"""Replaces objects by others in every place that the garbage collector finds to refer to them.

So generators made earlier, their methods, and samplers imported by name are replaced in modules, closures, defaults,
containers and objects alike.
"""

from __future__ import annotations

import functools
import gc
import inspect
from collections.abc import Callable, Iterable, Sequence
from types import BuiltinMethodType, CellType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

Undo = list[Callable[[], object]]


def exchange(pairs: Iterable[tuple[Any, Any]], undo: Undo, *, in_modules_only: bool = False) -> None:
    """Replace the first object of each pair by the second wherever something refers to it.

    Args:
        pairs: pairs of an old object and the new one.
        undo: a list; functions that restore the old objects are appended to it.
        in_modules_only: replace only in the variables of modules, and not in this package.
    """
    olds, news = zip(*pairs, strict=True)
    while olds:
        instead = {id(old): new for old, new in zip(olds, news, strict=True)}
        own = (id(olds), id(news))
        more_olds: list[Any] = []
        more_news: list[Any] = []
        for holder in gc.get_referrers(*olds):  # a tuple, which is passed as it is, and so is not a copy to be found
            if id(holder) in own or isinstance(holder, FrameType):
                continue
            if in_modules_only:
                if _is_foreign_module(holder):
                    _in_dict(holder, instead, undo)
                continue
            made = _exchanged_in(holder, instead, undo)
            if made is not None:
                more_olds.append(holder)
                more_news.append(made)
        olds, news = tuple(more_olds), tuple(more_news)


def is_held_by_code(value: Any, own: list[Any]) -> bool:
    """Whether a variable, default, closure or container refers to an object. Attributes of objects do not count.

    Args:
        value: the object.
        own: a list of this package that refers to the object; it does not count.
    """
    containers = (list, tuple, CellType, MethodType, BuiltinMethodType, FunctionType)
    for holder in gc.get_referrers(value):
        if isinstance(holder, dict):
            owner = _owner(holder)
            if owner is None or isinstance(owner, type):
                return True
        elif isinstance(holder, containers) and holder is not own:
            return True
    return False


def _exchanged_in(holder: Any, instead: dict[int, Any], undo: Undo) -> Any:
    """In a holder, replace objects by `instead[id(object)]`. Return a new holder if it is immutable, else None."""
    if type(holder) is tuple:
        return tuple(instead.get(id(value), value) for value in holder)
    if isinstance(holder, MethodType | BuiltinMethodType):
        return getattr(instead.get(id(holder.__self__)), holder.__name__, None)
    if type(holder) is dict:
        owner = _owner(holder) if _is_of_a_class(holder) else None
        if owner is not None:
            _in_attributes(owner, list(holder), instead, undo)
        else:
            _in_dict(holder, instead, undo)
    elif type(holder) is list:
        _in_list(holder, instead, undo)
    elif isinstance(holder, CellType):
        _put(functools.partial(setattr, holder, "cell_contents"), holder.cell_contents, instead, undo)
    elif isinstance(holder, functools.partial):
        _in_partial(holder, instead, undo)
    elif isinstance(holder, FunctionType):
        _put(functools.partial(setattr, holder, "__defaults__"), holder.__defaults__, instead, undo)
    elif not isinstance(holder, type | ModuleType):
        _in_attributes(holder, names_held(holder), instead, undo)
    return None


def _put(setter: Callable[[Any], object], value: Any, instead: dict[int, Any], undo: Undo) -> None:
    """If `instead` has a replacement for a value, pass it to `setter`, and append the way back to `undo`."""
    if id(value) in instead:
        setter(instead[id(value)])
        undo.append(functools.partial(setter, value))


def _in_dict(holder: dict[Any, Any], instead: dict[int, Any], undo: Undo) -> None:
    for key, value in list(holder.items()):
        _put(functools.partial(holder.__setitem__, key), value, instead, undo)


def _in_list(holder: list[Any], instead: dict[int, Any], undo: Undo) -> None:
    for place, value in enumerate(holder):
        _put(functools.partial(holder.__setitem__, place), value, instead, undo)


def _in_attributes(holder: Any, names: Sequence[str], instead: dict[int, Any], undo: Undo) -> None:
    set_ = type.__setattr__ if isinstance(holder, type) else object.__setattr__
    for name in names:
        value = inspect.getattr_static(holder, name, None) if isinstance(holder, type) else getattr(holder, name, None)
        _put(functools.partial(set_, holder, name), value, instead, undo)


def _in_partial(holder: Any, instead: dict[int, Any], undo: Undo) -> None:
    before = holder.__reduce__()[2]
    after = tuple(instead.get(id(part), part) for part in before)
    holder.__setstate__(after)
    undo.append(functools.partial(holder.__setstate__, before))


def names_held(holder: Any) -> list[str]:
    """Return the names of the attributes that an object has in its dictionary or its slots."""
    slots = [vars(kind).get("__slots__", ()) for kind in type(holder).__mro__]
    named = [name for names in slots for name in ([names] if isinstance(names, str) else names)]
    return [*getattr(holder, "__dict__", ()), *(name for name in named if not name.startswith("__"))]


def _owner(attributes: dict[Any, Any]) -> Any:
    """Return the object or class whose attributes a dictionary holds; None for a module's or any other dictionary."""
    if "__builtins__" in attributes:
        return None
    for holder in gc.get_referrers(attributes):
        if isinstance(holder, type):
            if vars(holder).keys() == attributes.keys():  # it shows only a view of its dictionary
                return holder
        elif not isinstance(holder, FrameType | ModuleType) and getattr(holder, "__dict__", None) is attributes:
            return holder
    return None


def _is_of_a_class(attributes: dict[Any, Any]) -> bool:
    """Whether a dictionary may hold the attributes of a class."""
    return "__module__" in attributes and "__doc__" in attributes


def _is_foreign_module(holder: Any) -> bool:
    package = __name__.partition(".")[0]
    is_module = isinstance(holder, dict) and "__spec__" in holder and "__name__" in holder
    return is_module and not str(holder["__name__"]).startswith((f"{package}.", "numpy.random._"))
