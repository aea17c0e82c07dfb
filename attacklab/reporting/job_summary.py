"""The summary of a CI job in Markdown: the verdict on each test or target, its reason, and the line that replays it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from attacklab.model.findings import Finding, Verdict, decisive, read_record
from attacklab.model.plain_text import plain
from attacklab.reporting.summary import summary

SAID = (Verdict.VIOLATED, Verdict.NOT_DETECTED)
"""The verdicts that the sentence explains; of others the findings say why."""

MOST_REPLAYS = 3
"""So many lines are shown of a test or target; the record has all."""

_MARKS = re.compile(r"([\\`*_{}\[\]()<>#|~$@!&])")


def job_summary(record: Path, command: str, status: int) -> str:
    """The summary.

    Args:
        record: what `attacklab audit --json` or `pytest --dp-json` wrote; there need be no such file.
        command: what was run, in words.
        status: the exit status of that.

    Returns:
        Markdown, in which names and reasons stand as plain text.

    Raises:
        ValueError: the file is not a record.
    """
    ended = f"`{plain(command).replace('`', ' ')}` ended with status {status}"
    if not record.is_file():
        return f"## attacklab\n\n{ended} before it had findings; the log of the step says why.\n"
    data = read_record(record)
    findings: list[Finding] = data["findings"]
    groups: dict[str, list[Finding]] = {}
    if "tests" in data:
        groups = {test["test"]: [findings[number] for number in test["findings"]] for test in data["tests"]}
    else:
        for finding in findings:
            groups.setdefault(finding.target, []).append(finding)
    parts = [f"## attacklab\n\n{ended}.", *(_part(name, group) for name, group in groups.items())]
    return "\n\n".join(parts) + "\n"


def _part(name: str, findings: list[Finding]) -> str:
    deciding = decisive(findings)
    verdict = deciding[0].verdict
    is_note = verdict is Verdict.VIOLATED and not deciding[0].refutes
    heading = f"note ({deciding[0].severity})" if is_note else verdict
    told = [] if verdict in SAID else [_text(f"{one.attack}: {one.reason}") for one in deciding]
    lines = dict.fromkeys(plain(one.replay) for one in deciding if one.replay)
    replays = "\n".join(f"    {line}" for line in list(lines)[:MOST_REPLAYS])
    parts = [f"### {heading}: {_text(name)}", _text(summary(findings)), _listed(told)]
    return "\n\n".join(filter(None, [*parts, replays and f"Replay:\n\n{replays}"]))


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in dict.fromkeys(lines))


def _text(text: str) -> str:
    """Text in one line, none of which is markup."""
    return _MARKS.sub(r"\\\1", plain(text))
