"""A deadline that ends the search for a law wherever it is, even in a sampler that draws nothing and never ends.

In the main thread of a POSIX system an alarm (`signal.setitimer`) rings ten times a second. Once the time is up it
raises through the sampler; what it raises is not an `Exception`, and it rings again if the sampler catches even that.
(A loop that catches every `BaseException` in every round cannot be ended so.) In other threads, and on other systems,
only `check` ends the search, which is called between runs.
"""

from __future__ import annotations

import gc
import math
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TypeVar

from attacklab.draws.errors import LawError

Result = TypeVar("Result")

TICK_SECONDS = 0.1

_OURS = str(Path(__file__).parents[1])


class OutOfTime(LawError):
    """The time for finding a law is up.

    Attributes:
        where: the file and the line that the sampler had reached; empty if no sampler was running.
    """

    def __init__(self, seconds: float, where: str = "") -> None:
        super().__init__(f"{seconds:.3g} s were not enough" + (f"; the sampler was at {where}" if where else ""))
        self.where = where


class _Rang(BaseException):
    """Raised when the time is up. It is not an `Exception`, so that most samplers do not catch it."""


class Deadline:
    """A deadline a number of seconds from now.

    Args:
        seconds: the seconds until the deadline; infinite for no deadline.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._where = ""

    @property
    def left(self) -> float:
        """How many seconds are left, at least 0."""
        return max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise if the time is up, which ends `run`. The work calls this now and then."""
        if not self.left:
            raise _Rang

    def run(self, work: Callable[[], Result]) -> Result:
        """Call `work` and return its result, but interrupt it at the deadline.

        An alarm that was set before is set again afterwards, for the rest of its time.

        Raises:
            OutOfTime: the time is up.
        """
        try:
            if math.isinf(self._seconds):
                return work()
            self.check()
            if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
                return _guarded(work)
            return self._alarmed(work)
        except _Rang:
            raise OutOfTime(self._seconds, self._where) from None

    def _alarmed(self, work: Callable[[], Result]) -> Result:
        began = time.monotonic()
        handler = signal.signal(signal.SIGALRM, self._ring)
        delay, interval = signal.setitimer(
            signal.ITIMER_REAL, min(TICK_SECONDS, self.left or TICK_SECONDS), TICK_SECONDS
        )
        try:
            return _guarded(work)
        finally:  # an alarm that rings here raises nothing: `_guarded` has ended
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, handler)
            if delay:
                signal.setitimer(signal.ITIMER_REAL, max(delay - (time.monotonic() - began), 1e-3), interval)

    def _ring(self, _signal: int, frame: FrameType | None) -> None:
        inside = _frames(frame)
        if inside is None or _is_collecting(inside):
            return
        file = inside[0].f_code.co_filename
        self._where = "" if file.startswith(_OURS) else f"{Path(file).name}:{inside[0].f_lineno}"
        self.check()


def _is_collecting(frames: list[FrameType]) -> bool:
    """Whether a callback of the garbage collector is among the frames: an exception raised there is lost."""
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    return any(frame.f_code in callbacks for frame in frames)


def _guarded(work: Callable[[], Result]) -> Result:
    """Call `work`. An alarm raises only while this function is on the stack."""
    return work()


def _frames(frame: FrameType | None) -> list[FrameType] | None:
    """Return the frames inside `_guarded`, innermost first; None if `_guarded` is not on the stack."""
    frames: list[FrameType] = []
    while frame is not None:
        if frame.f_code is _guarded.__code__:
            return frames
        frames.append(frame)
        frame = frame.f_back
    return None
