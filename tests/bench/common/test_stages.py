"""Parts of a call are timed without the parts that they call, and functions are put back."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from bench.common.stages import REST, nanoseconds_of


def test_each_part_is_timed_without_those_that_it_calls() -> None:
    """Clocks of half a millisecond and more: a part is never shorter than what it waits for itself."""
    places = SimpleNamespace()
    places.inner = lambda: time.sleep(0.002)

    def outer() -> None:
        time.sleep(0.001)
        places.inner()

    places.outer = outer
    parts = {"outer": ((places, "outer"),), "inner": ((places, "inner"),)}
    found = nanoseconds_of(lambda: (time.sleep(0.0005), places.outer()), parts, runs=3)
    assert set(found) == {"outer", "inner", REST}
    assert found["outer"] >= 1e6
    assert found["inner"] >= 2e6
    assert found[REST] >= 5e5
    assert places.outer is outer


def test_functions_are_put_back_if_the_work_fails() -> None:
    def fails() -> None:
        raise OSError("the work fails")

    places = SimpleNamespace(fails=fails)
    with pytest.raises(OSError, match="the work"):
        nanoseconds_of(lambda: places.fails(), {"part": ((places, "fails"),)}, runs=1)
    assert places.fails is fails
