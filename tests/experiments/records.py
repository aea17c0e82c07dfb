"""What experiments write, for the tests of experiments."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from attacklab.findings import record, to_text
from attacklab.reporting.experiment import Settings

Data: TypeAlias = dict[str, Any]


def quick_record(experiment: Any, seed: int = 0) -> Data:
    """What an experiment, or its module, writes in a quick run, read again; the timings among it."""
    once = experiment.collect(Settings(seed=seed, quick=True))
    parts = record([*once.findings, *once.timed_findings], measured=once.measured, timings=once.timings)
    read: Data = json.loads(to_text(parts))
    return read
