"""What a command prints: one screen, or all findings; and the exit status."""

import os
import re
import shutil
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from attacklab.cli.files import Audited
from attacklab.cli.messages import Status
from attacklab.model.findings import Finding, Verdict
from attacklab.model.plain_text import WIDTH, plain
from attacklab.reporting.screen import Outcome, outcome, screen, wrapped
from attacklab.reporting.wording import detail_lines, flaw_lines, shown_by

INDENT = " " * 4

UNWRAPPED = 1_000_000
"""The width of output that is not a terminal, in columns. No line is that long, so none is wrapped."""

COLOURS: dict[str, str] = {
    **dict.fromkeys((Outcome.FAIL, Verdict.VIOLATED), "bold red"),
    **dict.fromkeys((Outcome.PROVED, Verdict.PROVED), "bold blue"),
    **dict.fromkeys((Outcome.UNDECIDED, Outcome.NOT_PROVED, Verdict.INCONCLUSIVE, "note"), "yellow"),
    **dict.fromkeys((Outcome.ERROR, Verdict.ERROR), "bold yellow"),
    Outcome.PASS: "bold green",
}
"""The colours of outcomes, verdicts and notes at the start of a line. Other verdicts have no colour."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Print nothing further: nobody reads it, and Rich would end with status 1."""
        self.quiet = True


def error_console() -> Console:
    """Return a console that prints on standard error."""
    return _Console(stderr=True)


def console() -> Console:
    """Return a console for standard output, as wide as COLUMNS or the terminal; without either, it wraps no line."""
    out = _Console(markup=False, highlight=False, soft_wrap=True)
    if not re.fullmatch("0*[1-9][0-9]*", os.environ.get("COLUMNS", "")):
        out.width = shutil.get_terminal_size().columns if sys.stdout.isatty() else UNWRAPPED
    return out


STATUSES = {Outcome.FAIL: Status.REFUTED, Outcome.PASS: Status.OK, Outcome.PROVED: Status.OK}
"""The exit status by outcome. Any other outcome is a failure, since too little data or no proof is not a pass."""


def status_of(findings: Sequence[Finding]) -> Status:
    """Return the exit status for the findings of one target."""
    return STATUSES.get(outcome(findings), Status.FAILED)


def show(audited: Audited, verbose: bool | None = None) -> None:
    """Print a screen for each target; if `verbose` is False, only its first line; if True, also every finding."""
    out = console()
    for number, (place, findings) in enumerate(audited):
        if number and verbose is not False:
            out.print()
        shown = screen(findings, str(place or ""))
        first, *rest = [shown.headline] if verbose is False else shown.lines(min(out.width, WIDTH))
        word = len(shown.outcome)
        out.print(Text.assemble((first[:word], COLOURS[shown.outcome]), first[word:]))
        for line in rest:
            out.print(line)
        if verbose:
            _show_all(out, findings)


def _show_all(out: Console, findings: Sequence[Finding]) -> None:
    """Print each finding with its event and reason, then the attacks that do not apply, then the replay lines."""
    out.print()
    printed: set[str] = set()
    applied = [finding for finding in findings if finding.verdict is not Verdict.NOT_APPLICABLE or finding.is_note]
    for finding in applied:
        shown, verdict = finding.shown, "note" if finding.is_note else str(finding.verdict)
        advantage = shown.advantage and f", advantage {shown.advantage.estimate:.3g}, allowed {shown.ceiling:.3g}"
        colour = COLOURS.get(verdict, "")
        out.print(Text.assemble(f"{plain(shown_by(finding))}: ", (verdict, colour), advantage or ""))
        once = [line for line in (*flaw_lines(finding), finding.reason) if line not in printed]
        for line in filter(None, (*detail_lines(finding), *once)):
            out.print(*wrapped(line, out.width, INDENT, INDENT), sep="\n")
        printed.update(once)
    if others := dict.fromkeys(finding.attack for finding in findings if finding not in applied):
        out.print(*wrapped(f"do not apply to this target: {', '.join(others)}", out.width, "", ""), sep="\n")
    for replay in dict.fromkeys(finding.replay for finding in findings if finding.refutes and finding.replay):
        out.print(plain(f"replay: {replay}"))
