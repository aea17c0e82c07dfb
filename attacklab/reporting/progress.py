"""Progress of audits and proofs on standard error: a status on a terminal, elsewhere a line now and then."""

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.markup import escape

from attacklab.model.plain_text import plain

LINE_SECONDS = 10.0
"""Time between two lines, and before the first, so that a short audit prints none."""


@contextlib.contextmanager
def status_line(console: Console) -> Iterator[Callable[[str], None]]:
    """Show a line that says what is being done, while the context lasts.

    Yields:
        A function to be called with every new line.
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
