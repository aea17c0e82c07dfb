"""Runs the tests of the constructors on mutants, each in a fork within a copy of the tree, on one core."""

from __future__ import annotations

import difflib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from bench.mutants.operators import Mutant

ROOT = Path(__file__).parents[2]
CORE, TESTS = "mechanisms/core", "tests"
COPIED = ("attacklab", "checker", "experiments", "mechanisms", "tests")
PRELOADED = (
    "hypothesis",
    "mpmath",
    "scipy.special",
    "z3",
    "attacklab.processes.fresh",
    "attacklab.laws.sampling_check",
)
"""What tests import that knows no mechanism, so that a fork for each mutant need not."""

KILLED, SURVIVED, TIMED_OUT, EQUIVALENT = "killed", "survived", "timed out", "equivalent"
_SECONDS = 30  # of the processor's time for one test, or to load it: some five times as long as any takes
_MOST_BYTES = 4 << 30
_OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "--tb=no", "-o", "addopts=", "-m", "not slow and not browser")


def run(chosen: Sequence[Mutant], sources: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Run the tests on each mutant, and yield its line of the record.

    Raises:
        RuntimeError: the tests fail on the tree as it is.
    """
    table = json.loads(Path(__file__).with_name("equivalent.json").read_text("utf-8"))
    reasons = {key: reason for reason, keys in table.items() for key in keys}
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder)
        shutil.copy2(ROOT / "pyproject.toml", tree)
        for name in COPIED:
            shutil.copytree(ROOT / name, tree / name)
        for name in PRELOADED:
            import_module(name)
        stages = {mutant.module: _stages(mutant.module, sources) for mutant in chosen if mutant.key not in reasons}
        files = sorted({file for listed in stages.values() for stage in listed for file in stage})
        if files and _forked(tree, lambda: int(pytest.main([*_OPTIONS, *files]))):  # it leaves compiled files behind
            raise RuntimeError(f"tests must pass before mutants are tried; run pytest {' '.join(files)}")
        for mutant in chosen:
            row = {"key": mutant.key, "module": mutant.module, "line": mutant.line, "seconds": 0.0}
            if mutant.key in reasons:
                yield row | {"outcome": EQUIVALENT, "reason": reasons[mutant.key]}
                continue
            started, path, source = time.monotonic(), tree / CORE / f"{mutant.module}.py", sources[mutant.module]
            stat = path.stat()
            path.write_text(mutant.text, "utf-8")
            outcome = next((it for files in stages[mutant.module] if (it := _tried(tree, files))), SURVIVED)
            path.write_text(source, "utf-8")
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # what was compiled of it holds again
            if outcome == SURVIVED:
                diff = difflib.unified_diff(source.splitlines(), mutant.text.splitlines(), lineterm="", n=0)
                row["diff"] = "\n".join(list(diff)[2:])
            yield row | {"outcome": outcome, "seconds": round(time.monotonic() - started, 1)}


def _stages(module: str, sources: Mapping[str, str]) -> list[list[str]]:
    """Return the files of tests that are named after a module, those that name it, and those of what imports it.

    They run one after the other; at last, for a module without a file of its own, those of mechanisms that name it.
    """
    named = f"mechanisms.core.{module} "
    importing = [f"test_{name}" for name, text in sources.items() if named in text]
    stages: list[list[str]] = [[], [], [], []]
    for path in sorted((ROOT / TESTS).glob("*/mechanisms/**/test_*.py")):
        is_core, is_naming = path.parent.name == "core", named in path.read_text("utf-8")
        is_own = is_core and path.stem.startswith(f"test_{module}")
        places = is_own, is_core and is_naming, is_core and path.stem in importing, is_naming and not stages[0]
        if any(places):
            stages[places.index(True)].append(str(path.relative_to(ROOT)))
    return [stage for stage in stages if stage]


class Limit:
    """A pytest plugin that ends the process, by a signal, where a test takes too long."""

    def pytest_runtest_setup(self) -> None:
        """Begin to count anew."""
        signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)


def _tried(tree: Path, files: Sequence[str]) -> str | None:
    """Say whether a test in these files fails or takes too long."""

    def limited() -> int:
        sys.dont_write_bytecode = True  # the next mutant would run this one's
        signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
        return int(pytest.main([*_OPTIONS, *files], plugins=[Limit()]))

    status = _forked(tree, limited)
    return TIMED_OUT if status & 0x7F == signal.SIGVTALRM else KILLED if status else None


def _forked(tree: Path, call: Callable[[], int]) -> int:
    """Run something in a fork of this process, within a tree, and return its status as `os.waitpid` does."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    try:
        os.setsid()  # a test that ends its group's processes ends none of ours
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
        os.chdir(tree)
        sys.path.insert(0, str(tree))
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        os._exit(call())
    finally:
        os._exit(70)
