"""The files that a command writes. Nothing heavy is imported before the findings are there."""

import contextlib
import importlib
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import typer

from attacklab.model.errors import UsageError
from attacklab.model.files import require_writable, write_whole
from attacklab.model.findings import Finding, environment, record, to_text
from attacklab.reporting.sarif import Place, sarif_log

STANDARD_OUTPUT = Path("/dev/stdout")

Audited: TypeAlias = list[tuple[Place | None, list[Finding]]]
"""The findings of each target, with the place of its source."""


class Files:
    """The files that findings are written to, each given by an option.

    Attributes:
        folder: the folder where the command began; a target may change the folder when it is imported.
    """

    def __init__(self, **options: Path | None) -> None:
        """Take the file of each option, by the option's name without dashes; for `json`, - is standard output.

        A file that cannot be written, or that two options name, is a UsageError.
        """
        self.folder = Path.cwd()
        environment()  # before a target runs, which may change where packages are looked for
        self._files = {f"--{name}": file for name, file in options.items() if file is not None}
        if self._files.get("--json") == Path("-"):
            self._files["--json"] = STANDARD_OUTPUT
        earlier: dict[str, str] = {}
        for option, file in self._files.items():
            if file == Path("-"):
                raise UsageError(f"{option} needs the name of a file; only --json takes - for standard output")
            require_writable(file)
            first = earlier.setdefault(os.path.realpath(file), option)
            if first is not option and not file.is_char_device():
                raise UsageError(f"{first} and {option} name the same file; give each a file of its own")
        if "--html" in self._files:
            importlib.import_module("attacklab.reporting.audit_page")  # which may not be installed

    def write(self, audited: Audited, verbose: bool | None) -> None:
        """Write the files, then show the findings as `show` does, unless the record goes to standard output.

        With --html, `audited` has exactly one target.
        """
        placed = [(finding, place) for place, findings in audited for finding in findings]
        texts = {"--json": to_text(record([finding for finding, _ in placed])), "--sarif": to_text(sarif_log(placed))}
        if "--html" in self._files:
            from attacklab.reporting.audit_page import audit_page  # here, because templates take long to import

            ((place, findings),), command = audited, shlex.join(["attacklab", *sys.argv[1:]])
            texts["--html"] = audit_page(findings, datetime.now(UTC), place=str(place or ""), command=command)
        from attacklab.cli.output import show

        self.leave(texts, lambda: show(audited, verbose))

    def leave(self, texts: Mapping[str, str], show: Callable[[], None]) -> None:
        """Write the text of each option to its file. Then call `show`, unless standard output has the record.

        If a file cannot be written, an OSError is raised after all others are written and the findings are shown.
        """
        failed = None
        for option, file in self._files.items():
            try:
                if file != STANDARD_OUTPUT:
                    write_whole(self.folder / file, texts[option])
                    continue
                with contextlib.suppress(BrokenPipeError):  # nobody reads it, which changes no status
                    typer.echo(texts[option].encode(), nl=False)  # JSON is UTF-8, whatever the terminal's encoding is
            except OSError as error:
                failed = failed or OSError(f"cannot write to {file}: {error.strerror}")
        if self._files.get("--json") != STANDARD_OUTPUT:
            show()
        if failed is not None:
            raise failed


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
