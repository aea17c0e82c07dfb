"""One run of the command line, what it left behind, and an oracle that says what is wrong with that."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

OK, REFUTED, FAILED, INTERRUPTED = 0, 1, 2, 130

ANY = (OK, REFUTED, FAILED)
NEVER_REFUTED = (OK, FAILED)
NEVER_PASSED = (REFUTED, FAILED)

PASSES = {"not detected", "proved", "proved with slack"}
LAWS = {"exact_law", "certificate"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One run.

    Attributes:
        name: what is odd about it.
        words: those after `attacklab`.
        statuses: the exit statuses that are right, as far as that is known of the target beforehand.
        files: the texts of files in the folder it runs in.
        links: symbolic links there, by what they lead to.
        pipes: named pipes there.
        read_only: those of the files that nobody may write.
        record: where the record is written: "-", a file, or nowhere.
        changes: files that the options name, which the run may write.
        said: a pattern that its standard error has to match.
    """

    name: str
    words: tuple[str, ...]
    statuses: tuple[int, ...] = ANY
    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    pipes: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    record: str | None = "-"
    changes: tuple[str, ...] = ()
    said: str = ""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run left behind.

    Attributes:
        status: its exit status; a negative one is that of a signal, None that it took too long.
        output: what it wrote to standard output.
        error: what it wrote to standard error.
        record: the text of the file that `Case.record` names, if there is one.
        orphans: the command lines of processes that outlived it.
        altered: files of its folder that are lost, changed or new.
        left: temporary files that it left.
        seconds: how long it took.
    """

    status: int | None
    output: str
    error: str
    record: str | None
    orphans: tuple[str, ...]
    altered: tuple[str, ...]
    left: tuple[str, ...]
    seconds: float


def faults(case: Case, outcome: Outcome) -> list[str]:
    """Everything that is wrong with what a run left behind."""
    if outcome.status is None:
        return [f"it took more than {outcome.seconds:.0f} s"]
    told = list(_faults_of_status(case, outcome))
    if "Traceback (most recent call last)" in outcome.error + outcome.output:
        told.append("it ends in a traceback")
    if re.search(r"/attacklab/.*Warning: ", outcome.error):
        told.append("a warning of Python's is shown")
    if re.search(r"[\x00-\x08\x0b\x0e-\x1f\x7f]", outcome.error):
        told.append("standard error has control characters")
    if outcome.status == FAILED and not (outcome.error + outcome.output + (outcome.record or "")).strip():
        told.append("it fails and says nothing")
    if not re.search(case.said, outcome.error):
        told.append(f"standard error does not say {case.said!r}")
    told += [f"still running: {orphan}" for orphan in outcome.orphans]
    told += [f"lost, changed or new: {name}" for name in outcome.altered]
    return told + [f"left behind: {name}" for name in outcome.left]


def _faults_of_status(case: Case, outcome: Outcome) -> Iterable[str]:
    if outcome.status not in case.statuses:
        yield f"it ends in {outcome.status}, not in one of {case.statuses}"
    text = outcome.output if case.record == "-" else outcome.record
    if case.record is None:
        return
    if not text:
        if outcome.status in (OK, REFUTED):
            yield f"it ends in {outcome.status} without a record"
        return
    try:
        findings = json.loads(text, parse_constant=_refused)["findings"]
    except (ValueError, LookupError) as error:
        yield f"the record cannot be read: {error}"
        return
    right = _status_of(findings)
    if outcome.status != right:
        yield f"it ends in {outcome.status}, but its record says {right}"


def _status_of(findings: list[dict[str, Any]]) -> int:
    """The status that findings call for, by the words of the README."""
    verdicts = {one["verdict"] for one in findings}
    if any(one["verdict"] == "violated" and one.get("severity", "claim") == "claim" for one in findings):
        return REFUTED
    unproved = any(one.get("attack") in LAWS and one["verdict"] == "inconclusive" for one in findings)
    return FAILED if "error" in verdicts or unproved or not verdicts & (PASSES | {"violated"}) else OK


def _refused(word: str) -> float:
    raise ValueError(f"{word} is not JSON")
