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
STUCK_SECONDS = 1.0
"""A run is reported as stuck if it has lasted so long, or half of all the time."""

_OURS = str(Path(__file__).parents[1])


class OutOfTime(LawError):
    """The time for finding a law is up."""

    def __init__(self, seconds: float, stuck: str | None = None) -> None:
        """Put together the message.

        Args:
            seconds: how long was allowed.
            stuck: where the sampler is in a run that has lasted long, or None.
        """
        super().__init__(f"{seconds:.3g} s were not enough" + (f"; {stuck}" if stuck else ""))
        self.stuck = stuck


class _Rang(BaseException):
    """The time is up."""


class Deadline:
    """Seconds from now.

    Args:
        seconds: how many; infinite for no deadline.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._run: FrameType | None = None
        self._since = 0.0
        self._where = ""

    @property
    def left(self) -> float:
        """How many seconds are left, at least 0."""
        return max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """End the work of `run` if the time is up. That work calls this now and then."""
        if not self.left:
            raise _Rang

    def run(self, work: Callable[[], Result]) -> Result:
        """Do this work until the deadline.

        An alarm that was set before is set again afterwards, for what is then left of its time.

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
            raise OutOfTime(self._seconds, self._stuck()) from None
        finally:
            self._run = None

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
        self._watch(inside)
        self.check()

    def _watch(self, frames: list[FrameType]) -> None:
        """Note which run of the sampler is under way, and where it is; none if the search itself is at work."""
        run = None
        for frame in frames:
            if frame.f_code.co_filename.startswith(_OURS):
                break
            run = frame
        if run is None or run is not self._run:
            self._run, self._since = run, time.monotonic()
        if run is not None:
            inner = next(frame for frame in frames if frame.f_code.co_filename == run.f_code.co_filename)
            self._where = f"{Path(inner.f_code.co_filename).name}:{inner.f_lineno}"

    def _stuck(self) -> str | None:
        lasted = time.monotonic() - self._since
        if self._run is None or lasted < min(STUCK_SECONDS, self._seconds / 2):
            return None
        return f"one run of the sampler has lasted {lasted:.3g} s and is at {self._where}; make sure that it ends"


def _is_collecting(frames: list[FrameType]) -> bool:
    """Whether a callback of the garbage collector is at work: what is raised there is lost."""
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    return any(frame.f_code in callbacks for frame in frames)


def _guarded(work: Callable[[], Result]) -> Result:
    """Only while this function is on the stack may an alarm raise."""
    return work()


def _frames(frame: FrameType | None) -> list[FrameType] | None:
    """The frames of the work, innermost first; None if none is under way."""
    frames: list[FrameType] = []
    while frame is not None:
        if frame.f_code is _guarded.__code__:
            return frames
        frames.append(frame)
        frame = frame.f_back
    return None
