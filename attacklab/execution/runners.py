"""Where batches run: in this process, in others, or in the workers of any `concurrent.futures.Executor` (Dask's too).

Results come back in the order of the batches, and those that were drawn ahead of a decision are thrown away, so that a
finding does not depend on where it was made. A worker gets a batch by names and numbers alone, and runs the target in a
process of its own (see `worker`): a target that makes its process die fails the scenario that it did so in, no other.

Source of the executors' interface: PEP 3148.
"""

from __future__ import annotations

import itertools
import operator
import os
import pickle
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, Protocol, TypeAlias

from attacklab.errors import TargetError, UsageError, WorkersGone
from attacklab.execution.batches import Batch, Bench, Outline, Sample
from attacklab.execution.worker import Call, Died, Failed, WorkerProcesses, run_in_worker_process
from attacklab.findings import Counts
from attacklab.targets import Target, in_one_line

Load: TypeAlias = Callable[[], Target]
Say: TypeAlias = Callable[[str], object]
Results: TypeAlias = Generator[tuple[Counts, ...], None, None]

AHEAD = 4
"""Batches under way for each worker, so that none waits while a slow one is awaited."""

STALE_SECONDS = 1.0
"""How long processes may go on with batches that were drawn ahead of a decision."""

WATCHED_SECONDS = 3.0
"""How long the rate is measured before it is believed."""

LONG_SECONDS = 20.0
"""A sample that would take longer than this here is worth starting processes for."""

CONNECTING_SECONDS = 10.0
"""How long a scheduler may take to answer."""

CONNECTED_SECONDS = 1.0
"""How often a scheduler is asked whether it has workers while a batch is awaited."""

WORKERLESS_SECONDS = 60.0
"""How long a scheduler may have no workers: those that it lost may be replaced."""


class Runner(Protocol):
    """Runs what a `Bench` can do, somewhere."""

    def outlines(self, attack: int) -> tuple[Outline, ...]:
        """The scenarios of an attack.

        Raises:
            TargetError: the target failed while it was probed.
        """
        ...

    def counts(self, sample: Sample, batches: Iterator[Batch]) -> Results:
        """The counts of the sample's events in each of these batches, in order.

        Raises:
            TargetError: the target failed.
        """
        ...


class Here:
    """Runs batches in this process, each when it is asked for."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def outlines(self, attack: int) -> tuple[Outline, ...]:
        """As in `Runner`."""
        return self._bench.outlines(attack)

    def counts(self, sample: Sample, batches: Iterator[Batch]) -> Results:
        """As in `Runner`."""
        for batch in batches:
            yield self._bench.counts(sample, batch)


class Workers:
    """Workers behind an executor that somebody else made, and ends; each keeps a process of its own for the target.

    Args:
        executor: where to run; its workers need this package and what the target needs.
        count: how many batches it runs at once, at least 1.
        load: makes the target in a worker, and can be pickled; by default the target itself is.
        say: is told, in one line, of a target that cannot leave this process.

    Raises:
        ValueError: `count` is out of range.
    """

    def __init__(
        self, executor: Executor | None, count: int, *, load: Load | None = None, say: Say = warnings.warn
    ) -> None:
        if count < 1:
            raise UsageError(f"workers must be at least 1, not {count}")
        self.count, self.say = count, say
        self._executor, self._load = executor, load

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def runner(self, bench: Bench) -> Runner:
        """Something that runs a bench in these workers; here, where the target cannot be pickled."""
        load = self._load or partial(_itself, bench.target)
        try:
            job = pickle.dumps((load, bench.attacks, bench.seed, bench.target.version))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            self.say(f"{bench.target.name} exists in this process only, so it runs here ({in_one_line(error)})")
            return Here(bench)
        return _Elsewhere(bench.target.name, job, self)

    def submit(self, job: bytes, call: Call) -> Future[Any]:
        """Have a worker run a call; if they are gone, the future says so."""
        assert self._executor is not None  # noqa: S101 - only a subclass that makes it later passes None
        try:
            return self._executor.submit(run_in_worker_process, job, call)
        except BrokenExecutor as death:
            failed: Future[Any] = Future()
            failed.set_exception(death)
            return failed

    def outcome(self, future: Future[Any]) -> Any:
        """Wait for what a worker has to say.

        Raises:
            WorkersGone: it, and the others with it, says nothing any more.
        """
        try:
            return future.result()
        except BrokenExecutor as death:
            raise WorkersGone(f"the workers are gone ({in_one_line(death)})") from death

    def drop(self, futures: Iterable[Future[Any]]) -> None:
        """Give up batches that are not wanted any more."""
        for future in futures:
            future.cancel()

    def close(self) -> None:
        """End what was started."""


class ProcessWorkers(Workers):
    """Processes of this machine, started when first needed; none of them outlives this process.

    Args:
        count: how many; one for each processor by default.
        load: as in `Workers`.
        say: as in `Workers`.

    Raises:
        ValueError: `count` is out of range.
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
        """As in `Workers`; processes that go on with them are ended after a moment."""
        begun = [future for future in futures if not future.cancel()]
        if wait(begun, STALE_SECONDS).not_done:
            self.close()

    def pids(self) -> list[int]:
        """The ids of the processes that run."""
        return self._processes.pids()

    def close(self) -> None:
        """Kill the processes: what they still do is not wanted any more."""
        self._processes.close()
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
        self._executor, self._processes = None, WorkerProcesses()


class DaskWorkers(Workers):
    """The workers of a Dask cluster, on any number of machines.

    Args:
        address: of its scheduler, such as `tcp://host:8786`.
        load: as in `Workers`.
        say: as in `Workers`.

    Raises:
        ValueError: Dask is not installed, the address is none, or the scheduler does not answer or has no workers.
    """

    def __init__(self, address: str, *, load: Load | None = None, say: Say = warnings.warn) -> None:
        try:
            import distributed.comm  # here, because it is optional
        except ImportError as error:
            raise UsageError("a scheduler needs Dask: pip install 'attacklab[dask]'") from error
        try:
            distributed.comm.get_address_host(address)  # a client that was given no address would not go quietly
        except ValueError as error:
            raise UsageError(f"{address!r} is no address of a Dask scheduler: {error}") from error
        try:
            self._client = distributed.Client(address, timeout=CONNECTING_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"no Dask scheduler answers at {address}: {in_one_line(error)}") from error
        threads = sum(self._client.nthreads().values())
        if not threads:
            self._client.close()
            raise UsageError(f"the Dask scheduler at {address} has no workers")
        self._address, self._killed = address, distributed.KilledWorker
        self._gone: str | None = None
        # A pure call is known by its arguments: made again, it would be the one that was given up before.
        super().__init__(self._client.get_executor(pure=False), threads, load=load, say=say)

    def submit(self, job: bytes, call: Call) -> Future[Any]:
        """As in `Workers`."""
        if self._gone is None:
            return super().submit(job, call)
        failed: Future[Any] = Future()
        failed.set_exception(CancelledError())
        return failed

    def outcome(self, future: Future[Any]) -> Any:
        """As in `Workers`; a scheduler that has lost its workers would let this wait for ever."""
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
                return Died(f"every Dask worker died that tried a batch ({death.allowed_failures + 1} of them)")
            except CancelledError:
                self._gone = "is gone, or gave a batch up"
        raise WorkersGone(f"the Dask scheduler at {self._address} {self._gone}")

    def _has_workers(self) -> bool:
        try:
            return bool(self._client.nthreads())
        except OSError:
            return False

    def close(self) -> None:
        """Leave the cluster, which goes on."""
        assert self._executor is not None  # noqa: S101 - made by the constructor
        self._executor.shutdown(wait=False)
        self._client.close()


class WhenLong:
    """Runs batches here until a sample is seen to take long, and from then on in workers.

    Args:
        workers: those that take over.
        say: is told, in one line, when they do.
    """

    def __init__(self, workers: Workers, *, say: Say) -> None:
        self._workers, self._say = workers, say

    def runner(self, bench: Bench) -> Runner:
        """Something that runs a bench so."""
        return _WhenLong(bench, self._workers, self._say)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class _WhenLong:
    def __init__(self, bench: Bench, workers: Workers, say: Say) -> None:
        self._bench, self._workers, self._say = bench, workers, say
        self._runner: Runner = Here(bench)
        self._moved = False

    def outlines(self, attack: int) -> tuple[Outline, ...]:
        return self._runner.outlines(attack)

    def counts(self, sample: Sample, batches: Iterator[Batch]) -> Results:
        if not self._moved:
            started, drawn = time.perf_counter(), 0
            for batch in batches:
                yield from self._runner.counts(sample, iter([batch]))
                drawn += batch.rows
                seconds = time.perf_counter() - started
                left = (sample.trials - batch.done) * seconds / drawn
                if seconds > WATCHED_SECONDS and left > LONG_SECONDS:
                    self._say(
                        f"{drawn / seconds:,.0f} trials a second here leave up to {left:,.0f} s: "
                        f"going on in {self._workers.count} processes"
                    )
                    self._runner, self._moved = self._workers.runner(self._bench), True
                    break
        yield from self._runner.counts(sample, batches)


class _Elsewhere:
    """Runs a bench in workers, a bounded number of batches ahead."""

    def __init__(self, name: str, job: bytes, workers: Workers) -> None:
        self._name, self._job, self._workers = name, job, workers

    def outlines(self, attack: int) -> tuple[Outline, ...]:
        outlines: tuple[Outline, ...] = self._outcome(self._submit(operator.methodcaller("outlines", attack)))
        return outlines

    def counts(self, sample: Sample, batches: Iterator[Batch]) -> Results:
        ahead = AHEAD * self._workers.count
        waiting: deque[Future[Any]] = deque()
        try:
            while True:
                for batch in itertools.islice(batches, ahead - len(waiting)):
                    waiting.append(self._submit(operator.methodcaller("counts", sample, batch)))
                if not waiting:
                    return
                yield self._outcome(waiting[0])
                waiting.popleft()
        finally:
            self._workers.drop(waiting)

    def _outcome(self, future: Future[Any]) -> Any:
        outcome = self._workers.outcome(future)
        if isinstance(outcome, Died):
            raise TargetError(f"{self._name}: {outcome.how}")
        if isinstance(outcome, Failed):
            raise TargetError(outcome.message)
        return outcome

    def _submit(self, call: Call) -> Future[Any]:
        return self._workers.submit(self._job, call)


def _itself(target: Target) -> Target:
    return target
