"""What the options say of where trials run: in this process, in others, or in the workers of a Dask scheduler."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial

from attacklab.cli.messages import say
from attacklab.libraries import Library
from attacklab.model.errors import UsageError
from attacklab.processes.batches import Bench
from attacklab.processes.dask import DaskWorkers
from attacklab.processes.runners import InProcess, ParallelWhenSlow, Runner
from attacklab.processes.workers import Load, ProcessWorkers, processors


@contextlib.contextmanager
def runners(
    workers: int | None, scheduler: str | None, load: Load, library: Library | None
) -> Iterator[Callable[[Bench], Runner]]:
    """What makes the runner of a bench, while the context lasts.

    Args:
        workers: the option --workers.
        scheduler: the option --scheduler.
        load: loads the target in a worker.
        library: the library that the target belongs to, if any; one that no seed replays runs in this process only.

    Raises:
        UsageError: the options contradict each other or the target, or the scheduler does not answer.
    """
    if workers is not None and scheduler is not None:
        raise UsageError("--workers and --scheduler exclude each other; leave one out")
    if library is not None and library.unseeded:
        if scheduler is not None or workers not in (None, 1):
            raise UsageError(
                f"no seed replays {library.name}, so it runs in one process; leave --workers and --scheduler out"
            )
        yield InProcess
    elif scheduler is not None:
        with DaskWorkers(scheduler, load=load, say=say) as cluster:
            yield cluster.runner
    elif workers == 1 or (workers is None and processors() == 1):
        yield InProcess
    else:
        with ProcessWorkers(workers, load=load, say=say) as pool:
            yield pool.runner if workers else partial(ParallelWhenSlow, backend=pool, say=say)
