"""What a file of vectors holds, and how it is read.

Source of the form: Google's Project Wycheproof, whose cases carry flags that notes explain.
"""

from __future__ import annotations

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
    """What a flag means.

    Attributes:
        bug_type: one of the words that the schema lists.
        description: what goes wrong in an implementation that fails the case.
        effect: what an adversary gains by it.
        links: where to read more.
        cves: identifiers of public advisories, if any.
    """

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
    """One case.

    Attributes:
        comment: what is special about it, in a few words.
        flags: the notes that it belongs to.
        fields: what the type of the file asks for; its values are written by `written`, mappings field by field.
    """

    comment: str
    flags: Sequence[str]
    fields: Mapping[str, Any]

    def to_json(self, number: int) -> dict[str, Any]:
        """The case as files hold it, with its number."""
        return {"id": number, "comment": self.comment, "flags": list(self.flags), **_fields(self.fields)}


@dataclass(frozen=True)
class Group:
    """Cases of one mechanism or function.

    Attributes:
        mechanism: its name.
        source: where its definition stands.
        cases: the cases.
        fields: what holds for all of them.
    """

    mechanism: str
    source: str
    cases: Sequence[Case]
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class VectorFile:
    """A file.

    Attributes:
        type: the name of its type, of its schema and of the file.
        description: what a case says, and what an implementation must do.
        notes: the meaning of each flag.
        groups: the cases by mechanism.
    """

    type: str
    description: str
    notes: Mapping[str, Note]
    groups: Sequence[Group]

    def to_json(self) -> dict[str, Any]:
        """The whole file; only notes that a case refers to."""
        used = {flag for group in self.groups for case in group.cases for flag in case.flags}
        groups, number = [], 0
        for group in self.groups:
            cases = [case.to_json(number + place) for place, case in enumerate(group.cases, 1)]
            number += len(cases)
            rest = _fields(group.fields)
            groups.append({"mechanism": group.mechanism, "source": group.source, **rest, "cases": cases})
        return {
            "version": VERSION,
            "type": self.type,
            "schema": f"{SCHEMAS}/{self.type}.json",
            "description": self.description,
            "cases": number,
            "notes": {flag: self.notes[flag].to_json() for flag in sorted(used)},
            "groups": groups,
        }

    def to_bytes(self) -> bytes:
        """The file's bytes: the same for the same cases."""
        return (json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n").encode()


def _fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _field(value) for name, value in fields.items()}


def _field(value: Any) -> Any:
    """Text stands for itself; everything else is a value, a mapping of fields, or a list of such mappings."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [_fields(item) for item in value]
    return _fields(value) if isinstance(value, Mapping) else written(value)


def read_file(path: Path) -> dict[str, Any]:
    """Read a file and check it by its schema, which lies in the folder `schema` beside it.

    Raises:
        BadVectors: it is not JSON, is too large, or does not fit the schema; or a flag has no note, or a note no flag.
    """
    try:
        read = read_json(path, MOST_BYTES)
    except OSError as error:
        raise BadVectors(f"{path}: {error.strerror}") from error
    except UsageError as error:
        raise BadVectors(str(error)) from error
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
    shared, schema = (_schema(folder / file, path) for file in (SHARED, f"{name}.json"))
    registry: Any = Registry().with_resource(SHARED, DRAFT202012.create_resource(shared))
    return jsonschema.Draft202012Validator(schema, registry=registry)


def _schema(file: Path, path: Path) -> Any:
    try:
        schema = json.loads(file.read_bytes())
        jsonschema.Draft202012Validator.check_schema(schema)
    except (OSError, ValueError, RecursionError, jsonschema.exceptions.SchemaError) as error:
        raise BadVectors(f"{path}: {file} is not a JSON schema: {str(error).splitlines()[0]}") from error
    return schema
