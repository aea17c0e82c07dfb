"""The program `attacklab`: the command line under a parent that notices when a target ends its process.

A target that calls `os._exit(0)`, or that crashes the interpreter, would otherwise decide the exit status: nothing
would have been judged, and the status could say anything. The parent does nothing but wait, and hand on signals; the
process that does the work tells it by a pipe with which status the command came to its own end. Where a system cannot
fork, the command line runs alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn

from attacklab import cli
from attacklab.cli.messages import say
from attacklab.cli.status import Status
from attacklab.processes.group import signal_name

HANDED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
"""Signals for the command, of which the parent gets its own copy, or the only one."""

INTERRUPT_HANDED_ON = "SIGUSR1"
"""Ctrl-C reaches the whole process group, so the parent hands its copy on as another signal: both are one interrupt."""


def main() -> NoReturn:
    """Run the command line, and end with its status."""
    cli.open_streams()
    if not hasattr(os, "fork"):
        cli.main()
    ended, status_out = os.pipe()
    alive, held = os.pipe()
    child = os.fork()
    if not child:
        os.close(ended)
        os.close(held)
        _work(status_out, alive)
    os.close(status_out)
    os.close(alive)
    _wait(child, ended)


def _work(status_out: int, alive: int) -> NoReturn:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are for the thread that waits
    threading.Thread(target=_end_with_the_parent, args=(alive,), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as shells set it for what runs in the background
        interrupts = _Interrupts()
        signal.signal(signal.SIGINT, interrupts.ours)
        signal.signal(getattr(signal, INTERRUPT_HANDED_ON), interrupts.handed_on)
    try:
        cli.main()
    except SystemExit as end:
        status = Status.OK if end.code is None else end.code
        os.write(status_out, bytes([status if isinstance(status, int) else Status.FAILED]))
        raise
    raise AssertionError("the command line ends by an exit")


def _end_with_the_parent(alive: int) -> None:
    os.read(alive, 1)
    os.kill(os.getpid(), signal.SIGKILL)


class _Interrupts:
    """Raises KeyboardInterrupt, once where the same Ctrl-C arrives twice."""

    def __init__(self) -> None:
        self._seen = self._handed_on = 0

    def ours(self, number: int, frame: FrameType | None) -> None:
        self._seen += 1
        signal.default_int_handler(number, frame)

    def handed_on(self, number: int, frame: FrameType | None) -> None:
        self._handed_on += 1
        if self._handed_on > self._seen:
            self.ours(number, frame)


def _hand_on(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # the same signal had ended it
        os.kill(child, number)


def _wait(child: int, ended: int) -> NoReturn:
    for name in HANDED_ON:
        ours = getattr(signal, name)
        theirs = getattr(signal, INTERRUPT_HANDED_ON) if name == "SIGINT" else ours
        if signal.getsignal(ours) is not signal.SIG_IGN:
            signal.signal(ours, lambda *_, theirs=theirs: _hand_on(child, theirs))
    _, status = os.waitpid(child, 0)
    os.set_blocking(ended, False)
    try:
        end = os.read(ended, 1)
    except BlockingIOError:  # something that the target started keeps the pipe open
        end = b""
    if end:
        os._exit(end[0])
    code = os.waitstatus_to_exitcode(status)
    if code < 0 and signal_name(-code) in HANDED_ON:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    how = f"was killed by {signal_name(-code)}" if code < 0 else f"was ended from within (status {code})"
    say(f"the process {how}, so nothing was judged; run the target in a process of its own: --isolate")
    sys.exit(Status.FAILED)
