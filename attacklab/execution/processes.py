"""Batches in processes of this machine."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from attacklab.execution.runners import Say
from attacklab.execution.worker_process import Call, WorkerProcesses
from attacklab.execution.workers import Load, Workers

STALE_SECONDS = 1.0
"""How long processes may continue with batches that were drawn ahead of a decision."""


class ProcessWorkers(Workers):
    """Processes of this machine, started when first needed; none of them outlives this process.

    Args:
        count: how many; one for each processor by default.
        load: as in `Workers`.
        say: as in `Workers`.

    Raises:
        UsageError: `count` is out of range.
    """

    def __init__(self, count: int | None = None, *, load: Load | None = None, say: Say = warnings.warn) -> None:
        super().__init__(None, processors() if count is None else count, load=load, say=say)
        self._processes = WorkerProcesses()

    def submit(self, job: bytes, call: Call) -> Future[Any]:
        """As in `Workers`."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.count)
        return self._executor.submit(self._processes.run, job, call)

    def drop(self, futures: Iterable[Future[Any]]) -> None:
        """As in `Workers`; processes that continue with them are killed after a moment."""
        begun = [future for future in futures if not future.cancel()]
        if wait(begun, STALE_SECONDS).not_done:
            self.close()

    def pids(self) -> list[int]:
        """The ids of the processes that run."""
        return self._processes.pids()

    def close(self) -> None:
        """Kill the processes: what they still do is no longer wanted."""
        self._processes.close()
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
        self._executor, self._processes = None, WorkerProcesses()


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
