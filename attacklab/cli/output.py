"""What a command leaves behind: findings on standard output and in files, and the exit status."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from attacklab.cli.status import Status
from attacklab.errors import UsageError
from attacklab.files import require_writable, write_whole
from attacklab.findings import Finding, Verdict, record, to_text
from attacklab.reporting.sarif import Place, sarif_log
from attacklab.reporting.wording import claim_text, judged_text, pair_text, scope_text, target_text

COLOURS = {
    Verdict.VIOLATED: "bold red",
    Verdict.PROVED: "bold blue",
    Verdict.PROVED_WITH_SLACK: "blue",
    Verdict.ERROR: "bold yellow",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.UNTESTABLE: "yellow",
}

NOTED = "yellow"
"""A note is shown, and refutes nothing."""

HEADINGS = ("attack", "verdict", "advantage", "allowed")
GAP, INDENT = " " * 2, " " * 4

UNWRAPPED = 1_000_000
"""The width of what is not a terminal, in columns: no line is that long."""


@dataclass(frozen=True)
class Files:
    """The files that findings are written to.

    Attributes:
        json: the option --json: a file, "-" for standard output, or None.
        sarif: the option --sarif.
    """

    json: str | None
    sarif: Path | None = None

    def require_writable(self) -> None:
        """Make sure, before anything is measured, that the files can be written.

        Raises:
            UsageError: one of them cannot.
        """
        if self.sarif == Path("-"):
            raise UsageError("--sarif needs the name of a file; only --json takes - for standard output")
        for file in (self._json_file, self.sarif):
            if file is not None:
                require_writable(file)

    def write(self, findings: Sequence[Finding], place: Place | None = None) -> None:
        """Write the files, and show the findings where standard output is not taken by JSON."""
        if self.json == "-":
            typer.echo(to_text(record(findings)), nl=False)
        else:
            show(findings)
        if self._json_file is not None:
            write_whole(self._json_file, to_text(record(findings)))
        if self.sarif is not None:
            write_whole(self.sarif, to_text(sarif_log([(finding, place) for finding in findings])))

    @property
    def _json_file(self) -> Path | None:
        return None if self.json in (None, "-") else Path(str(self.json))


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command line: Rich would end with status 1, which means that a claim was refuted."""
        raise BrokenPipeError


def console() -> Console:
    """Standard output, as wide as the terminal or COLUMNS says; without either, no line is wrapped."""
    out = _Console(markup=False, highlight=False)
    if not out.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        out.width = UNWRAPPED
    return out


UNDECIDED = (Verdict.NOT_APPLICABLE, Verdict.UNTESTABLE, Verdict.INCONCLUSIVE)
"""Verdicts that say nothing of the claim: findings of no other verdict are not a pass."""


def status_of(findings: Sequence[Finding]) -> Status:
    """The exit status that findings end in: an error comes before a refuted claim."""
    verdicts = {finding.verdict for finding in findings}
    if Verdict.ERROR in verdicts or verdicts <= set(UNDECIDED):
        return Status.FAILED
    return Status.REFUTED if any(finding.refutes for finding in findings) else Status.OK


def show(findings: Sequence[Finding]) -> None:
    """Print findings: a line of figures each, with the event and the reason indented below it."""
    out = console()
    applied = [finding for finding in findings if finding.verdict is not Verdict.NOT_APPLICABLE]
    if applied:
        _show_applied(out, applied)
    others = dict.fromkeys(finding.attack for finding in findings if finding not in applied)
    if others:
        _print_wrapped(out, f"do not apply to this target: {', '.join(others)}", "")
    for replay in dict.fromkeys(finding.replay for finding in findings if finding.verdict is Verdict.VIOLATED):
        out.print(f"replay: {replay}", soft_wrap=True)


def _show_applied(out: Console, findings: Sequence[Finding]) -> None:
    claim = target_text(findings)
    if claim:
        _print_wrapped(out, claim, "")
    rows = [HEADINGS, *map(_figures, findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    out.print(_line(HEADINGS, widths), soft_wrap=True)
    for finding in findings:
        colour = (
            NOTED if finding.verdict is Verdict.VIOLATED and not finding.refutes else COLOURS.get(finding.verdict, "")
        )
        out.print(_line(_figures(finding), widths, colour), soft_wrap=True)
        if finding.is_proof:
            _print_wrapped(out, scope_text(finding), INDENT)
            _print_wrapped(out, pair_text(finding), INDENT)
        if finding.event:
            _print_wrapped(out, f"event: {finding.event}", INDENT)
        if finding.answers > 1:
            _print_wrapped(out, f"claim: {claim_text(finding)}", INDENT)
        if finding.judged_at is not None:
            _print_wrapped(out, judged_text(finding), INDENT)
        if finding.refutes and finding.flaw:
            _print_wrapped(out, f"flaw: {finding.flaw}", INDENT)
        _print_wrapped(out, finding.reason, INDENT)


def _figures(finding: Finding) -> tuple[str, ...]:
    advantage = finding.advantage
    numbers = (f"{advantage.estimate:.4f}", f"{finding.ceiling:.4f}") if advantage else ("", "")
    noted = finding.verdict is Verdict.VIOLATED and not finding.refutes
    return finding.attack, f"note ({finding.severity})" if noted else str(finding.verdict), *numbers


def _line(row: Sequence[str], widths: Sequence[int], colour: str = "") -> Text:
    attack, verdict = (cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True))
    numbers = (cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True))
    line = Text(GAP).join([Text(attack), Text(verdict, style=colour), *map(Text, numbers)])
    line.rstrip()
    return line


def _print_wrapped(out: Console, text: str, indent: str) -> None:
    for line in textwrap.wrap(
        text, out.width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ):
        out.print(line, soft_wrap=True)
