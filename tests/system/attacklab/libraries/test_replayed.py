"""Real libraries, replayed as they are installed: what was reported of them in public is found, and repairs are not accused.

The journey: somebody uses a library, and runs `attacklab replay` on that code in the library's own environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from attacklab.model.findings import Finding, Severity, Verdict, read_record

ROOT = Path(__file__).parents[4]
VIOLATED, NOT_DETECTED = Verdict.VIOLATED, Verdict.NOT_DETECTED
TOO_LITTLE = "the noise is too small for how far the value moves"


class Row(NamedTuple):
    """A target in an environment, and what a replay of it says.

    Attributes:
        environment: by its folder.
        target: in `examples/replay`.
        flaw: that is named; empty where there is none.
        within: the line of the library that is named, by the code that stands there.
        is_note: whether the output mixes noisy numbers, so that what is spent is a note.
    """

    environment: str
    target: str
    flaw: str = ""
    within: str = ""
    is_note: bool = False


ROWS = [
    Row("diffprivlib-0.6.6", "regression.py:one_bound", TOO_LITTLE, "mono_coef_2[i, i] = mech.randomise", is_note=True),
]
