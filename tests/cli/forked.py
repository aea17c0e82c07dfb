"""Commands in forks of the process of the tests, which has imported all that they need: each costs little."""

import contextlib
import faulthandler
import os
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import attacklab.auditing.first_outputs
import attacklab.auditing.referee
import attacklab.cli.audit
import attacklab.cli.cases
import attacklab.cli.list_
import attacklab.cli.prove  # noqa: F401 - what every command here would import
from attacklab import cli
from attacklab.laws import fresh_process
from attacklab.processes import fresh
from attacklab.reporting import progress
from attacklab.stages.search import stability


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it wrote."""

    returncode: int
    stdout: bytes
    stderr: bytes


def run(folder: Path, *words: str, output: int | None = None, env: dict[str, str] | None = None) -> Done:
    """Run a command in a folder, with descriptors of its own.

    Args:
        folder: where it runs; `.out` and `.err` in it hold what the command writes.
        words: those after `attacklab`.
        output: a descriptor for its standard output instead.
        env: variables to set.
    """
    if not fresh._kept:  # it confirms laws and tries stages for all forks, one after another
        fresh.run_in_fresh_processes([(int, ())], seconds=60)
    out, err = ((folder / name).open("w+b", buffering=0) for name in (".out", ".err"))
    with out, err:
        sys.stdout.flush()
        with warnings.catch_warnings(action="ignore"):  # of forks beside threads: the child uses none of them
            child = os.fork()
        if not child:
            _command(folder, words, (out.fileno() if output is None else output, err.fileno()), env or {})
        _, status = os.waitpid(child, 0)
        texts = [file.read() for file in (out, err) if file.seek(0) == 0]
    if words[0] == "prove" and status and texts[0]:  # it may still be at work
        fresh.close()
    return Done(os.waitstatus_to_exitcode(status), *texts)


def _command(folder: Path, words: tuple[str, ...], descriptors: tuple[int, int], env: dict[str, str]) -> NoReturn:
    status: object = 99
    faulthandler.disable()  # pytest enables it: a target that crashes would fill the log of the tests
    try:
        for number, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), *descriptors)):
            os.dup2(descriptor, number)
        encoding = env.get("PYTHONIOENCODING", "utf-8")
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = sys.__stdout__ = open(1, "w", encoding=encoding, closefd=False)  # type: ignore[misc] # noqa: SIM115
        sys.stderr = open(2, "w", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
        os.environ.pop("COLUMNS", None)
        os.environ |= env
        tempfile.tempdir = None
        for program in fresh._kept.values():
            program._owner = os.getpid()
        vars(fresh_process)["HASH_SEEDS"] = fresh.HASH_SEEDS[:1]  # each costs a Python, and the tests of laws try all
        progress.LINE_SECONDS = float("inf")  # on a busy machine a command says how far it is
        stability.__kwdefaults__["seconds"] = 0.5  # a search that finds nothing takes all its time
        os.chdir(folder)
        sys.argv = ["attacklab", *words]
        cli.main()
    except SystemExit as error:
        status = error.code
    finally:
        with contextlib.suppress(OSError, AttributeError, ValueError):
            sys.stdout.flush()
        os._exit(int(str(status or 0)))
