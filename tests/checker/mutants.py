"""Mechanisms with an error: a piece of their source replaced, in the module where they are."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

import pytest


def mutate(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str) -> None:
    """Replace a piece of the source of a function, method or property, which `owner` has under a name."""
    found = vars(owner)[name]
    function = found.fget if isinstance(found, property) else found
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, f"{old!r} is {source.count(old)} times in {name}"
    made: dict[str, Any] = {}
    exec(compile(source.replace(old, new), f"<mutant of {name}>", "exec"), function.__globals__, made)  # noqa: S102
    monkeypatch.setattr(owner, name, made[function.__name__])
