"""What a file of vectors holds, and how it is read.

Source of the form: Google's Project Wycheproof, whose cases carry flags that notes explain.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from attacklab.model.errors import UsageError
from attacklab.model.files import read_json
from attacklab.vectors.values import written

VERSION = 1
SCHEMAS = "schema"
"""The folder beside the files that holds a schema NAME.json for each type, and what they share."""

SHARED = "common.json"

MOST_BYTES = 1_000_000


class BadVectors(UsageError):
    """A file is not one of vectors; the message says in one line where, and what is wrong."""


@dataclass(frozen=True)
class Note:
    """What a flag means: what goes wrong, what an adversary gains by it, where to read more, and public advisories."""

    bug_type: str
    description: str
    effect: str
    links: Sequence[str] = ()
    cves: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """The note as files hold it."""
        return {name: value for name, value in asdict(self).items() if name != "cves" or value}


@dataclass(frozen=True)
class Case:
    """One case: what is special about it, the notes that it belongs to, and what the type of the file asks for."""

    comment: str
    flags: Sequence[str]
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Group:
    """The cases of one mechanism, where its definition stands, and what holds for all of them."""

    mechanism: str
    source: str
    cases: Sequence[Case]
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class VectorFile:
    """A file: its type, what a case says and an implementation must do, the meaning of each flag, and the cases."""

    type: str
    description: str
    notes: Mapping[str, Note]
    groups: Sequence[Group]

    def to_json(self) -> dict[str, Any]:
        """The whole file; only notes that a case refers to."""
        used = {flag for group in self.groups for case in group.cases for flag in case.flags}
        groups, numbers = [], itertools.count(1)
        for group in self.groups:
            cases = [
                {"id": number, "comment": case.comment, "flags": list(case.flags), **_fields(case.fields)}
                for case, number in zip(group.cases, numbers, strict=False)
            ]
            rest = _fields(group.fields)
            groups.append({"mechanism": group.mechanism, "source": group.source, **rest, "cases": cases})
        return {
            "version": VERSION,
            "type": self.type,
            "schema": f"{SCHEMAS}/{self.type}.json",
            "description": self.description,
            "cases": sum(len(group.cases) for group in self.groups),
            "notes": {flag: self.notes[flag].to_json() for flag in sorted(used)},
            "groups": groups,
        }

    def to_bytes(self) -> bytes:
        """The file's bytes: the same for the same cases."""
        return (json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n").encode()


def _fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _field(value) for name, value in fields.items()}


def _field(value: Any) -> Any:
    """Text stands for itself; everything else is a value or a mapping of fields."""
    if isinstance(value, str):
        return value
    return _fields(value) if isinstance(value, Mapping) else written(value)


def read_file(path: Path) -> dict[str, Any]:
    """Read a file and check it by its schema, which lies in the folder `schema` beside it.

    Raises:
        BadVectors: it is not JSON, is too large, or does not fit the schema; or a flag has no note, or a note no flag.
    """
    try:
        read = read_json(path, MOST_BYTES)
    except (OSError, UsageError) as error:
        raise BadVectors(f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error)) from error
    if not isinstance(read, dict) or not isinstance(read.get("type"), str):
        raise BadVectors(f"{path} is not a file of vectors: it has no type")
    _require(read, path)
    return read


def _require(read: dict[str, Any], path: Path) -> None:
    if read.get("version") != VERSION:
        raise BadVectors(f"{path} is of version {read.get('version')!r}; this program reads version {VERSION}")
    folder = path.parent / SCHEMAS
    errors = list(_validator(folder, read["type"], path).iter_errors(read))
    telling = [error for error in errors if error.validator != "unevaluatedProperties"]
    worst = jsonschema.exceptions.best_match(telling or errors)
    if worst is not None:
        place = "/".join(map(str, worst.absolute_path)) or "the file"
        raise BadVectors(f"{path}: {place}: {worst.message[:200]}")
    numbers = [case["id"] for group in read["groups"] for case in group["cases"]]
    if numbers != list(range(1, read["cases"] + 1)):
        raise BadVectors(f"{path}: cases are not numbered from 1 to {read['cases']}")
    flags = {flag for group in read["groups"] for case in group["cases"] for flag in case["flags"]}
    if unknown := sorted(flags - read["notes"].keys()):
        raise BadVectors(f"{path}: the flag {unknown[0]} has no note")
    if idle := sorted(read["notes"].keys() - flags):
        raise BadVectors(f"{path}: no case has the flag {idle[0]}, which has a note")


def _validator(folder: Path, name: str, path: Path) -> Any:
    if f"{name}.json" not in {file.name for file in folder.glob("*.json")} - {SHARED}:
        raise BadVectors(f"{path}: there is no schema {folder / name}.json for the type {name!r}")
    shared, schema = (json.loads((folder / file).read_bytes()) for file in (SHARED, f"{name}.json"))
    registry: Any = Registry().with_resource(SHARED, DRAFT202012.create_resource(shared))
    return jsonschema.Draft202012Validator(schema, registry=registry)
