"""Parts of the reference that are written from the code: a line `<!-- generated: NAME ARGUMENTS -->` becomes Markdown.

What is documented so stands in one place only: the flaw catalogue in `flaws.toml`, options in the command line itself,
fields and functions in their docstrings.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
from collections import _tuplegetter  # type: ignore[attr-defined] # the type of a named tuple's fields
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from dossiers import dossier
from sphinx.application import Sphinx

import attacklab
from attacklab.auditing.flaws import catalogue
from attacklab.cli import COMMANDS, command_of
from checker import rules as checked

ROOT = Path(__file__).parents[2]
PACKAGE = "attacklab"
_MARKER = re.compile(r"(?m)^<!-- generated: (\w+) ?(.*) -->$")
_SPECIAL = re.compile(r"([\\*_\[\]<>$|])")


def flaws() -> Iterator[str]:
    """The catalogue: a section for each flaw."""
    for flaw in catalogue().values():
        yield f"## {flaw.name}\n\n`{flaw.code}` {flaw.what}\n"
        yield f"```python\n{flaw.example}\n```\n"
        yield f"**Why it leaks.** {flaw.leak}\n"
        yield f"**Usual repair.** {flaw.repair[0].upper()}{flaw.repair[1:]}.\n"
        yield f"**Weakness.** [CWE-{flaw.weakness.number}]({flaw.weakness.url}): {flaw.weakness.title}.\n"
        yield "**Read.** " + "; ".join(f"[{source.title}]({source.url})" for source in flaw.read) + ".\n"


def command_line() -> Iterator[str]:
    """A section for each command, with its arguments and options."""
    for command in COMMANDS:
        parsed = command_of(command)
        context = parsed.context_class(parsed, info_name=f"attacklab {command.name}")
        yield f"## {command.name}\n\n    {_usage(parsed, context)}\n\n{_escaped(inspect.cleandoc(parsed.help or ''))}\n"
        for parameter in parsed.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None:
                yield f"`{record[0]}`\n: {_escaped(record[1])}\n"


def experiments(folder: str) -> Iterator[str]:
    """A list of the pages in a folder of reports, each by the question that it answers."""
    yield "```{toctree}\n:maxdepth: 1\n"
    for path in sorted((ROOT / folder).glob("*.md")):
        question = re.search(r"(?m)^\*(.+)\*$", path.read_text("utf-8"))
        if question:
            yield f"{question[1].replace('`', '')} </{folder}/{path.stem}>"
    yield "```"


def rules() -> Iterator[str]:
    """A table of the checker's rules, each in the words of its docstring."""
    yield "| constructor | its rule |\n|---|---|"
    for name, rule in (checked.QUERIES | checked.SCORES | checked.MECHANISMS).items():
        summary = (rule.__doc__ or "").partition("\n\n")[0]
        yield f"| `{name}` | {_escaped(' '.join(summary.split()))} |"
    yield ""


def primitives(file: str) -> Iterator[str]:
    """The vulnerable primitives of a JSON file: flaws, what to use instead, and a section for each language."""
    listed = json.loads((ROOT / file).read_text("utf-8"))
    flaws = {flaw["id"]: flaw["title"] for flaw in listed["flaws"]}
    yield "## The flaws\n\n| flaw | what an adversary gains |\n|---|---|"
    for flaw in listed["flaws"]:
        yield f"| {flaw['title']} | {flaw['effect']} |"
    yield "\n## What to use instead\n"
    for remedy in listed["remedies"]:
        yield f"- **{remedy['id']}**: {remedy['advice']}"
    language = ""
    for row in listed["primitives"]:
        if row["language"] != language:
            language = row["language"]
            yield f"\n## {language}"
        shown = "; ".join(f"{one['attack']} refutes `{one['use']}`" for one in row["demonstrations"])
        links = [(one["what"], re.sub(r"^reports/", "../../reports/", one["link"])) for one in row["evidence"]]
        yield f"\n**{row['library']}**: {', '.join(f'`{name}`' for name in row['functions'])} ({row['purpose']})\n"
        yield f"- Flaws: {', '.join(flaws[flaw] for flaw in row['flaws'])}. {row['why']}"
        since = "" if row["since"] == row["until"] else f"since {row['since']}, until "
        yield f"- Versions: {since}{row['until']}. Instead: {row['remedy']}."
        yield f"- Status: {row['status']}{f' ({shown})' if shown else ''}."
        yield f"- Evidence: {', '.join(f'[{what}]({link})' for what, link in links)}."


def fields_of(name: str) -> Iterator[str]:
    """A table of the fields of a dataclass, by its docstring: `module.Class`."""
    module, _, class_name = name.rpartition(".")
    kind = getattr(importlib.import_module(module), class_name)
    described = _described_fields(kind)
    yield "| field | type | what it is |\n|---|---|---|"
    for field in fields(kind):
        text = described.get(field.name, "")
        yield f"| `{field.name}` | `{str(field.type).replace('|', chr(92) + '|')}` | {_escaped(text)} |"
    yield ""


def modules(*packages: str) -> Iterator[str]:
    """Every public module of packages, with what it defines."""
    for package in packages:
        yield from _module(package)
        for info in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not any(part.startswith("_") for part in info.name.split(".")):
                yield from _module(info.name)


def members(*names: str) -> Iterator[str]:
    """The public members of modules; of a package those that it exports."""
    for name in names:
        yield from _module(name)


_GENERATORS: dict[str, Callable[..., Iterator[str]]] = {
    "dossier": dossier,
    "flaws": flaws,
    "command_line": command_line,
    "experiments": experiments,
    "rules": rules,
    "primitives": primitives,
    "fields": fields_of,
    "modules": modules,
    "members": members,
}


def _module(name: str) -> Iterator[str]:
    """A section with what a module defines, without what stands on the page of the package itself."""
    defined = vars(importlib.import_module(name))
    exported = {name: getattr(attacklab, name) for name in attacklab.__all__} if name != PACKAGE else {}
    elsewhere = [name for name, value in exported.items() if defined.get(name) is value]
    yield f"## `{name}`\n"
    yield f"```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n   :exclude-members: {', '.join(elsewhere)}\n```\n"


def _usage(parsed: Any, context: Any) -> str:
    return " ".join([context.info_name, *parsed.collect_usage_pieces(context)])


def _described_fields(kind: type) -> dict[str, str]:
    """What the sections 'Attributes' of a class's docstring and of its base's say of each."""
    sections = [inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")[2] for base in kind.__mro__[:2]]
    entries = [entry for text in sections for entry in re.findall(r"(?ms)^    (\w+): (.*?)(?=^    \w|\Z)", text)]
    return {name: " ".join(text.split()) for name, text in entries}


def _escaped(text: str) -> str:
    """Plain text in Markdown; code in backticks stays as it is."""
    return "".join(
        part if number % 2 else _SPECIAL.sub(r"\\\1", part) for number, part in enumerate(re.split(r"(`[^`]+`)", text))
    )


def _generate(_app: Sphinx, _page: str, source: list[str]) -> None:
    source[0] = _MARKER.sub(lambda match: "\n".join(_GENERATORS[match[1]](*match[2].split())), source[0])


_VARIABLES: dict[str, list[str]] = {}
"""The docstrings of variables: napoleon would read a sentence with a colon as a type and its explanation."""


def _rst(_app: Sphinx, kind: str, name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with code in single backticks; make literals of these, and text of the rest."""
    lines[:] = [line if line.lstrip().startswith((">>>", "...")) else _as_rst(line) for line in lines]
    for before, line in enumerate(lines[1:]):
        if lines[before].strip() in ("Returns:", "Yields:"):  # a sentence follows, and no type before its colon
            lines[before + 1] = re.sub(r"^ *", r"\g<0>: ", line)
    if kind in ("attribute", "data", "property"):
        _VARIABLES[name] = list(lines)


def _plain(_app: Sphinx, _what: str, name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = _VARIABLES.pop(name, lines)


def _is_field(_app: Sphinx, _what: str, _name: str, member: Any, _skip: bool, _options: Any) -> bool | None:
    """Leave out the fields of a named tuple, which its docstring describes."""
    return True if isinstance(member, _tuplegetter) else None


def _as_rst(line: str) -> str:
    texts_and_codes = re.split(r"(?<!`)`([^`]+)`(?!`)", line)
    return "".join(
        f"``{part}``" if number % 2 else re.sub(r"([*|]|_\b)", r"\\\1", part)
        for number, part in enumerate(texts_and_codes)
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call what stands above."""
    app.connect("source-read", _generate)
    app.connect("autodoc-process-docstring", _rst, priority=400)  # before napoleon reads the sections
    app.connect("autodoc-process-docstring", _plain, priority=600)  # after it
    app.connect("autodoc-skip-member", _is_field)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
