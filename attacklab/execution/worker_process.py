"""A worker process: it runs one batch at a time, so that it is known which batch killed it.

Only the target runs in it: a thread of this process, or of a worker of any executor on any machine, waits for its
answers. It loads the target and finds the scenarios once. What the target prints goes to standard error.
"""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from multiprocessing import Pipe, spawn
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from attacklab.errors import Refused, TargetError, UsageError
from attacklab.execution.batches import Bench
from attacklab.floats import default_errors, require_ieee_arithmetic
from attacklab.isolation.guard import GuardedProcess, signal_name
from attacklab.targets import in_one_line

Call: TypeAlias = Callable[[Bench], Any]

ATTEMPTS = 2
"""A batch whose process dies is tried once more: the process may have been killed for another reason."""

IDLE_SECONDS = 60.0
"""A process that gets no request for so long ends: the process that needed it may have been on another machine."""

LOOK_SECONDS = 1.0
"""How often a process that does not answer is checked: a process that it started may keep its pipe open."""

ENDING_SECONDS = 5.0
"""How long a process that closed its end of the pipe may take to end."""

_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from attacklab.execution.worker_process import serve; serve()"


@dataclass(frozen=True, slots=True)
class Failed:
    """A `TargetError` on its way back: a subclass might not survive pickling.

    Attributes:
        message: what it says.
        refused: whether it is a `Refused`.
    """

    message: str
    refused: bool


@dataclass(frozen=True, slots=True)
class Died:
    """The worker process died while it ran a batch.

    Attributes:
        how: how it died, in words.
    """

    how: str


@dataclass(frozen=True, slots=True)
class _Raised:
    error: Exception


@dataclass(frozen=True, slots=True)
class _Left:
    """The answer of a process that ended because it was idle."""


class WorkerProcess:
    """A running worker process; one that died or was interrupted must be closed.

    Raises:
        UsageError: this is itself a worker process, importing the program that started it.
    """

    def __init__(self) -> None:
        if _importing:
            raise UsageError(
                "importing this program starts worker processes, so each of them would start more; "
                "put what it runs under: if __name__ == '__main__':"
            )
        theirs_to_read, self._requests = Pipe(duplex=False)
        self._answers, theirs_to_write = Pipe(duplex=False)
        with theirs_to_read, theirs_to_write:
            self._guarded = GuardedProcess(
                [sys.executable, "-c", _PROGRAM, *sys.path],
                stdin=theirs_to_read.fileno(),
                stdout=theirs_to_write.fileno(),
            )
        self.pid, self.close = self._guarded.process.pid, self._guarded.close
        self._prepared = False

    def ask(self, job: bytes, call: Call) -> Any:
        """Have the bench of this job answer a call; the answer is `Failed`, `Died` or `_Left` if it could not."""
        try:
            self._send((job, call))
            while not self._answers.poll(LOOK_SECONDS):
                if self._guarded.process.poll() is not None and not self._answers.poll():
                    raise EOFError
            return self._answers.recv()
        except (EOFError, OSError):
            return Died(f"a worker process {self._ending()}")

    def _send(self, request: tuple[bytes, Call]) -> None:
        try:
            if not self._prepared:
                preparation = spawn.get_preparation_data("attacklab worker")
                del preparation["authkey"]  # it refuses to be pickled
                self._requests.send((preparation, IDLE_SECONDS))
                self._prepared = True
            self._requests.send(request)
        except BrokenPipeError:
            pass  # it ended; its last words will say why

    def _ending(self) -> str:
        try:
            status = self._guarded.process.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its connection"
        return f"exited with status {status}" if status >= 0 else f"was killed by {signal_name(-status)}"


class WorkerProcesses:
    """Worker processes, started when needed and kept for the next batch: one for each thread that asks at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[WorkerProcess] = []
        self._idle: list[WorkerProcess] = []
        self._closed = False

    def run(self, job: bytes, call: Call) -> Any:
        """Have a process answer a call.

        Returns:
            The answer, or `Failed` or `Died`.

        Raises:
            CancelledError: the processes have been closed.
            Exception: whatever was raised there, other than a `TargetError`.
        """
        answer: Any = _Left()
        attempts = 0
        while isinstance(answer, _Left) or (isinstance(answer, Died) and attempts < ATTEMPTS):
            answer = self._asked(job, call)
            attempts += isinstance(answer, Died)
        if isinstance(answer, _Raised):
            raise answer.error
        return answer

    def pids(self) -> list[int]:
        """The ids of the running processes."""
        with self._lock:
            return [process.pid for process in self._running]

    def close(self) -> None:
        """Kill all of them for good, whatever they are doing."""
        with self._lock:
            self._closed = True
            for process in self._running:
                process.close()
            self._running, self._idle = [], []

    def _asked(self, job: bytes, call: Call) -> Any:
        process = self._taken()
        try:
            answer = process.ask(job, call)
        except BaseException:
            self._ended(process)
            raise
        if isinstance(answer, Died | _Left):
            self._ended(process)
        else:
            with self._lock:
                self._idle.append(process)
        return answer

    def _taken(self) -> WorkerProcess:
        with self._lock:
            if self._closed:
                raise CancelledError
            if self._idle:
                return self._idle.pop()
            process = WorkerProcess()
            self._running.append(process)
            return process

    def _ended(self, process: WorkerProcess) -> None:
        process.close()
        with self._lock:
            if process in self._running:
                self._running.remove(process)


def run_in_worker_process(job: bytes, call: Call) -> Any:
    """As `WorkerProcesses.run`, in processes that the calling process keeps."""
    return _kept.run(job, call)


def serve() -> None:
    """Answer the requests that arrive on standard input until there are no more: the main loop of a worker process."""
    global _importing
    with Connection(os.dup(0), writable=False) as requests, Connection(os.dup(1), readable=False) as answers:
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - nothing else of `Path` is needed
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        try:
            preparation, idle_seconds = requests.recv()
            _importing = True
            spawn.prepare(preparation)
            _importing = False
            while requests.poll(idle_seconds):
                answers.send(_answer(*requests.recv()))
            answers.send(_Left())
        except (EOFError, BrokenPipeError):
            pass  # nobody is asking any more


@default_errors
def _answer(job: bytes, call: Call) -> Any:
    try:
        bench = _bench(job)
        try:
            answer = call(bench)
        except TargetError as error:
            answer = Failed(str(error), isinstance(error, Refused))
        require_ieee_arithmetic()
    except Exception as error:
        return _Raised(_portable(error))
    return answer


def _portable(error: Exception) -> Exception:
    try:
        copy: Exception = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:
        copy = RuntimeError(in_one_line(error))
    copy.add_note(f"In a worker process:\n{''.join(traceback.format_exception(error))}")
    return copy


@functools.lru_cache(maxsize=4)
def _bench(job: bytes) -> Bench:
    try:
        load, attacks, seed, version = pickle.loads(job)  # noqa: S301 - written by `Workers.runner`
        target = load()
    except Exception as error:
        raise UsageError(f"a worker cannot load the target: {in_one_line(error)}") from error
    if target.version != version:
        raise UsageError(
            f"a worker has version {target.version} of {target.name}, not {version}; "
            "give every worker the same files, and start again"
        )
    return Bench(target, attacks, seed)


def _forget() -> None:
    global _kept
    _kept = WorkerProcesses()


_importing = False
"""Whether this is a worker process, importing the program that started it."""

_kept = WorkerProcesses()
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget)
