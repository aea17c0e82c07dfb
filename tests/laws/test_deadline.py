"""A deadline ends work wherever it is, and leaves alarms as they were."""

import math
import signal
import time
from types import FrameType

import pytest

from attacklab.laws import LawError
from attacklab.laws.deadline import Deadline, OutOfTime

SHORT = 0.3
"""Seconds; three ticks of the alarm."""


def endless() -> None:
    while True:
        pass


def stubborn() -> None:
    """Catches what is raised through it, several times."""
    for _ in range(3):
        try:
            endless()
        except BaseException:  # noqa: S112 - what a careless sampler does
            continue
    endless()


def test_work_that_never_ends_is_interrupted_and_what_is_raised_is_a_law_error() -> None:
    for work in (endless, stubborn, lambda: time.sleep(60)):
        began = time.monotonic()
        with pytest.raises(LawError, match=r"0\.3 s were not enough") as raised:
            Deadline(SHORT).run(work)
        assert type(raised.value) is OutOfTime
        assert time.monotonic() - began < 10


def test_what_ends_in_time_is_returned_and_no_alarm_is_left() -> None:
    before = signal.getsignal(signal.SIGALRM)
    assert Deadline(60.0).run(lambda: 7) == 7
    assert Deadline(math.inf).run(lambda: 8) == 8
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_an_alarm_that_was_set_before_rings_afterwards() -> None:
    rung: list[int] = []

    def ring(number: int, _: FrameType | None) -> None:
        rung.append(number)

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(OutOfTime):
            Deadline(SHORT).run(endless)
        until = time.monotonic() + 10
        while not rung and time.monotonic() < until:
            time.sleep(0.01)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rung == [signal.SIGALRM]
