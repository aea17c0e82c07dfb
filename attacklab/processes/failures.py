"""What can go wrong with a target in another process: with the process, or with the release that it runs."""

from __future__ import annotations

import enum

from attacklab.model.errors import TargetError


class ChildFailure(enum.StrEnum):
    """What can go wrong with a process."""

    LOADING = "cannot be loaded"
    """The Python target could not be imported, or is not a target."""
    CRASH = "crash"
    """The process ended without an answer."""
    TIME_LIMIT = "time limit"
    """No answer in time, from a process that was still computing."""
    HANG = "hang"
    """No answer in time, from a process that was idle."""
    MEMORY_LIMIT = "memory limit"
    """The process asked for more memory than it may have."""
    GARBAGE = "garbage"
    """The answer does not follow the protocol."""
    COUNT = "wrong number of outputs"
    """Too many outputs, or too few."""
    ARITHMETIC = "arithmetic mode"
    """The process flushes subnormal numbers to zero or does not round to nearest."""


class ReleaseError(Exception):
    """The release in the other process raised an exception, or the program answered that it failed.

    It stands for the exception that a release in this process would raise: an adversary may see it, and the process
    keeps running. So, unlike a `ChildError`, it is an answer, and not one of this package's own errors.
    """


class ChildError(TargetError):
    """The process failed, so there is no answer.

    Attributes:
        failure: how it failed.
        told: what is known of it.
    """

    def __init__(self, failure: ChildFailure, message: str) -> None:
        super().__init__(f"{failure}: {message}")
        self.failure, self.told = failure, message
