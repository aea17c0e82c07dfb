"""Running mutants, each in processes of its own, and keeping every outcome at once in a file that only grows.

An outcome is kept with a digest of all that it depends on; where that has changed, the mutant runs again.
"""

from __future__ import annotations

import hashlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar

from bench.mutants.kept import KEPT_IN
from bench.mutants.listing import ROOT
from bench.mutants.mutant import Mutant
from bench.mutants.reach import Place, reached, touched
from bench.mutants.trees import environment_of, planted
from bench.mutants.trial import ACCEPTED, STARTED, UNWRITTEN, without_folders
from experiments.certificates import DRAFTS

JOURNAL = ROOT / "bench/data/mutants.jsonl"
PROCESSES = 2
TIMED_OUT, KILLED, SURVIVED = "timed out", "killed", "survived"
LEAST_SECONDS = 60.0
"""The least time limit of a certificate or a folder of tests; else ten times, or three, what the whole one takes."""
NOT_TARGETS = ("array_", "small_", "unlike_")
"""What names of drafts begin with that are of no target: they speak of a few inputs, or of other parameters."""
LONGEST_CERTIFICATE = 600.0
"""The time limit of a certificate of the whole mechanisms, in seconds."""
LONGEST_TESTS = 1800.0
"""The time limit of a folder of tests of the whole mechanisms, in seconds."""
MOST_THEOREMS = 2
"""How many theorems are checked of a mutant in shared code, by one certificate each."""
_CHECKED_BY = ("checker", "experiments/certificates", "experiments/targets", "attacklab/certificates.py")

Outcome = dict[str, Any]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Whole:
    """The certificates of the whole mechanisms.

    Args:
        outcomes: what became of them, by target.
        places: what each of them can come to run, and what its writer called.
        sources: the digests of their sources, by target.
    """

    outcomes: Mapping[str, Outcome]
    places: Mapping[str, tuple[set[Place], set[Place]]]
    sources: Mapping[str, Any]

    def targets_of(self, mutant: Mutant) -> list[str]:
        """List the targets whose certificates a mutant touches, one of each of some theorems.

        Those come first whose functions run the edit; only if there are none do those count whose writers run it. Left
        out are theorems whose mechanisms are known to keep their law.
        """
        kept_in, _ = KEPT_IN.get(mutant.key, ((), ""))
        for which in (0, 1):
            found = [name for name, places in self.places.items() if touched(mutant, places[which])]
            if found:
                break
        one_each: dict[str, str] = {}
        for name in sorted(found, key=lambda target: _digest(mutant.key, target)):
            if self.outcomes[name]["theorem"] not in kept_in:
                one_each.setdefault(self.outcomes[name]["theorem"], name)
        return sorted(list(one_each.values())[:MOST_THEOREMS])


class Journal:
    """Outcomes by what they are of, in a file to which lines are appended.

    Args:
        path: the file; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._kept: dict[str, Outcome] = {}
        for line in path.read_text("utf-8").splitlines() if path and path.is_file() else ():
            try:
                entry = json.loads(line)
            except ValueError:  # the last line of a process that was killed
                continue
            self._kept[entry["of"]] = entry

    def kept(self, of: str) -> Outcome | None:
        """Return the outcome that is kept, however old it is."""
        return self._kept.get(of)

    def recalled(self, of: str, digest: str, make: Callable[[], Outcome]) -> Outcome:
        """Return the outcome that is kept, or make it and keep it."""
        kept = self._kept.get(of)
        if kept is None or kept["digest"] != digest:
            kept = {"of": of, "digest": digest, **make()}
            with self._lock:
                self._kept[of] = kept
                if self._path:
                    with self._path.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(kept) + "\n")
        return kept


def run_whole(folder: Path, targets: Sequence[str] = ()) -> Whole:
    """Write and check the certificates of the whole mechanisms.

    Args:
        folder: where they are kept.
        targets: whose; by default all that speak of every pair of neighbours.

    Raises:
        RuntimeError: one is not accepted, so that refusing those of mutants would say nothing.
    """
    with planted(None) as tree:
        named = targets or [name for name in DRAFTS if not name.startswith(NOT_TARGETS)]
        found = _trial(tree, "whole", folder, named, lambda _: LONGEST_CERTIFICATE)
    outcomes = {one["target"]: one for one in found}
    failed = {name: one.get("reason") for name, one in outcomes.items() if one["outcome"] != ACCEPTED}
    if failed or not outcomes:
        raise RuntimeError(f"certificates of whole mechanisms are not accepted: {failed}; repair these first")
    places, sources = {}, {}
    for name, one in outcomes.items():
        content = json.loads((folder / f"{name}.json").read_text("utf-8"))
        places[name] = (reached(content, ROOT), {_place(called) for called in one["called"]})
        sources[name] = content["sources"]
    return Whole(outcomes, places, sources)


def check_mutants(mutants: Iterable[Mutant], whole: Whole, folder: Path, journal: Journal) -> dict[str, list[Outcome]]:
    """Write and check the certificates that each mutant touches.

    Args:
        mutants: which.
        whole: the certificates of the whole mechanisms.
        folder: where these are.
        journal: what keeps the outcomes.

    Returns:
        By mutant's key, an outcome for each target.
    """
    checker = _digest_of(*_CHECKED_BY)

    def one(mutant: Mutant) -> list[Outcome]:
        targets = whole.targets_of(mutant)
        digest = _digest(mutant.text, checker, json.dumps([[name, whole.sources[name]] for name in targets]))

        def make() -> Outcome:
            with planted(mutant) as tree:
                return {"targets": _trial(tree, "mutant", folder, targets, limit) if targets else []}

        def limit(target: str) -> float:
            return max(LEAST_SECONDS, 10 * float(whole.outcomes[target]["seconds"]))

        return list(journal.recalled(f"certificates of {mutant.key}", digest, make)["targets"])

    return _in_parallel(one, mutants)


def test_mutants(mutants: Sequence[Mutant], journal: Journal) -> dict[str, Outcome]:
    """Run the ordinary tests of each mutant's folder, until the first that fails.

    They run again if the tests change, and not if code does that the edit leaves alone: they take hours.

    Returns:
        By mutant's key, whether it was killed, by which test, and how long that took.
    """
    sources = _digest_of("mechanisms")
    seconds: dict[str, float] = {}
    for path in sorted({path for mutant in mutants for path in tests_of(mutant.module)}):
        run = partial(_tested, None, (path,), LONGEST_TESTS)
        kept = journal.recalled(f"tests in {path}", _digest(sources, _digest_of(path)), run)
        if kept["outcome"] != SURVIVED:
            raise RuntimeError(f"the tests in {path} fail on the whole mechanisms: {kept['by']}; repair these first")
        seconds[path] = kept["seconds"]

    def one(mutant: Mutant) -> Outcome:
        paths = tests_of(mutant.module)
        limit = max(LEAST_SECONDS, 3 * sum(seconds[path] for path in paths))
        run = partial(_tested, mutant, paths, limit)
        return journal.recalled(f"tests of {mutant.key}", _digest_of(*paths), run)

    return _in_parallel(one, mutants)


def tests_of(module: str) -> tuple[str, ...]:
    """Return the ordinary tests of a module: those of its family; of shared code its own and those of Laplace noise."""
    family, _, inner = module.partition("/")
    if inner:
        return (f"tests/mechanisms/{family}",)
    own = f"tests/mechanisms/test_{module}.py"
    return (own, "tests/mechanisms/laplace") if (ROOT / own).is_file() else ("tests/mechanisms/laplace",)


def _tested(mutant: Mutant | None, paths: tuple[str, ...], limit: float) -> Outcome:
    options = ["-x", "-q", "-n", "0", "--import-mode=append", "-p", "no:cacheprovider"]
    started = time.perf_counter()
    with planted(mutant) as tree:
        try:
            done = subprocess.run(  # noqa: S603 - this interpreter, on our own code
                [sys.executable, "-m", "pytest", *options, *paths],
                cwd=tree,
                env=environment_of(tree),
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"outcome": TIMED_OUT, "by": "", "seconds": round(limit)}
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return {
        "outcome": KILLED if done.returncode else SURVIVED,
        "by": failed[0][:200] if failed else "",
        "seconds": round(time.perf_counter() - started, 1),
    }


def _trial(tree: Path, task: str, folder: Path, targets: Sequence[str], limit: Callable[[str], float]) -> list[Outcome]:
    """Run the certificates of a tree; after one that takes too long, the others in a new process."""
    found: list[Outcome] = []
    waiting = list(targets)
    while True:
        underway, ended = _watched(tree, [task, str(folder), *waiting], limit, found)
        if ended == "":
            return found
        # A process that ends before its first target fails on all of them.
        for name in [underway] if underway else waiting:
            outcome = TIMED_OUT if ended == TIMED_OUT else UNWRITTEN
            found.append({"target": name, "outcome": outcome, "reason": ended, "seconds": 0.0})
        done = {one["target"] for one in found}
        waiting = [name for name in waiting if name not in done]
        if not waiting:
            return found


def _watched(tree: Path, arguments: list[str], limit: Callable[[str], float], found: list[Outcome]) -> tuple[str, str]:
    """Run a trial and read its outcomes; return the target that it did not finish, and why, or nothing."""
    with (tree / "errors.txt").open("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(  # noqa: S603 - this interpreter, on our own code
            [sys.executable, "-m", "bench.mutants.trial", *arguments],
            cwd=tree,
            env=environment_of(tree),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        reader = threading.Thread(target=_read, args=(process.stdout, lines))
        reader.start()
        underway, allowed, reason = "", 10 * LEAST_SECONDS, ""
        try:
            while line := lines.get(timeout=allowed):
                entry = json.loads(line)
                if entry["outcome"] == STARTED:
                    underway, allowed = entry["target"], limit(entry["target"])
                else:
                    found.append(entry)
                    underway = ""
        except queue.Empty:
            process.kill()
            reason = TIMED_OUT
        reader.join()
        if process.stdout:
            process.stdout.close()
        if process.wait() and not reason:
            errors.seek(0)
            reason = without_folders(errors.read())[-300:] or f"the process ended with status {process.returncode}"
    return underway, reason


def _read(stream: IO[str] | None, lines: queue.SimpleQueue[str]) -> None:
    for line in stream or ():
        lines.put(line)
    lines.put("")


def _in_parallel(run: Callable[[Mutant], Result], mutants: Iterable[Mutant]) -> dict[str, Result]:
    listed = list(mutants)
    with ThreadPoolExecutor(PROCESSES) as pool:
        return dict(zip((one.key for one in listed), pool.map(run, listed), strict=True))


def _digest_of(*names: str) -> str:
    """Digest some files, and the Python files of some folders, of the checkout."""
    files = [found for path in (ROOT / name for name in names) for found in (sorted(path.rglob("*.py")) or [path])]
    return _digest(*(file.read_text("utf-8") for file in files))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _place(called: str) -> Place:
    module, _, function = called.partition(":")
    return module.removeprefix("mechanisms.").replace(".", "/"), function
