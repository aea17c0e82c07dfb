"""Batches in the workers of any `concurrent.futures.Executor`.

A batch reaches a worker as names and numbers only, and the worker runs the target in a process of its own (see
`worker_process`): a target that makes its process die fails the scenario in which it did, and no other.

Source of the executors' interface: PEP 3148.
"""

from __future__ import annotations

import itertools
import operator
import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import partial
from typing import Any, TypeAlias

from attacklab.errors import Refused, TargetError, UsageError, WorkersGone
from attacklab.execution.batches import Batch, Bench, Outline, Sample
from attacklab.execution.runners import Here, Results, Runner, Say
from attacklab.execution.worker_process import Call, Died, Failed, run_in_worker_process
from attacklab.findings import EventCode
from attacklab.targets import Target, in_one_line

Load: TypeAlias = Callable[[], Target]

AHEAD = 4
"""Batches under way for each worker, so that none waits while a slow one is awaited."""


class Workers:
    """The workers of an executor that the caller made and will shut down; each keeps a process for the target.

    Args:
        executor: runs the calls; its workers need this package and what the target imports.
        count: how many batches it runs at once, at least 1.
        load: makes the target in a worker, and can be pickled; by default the target itself is pickled.
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

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def runner(self, bench: Bench) -> Runner:
        """A runner of this bench in these workers; in this process if the target cannot be pickled."""
        load = self._load or partial(_itself, bench.target)
        try:
            job = pickle.dumps((load, bench.attacks, bench.seed, bench.target.version))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            self.say(
                f"{bench.target.name} cannot be sent to another process ({in_one_line(error)}), "
                "so it runs in this one; to use workers, define its release at the top of a module"
            )
            return Here(bench)
        return _Elsewhere(bench.target.name, job, self)

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


class _Elsewhere:
    """Runs a bench in workers, a bounded number of batches ahead."""

    def __init__(self, name: str, job: bytes, workers: Workers) -> None:
        self._name, self._job, self._workers = name, job, workers

    def outlines(self, attack: int) -> tuple[Outline, ...]:
        outlines: tuple[Outline, ...] = self._outcome(self._submit(operator.methodcaller("outlines", attack)))
        return outlines

    def code(self, attack: int, scenario: int, event: int, outline: str) -> EventCode | None:
        call = operator.methodcaller("code", attack, scenario, event, outline)
        code: EventCode | None = self._outcome(self._submit(call))
        return code

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
            raise (Refused if outcome.refused else TargetError)(outcome.message)
        return outcome

    def _submit(self, call: Call) -> Future[Any]:
        return self._workers.submit(self._job, call)


def _itself(target: Target) -> Target:
    return target
