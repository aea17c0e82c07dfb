"""`attacklab explain`: one page about a flaw."""

from __future__ import annotations

import textwrap

from attacklab.auditing.flaws import catalogue
from attacklab.cli import options
from attacklab.cli.messages import by_name
from attacklab.cli.output import INDENT, console, print_wrapped
from attacklab.reporting.wording import EXAMPLE, explanation


def command(name: options.FlawName) -> None:
    """Say what a flaw is, why it leaks and how it is repaired."""
    flaw = by_name(name, catalogue(), "flaw")
    out = console()
    out.print(flaw.name)
    for title, text in explanation(flaw):
        out.print(f"\n{title}")
        if title == EXAMPLE:
            out.print(textwrap.indent(text, INDENT), soft_wrap=True)
        else:
            print_wrapped(out, text, INDENT)
