"""The output of a command: one screen or all findings on standard output, files, and the exit status."""

import contextlib
import importlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import typer
from rich.console import Console
from rich.text import Text

from attacklab.cli.messages import Status
from attacklab.model.errors import UsageError
from attacklab.model.files import require_writable, write_whole
from attacklab.model.findings import Finding, Verdict, environment, record, to_text
from attacklab.model.plain_text import WIDTH, plain
from attacklab.reporting.sarif import Place, sarif_log
from attacklab.reporting.screen import Outcome, outcome, screen, wrapped
from attacklab.reporting.wording import claim_text, flaw_lines, judged_text, pair_text, scope_text, shown_by

INDENT = " " * 4

UNWRAPPED = 1_000_000
"""The width of output that is not a terminal, in columns. No line is that long, so none is wrapped."""

STANDARD_OUTPUT = Path("/dev/stdout")

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


def print_wrapped(out: Console, text: str, indent: str) -> None:
    """Print a paragraph, wrapped to the console's width, with `indent` before each line."""
    for line in wrapped(text, out.width, indent, indent):
        out.print(line)


Audited: TypeAlias = list[tuple[Place | None, list[Finding]]]
"""The findings of each target, with the place of its source."""


@dataclass(frozen=True)
class Files:
    """The files that findings are written to. Making this object checks that they can be written.

    Attributes:
        json: the option --json: a file, "-" for standard output, or None.
        sarif: the option --sarif.
        html: the option --html.
        folder: the folder where the command began; a target may change the folder when it is imported.

    Raises:
        UsageError: one of the files cannot be written, or two options name the same file.
    """

    json: str | None
    sarif: Path | None = None
    html: Path | None = None
    folder: Path = field(default_factory=Path.cwd)

    def __post_init__(self) -> None:
        options: dict[str, str] = {}
        for option, file in self._named().items():
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

    def write(self, audited: Audited, verbose: bool | None) -> None:
        """Write the files, then show the findings, unless the record goes to standard output.

        Args:
            audited: the findings of each target; with --html, of exactly one target.
            verbose: True to print all findings, False for the first line only, None for one screen.
        """
        placed = [(finding, place) for place, findings in audited for finding in findings]
        texts = {"--json": to_text(record([finding for finding, _ in placed])), "--sarif": to_text(sarif_log(placed))}
        if self.html is not None:
            from attacklab.reporting.audit_page import audit_page  # here, because templates take long to import

            ((place, findings),), command = audited, shlex.join(["attacklab", *sys.argv[1:]])
            texts["--html"] = audit_page(findings, datetime.now(UTC), place=str(place or ""), command=command)
        self.leave(texts, lambda: show(audited, verbose))

    def leave(self, texts: Mapping[str, str], show: Callable[[], None]) -> None:
        """Write the text of each option to its file. Then call `show`, or print the record if standard output gets it.

        Raises:
            OSError: a file could not be written; the other files were written, and the findings were printed.
        """
        failed = None
        for option, file in self._named().items():
            try:
                if file != STANDARD_OUTPUT:
                    write_whole(self.folder / file, texts[option])
            except OSError as error:
                failed = failed or OSError(f"cannot write to {file}: {error.strerror}")
        if self.json == "-":
            with contextlib.suppress(BrokenPipeError):  # nobody reads it, which changes no status
                typer.echo(texts["--json"].encode(), nl=False)  # whatever encoding the terminal has, JSON has this one
        else:
            show()
        if failed is not None:
            raise failed

    def _named(self) -> dict[str, Path]:
        """The files by their options."""
        json = STANDARD_OUTPUT if self.json == "-" else self.json and Path(self.json)
        files = {"--json": json, "--sarif": self.sarif, "--html": self.html}
        return {option: file for option, file in files.items() if isinstance(file, Path)}


@contextlib.contextmanager
def only_findings_on_output() -> Iterator[None]:
    """Redirect standard output to standard error while the context lasts, also for processes that a target starts."""
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
        out.print(_verdict_line(finding))
        once = [line for line in (*flaw_lines(finding), finding.reason) if line not in printed]
        for line in (*_details(finding), *once):
            print_wrapped(out, line, INDENT)
        printed.update(once)
    if others := dict.fromkeys(finding.attack for finding in findings if finding not in applied):
        print_wrapped(out, f"do not apply to this target: {', '.join(others)}", "")
    for replay in dict.fromkeys(finding.replay for finding in findings if finding.refutes and finding.replay):
        out.print(plain(f"replay: {replay}"))


def _verdict_line(finding: Finding) -> Text:
    """Return a line with the attack, its verdict and its advantage."""
    shown, verdict = finding.shown, "note" if finding.is_note else str(finding.verdict)
    advantage = shown.advantage and f", advantage {shown.advantage.estimate:.3g}, allowed {shown.ceiling:.3g}"
    return Text.assemble(f"{plain(shown_by(finding))}: ", (verdict, COLOURS.get(verdict, "")), advantage or "")


def _details(finding: Finding) -> Iterator[str]:
    """Yield lines on a finding: the scope and inputs of a proof, the event, and the claim. Some may be empty."""
    if finding.is_proof:
        yield from (scope_text(finding), pair_text(finding))
    if finding.shown.event:
        yield f"event: {finding.shown.event}"
    if finding.samples and finding.samples.answers > 1:
        yield f"claim: {claim_text(finding)}"
    yield judged_text(finding)
