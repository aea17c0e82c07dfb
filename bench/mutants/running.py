"""Runs the tests of the constructors on mutants, each in a fork within a copy of the tree, on one core."""

from __future__ import annotations

import contextlib
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
CORE, TESTS = "mechanisms/core", "tests/mechanisms"
COPIED = ("attacklab", "mechanisms", "tests", "checker", "experiments", "pyproject.toml")
PRELOADED = ("hypothesis", "mpmath", "scipy.special", "z3", "attacklab.elsewhere", "attacklab.laws.net")
"""What tests import that knows no mechanism, so that a fork for each mutant need not."""

KILLED, SURVIVED, TIMED_OUT, EQUIVALENT = "killed", "survived", "timed out", "equivalent"
_SECONDS = 30
"""Of the processor's time for one test, or to load a module: some five times as long as any of them takes."""

_MOST_BYTES = 4 << 30
_OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "--tb=no", "-o", "addopts=", "-m", "not slow and not browser")


def run(chosen: Sequence[Mutant], sources: Mapping[str, str], is_whole: bool = True) -> Iterator[dict[str, Any]]:
    """Run the tests on each mutant, and yield its line of the record.

    Args:
        chosen: the mutants.
        sources: the text of each module.
        is_whole: whether to run the tests on the tree as it is, too; else they are only loaded.

    Raises:
        RuntimeError: the tests fail on the tree as it is.
    """
    table = json.loads(Path(__file__).with_name("equivalent.json").read_text("utf-8"))
    reasons = {key: reason for reason, keys in table.items() for key in keys}
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder)
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copy(ROOT / name, tree / name)
        for name in PRELOADED:
            import_module(name)
        options = _OPTIONS if is_whole else (*_OPTIONS, "--collect-only")  # either leaves compiled files behind
        stages = {mutant.module: _stages(mutant.module, sources) for mutant in chosen}
        files = sorted({file for each in stages.values() for some in each for file in some})
        if _forked(tree, lambda: int(pytest.main([*options, *files]))):
            raise RuntimeError(f"tests must pass before mutants are tried; run pytest {' '.join(files)}")
        for mutant in chosen:
            row = {"key": mutant.key, "module": mutant.module, "line": mutant.line, "seconds": 0.0}
            if mutant.key in reasons:
                yield row | {"outcome": EQUIVALENT, "reason": reasons[mutant.key]}
                continue
            started = time.monotonic()
            with _edited(tree / CORE / f"{mutant.module}.py", mutant.text):
                outcome = next((it for files in stages[mutant.module] if (it := _tried(tree, files))), SURVIVED)
            row |= {"outcome": outcome, "seconds": round(time.monotonic() - started, 1)}
            if outcome == SURVIVED:
                before, after = sources[mutant.module].splitlines(), mutant.text.splitlines()
                row["diff"] = "\n".join(list(difflib.unified_diff(before, after, lineterm="", n=0))[2:])
            yield row


def _stages(module: str, sources: Mapping[str, str]) -> list[list[str]]:
    """Return the files of tests that are named after a module, those that name it, and those of what imports it.

    They run one after the other; at last, for a module without a file of its own, those of mechanisms that name it.
    """
    texts = {path: path.read_text("utf-8") for path in sorted((ROOT / TESTS).rglob("test_*.py"))}
    core = {path: text for path, text in texts.items() if path.parent.name == "core"}
    named = f"mechanisms.core.{module} "
    importing = [f"test_{other}.py" for other, text in sources.items() if named in text]
    stages = [
        [path for path in core if path.stem.startswith(f"test_{module}")],
        [path for path, text in core.items() if named in text],
        [path for path in core if path.name in importing],
    ]
    if not stages[0]:
        stages.append([path for path, text in texts.items() if named in text])
    fresh = [
        [path for path in paths if not any(path in earlier for earlier in stages[:place])]
        for place, paths in enumerate(stages)
    ]
    return [[str(path.relative_to(ROOT)) for path in paths] for paths in fresh if paths]


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
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGVTALRM:
        return TIMED_OUT
    return KILLED if status else None


@contextlib.contextmanager
def _edited(path: Path, text: str) -> Iterator[None]:
    """Put a text into a file for a while; what was compiled of the file before holds again afterwards."""
    stat, original = path.stat(), path.read_bytes()
    path.write_text(text, "utf-8")
    try:
        yield
    finally:
        path.write_bytes(original)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def _forked(tree: Path, call: Callable[[], int]) -> int:
    """Run something in a fork of this process, within a tree, and return its status as `os.waitpid` does."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    status = 70
    try:
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
        os.chdir(tree)
        sys.path.insert(0, str(tree))
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        status = call()
    finally:
        os._exit(status)
