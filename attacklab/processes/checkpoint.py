"""Checkpoints: what an audit has drawn, in a file of lines that only grows, from which it continues however it ended.

The first line says which run the file belongs to; every other line holds one result. The order of the results depends
only on the run, so a run that is started again reads them back in the order in which it would have drawn them, in
constant memory, and the file is the same whatever the number of workers. Each line is a JSON array of a checksum and
its content; the checksum covers the earlier lines too, so that no line can be lost, moved or altered unseen. From the
first damaged line on, such as the last line of a process that was killed, results are drawn again.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from typing import IO, Any

from attacklab.auditing.meter import Meter
from attacklab.model.code_fingerprint import changed
from attacklab.model.errors import AttackError, Refused, TargetError, UsageError
from attacklab.model.findings import Counts, Severity
from attacklab.processes.batches import Batch, Outline, Sample
from attacklab.processes.runners import Results, Runner, Say

SCHEMA = "attacklab-checkpoint/1"
CHECKSUM_DIGITS = 16

MOST_TOLD, LONGEST_DIFFERENCE = 3, 80
"""So many differences between two runs are told, with their values where that takes no more than so many characters."""


class Checkpoint:
    """The file of one run; made if it does not exist.

    Args:
        path: the file.
        run: everything that the results depend on, as JSON values.
        say: is told, in one line, what was found in the file.

    Raises:
        UsageError: the file is not a checkpoint or not a regular file, belongs to another run, or another process is
            writing it.
        OSError: it cannot be read or written.
    """

    def __init__(self, path: Path, run: Mapping[str, Any], say: Say) -> None:
        self._path = path
        header = {"schema": SCHEMA, "run": json.loads(json.dumps(run))}
        if path.exists() and not path.is_file():  # a device may have no end, and a pipe keeps nothing
            raise UsageError(f"{path} cannot keep results: it is not a regular file; choose another one")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = path.open("a+b")
        try:
            self._lock()
            self._begin(_line("", json.dumps(header))[0])
            self._last = self._require_run(header)
            first = self._file.tell()
            end, count, damaged = self._intact()
            if damaged:
                self._file.truncate(end)
            self._left = count
            if count or damaged:
                lost = f"; line {count + 2} is damaged, so the rest is drawn again" if damaged else ""
                say(f"{path}: continuing after {count} results{lost}")
            self._file.seek(first)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def recalled(self, key: list[Any]) -> Any:
        """The result kept under this key, or None if the file ends here.

        Raises:
            UsageError: the next result is another one.
        """
        if not self._left:
            return None
        self._left -= 1
        _, entry = json.loads(self._file.readline())
        if entry["key"] != key:
            raise UsageError(
                f"{self._path} has the result of {entry['key']} where this run needs that of {key}; choose another file"
            )
        return entry["result"]

    def keep(self, key: list[Any], result: Any) -> None:
        """Append a result; it is kept even if this process is killed.

        Raises:
            OSError: it cannot be written; a part of it will be taken for damage.
        """
        line, self._last = _line(self._last, json.dumps({"key": key, "result": result}))
        self._append(line)

    def _append(self, line: bytes) -> None:
        """Write past the buffer, which would keep a line that could not be written."""
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._file.fileno(), left) :]
        except OSError as error:
            raise OSError(f"cannot write to {self._path}: {error.strerror}") from error

    def _lock(self) -> None:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UsageError(f"another run is writing {self._path}; wait for it, or choose another file") from error

    def _begin(self, first: bytes) -> None:
        """Write the first line if there is none, or only the part of it that a killed process has left."""
        self._file.seek(0)
        line = self._file.readline()
        if len(line) < len(first) and first.startswith(line):
            self._file.truncate(0)
            self._append(first)
        self._file.seek(0)

    def _require_run(self, header: Mapping[str, Any]) -> str:
        """The checksum of the first line, which must be that of this run."""
        try:
            checksum, content = _read("", self._file.readline())
            recorded = json.loads(content)
            if recorded["schema"] != SCHEMA:
                raise ValueError
        except (ValueError, TypeError, KeyError):
            raise UsageError(f"{self._path} is not a checkpoint of an audit ({SCHEMA}); choose another file") from None
        differences = _differences(dict(recorded["run"]), dict(header["run"]))
        if differences:
            raise UsageError(f"{self._path} belongs to another run ({'; '.join(differences)}); choose another file")
        return checksum

    def _intact(self) -> tuple[int, int, bool]:
        """Where the intact lines end, how many there are from here on, and whether anything follows them."""
        end, count = self._file.tell(), 0
        for line in self._file:
            try:
                self._last, _ = _read(self._last, line)
            except ValueError:
                return end, count, True
            end, count = end + len(line), count + 1
        return end, count, False


class Recorded:
    """A runner that keeps its results, failures of the target included, and does not run again what was kept."""

    def __init__(self, runner: Runner, checkpoint: Checkpoint) -> None:
        self._runner, self._checkpoint = runner, checkpoint

    def outlines(self, attack: int, meter: Meter | None = None) -> tuple[Outline, ...]:
        """As in `Runner`."""
        key = ["outlines", attack]
        kept = self._recalled(key)
        if kept is not None:
            return tuple(_outline(outline) for outline in kept)
        with self._failures_kept(key):
            outlines = self._runner.outlines(attack, meter)
        self._checkpoint.keep(key, [asdict(outline) for outline in outlines])
        return outlines

    def counts(self, sample: Sample, batches: Iterator[Batch]) -> Results:
        """As in `Runner`."""
        for batch in batches:
            kept = self._recalled(_key(sample, batch))
            if kept is None:
                yield from self._drawn(sample, itertools.chain([batch], batches))
            else:
                yield tuple(Counts(*counts) for counts in kept)

    def _drawn(self, sample: Sample, batches: Iterator[Batch]) -> Results:
        to_draw, to_keep = itertools.tee(batches)
        with contextlib.closing(self._runner.counts(sample, to_draw)) as results:
            for batch in to_keep:
                key = _key(sample, batch)
                with self._failures_kept(key):
                    drawn = next(results)
                self._checkpoint.keep(key, [astuple(counts) for counts in drawn])
                yield drawn

    def _recalled(self, key: list[Any]) -> Any:
        kept = self._checkpoint.recalled(key)
        if isinstance(kept, dict):
            raise (Refused if kept["refused"] else TargetError)(kept["failed"])
        return kept

    @contextlib.contextmanager
    def _failures_kept(self, key: list[Any]) -> Iterator[None]:
        try:
            yield
        except (TargetError, AttackError) as error:
            self._checkpoint.keep(key, {"failed": str(error), "refused": isinstance(error, Refused)})
            raise


def _outline(kept: Mapping[str, Any]) -> Outline:
    several = {name: tuple(kept[name]) for name in ("events", "flaws")}
    return Outline(**{**kept, **several, "severity": Severity(kept["severity"])})


def _key(sample: Sample, batch: Batch) -> list[Any]:
    asked = [sample.attack, sample.scenario, sample.outline, sample.role.name.lower(), list(sample.events)]
    return ["counts", *asked, sample.one_by_one, batch.number, batch.rows]


def _differences(theirs: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    """What tells two runs apart, in a few words: settings with short values first, modules that were edited last."""
    edited = changed(theirs.pop("code", {}), ours.pop("code", {}))
    differing = [name for name in dict.fromkeys([*theirs, *ours]) if theirs.get(name) != ours.get(name)]
    if "trials" in differing:  # what attacks learn from follows the trials
        differing = [name for name in differing if name != "attacks"]
    told = {name: f"{name} {theirs.get(name)!r} there, {ours.get(name)!r} here" for name in differing}
    short = [text for text in told.values() if len(text) <= LONGEST_DIFFERENCE]
    settings = short + [f"other {name}" for name, text in told.items() if text not in short]
    return _first_few(settings) + ([f"changed since: {', '.join(_first_few(edited))}"] if edited else [])


def _first_few(texts: Sequence[str]) -> list[str]:
    more = len(texts) - MOST_TOLD
    return [*texts[:MOST_TOLD], *([f"and {more} more"] if more > 0 else [])]


def _line(before: str, content: str) -> tuple[bytes, str]:
    """A line and its checksum."""
    checksum = hashlib.sha256((before + content).encode()).hexdigest()[:CHECKSUM_DIGITS]
    return f'["{checksum}", {content}]\n'.encode(), checksum


def _read(before: str, line: bytes) -> tuple[str, str]:
    """The checksum and the content of a line.

    Raises:
        ValueError: it is damaged.
    """
    content = line[CHECKSUM_DIGITS + 5 : -2].decode()
    intact, checksum = _line(before, content)
    if line != intact:
        raise ValueError("a damaged line")
    return checksum, content
