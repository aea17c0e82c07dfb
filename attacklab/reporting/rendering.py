"""Texts made from the templates in the folder `templates`: pages of HTML and Markdown, and scripts."""

from collections.abc import Callable, Mapping
from typing import Any

from attacklab.model.errors import from_extra
from attacklab.model.plain_text import plain

with from_extra("pages"):
    import jinja2
    from jinja2 import UndefinedError as UndefinedError


def render(name: str, filters: Mapping[str, Callable[..., Any]] | None = None, /, **values: Any) -> str:
    """Fill in a template and return its text.

    In a template of HTML, values are escaped, and control characters in them too.

    Args:
        name: the template's file name without its ending `.j2`.
        filters: functions that the template calls, by name, besides Jinja's own and `cell`.
        **values: the values that the template shows, by name.
    """
    is_html = name.endswith(".html")
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("attacklab.reporting", "templates"),
        autoescape=is_html,  # noqa: S701 - Markdown and Python are not escaped as HTML is
        finalize=_shown if is_html else None,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {"cell": cell, **(filters or {})}
    text = templates.get_template(f"{name}.j2").render(**values)
    return text if is_html else text.rstrip() + "\n"


def cell(text: str) -> str:
    """Return text escaped as a cell of a Markdown table."""
    return plain(text).replace("|", r"\|").replace("<", "&lt;")


def _shown(value: Any) -> Any:
    return plain(value) if type(value) is str else value
