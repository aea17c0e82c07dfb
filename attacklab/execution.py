"""Where batches run: in this process, in a pool of processes, or in any `concurrent.futures.Executor` (Dask's too).

Results come back in the order of the batches, and those that were drawn ahead of a decision are thrown away, so that a
finding does not depend on where it was made. A worker gets a batch by names and numbers alone; it loads the target and
finds the scenarios once. A worker that dies fails the scenario that it worked for, and no other.

Source of the executors' interface: PEP 3148.
"""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import operator
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any, Protocol, TypeAlias

from attacklab.batches import Batch, Bench, Outline, Sample
from attacklab.findings import Counts
from attacklab.floats import require_ieee_arithmetic
from attacklab.targets import Target, TargetError, in_one_line

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
    """Workers behind an executor that somebody else made, and ends.

    Args:
        executor: where to run; its workers need this package and what the target needs.
        count: how many batches it runs at once, at least 1.
        load: makes the target in a worker, and can be pickled; by default the target itself is.
        say: is told, in one line, of a target that cannot leave this process.

    Raises:
        ValueError: `count` is out of range.
    """

    deaths: tuple[type[Exception], ...] = (BrokenExecutor,)
    """What a batch raises whose worker died."""

    def __init__(
        self, executor: Executor | None, count: int, *, load: Load | None = None, say: Say = warnings.warn
    ) -> None:
        if count < 1:
            raise ValueError(f"workers must be at least 1, not {count}")
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

    def submit(self, *task: Any) -> Future[Any]:
        """Have a function called by a worker; if they are all gone, the future says so."""
        try:
            return self._running().submit(*task)
        except self.deaths as error:
            failed: Future[Any] = Future()
            failed.set_exception(error)
            return failed

    def drop(self, futures: Sequence[Future[Any]]) -> None:
        """Give up batches that are not wanted any more."""
        for future in futures:
            future.cancel()

    def replaced(self, death: Exception, others: Sequence[Future[Any]] = ()) -> str:
        """Replace workers of which one died, where that can be done.

        Args:
            death: what the batch raised.
            others: other batches under way, which are given up.

        Returns:
            How it died, as far as that is known.
        """
        self.drop(others)
        return f"a worker died ({in_one_line(death)})"

    def close(self) -> None:
        """End what was started."""

    def _running(self) -> Executor:
        assert self._executor is not None  # noqa: S101 - only a subclass that makes it later passes None
        return self._executor


class ProcessWorkers(Workers):
    """A pool of processes of this machine, started when first needed; none of them outlives this process.

    Args:
        count: how many processes; one for each processor by default.
        load: as in `Workers`.
        say: as in `Workers`.

    Raises:
        ValueError: `count` is out of range.
    """

    def __init__(self, count: int | None = None, *, load: Load | None = None, say: Say = warnings.warn) -> None:
        super().__init__(None, processors() if count is None else count, load=load, say=say)
        self._context = _Context()

    def drop(self, futures: Sequence[Future[Any]]) -> None:
        """Wait for them a moment, then start afresh.

        None is cancelled: where a process dies while a cancelled batch waits, Python 3.11 leaves the others unanswered.
        """
        if wait(futures, STALE_SECONDS).not_done:
            self.close()

    def replaced(self, death: Exception, others: Sequence[Future[Any]] = ()) -> str:  # noqa: ARG002
        """As in `Workers`: the processes tell more than the exception, and the others died with them."""
        started = self._context.started
        self._shut_down()
        ends = [process.exitcode for process in started]
        # The pool itself ends those that are left by SIGTERM.
        own = [code for code in ends if code not in (None, 0, -signal.SIGTERM)] or [-signal.SIGTERM]
        return f"a worker process {_ending(own[0])}"

    def close(self) -> None:
        """Kill the processes: what they still do is not wanted any more."""
        for process in self._context.started:
            if process.pid is not None:  # else it was interrupted before it started
                process.kill()
        self._shut_down()

    def _running(self) -> Executor:
        if self._executor is None:
            self._context.prepare()
            self._executor = ProcessPoolExecutor(self.count, mp_context=self._context, initializer=_start_worker)
        return self._executor

    def _shut_down(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True)
        self._executor, self._context = None, _Context()


class DaskWorkers(Workers):
    """The workers of a Dask cluster, on any number of machines.

    Args:
        address: of its scheduler, such as `tcp://host:8786`.
        load: as in `Workers`.
        say: as in `Workers`.

    Raises:
        ValueError: Dask is not installed, or the scheduler does not answer or has no workers.
    """

    def __init__(self, address: str, *, load: Load | None = None, say: Say = warnings.warn) -> None:
        try:
            import distributed  # here, because it is optional
        except ImportError as error:
            raise ValueError("a scheduler needs Dask: pip install 'attacklab[dask]'") from error
        try:
            self._client = distributed.Client(address, timeout=CONNECTING_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ValueError(f"no Dask scheduler answers at {address}: {in_one_line(error)}") from error
        threads = sum(self._client.nthreads().values())
        if not threads:
            self._client.close()
            raise ValueError(f"the Dask scheduler at {address} has no workers")
        self.deaths = (distributed.KilledWorker, CancelledError)
        super().__init__(self._client.get_executor(), threads, load=load, say=say)

    def replaced(self, death: Exception, others: Sequence[Future[Any]] = ()) -> str:
        """As in `Workers`; the cluster replaces them itself."""
        self.drop(others)
        if isinstance(death, CancelledError):
            return "the scheduler gave a batch up"
        return f"every worker died that tried a batch ({getattr(death, 'allowed_failures', 0) + 1} of them)"

    def close(self) -> None:
        """Leave the cluster, which goes on."""
        self._running().shutdown(wait=False)
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
        call = operator.methodcaller("outlines", attack)
        outlines: tuple[Outline, ...] = self._outcome(call, self._submit(call))
        return outlines

    def counts(self, sample: Sample, batches: Iterator[Batch]) -> Results:
        calls = (operator.methodcaller("counts", sample, batch) for batch in batches)
        ahead = AHEAD * self._workers.count
        waiting: deque[tuple[Any, Future[Any]]] = deque()
        try:
            while True:
                waiting += [(call, self._submit(call)) for call in itertools.islice(calls, ahead - len(waiting))]
                if not waiting:
                    return
                yield self._outcome(*waiting.popleft(), [future for _, future in waiting])
                waiting = deque((call, self._submit(call) if self._is_lost(one) else one) for call, one in waiting)
        finally:
            self._workers.drop([future for _, future in waiting])

    def _outcome(self, call: Any, future: Future[Any], others: Sequence[Future[Any]] = ()) -> Any:
        try:
            outcome = future.result()
        except self._workers.deaths as death:
            # It may have died of another batch, drawn at the same time: the one that dies alone is to blame.
            self._workers.replaced(death, others)
            try:
                outcome = self._submit(call).result()
            except self._workers.deaths as its_own:
                raise TargetError(f"{self._name}: {self._workers.replaced(its_own)}") from its_own
        if isinstance(outcome, _Failed):
            raise TargetError(outcome.message)
        return outcome

    def _submit(self, call: Any) -> Future[Any]:
        return self._workers.submit(_work, self._job, call)

    def _is_lost(self, future: Future[Any]) -> bool:
        return future.done() and (future.cancelled() or isinstance(future.exception(), self._workers.deaths))


@dataclass(frozen=True, slots=True)
class _Failed:
    """A `TargetError` on its way back: its own class may not survive being pickled."""

    message: str


def _work(job: bytes, call: Callable[[Bench], Any]) -> Any:
    with _ONE_AT_A_TIME:
        bench = _bench(job)
        try:
            outcome = call(bench)
        except TargetError as error:
            outcome = _Failed(str(error))
        require_ieee_arithmetic()
        return outcome


_ONE_AT_A_TIME = threading.Lock()
"""Workers may be threads, of which targets that keep any state know nothing."""


@functools.lru_cache(maxsize=4)
def _bench(job: bytes) -> Bench:
    try:
        load, attacks, seed, version = pickle.loads(job)  # noqa: S301 - written by `Workers.runner`
        target = load()
    except Exception as error:
        raise ValueError(f"a worker cannot load the target: {in_one_line(error)}") from error
    if target.version != version:
        raise ValueError(f"a worker has version {target.version} of {target.name}, not {version}")
    return Bench(target, attacks, seed)


def _itself(target: Target) -> Target:
    return target


def _nothing() -> None:
    pass


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides what ends
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


_Start: type[Any] = ForkServerContext if sys.platform == "linux" else SpawnContext


class _Context(_Start):  # type: ignore[misc] # one of two classes
    """A way to start processes that keeps them, so that they can be killed and asked how they ended.

    A server that has imported the package forks them, or each imports it itself; no process with threads is forked.
    """

    def __init__(self) -> None:
        super().__init__()
        self.started: list[BaseProcess] = []

    def prepare(self) -> None:
        """Start the server, if there is to be one, deaf to Ctrl-C from the first moment, as are all that it forks."""
        if sys.platform == "linux":
            self.set_forkserver_preload([__name__])
            resource_tracker.ensure_running()  # is called by the next one otherwise, and lets Ctrl-C through again
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                forkserver.ensure_running()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            # Until it has imported the package, Ctrl-C would leave workers that start without their parent.
            first: BaseProcess = super().Process(target=_nothing)
            first.start()
            first.join()

    def Process(self, *arguments: Any, **named: Any) -> BaseProcess:  # noqa: N802 - overrides the class of this name
        process: BaseProcess = super().Process(*arguments, **named)
        self.started.append(process)
        return process


def _ending(code: int) -> str:
    if code >= 0:
        return f"exited with status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
