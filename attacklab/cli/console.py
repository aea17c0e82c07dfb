"""Standard output, as wide as the terminal."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap

from rich.console import Console

from attacklab.model.plain_text import plain

INDENT = " " * 4

UNWRAPPED = 1_000_000
"""The width of what is not a terminal, in columns: no line is that long."""


def console() -> Console:
    """Standard output, as wide as COLUMNS or the terminal says; without either, no line is wrapped."""
    out = Console(markup=False, highlight=False)
    if not re.fullmatch("0*[1-9][0-9]*", os.environ.get("COLUMNS", "")):
        out.width = shutil.get_terminal_size().columns if sys.stdout.isatty() else UNWRAPPED
    return out


def print_wrapped(out: Console, text: str, indent: str) -> None:
    """Print a paragraph, each of its lines indented, at the console's width."""
    wrapper = textwrap.TextWrapper(
        out.width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    for line in wrapper.wrap(plain(text)):
        out.print(line, soft_wrap=True)
