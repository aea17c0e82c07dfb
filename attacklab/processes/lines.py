"""A program in any language that answers requests: waits for each answer up to a limit, and says why there was none."""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attacklab.model.errors import UsageError
from attacklab.processes.group import ProcessGroup, require_process_groups, signal_name
from attacklab.processes.wire import LONGEST_LINE, ChildError, ChildFailure, read_object

CHUNK = 1 << 16
"""Bytes read at a time: as many as a pipe usually holds."""

KEPT_ERROR_TEXT = 4096
"""The last bytes of standard error, kept for messages."""

LONGEST_SECONDS = 1e6
"""The longest timeout: a selector cannot wait for 2^31 ms."""

DEFAULT_SECONDS = 60.0
"""The default timeout of one request, in seconds."""

IDLE_WINDOW = 0.2
"""How long a late process is watched, in seconds, to tell a hang from a computation."""

IDLE_SHARE = 0.02
"""A late process that uses a smaller share of one processor hangs."""


class ChildProcess:
    """A running child process; after a `ChildError` it must be closed, since its pipes may hold half an answer."""

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._group = ProcessGroup(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._process, self._seconds = self._group.process, seconds
        self.pid, self.owner, self.close = self._process.pid, self._group.owner, self._group.close
        self._request = memoryview(b"")
        self._answer, self._error_text = bytearray(), b""
        self._ended = False
        self._selector = selectors.PollSelector()
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        descriptors = [pipe.fileno() for pipe in pipes if pipe is not None]
        for descriptor in descriptors:
            os.set_blocking(descriptor, False)
        self._stdin, self._stdout, self._stderr = descriptors
        self._selector.register(self._stdout, selectors.EVENT_READ, ChildProcess._read_answer)
        self._selector.register(self._stderr, selectors.EVENT_READ, ChildProcess._read_error_text)

    def line(self, seconds: float) -> bytes:
        """The next line that the process writes, without the newline.

        Raises:
            ChildError: no whole line came within `seconds`.
        """
        deadline, searched = time.monotonic() + seconds, 0
        while (end := self._answer.find(b"\n", searched)) < 0:
            searched = len(self._answer)
            if searched > LONGEST_LINE:
                message = f"it wrote a line of more than {LONGEST_LINE} bytes; write one answer a line"
                raise ChildError(ChildFailure.GARBAGE, message)
            if self._ended:
                raise self._end_without_answer()
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._late(seconds)
            for key, _ in self._selector.select(left):
                key.data(self)  # a bound method would make a cycle, which only the garbage collector could free
        line, self._answer = bytes(self._answer[:end]), self._answer[end + 1 :]
        return line

    def ask(self, request: bytes) -> bytes:
        """Send one line and read the one line that answers it, without the newline.

        Raises:
            ChildError: the process did not answer with one line; the message says how.
        """
        self._require_nothing_left("before the request")
        self._request = memoryview(request)
        self._selector.register(self._stdin, selectors.EVENT_WRITE, ChildProcess._write_request)
        self._write_request()  # what the pipe does not take now is sent while the answer is waited for
        line = self.line(self._seconds)
        if self._request:
            raise ChildError(ChildFailure.GARBAGE, "it answered before it had read the request")
        self._require_nothing_left("after the answer")
        return line

    def _require_nothing_left(self, when: str) -> None:
        """Raise a ChildError if the process has written more than it was asked for."""
        self._read_answer()
        if self._answer:
            shown = bytes(self._answer[:40])
            raise ChildError(ChildFailure.GARBAGE, f"{len(self._answer)} bytes too many {when}, beginning {shown!r}")

    def _write_request(self) -> None:
        with contextlib.suppress(BlockingIOError):
            try:
                self._request = self._request[os.write(self._stdin, self._request) :]
            except BrokenPipeError:  # it ended, or reads no more: what it still writes will say why
                self._request = self._request[:0]
        if not self._request:
            self._selector.unregister(self._stdin)

    def _read_answer(self) -> None:
        with contextlib.suppress(BlockingIOError):
            read = os.read(self._stdout, CHUNK)
            self._answer += read
            self._ended = not read

    def _read_error_text(self) -> None:
        with contextlib.suppress(BlockingIOError):
            read = os.read(self._stderr, CHUNK)
            self._error_text = (self._error_text + read)[-KEPT_ERROR_TEXT:]
            if not read and self._stderr in self._selector.get_map():
                self._selector.unregister(self._stderr)

    def _end_without_answer(self) -> ChildError:
        status = self._group.status()
        if status is None:
            return ChildError(ChildFailure.GARBAGE, "it closed its output without an answer")
        self._read_error_text()
        how = f"killed by {signal_name(-status)}" if status < 0 else f"exited with status {status} before answering"
        if status == 0:
            how += "; let it answer one request after another until its input ends"
        words = self._error_text.decode("utf-8", "replace").strip().splitlines()
        return ChildError(ChildFailure.CRASH, f"{how}; it said: {words[-1]}" if words else how)

    def _late(self, seconds: float) -> ChildError:
        if self._process.poll() is not None:  # a process that it started keeps its output open
            return self._end_without_answer()
        if sys.platform != "linux":
            return ChildError(ChildFailure.TIME_LIMIT, f"no answer within {seconds:g} s")
        used = _processor_seconds(self.pid)
        time.sleep(IDLE_WINDOW)
        if _processor_seconds(self.pid) - used < IDLE_SHARE * IDLE_WINDOW:
            return ChildError(ChildFailure.HANG, f"no answer within {seconds:g} s, and the process is idle")
        return ChildError(ChildFailure.TIME_LIMIT, f"still computing after {seconds:g} s")


class Program:
    """A program that is started when first needed, and again after `close`; a fork of this process has one of its own.

    Args:
        command: the program and its arguments.
        seconds: the timeout of one request.

    Raises:
        UsageError: `seconds` is out of range, or this system has no process groups.
    """

    def __init__(self, command: Sequence[str], seconds: float = DEFAULT_SECONDS) -> None:
        if not (math.isfinite(seconds) and seconds > 0):
            raise UsageError(f"seconds must be finite and greater than 0, not {seconds}")
        if seconds > LONGEST_SECONDS:
            raise UsageError(f"seconds must be at most {LONGEST_SECONDS:g}, not {seconds}")
        require_process_groups()
        self._command, self._seconds = tuple(command), seconds
        self._running: ChildProcess | None = None

    @property
    def process(self) -> ChildProcess:
        """The running process.

        Raises:
            ChildError: it started, and failed at once.
            OSError: the system did not start it.
        """
        if self._running is None or self._running.owner != os.getpid():
            self._running = ChildProcess(self._command, self._seconds)
            self._started()
        return self._running

    def _started(self) -> None:
        """What a subclass does with a new process."""

    def ask_object(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Ask by one line of JSON, which the program answers by one line.

        Raises:
            ChildError: the program did not answer with one JSON object without decimal numbers.
        """
        try:
            return read_object(self.process.ask(json.dumps(request).encode() + b"\n"))
        except ChildError:
            self.close()
            raise

    def garbage(self, message: str) -> ChildError:
        """The error for an answer that is not what was asked for; ends the process."""
        self.close()
        return ChildError(ChildFailure.GARBAGE, message)

    def close(self) -> None:
        """End the process."""
        if self._running is not None:
            self._running.close()
            self._running = None


def _processor_seconds(group: int) -> float:
    """Processor time used so far by the running processes of a group, and by children that they waited for."""
    ticks = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            fields = status.read_text(encoding="latin-1").rpartition(")")[2].split()
            if int(fields[2]) == group:
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
