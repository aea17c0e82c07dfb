"""What a command leaves behind: one screen or all findings on standard output, files, and the exit status."""

from __future__ import annotations

import contextlib
import importlib
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from attacklab.cli.console import INDENT, console, print_wrapped
from attacklab.cli.messages import Status, say
from attacklab.model.errors import UsageError
from attacklab.model.files import require_writable, write_whole
from attacklab.model.findings import Finding, Verdict, environment, record, to_text
from attacklab.model.plain_text import WIDTH, plain
from attacklab.reporting.sarif import Place, sarif_log
from attacklab.reporting.screen import Outcome, outcome, screen
from attacklab.reporting.wording import claim_text, flaw_lines, judged_text, pair_text, scope_text, shown_by, told_once

SHOWN = 10
"""Findings of one verdict that are printed of a long list."""

COLOURS = {
    Verdict.VIOLATED: "bold red",
    Verdict.PROVED: "bold blue",
    Verdict.ERROR: "bold yellow",
    Verdict.INCONCLUSIVE: "yellow",
}

OUTCOME_COLOURS = {Outcome.FAIL: "bold red", Outcome.PROVED: "bold blue", Outcome.PASS: "bold green"}
"""Other outcomes are yellow, as is a note."""


@dataclass(frozen=True)
class Files:
    """The files that findings are written to.

    Attributes:
        json: the option --json: a file, "-" for standard output, or None.
        sarif: the option --sarif.
        html: the option --html.
        folder: where the command began; a target may go elsewhere when it is imported.
    """

    json: str | None
    sarif: Path | None = None
    html: Path | None = None
    folder: Path = field(default_factory=Path.cwd)

    def require_writable(self) -> None:
        """Make sure, before anything is measured, that the files can be written.

        Raises:
            UsageError: one of them cannot, or two are one.
        """
        options: dict[str, str] = {}
        json = Path("/dev/stdout") if self.json == "-" else self._json_file
        for option, file in (("--json", json), ("--sarif", self.sarif), ("--html", self.html)):
            if file is None:
                continue
            if file == Path("-"):
                raise UsageError(f"{option} needs the name of a file; only --json takes - for standard output")
            require_writable(file)
            earlier = options.setdefault(os.path.realpath(file), option)
            if earlier is not option and not file.is_char_device():
                raise UsageError(f"{earlier} and {option} name the same file; give each a file of its own")
        if self.html is not None:
            importlib.import_module("attacklab.reporting.audit_page")  # which may not be installed
        # before a target changes where packages are looked for
        environment()
        importlib.import_module("scipy.special")

    def write(self, findings: Sequence[Finding], place: Place | None = None, verbose: bool | None = None) -> None:
        """Write the files, then show the findings, unless standard output has the record.

        Args:
            findings: of one target.
            place: where its source is.
            verbose: whether to print all; False for the first line only, None for one screen.
        """
        log = "" if self.sarif is None else to_text(sarif_log([(finding, place) for finding in findings]))
        page = "" if self.html is None else self._page(findings, place)
        self.leave(to_text(record(findings)), lambda: show(findings, place, verbose=verbose), log, page)

    def _page(self, findings: Sequence[Finding], place: Place | None) -> str:
        from attacklab.reporting.audit_page import audit_page  # here, because templates take long to import

        command = shlex.join(["attacklab", *sys.argv[1:]])
        return audit_page(findings, datetime.now(UTC), place="" if place is None else str(place), command=command)

    def leave(self, text: str, show: Callable[[], None], log: str = "", page: str = "") -> None:
        """Write these texts to the files, then what is for standard output.

        Args:
            text: the record, in JSON.
            show: prints the findings; called unless the record goes to standard output.
            log: the SARIF log.
            page: the report in HTML.

        Raises:
            OSError: a file could not be written; the others were, and the findings printed.
        """
        failed = None
        for file, content in ((self._json_file, text), (self.sarif, log), (self.html, page)):
            try:
                if file is not None:
                    write_whole(self.folder / file, content)
            except OSError as error:
                failed = failed or OSError(f"cannot write to {file}: {error.strerror}")
        if self.json == "-":
            typer.echo(text.encode(), nl=False)  # whatever encoding the terminal has, JSON has this one
        else:
            show()
        if failed is not None:
            raise failed

    @property
    def _json_file(self) -> Path | None:
        return None if self.json in (None, "-") else Path(str(self.json))


class _ErrorConsole(Console):
    def on_broken_pipe(self) -> None:
        """Say nothing further: nobody reads it, and Rich would end with status 1."""
        self.quiet = True


def error_console() -> Console:
    """Standard error."""
    return _ErrorConsole(stderr=True)


@contextlib.contextmanager
def only_findings_on_output() -> Iterator[None]:
    """Send what a target, and whatever it calls or starts, writes to standard output to standard error meanwhile."""
    sys.stdout.flush()
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # one of the two is closed
            kept = os.dup(1)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, 1)
            os.dup2(2, 1)
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield


STATUSES = {Outcome.FAIL: Status.REFUTED, Outcome.PASS: Status.OK, Outcome.PROVED: Status.OK}
"""Other outcomes end in a failure: a proof that was not found is not a pass, and too little data is none."""


def status_of(findings: Sequence[Finding]) -> Status:
    """The exit status that findings end in."""
    return STATUSES.get(outcome(findings), Status.FAILED)


def show(findings: Sequence[Finding], place: Place | None = None, *, verbose: bool | None = None) -> None:
    """Print one screen; of that the first line only, or below it all that is known of each finding."""
    out = console()
    shown = screen(findings, "" if place is None else str(place))
    first, *rest = [shown.headline] if verbose is False else shown.lines(min(out.width, WIDTH))
    word = len(shown.outcome)
    out.print(Text.assemble((first[:word], OUTCOME_COLOURS.get(shown.outcome, "yellow")), first[word:]), soft_wrap=True)
    for line in rest:
        out.print(line, soft_wrap=True)
    if verbose:
        _show_all(out, findings)


def _show_all(out: Console, findings: Sequence[Finding]) -> None:
    """A line for each finding, with the event and the reason below it; then the lines that replay them."""
    applied = [finding for finding in findings if finding.verdict is not Verdict.NOT_APPLICABLE or finding.is_note]
    out.print()
    if applied:
        _show_applied(out, applied)
    others = dict.fromkeys(finding.attack for finding in findings if finding not in applied)
    if others:
        print_wrapped(out, f"do not apply to this target: {', '.join(others)}", "")
    for replay in dict.fromkeys(finding.replay for finding in findings if finding.verdict is Verdict.VIOLATED):
        if replay:
            out.print(plain(f"replay: {replay}"), soft_wrap=True)


def _show_applied(out: Console, findings: Sequence[Finding]) -> None:
    printed: set[str] = set()
    for finding, besides in told_once(findings):
        verdict = "note" if finding.is_note else str(finding.verdict)
        advantage = finding.advantage and f", advantage {finding.advantage.estimate:.3g}, allowed {finding.ceiling:.3g}"
        colour = "yellow" if finding.is_note else COLOURS.get(finding.verdict, "")
        out.print(Text.assemble(f"{plain(shown_by(finding))}: ", (verdict, colour), advantage or ""), soft_wrap=True)
        words = [
            *((scope_text(finding), pair_text(finding)) if finding.is_proof else ()),
            f"event: {finding.event}" if finding.event else "",
            f"claim: {claim_text(finding)}" if finding.answers > 1 else "",
            judged_text(finding),
        ]
        once = (*flaw_lines(finding), finding.reason)
        for line in (*words, *(line for line in (*once, *besides) if line not in printed)):
            print_wrapped(out, line, INDENT)
        printed.update(once)


def print_worst(out: Console, lines: Mapping[Verdict, Sequence[str]]) -> None:
    """Print the first lines of each verdict but success, and how many more there are."""
    for verdict in (Verdict.VIOLATED, Verdict.ERROR, Verdict.INCONCLUSIVE):
        told = lines.get(verdict, ())
        for line in told[:SHOWN]:
            out.print(Text.assemble((str(verdict), COLOURS[verdict]), plain(f" {line}")), soft_wrap=True)
        if len(told) > SHOWN:
            out.print(f"… and {len(told) - SHOWN} more {verdict}; --json FILE writes all", soft_wrap=True)


def status_of_cases(verdicts: set[Verdict], nothing: str) -> Status:
    """The exit status of many cases; says `nothing` where none was decided."""
    if Verdict.VIOLATED in verdicts:
        return Status.REFUTED
    if Verdict.ERROR in verdicts:
        return Status.FAILED
    if verdicts <= {Verdict.NOT_APPLICABLE}:
        say(nothing)
        return Status.FAILED
    return Status.OK
