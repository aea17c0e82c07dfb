"""Mutated copies of the mechanisms' modules, which the checker finds in the place of the true ones."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Sequence
from pathlib import Path

import pytest


def mutate(monkeypatch: pytest.MonkeyPatch, modules: Sequence[str], target: str, old: str, new: str) -> None:
    """Replace modules by fresh copies of themselves, one of which has a line that was changed.

    Args:
        monkeypatch: undoes it.
        modules: the names of the changed module and of those that import it, in the order in which they import.
        target: the name of the changed module.
        old: what is changed there, wherever it stands.
        new: what it becomes.
    """
    for name in modules:
        true = importlib.import_module(name)
        assert true.__file__ is not None
        source = Path(true.__file__).read_text("utf-8")
        assert name != target or old in source, f"{name} has no {old!r}"
        fresh = types.ModuleType(name)
        fresh.__file__, fresh.__package__ = true.__file__, true.__package__
        monkeypatch.setitem(sys.modules, name, fresh)
        package, _, attribute = name.rpartition(".")
        monkeypatch.setattr(sys.modules[package], attribute, fresh)
        changed = source.replace(old, new) if name == target else source
        exec(compile(changed, true.__file__, "exec"), fresh.__dict__)  # noqa: S102
