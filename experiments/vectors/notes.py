"""What the files of vectors hold, what the flags of their cases mean, and where mechanisms are defined."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from attacklab.vectors import written
from attacklab.vectors.files import SCHEMAS, VERSION

_DATA = Path(__file__).parent.parent / "data"
_DESCRIPTIONS, _NOTES = (
    tomllib.loads((_DATA / f"vector_{it}.toml").read_text("utf-8")) for it in ("descriptions", "notes")
)

_SOURCES: Mapping[str, str] = _DESCRIPTIONS["sources"]
PARAMETERS: Mapping[str, str] = _DESCRIPTIONS["parameters"]
UTILITIES: Mapping[str, list[int]] = _DESCRIPTIONS["utilities"]


def case(comment: str, flags: Iterable[str], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case: a comment on what is special, its flags, and the fields that the type of the file asks for."""
    return {"comment": comment, "flags": list(flags), **_field(fields)}


def file_of(
    type_: str, groups: Mapping[str, Iterable[Mapping[str, Any]]], about: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, Any]:
    """Return a file's contents: description, notes on the flags used, and the numbered cases of each mechanism.

    Args:
        type_: the type of the vectors.
        groups: the cases of each mechanism.
        about: further fields of each mechanism; by default, `source`, where it is defined.
    """
    numbers = itertools.count(1)
    numbered: list[dict[str, Any]] = []
    for name, cases in groups.items():
        fields = about[name] if about else {"source": _SOURCES.get(f"{type_}_{name}") or _SOURCES[name]}
        rows = [{"id": next(numbers), **row} for row in cases]
        numbered.append({"mechanism": name, **fields, "cases": rows})
    used = {flag for group in numbered for row in group["cases"] for flag in row["flags"]}
    return {
        "version": VERSION,
        "type": type_,
        "schema": f"{SCHEMAS}/{type_}.json",
        "description": _DESCRIPTIONS[type_],
        "cases": next(numbers) - 1,
        "notes": {flag: _NOTES[flag] for flag in sorted(used)},
        "groups": numbered,
    }


def to_bytes(file: Mapping[str, Any]) -> bytes:
    """Return the file as JSON bytes, the same for the same cases."""
    return (json.dumps(file, indent=1, ensure_ascii=False) + "\n").encode()


def _field(value: Any) -> Any:
    """Return a field as JSON values: text as it is, a mapping field by field, everything else by `written`."""
    if isinstance(value, Mapping):
        return {name: _field(part) for name, part in value.items()}
    return value if isinstance(value, str) else written(value)


def fractions(text: str) -> list[Fraction]:
    """Return the rational numbers in a text, which has spaces between them."""
    return [Fraction(word) for word in text.split()]
