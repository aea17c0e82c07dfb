"""A module of settings that samplers of the zoo import inside their functions, or hold in objects."""

from __future__ import annotations

from typing import Any

rejections = 0

_computed = {"attempts": 0}


def __getattr__(name: str) -> Any:
    if name == "attempts":
        return _computed["attempts"]
    raise AttributeError(name)


def set_attempts(number: int) -> None:
    """Set what the attribute `attempts` gives."""
    _computed["attempts"] = number
