"""Which cases of a long list the default tests run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def first_of_each(cases: Iterable[Any], kind: Callable[[Any], object] = lambda case: case[0]) -> list[Any]:
    """Parameters for pytest: the first case of each kind, and the others marked as slow."""
    seen: set[object] = set()
    marked = []
    for case in cases:
        of = kind(case)
        values = case if isinstance(case, tuple) else (case,)
        marked.append(pytest.param(*values, marks=pytest.mark.slow) if of in seen else case)
        seen.add(of)
    return marked
