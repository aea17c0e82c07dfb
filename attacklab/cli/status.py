"""Exit statuses of the command line."""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """How a command ends; 1 means that a claim was refuted (or a challenge is not solved)."""

    OK = 0
    """Nothing was refuted."""
    REFUTED = 1
    """A claim was refuted; of `challenge check`, what was handed in does not pass."""
    FAILED = 2
    """A usage error, an ERROR finding, nothing that could be decided, or a bug."""
    INTERRUPTED = 130
    """The user pressed Ctrl-C."""
