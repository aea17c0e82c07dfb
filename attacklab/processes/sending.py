"""What can be sent to another Python process: all that can be imported there, by its name, and the rest by value.

By value go closures, lambdas, what `__main__` defines, and all of a module that was loaded from a file outside of
`sys.path`.
"""

from __future__ import annotations

import importlib.machinery
import io
import pickle
import random
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import cloudpickle
import numpy as np

from attacklab.model.errors import TargetError, in_one_line


class CannotBeSent(TargetError):
    """A function, an argument or a result cannot be sent to another process."""


_GENERATORS: dict[str, object] = {
    "random": random.getrandbits.__self__,  # type: ignore[attr-defined] # functions of the module are its methods
    "numpy.random": np.random.bytes.__self__,  # type: ignore[attr-defined]
}
"""The global generators. A function such as `random.random` is a method of one, and would be sent with its state."""

_sent_classes: weakref.WeakSet[type] = weakref.WeakSet()
"""Classes that this process has sent by value."""

_setting = threading.Lock()
"""Which modules are pickled by value is a setting of all of cloudpickle."""


def sent(*things: Any) -> bytes:
    """Pickle some things for another process, or for the one that asked; `received` reads them there as a tuple.

    Raises:
        CannotBeSent: one of the things cannot be pickled; the message names it.
    """
    file = io.BytesIO()
    with _setting:
        pickler = _Pickler(file)
        try:
            pickler.dump(things)
        except Exception as error:  # whatever the __reduce__ of somebody's class raises
            raise CannotBeSent(unsendable(_culprit(things), error)) from error
        finally:
            for module in pickler.registered:
                cloudpickle.unregister_pickle_by_value(module)
    return file.getvalue()


def received(data: bytes) -> Any:
    """What `sent` pickled.

    cloudpickle knows a class that it has sent by value: in what comes back it is the class that it was. It would also
    give it the attributes that it has there; here it keeps its own.
    """
    return _Unpickler(io.BytesIO(data)).load()


def name_of(thing: Any) -> str:
    """What messages call a thing that is sent."""
    return getattr(thing, "__qualname__", None) or f"an object of type {type(thing).__qualname__}"


def unsendable(name: str, error: BaseException) -> str:
    """A message in one line."""
    reason = " ".join(str(error).split()) if isinstance(error, TypeError | pickle.PicklingError) else in_one_line(error)
    return f"{name} cannot be sent to another process: {reason}"


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc] # it has no types
    """Pickles by value what the other process could not import."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.registered: list[ModuleType] = []
        self._known = {"__main__", *cloudpickle.list_registry_pickle_by_value()}

    def reducer_override(self, thing: Any) -> Any:
        for name, generator in _GENERATORS.items():
            if thing is generator:
                return _generator, (name,)
        if isinstance(thing, type | FunctionType | ModuleType):
            self._register(thing.__name__ if isinstance(thing, ModuleType) else thing.__module__)
        reduced = super().reducer_override(thing)
        if isinstance(thing, type) and isinstance(reduced, tuple):
            _sent_classes.add(thing)
        return reduced

    def _register(self, name: str | None) -> None:
        """Have cloudpickle send a module by value, if the other process could not import it."""
        module = sys.modules.get(name or "")
        if name is not None and module is not None and name not in self._known:
            self._known.add(name)
            if not _is_found(name):
                cloudpickle.register_pickle_by_value(module)
                self.registered.append(module)


def _generator(name: str) -> object:
    return _GENERATORS[name]


def _is_found(name: str) -> bool:
    """Whether an import of this name in a new process finds the module that this process has."""
    parent, _, _ = name.rpartition(".")
    if parent and not (parent in sys.modules and _is_found(parent)):
        return False
    path = sys.modules[parent].__path__ if parent else None
    spec = getattr(sys.modules[name], "__spec__", None)
    located = next(filter(None, (finder.find_spec(name, path) for finder in sys.meta_path)), None)
    return located is not None and spec is not None and _place(located) == _place(spec)


def _place(spec: importlib.machinery.ModuleSpec) -> str | None:
    return str(Path(spec.origin).resolve()) if spec.has_location and spec.origin else spec.origin


def _culprit(things: Sequence[Any]) -> str:
    """The name of the first that cannot be pickled."""
    for thing in (part for whole in things for part in (whole if isinstance(whole, tuple) else (whole,))):
        try:
            cloudpickle.dumps(thing)
        except Exception:  # as above
            return name_of(thing)
    return name_of(things[0])


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return partial(_unless_sent, found) if name == "_class_setstate" else found


def _unless_sent(set_state: Callable[[type, Any], type], kind: type, state: Any) -> type:
    return kind if kind in _sent_classes else set_state(kind, state)
