"""Exit statuses of the command line."""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """How a command ends; 1 means that a claim was refuted, and nothing else."""

    OK = 0
    """Nothing was refuted."""
    REFUTED = 1
    """A claim was refuted."""
    FAILED = 2
    """A usage error, an ERROR finding, nothing that could be decided, or a bug."""
    INTERRUPTED = 130
    """The user pressed Ctrl-C."""
