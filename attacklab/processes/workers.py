"""Batches in processes of this machine, or in the workers of any `concurrent.futures.Executor`.

A batch reaches a worker as names and numbers only, and the worker runs the target in a process of its own: one that
makes its process die fails the scenario in which it did, and no other. That process loads the target and finds the
scenarios once. What the target prints goes to standard error.

Source of the executors' interface: PEP 3148.
"""

from __future__ import annotations

import functools
import itertools
import operator
import os
import pickle
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, Self, TypeAlias

from attacklab.auditing.meter import Meter
from attacklab.model.errors import LabError, LabFault, TargetError, UsageError, WorkersGone
from attacklab.model.floats import default_errors, require_ieee_arithmetic
from attacklab.model.targets import Target, in_one_line
from attacklab.processes.batches import Batch, Bench, Outline, Sample
from attacklab.processes.runners import InProcess, Results, Runner, Say
from attacklab.processes.sending import CannotBeSent, sent
from attacklab.processes.worker import NoAnswer, Worker

Call: TypeAlias = Callable[[Bench], Any]
Load: TypeAlias = Callable[[], Target]

AHEAD = 4
"""Batches under way for each worker, so that none waits while a slow one is awaited."""

ATTEMPTS = 2
"""A batch whose process dies is tried once more: the process may have been killed for another reason."""

STALE_SECONDS = 1.0
"""How long processes may continue with batches that were drawn ahead of a decision."""


class Workers:
    """The workers of an executor that the caller made and will shut down; each keeps a process for the target.

    Args:
        executor: runs the calls; its workers need this package and what the target imports.
        count: how many batches it runs at once, at least 1.
        load: makes the target in a worker; by default the target itself is sent.
        say: is told, in one line, if a target cannot leave this process.

    Raises:
        UsageError: `count` is out of range.
    """

    def __init__(
        self, executor: Executor | None, count: int, *, load: Load | None = None, say: Say = warnings.warn
    ) -> None:
        if count < 1:
            raise UsageError(f"workers must be at least 1, not {count}")
        self.count, self.say = count, say
        self._executor, self._load = executor, load

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def runner(self, bench: Bench) -> Runner:
        """A runner of this bench in these workers; in this process if the target cannot be sent."""
        load = self._load or partial(_itself, bench.target)
        try:
            job, _ = sent(load, bench.attacks, bench.seed, bench.target.version)
        except CannotBeSent as error:
            self.say(
                f"{bench.target.name} cannot be sent to another process ({in_one_line(error.__cause__ or error)}), "
                "so it runs in this one; to use workers, let its release hold nothing that belongs to this process"
            )
            return InProcess(bench)
        return _InWorkers(bench.target.name, job, self)

    def submit(self, job: bytes, call: Call) -> Future[Any]:
        """Have a worker run a call; if the workers are gone, the future says so."""
        assert self._executor is not None  # noqa: S101 - only a subclass that makes it later passes None
        try:
            return self._executor.submit(run_in_worker_process, job, call)
        except BrokenExecutor as death:
            failed: Future[Any] = Future()
            failed.set_exception(death)
            return failed

    def outcome(self, future: Future[Any]) -> Any:
        """Wait for a worker's answer.

        Raises:
            WorkersGone: this worker will not answer, and neither will the others.
        """
        try:
            return future.result()
        except BrokenExecutor as death:
            raise WorkersGone(f"the workers are gone ({in_one_line(death)}); start the audit again") from death

    def drop(self, futures: Iterable[Future[Any]]) -> None:
        """Give up batches that are no longer wanted."""
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
        UsageError: `count` is out of range.
    """

    def __init__(self, count: int | None = None, *, load: Load | None = None, say: Say = warnings.warn) -> None:
        super().__init__(None, processors() if count is None else count, load=load, say=say)
        self._pool = _Pool()

    def submit(self, job: bytes, call: Call) -> Future[Any]:
        """As in `Workers`."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.count)
        return self._executor.submit(self._pool.run, job, call)

    def drop(self, futures: Iterable[Future[Any]]) -> None:
        """As in `Workers`; processes that continue with them are killed after a moment."""
        begun = [future for future in futures if not future.cancel()]
        if wait(begun, STALE_SECONDS).not_done:
            self.close()

    def pids(self) -> list[int]:
        """The ids of the processes that run."""
        return self._pool.pids()

    def close(self) -> None:
        """Kill the processes: what they still do is no longer wanted."""
        self._pool.close()
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
        self._executor, self._pool = None, _Pool()


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class _InWorkers:
    """Runs a bench in workers, a bounded number of batches ahead."""

    def __init__(self, name: str, job: bytes, workers: Workers) -> None:
        self._name, self._job, self._workers = name, job, workers

    def outlines(self, attack: int, meter: Meter | None = None) -> tuple[Outline, ...]:
        outlines: tuple[Outline, ...] | LabError
        outlines, seen = self._outcome(self._workers.submit(self._job, partial(_outlines, attack, meter)))
        if meter is not None:
            meter.continue_from(seen)
        if isinstance(outlines, LabError):
            raise outlines
        return outlines

    def counts(self, sample: Sample, batches: Iterator[Batch]) -> Results:
        waiting: deque[Future[Any]] = deque()
        try:
            while True:
                for batch in itertools.islice(batches, AHEAD * self._workers.count - len(waiting)):
                    waiting.append(self._submit("counts", sample, batch))
                if not waiting:
                    return
                yield self._outcome(waiting[0])
                waiting.popleft()
        finally:
            self._workers.drop(waiting)

    def _outcome(self, future: Future[Any]) -> Any:
        outcome = self._workers.outcome(future)
        if isinstance(outcome, NoAnswer):
            raise TargetError(f"{self._name}: {outcome.name} {outcome.how}")
        if isinstance(outcome, TargetError):
            raise outcome
        return outcome

    def _submit(self, method: str, *arguments: Any) -> Future[Any]:
        return self._workers.submit(self._job, operator.methodcaller(method, *arguments))


def _itself(target: Target) -> Target:
    return target


class _Pool:
    """Processes, started when needed and kept for the next batch: one for each thread that asks at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[Worker] = []
        self._idle: list[Worker] = []
        self._closed = False

    def run(self, job: bytes, call: Call) -> Any:
        """Have a process answer a call.

        Returns:
            The answer, or the `TargetError` that the target ended in.

        Raises:
            CancelledError: the processes have been closed.
            Exception: whatever else was raised there.
        """
        for _ in range(ATTEMPTS):
            try:
                return self._asked(job, call)
            except TargetError as error:
                failure = error
            if not isinstance(failure, NoAnswer):
                break
        return failure

    def pids(self) -> list[int]:
        with self._lock:
            return [worker.pid for worker in self._running]

    def close(self) -> None:
        """Kill all of them for good, whatever they are doing."""
        with self._lock:
            self._closed = True
            for worker in self._running:
                worker.close()
            self._running, self._idle = [], []

    def _asked(self, job: bytes, call: Call) -> Any:
        worker = self._taken()
        try:
            return worker.call("a worker process", _answer, job, call)
        finally:
            with self._lock:
                if worker.is_usable:
                    self._idle.append(worker)
                else:  # it died, or was interrupted
                    worker.close()
                    self._running = [running for running in self._running if running is not worker]

    def _taken(self) -> Worker:
        with self._lock:
            if self._closed:
                raise CancelledError
            if self._idle:
                return self._idle.pop()
            self._running.append(Worker())
            return self._running[-1]


def run_in_worker_process(job: bytes, call: Call) -> Any:
    """As `_Pool.run`, in processes that the calling process keeps."""
    return _kept.run(job, call)


def _forget() -> None:
    """In a fork of this process: leave the processes to the one that has them."""
    global _kept
    _kept = _Pool()


_kept = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# In a worker process


@default_errors
def _answer(job: bytes, call: Call) -> Any:
    """Have the bench of a job answer a call."""
    answer = call(_bench(job))
    require_ieee_arithmetic()
    return answer


def _outlines(attack: int, meter: Meter | None, bench: Bench) -> tuple[tuple[Outline, ...] | LabError, Meter | None]:
    """The scenarios of an attack, or the error that looking for them ended in; and the meter, which has drawn here."""
    try:
        return bench.outlines(attack, meter), meter
    except (TargetError, LabFault) as error:
        return error, meter


@functools.lru_cache(maxsize=4)
def _bench(job: bytes) -> Bench:
    try:
        load, attacks, seed, version, _ = pickle.loads(job)  # noqa: S301 - written by `Workers.runner`
        target = load()
    except Exception as error:
        raise UsageError(f"a worker cannot load the target: {in_one_line(error)}") from error
    if target.version != version:
        raise UsageError(
            f"a worker has version {target.version} of {target.name}, not {version}; "
            "give every worker the same files, and start again"
        )
    return Bench(target, attacks, seed)
