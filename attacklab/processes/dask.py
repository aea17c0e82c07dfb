"""Batches in the workers of a Dask cluster, on any number of machines."""

from __future__ import annotations

import time
import warnings
from concurrent.futures import CancelledError, Future, wait
from typing import Any

from attacklab.model.errors import UsageError, WorkersGone
from attacklab.model.targets import in_one_line
from attacklab.processes.runners import Say
from attacklab.processes.worker import NoAnswer
from attacklab.processes.workers import Call, Load, Workers

CONNECTING_SECONDS = 10.0
"""How long a scheduler may take to answer."""

CONNECTED_SECONDS = 1.0
"""How often a scheduler is asked whether it has workers, while a batch is awaited."""

WORKERLESS_SECONDS = 60.0
"""How long a scheduler may be without workers: lost workers may be replaced."""


class DaskWorkers(Workers):
    """The workers of a Dask cluster, on any number of machines.

    Args:
        address: of its scheduler, such as `tcp://host:8786`.
        load: as in `Workers`.
        say: as in `Workers`.

    Raises:
        UsageError: Dask is not installed, the address is not valid, or the scheduler does not answer or has no workers.
    """

    def __init__(self, address: str, *, load: Load | None = None, say: Say = warnings.warn) -> None:
        try:
            import distributed.comm  # here, because it is optional
        except ImportError as error:
            raise UsageError("a scheduler needs Dask, which is not installed: pip install 'attacklab[dask]'") from error
        try:
            distributed.comm.get_address_host(address)  # given a bad one, a client would print a traceback
        except ValueError as error:
            message = f"{address!r} is not the address of a Dask scheduler ({error}); write tcp://HOST:PORT"
            raise UsageError(message) from error
        try:
            self._client = distributed.Client(address, timeout=CONNECTING_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            message = f"no Dask scheduler answers at {address} ({in_one_line(error)}); is it running?"
            raise UsageError(message) from error
        threads = sum(self._client.nthreads().values())
        if not threads:
            self._client.close()
            raise UsageError(f"the Dask scheduler at {address} has no workers; start one with: dask worker {address}")
        self._address, self._killed = address, distributed.KilledWorker
        self._gone: str | None = None
        # Dask knows a pure call by its arguments: made again, it would be the call that was given up before.
        super().__init__(self._client.get_executor(pure=False), threads, load=load, say=say)

    def submit(self, job: bytes, call: Call) -> Future[Any]:
        """As in `Workers`."""
        if self._gone is None:
            return super().submit(job, call)
        failed: Future[Any] = Future()
        failed.set_exception(CancelledError())
        return failed

    def outcome(self, future: Future[Any]) -> Any:
        """As in `Workers`, but if the scheduler has lost its workers, this does not wait for ever."""
        seen = time.monotonic()
        while self._gone is None and not wait([future], CONNECTED_SECONDS).done:
            if self._has_workers():
                seen = time.monotonic()
            elif time.monotonic() - seen > WORKERLESS_SECONDS:
                self._gone = f"has had no workers for {WORKERLESS_SECONDS:g} s"
        if self._gone is None:
            try:
                return future.result()
            except self._killed as death:
                return NoAnswer("every Dask worker that tried a batch", f"died ({death.allowed_failures + 1} of them)")
            except CancelledError:
                self._gone = "is gone, or gave up a batch"
        raise WorkersGone(f"the Dask scheduler at {self._address} {self._gone}; start the audit again")

    def _has_workers(self) -> bool:
        try:
            return bool(self._client.nthreads())
        except OSError:
            return False

    def close(self) -> None:
        """Leave the cluster, which keeps running."""
        assert self._executor is not None  # noqa: S101 - made by the constructor
        self._executor.shutdown(wait=False)
        self._client.close()
