"""Progress of audits and proofs on standard error: a status on a terminal, elsewhere a line now and then."""

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.markup import escape

from attacklab.model.plain_text import plain

LINE_SECONDS = 10.0
"""Seconds before the first line and between two lines. A shorter audit prints none."""


@contextlib.contextmanager
def status_line(console: Console) -> Iterator[Callable[[str], None]]:
    """Show a line on what is being done, while the context lasts.

    Yields:
        A function that takes a new line and shows it.
    """
    if console.is_terminal:
        with console.status("") as status:
            yield lambda line: status.update(escape(plain(line)))
    else:
        told = time.monotonic()

        def tell(line: str) -> None:
            nonlocal told
            if time.monotonic() - told >= LINE_SECONDS:
                console.print(plain(line), markup=False, highlight=False, soft_wrap=True)
                told = time.monotonic()

        yield tell
