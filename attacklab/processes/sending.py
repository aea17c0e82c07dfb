"""What can be sent to another Python process: all that can be imported there, by its name, and the rest by value.

By value go closures, lambdas, what `__main__` defines, and all of a module that was loaded from a file outside of
`sys.path`.
"""

from __future__ import annotations

import importlib.machinery
import io
import random
import sys
import threading
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import cloudpickle
import numpy as np

from attacklab.model.errors import TargetError, in_one_line


class CannotBeSent(TargetError):
    """A function, an argument or a result cannot be sent to another process."""


_GENERATORS = ((random, "_inst"), (np.random.mtrand, "_rand"))
"""The global generators. A function such as `random.random` is a method of one, and would be sent with its state."""

_setting = threading.Lock()
"""Which modules are pickled by value is a setting of all of cloudpickle."""


def sent(name: str, *things: Any) -> bytes:
    """Pickle some things for another process; `pickle.loads` reads them there as a tuple.

    Raises:
        CannotBeSent: one of the things cannot be pickled; the message calls them by the name.
    """
    file = io.BytesIO()
    with _setting:
        pickler = _Pickler(file)
        try:
            pickler.dump(things)
        except Exception as error:  # whatever the __reduce__ of somebody's class raises
            raise CannotBeSent(f"{name} cannot be sent to another process: {in_one_line(error)}") from error
        finally:
            for module in pickler.registered:
                cloudpickle.unregister_pickle_by_value(module)
    return file.getvalue()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc] # it has no types
    """Pickles by value what the other process could not import."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.registered: list[ModuleType] = []
        self._known = {"__main__", *cloudpickle.list_registry_pickle_by_value()}

    def reducer_override(self, thing: Any) -> Any:
        for module, name in _GENERATORS:
            if thing is getattr(module, name):
                return getattr, (module, name)
        if isinstance(thing, type | FunctionType | ModuleType):
            self._register(thing.__name__ if isinstance(thing, ModuleType) else thing.__module__)
        return super().reducer_override(thing)

    def _register(self, name: str | None) -> None:
        """Have cloudpickle send a module by value, if the other process could not import it."""
        module = sys.modules.get(name or "")
        if name is not None and module is not None and name not in self._known:
            self._known.add(name)
            if not _is_found(name):
                cloudpickle.register_pickle_by_value(module)
                self.registered.append(module)


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
