"""Reads files of test vectors.

Source of their format: Google's Project Wycheproof, whose cases carry flags that notes explain.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attacklab.model.errors import UsageError, from_extra
from attacklab.model.files import read_json

with from_extra("pages"):
    import jsonschema
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

VERSION = 1
SCHEMAS = "schema"
"""The name of the folder, beside the files, that has a schema TYPE.json for each type, and shared definitions."""

SHARED = "common.json"
MOST_BYTES = 1_000_000


class BadVectors(UsageError):
    """A file is not a valid file of vectors. The message says in one line what is wrong, and where."""


def read_file(path: Path) -> dict[str, Any]:
    """Read a file of vectors, check it by its schema in the folder `schema` beside it, and return its contents.

    Raises:
        BadVectors: it is not JSON, is too large, does not fit the schema, or has a flag without a note or vice versa.
    """
    try:
        read = read_json(path, MOST_BYTES)
    except (OSError, UsageError) as error:
        raise BadVectors(f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error)) from error
    if not isinstance(read, dict) or not isinstance(read.get("type"), str):
        raise BadVectors(f"{path} is not a file of vectors: it has no type")
    if read.get("version") != VERSION:
        raise BadVectors(f"{path} is of version {read.get('version')!r}; this program reads version {VERSION}")
    if wrong := _wrong(read, _validator(path.parent / SCHEMAS, read["type"], path)):
        raise BadVectors(f"{path}: {wrong}")
    return read


def _wrong(read: dict[str, Any], validator: Any) -> str:
    """Return what is wrong with the contents of a file, in one line; empty if they are valid."""
    errors = list(validator.iter_errors(read))
    telling = [error for error in errors if error.validator != "unevaluatedProperties"]
    worst = jsonschema.exceptions.best_match(telling or errors)
    if worst is not None:
        return f"{'/'.join(['file', *map(str, worst.absolute_path)])}: {worst.message[:200]}"
    cases = [case for group in read["groups"] for case in group["cases"]]
    if [case["id"] for case in cases] != list(range(1, read["cases"] + 1)):
        return f"cases are not numbered from 1 to {read['cases']}"
    flags = {flag for case in cases for flag in case["flags"]}
    for flag in sorted(flags ^ read["notes"].keys()):
        return f"the flag {flag} has no note" if flag in flags else f"no case has the flag {flag}, which has a note"
    return ""


def _validator(folder: Path, name: str, path: Path) -> Any:
    if f"{name}.json" not in {file.name for file in folder.glob("*.json")} - {SHARED}:
        raise BadVectors(f"{path}: there is no schema {folder / name}.json for the type {name!r}")
    shared, schema = (json.loads((folder / file).read_bytes()) for file in (SHARED, f"{name}.json"))
    registry: Any = Registry().with_resource(SHARED, DRAFT202012.create_resource(shared))
    return jsonschema.Draft202012Validator(schema, registry=registry)
