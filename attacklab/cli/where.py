"""Where outputs are drawn, by the options: in this process, in others, or in the workers of a Dask scheduler."""

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any

from attacklab.libraries import Library
from attacklab.model.errors import UsageError, in_one_line

LONG_SECONDS = 10.0
"""Seconds of drawing after which one process per processor is started, unless --workers says otherwise."""

CONNECTING_SECONDS = 10.0
"""How long a Dask scheduler may take to answer."""


@contextlib.contextmanager
def executor(workers: str | None, library: Library | None) -> Iterator[tuple[Executor | None, float]]:
    """Yield an executor that draws outputs, or None for this process, and the seconds of drawing after which it starts.

    A library that no seed replays runs in this process only. `workers` is the value of --workers.
    """
    count = int(workers) if workers and workers.lstrip("-").isdecimal() else None
    if count is not None and count < 1:
        raise UsageError(f"--workers must be at least 1, or the address of a Dask scheduler, not {workers}")
    if library is not None and library.unseeded:
        if workers is not None and count != 1:
            raise UsageError(f"no seed replays {library.name}, so it runs in one process; leave --workers out")
        count = 1
    if count == 1:
        yield None, 0.0
        return
    with _cluster(workers) if workers and not count else Processes(count) as there:
        yield there, 0.0 if workers else LONG_SECONDS


class Processes(Executor):
    """Processes of this machine, started when first needed, and started anew after one of them has died."""

    def __init__(self, count: int | None = None) -> None:
        self._count = count  # None for one a processor
        self._started: Any = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a call in one of the processes, as any executor does; start them anew if one has died."""
        from loky import get_reusable_executor  # here, because few audits need it

        for _ in range(2):
            self._started = get_reusable_executor(self._count, timeout=None, initializer=_end_with_parent)
            with contextlib.suppress(BrokenExecutor):  # a worker has died since it was asked for
                future: Future[Any] = self._started.submit(fn, *args, **kwargs)
                return future
        raise BrokenExecutor("processes of this machine die as soon as they are started")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:  # noqa: ARG002 - the interface
        """End the processes. Nobody waits for their work any more."""
        if self._started is not None:
            logging.getLogger("concurrent.futures").disabled = True  # it would call what was given up a fault of loky
            self._started.shutdown(wait=wait, kill_workers=True)


def _end_with_parent() -> None:
    """End this process when its parent has ended for any reason. Ignore Ctrl-C, which the parent handles."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _cluster(address: str) -> Iterator[Executor]:
    """Yield an executor for the workers of the Dask scheduler at an address. The cluster keeps running afterwards."""
    try:
        import distributed.comm  # here, because it is optional
    except ImportError as error:
        raise UsageError("a scheduler needs Dask, which is not installed: in a clone, pip install '.[dask]'") from error
    try:
        distributed.comm.get_address_host(address)  # given a bad one, a client would print a traceback
        client = distributed.Client(address, timeout=CONNECTING_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        message = f"no Dask scheduler answers at {address!r} ({in_one_line(error)}); write tcp://HOST:PORT"
        raise UsageError(message) from error
    with client:
        if not client.nthreads():
            raise UsageError(f"the Dask scheduler at {address} has no workers; start one with: dask worker {address}")
        # Dask knows a pure call by its arguments: made again, it would be the call that was given up before.
        workers: Executor = client.get_executor(pure=False)
        yield workers
        workers.shutdown(wait=False)
