"""What can go wrong with a target in another process: with the process, or with the release that it runs."""

from __future__ import annotations

import enum

from attacklab.model.errors import TargetError


class ChildFailure(enum.StrEnum):
    """What can go wrong with a process."""

    LOADING = "cannot be loaded"  # the Python target could not be imported, or is not a target
    CRASH = "crash"  # it ended without an answer
    TIME_LIMIT = "time limit"  # no answer in time, while it was still computing
    HANG = "hang"  # no answer in time, and it was idle
    MEMORY_LIMIT = "memory limit"  # it asked for more memory than it may have
    GARBAGE = "garbage"  # the answer does not follow the protocol
    COUNT = "wrong number of outputs"  # too many, or too few
    ARITHMETIC = "arithmetic mode"  # it flushes subnormal numbers to zero or does not round to nearest


class ReleaseError(Exception):
    """The release in the other process raised an exception, or the program answered that it failed.

    It stands for the exception that a release in this process would raise: an adversary may see it, and the process
    keeps running. So, unlike a `ChildError`, it is an answer, and not one of this package's own errors.
    """


class ChildError(TargetError):
    """The process failed in a certain way, so there is no answer; `told` is what is known of it."""

    def __init__(self, failure: ChildFailure, message: str) -> None:
        super().__init__(f"{failure}: {message}")
        self.failure, self.told = failure, message
