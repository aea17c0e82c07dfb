"""A program that answers lines: it is started, asked, waited for up to a limit, and killed with all that it started.

It leads a process group of its own, which is killed as a whole. If this process is itself killed, a guard in that group
kills the group: it waits for the end of a pipe that this process holds open, and it is there before the program starts.
This contains faults. It is not a sandbox for hostile code, which could leave its group.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from attacklab.model.errors import TargetError, UsageError

DEFAULT_SECONDS = 60.0  # the timeout of one request
STARTING_SECONDS = 60.0  # at least what an interpreter may take to start and to import a target with its libraries
ENDING_SECONDS = 0.5  # how long a process that closed its output may take to end
LONGEST_SECONDS = 1e6  # a selector cannot wait for 2^31 ms
LONGEST_LINE = 1 << 28  # bytes in an answer
CHUNK = 1 << 16  # bytes read at a time: as many as a pipe usually holds

_LAUNCHER = """
((read -r _ </dev/fd/"$1"; kill -s KILL -- -$$) >/dev/null 2>&1 &)
ulimit -c 0
shift
exec "$@"
"""
"""A shell script that starts the guard with none of the program's streams, disables core files and runs the program."""


class NoAnswer(TargetError):
    """A program did not answer as it must; the message says why, in one line."""


class TooLate(NoAnswer):
    """A program did not answer in time."""


class Program:
    """A program that starts at the first request, and again at the first one after `close`. No shell reads its command.

    A fork of this process has a program of its own. The program is closed after any failure, and with this object.

    Args:
        command: the program and its arguments.
        seconds: the timeout of one request.
        greets: whether it writes a line of greeting before it is asked.

    Raises:
        UsageError: `seconds` is out of range, or this system has no process groups.
    """

    def __init__(self, command: Sequence[str], seconds: float = DEFAULT_SECONDS, *, greets: bool = False) -> None:
        if not 0 < seconds <= LONGEST_SECONDS:
            raise UsageError(f"seconds must be greater than 0 and at most {LONGEST_SECONDS:g}, not {seconds}")
        if sys.platform == "win32":
            raise UsageError("targets in another process need a POSIX system, not Windows; use Linux, macOS or WSL")
        self._command, self._seconds, self._greets = tuple(command), seconds, greets
        self._process: Any = None
        self._owner = os.getpid()

    def start(self) -> None:
        """Start the program, if it does not run."""
        if self._process is not None and self._owner == os.getpid():  # and not the one of whom this is a fork
            return
        self._owner, self._greeting, self._request = os.getpid(), b"", memoryview(b"")
        self._errors: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        guarded, held_open = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - running it is the purpose
                ["/bin/sh", "-c", _LAUNCHER, "sh", str(guarded), *self._command],
                bufsize=0,
                pass_fds=(guarded,),
                start_new_session=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
        except BaseException:
            os.close(held_open)
            self._errors.close()
            raise
        finally:
            os.close(guarded)
        self._end = weakref.finalize(self, _end, self._process, self._errors, held_open, self._owner)
        self._stdin, self._stdout = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._stdin, False)
        os.set_blocking(self._stdout, False)
        self._selector = selectors.PollSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)

    def close(self) -> None:
        """End the process with all that it started."""
        if self._process is not None:
            self._end()
            self._process = None

    def greeting(self) -> bytes:
        """Return the first line that the process writes; start the process if it is not running."""
        self.start()
        if not self._greeting:
            self._greeting = self.line(max(self._seconds, STARTING_SECONDS))
        return self._greeting

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request as a line of JSON. Return the answer, one line with a JSON object without decimal numbers.

        Raises:
            NoAnswer: the answer is not such a line, or there was none; the process has been ended.
        """
        try:
            line = json.dumps(request).encode() + b"\n"
        except ValueError as error:  # the interpreter's limit on digits
            raise self.failed(f"a request cannot be written: {error}") from error
        self.send(line)
        return self.object_in(self.line(self._seconds))

    def send(self, request: bytes) -> None:
        """Write one line, the request. What the pipe does not take now is written while `line` waits for the answer."""
        self.start()
        if self._greets:
            self.greeting()
        if self._selector.select(0) and (left := os.read(self._stdout, CHUNK)):
            raise self.failed(f"garbage: {len(left)} bytes too many before the request, beginning {left[:40]!r}")
        os.ftruncate(self._errors.fileno(), 0)
        self._request = memoryview(request)
        self._selector.register(self._stdin, selectors.EVENT_WRITE)
        self._write()

    def line(self, seconds: float) -> bytes:
        """Return the one line that the process writes within `seconds`, without the newline.

        Raises:
            NoAnswer: there was no line, or something followed it; the process has been ended.
        """
        answer, deadline = bytearray(), time.monotonic() + seconds
        try:
            while not answer.endswith(b"\n"):
                if len(answer) > LONGEST_LINE:
                    raise NoAnswer(f"garbage: a line of more than {LONGEST_LINE} bytes; write one answer a line")
                ready = self._selector.select(max(0.0, deadline - time.monotonic()))
                if not ready and time.monotonic() >= deadline:
                    has_ended = self._process.poll() is not None  # and what it started keeps its output open
                    raise self._ended() if has_ended else TooLate(f"time limit: no answer within {seconds:.3g} s")
                if any(key.fd == self._stdin for key, _ in ready):
                    self._write()
                if any(key.fd == self._stdout for key, _ in ready):
                    if not (read := os.read(self._stdout, CHUNK)):
                        raise self._ended()
                    answer += read
            line, _, more = bytes(answer).partition(b"\n")
            if more or self._request:
                raise NoAnswer(f"garbage: it answered more than once, or too early, beginning {line[:60]!r}")
        except BaseException:
            self.close()
            raise
        return line

    def object_in(self, line: bytes) -> dict[str, Any]:
        """Return the JSON object in a line. End the process and raise `NoAnswer` if it is not one or has decimals."""
        try:
            return dict(json.loads(line.decode(), parse_float=_refused, parse_constant=_refused).items())
        except (ValueError, AttributeError, RecursionError) as error:
            raise self.failed(f"garbage: not a line of JSON with an object ({error}): {line[:60]!r}") from None

    def failed(self, message: str) -> NoAnswer:
        """End the process, and return the error for an answer that does not fit the request."""
        self.close()
        return NoAnswer(message)

    def _write(self) -> None:
        with contextlib.suppress(BlockingIOError):
            try:
                self._request = self._request[os.write(self._stdin, self._request) :]
            except BrokenPipeError:  # it ended, or reads no more: what it still writes will say why
                self._request = self._request[:0]
        if not self._request:
            self._selector.unregister(self._stdin)

    def _ended(self) -> NoAnswer:
        """Return the error for a process that closed its output: how it ended, and its last line on stderr."""
        try:
            how = ending(self._process.wait(ENDING_SECONDS))
        except subprocess.TimeoutExpired:
            return NoAnswer("garbage: it closed its output without an answer")
        if how == ending(0):
            how += " before answering; let it answer one request after another until its input ends"
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - CHUNK))
        words = self._errors.read().decode("utf-8", "replace").strip("\0\n ").splitlines()
        return NoAnswer(f"crash: {how}; it said: {words[-1]}" if words else f"crash: {how}")


def ending(status: int) -> str:
    """Return how a process ended, as text. `status` is its exit status, or minus the signal that killed it."""
    if status >= 0:
        return f"exited with status {status}"
    return f"killed by {signal.Signals(-status).name if -status in list(signal.Signals) else f'signal {-status}'}"


def _refused(text: str) -> float:
    raise ValueError(f"{text} is not exact: write floats as hex strings, such as '0x1.8p+1'")


def _end(process: Any, errors: BinaryIO, held_open: int, owner: int) -> None:
    if os.getpid() == owner:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # the program killed its group, guard included
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    else:
        process.returncode = 0  # or else its destructor waits for a process that is not ours
    os.close(held_open)
    for file in (process.stdin, process.stdout, errors):
        file.close()
