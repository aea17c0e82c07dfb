"""What experiments write, for the tests of experiments."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from attacklab.findings import record, to_text
from attacklab.reporting.experiment import Settings

Data: TypeAlias = dict[str, Any]


def quick_record(experiment: Any, seed: int = 0) -> Data:
    """What an experiment, or its module, writes in a quick run, read again."""
    once = experiment.collect(Settings(seed=seed, quick=True))
    read: Data = json.loads(to_text(record(once.findings, measured=once.measured)))
    return read
