"""`X_fast` stands beside an `X` whose law it has, or in the `exact_fast` module beside that of `X`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import FunctionType, ModuleType

import pytest

import mechanisms

FAST = "_fast"
DRAWN_ONE_BY_ONE = ("trials",)
"""The parameters that a fast path takes and its reference does not."""


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(mechanisms.__path__, "mechanisms."):
        yield importlib.import_module(found.name)


def functions_of(module: ModuleType) -> dict[str, FunctionType]:
    """The public functions that a module defines."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__ and not name.startswith("_")
    }


FAST_PATHS = [
    pytest.param(module, function, id=name)
    for module in modules()
    for name, function in functions_of(module).items()
    if name.endswith(FAST)
]


def reference_of(module: ModuleType, name: str) -> FunctionType | None:
    """The function without `_fast` in the same module, or in the one whose name lacks it."""
    places = [module]
    if module.__name__.endswith(FAST):
        places.append(importlib.import_module(module.__name__.removesuffix(FAST)))
    for place in places:
        reference = functions_of(place).get(name.removesuffix(FAST))
        if reference is not None:
            return reference
    return None


def test_there_are_fast_paths_to_look_at() -> None:
    assert len(FAST_PATHS) == 16


@pytest.mark.parametrize(("module", "fast"), FAST_PATHS)
def test_a_fast_path_has_a_reference_beside_it_that_takes_the_same(module: ModuleType, fast: FunctionType) -> None:
    """The same parameters with the same defaults: a base, a grid or a relation of its own would be another law."""
    reference = reference_of(module, fast.__name__)
    assert reference is not None
    taken, referred = (inspect.signature(function).parameters for function in (fast, reference))
    assert {name: taken[name] for name in taken if name not in DRAWN_ONE_BY_ONE} == dict(referred)


def test_every_fast_module_stands_beside_the_module_of_its_references() -> None:
    names = {module.__name__ for module in modules()}
    assert {name.removesuffix(FAST) for name in names if name.endswith(FAST)} <= names
