"""A file that breaks a rule is refused in one line that says where and why."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attacklab.vectors import BadVectors, read_file
from attacklab.vectors.files import MOST_BYTES

FOLDER = Path(__file__).parents[4] / "vectors"
File = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(FOLDER / "schema", tmp_path / "schema")
    return tmp_path


@pytest.fixture(scope="module")
def roundings() -> bytes:
    return (FOLDER / "rounding.json").read_bytes()


def refused(path: Path) -> str:
    with pytest.raises(BadVectors) as caught:
        read_file(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert len(message) < 400 + len(str(path))
    return message.removeprefix(str(path))


def test_a_committed_file_is_read(roundings: bytes) -> None:
    assert read_file(FOLDER / "rounding.json") == json.loads(roundings)


def _first(file: File) -> File:
    case: File = file["groups"][0]["cases"][0]
    return case


def _note(file: File) -> File:
    note: File = file["notes"]["Tie"]
    return note


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda file: file.update(version=2), "version 2; this program reads version 1"),
        (lambda file: file.pop("version"), "version None"),
        (lambda file: file.update(type="unheard"), "no schema"),
        (lambda file: file.pop("type"), "it has no type"),
        (lambda file: file.update(type=7), "it has no type"),
        (lambda file: file.update(cases=1), "cases are not numbered from 1 to 1"),
        (lambda file: file["groups"][1]["cases"].pop(0), "cases are not numbered from 1 to 168"),
        (lambda file: _first(file).update(id=2), "cases are not numbered"),
        (lambda file: _first(file).update(flags=["Unknown"]), "the flag Unknown has no note"),
        (lambda file: _first(file).update(flags=[]), "groups/0/cases/0/flags"),
        (lambda file: _first(file).update(flags=["Basic", "Basic"]), "groups/0/cases/0/flags"),
        (lambda file: file["notes"].update(Idle=_note(file)), "no case has the flag Idle"),
        (lambda file: _first(file).update(value="1.5"), "groups/0/cases/0/value"),
        (lambda file: _first(file).update(nearest="0.5"), "groups/0/cases/0/nearest"),
        (lambda file: _first(file).update(nearest=0.5), "groups/0/cases/0/nearest"),
        (lambda file: _first(file).pop("upward"), "'upward' is a required property"),
        (lambda file: _first(file).update(more="1"), "more"),
        (lambda file: file.update(groups=[]), "groups"),
        (lambda file: file.pop("notes"), "'notes' is a required property"),
        (lambda file: _note(file).update(bug_type="UNHEARD"), "notes/Tie/bug_type"),
        (lambda file: _note(file).update(effect=""), "notes/Tie/effect"),
        (lambda file: _note(file).update(links=["ftp://example.org"]), "notes/Tie/links/0"),
        (lambda file: _note(file).update(cves=["CVE-19"]), "notes/Tie/cves/0"),
    ],
)
def test_each_rule_of_a_file_is_checked(
    folder: Path, roundings: bytes, broken: Callable[[File], Any], message: str
) -> None:
    file = json.loads(roundings)
    broken(file)
    path = folder / "rounding.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    assert message in refused(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b'{"version": 1', "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "it has no type"),
        (b"1", "it has no type"),
        (b" " * (MOST_BYTES + 1), "more than 1,000,000 bytes"),
    ],
)
def test_other_content_is_refused(folder: Path, content: bytes, message: str) -> None:
    path = folder / "file.json"
    path.write_bytes(content)
    assert message in refused(path)


def test_a_file_that_cannot_be_read_is_named(folder: Path) -> None:
    assert "No such file" in refused(folder / "absent.json")
    assert "directory" in refused(folder)


def test_a_file_without_schemas_beside_it_is_refused(tmp_path: Path, roundings: bytes) -> None:
    path = tmp_path / "rounding.json"
    path.write_bytes(roundings)
    assert "there is no schema" in refused(path)
    (tmp_path / "schema").mkdir()
    shutil.copy(FOLDER / "schema" / "common.json", tmp_path / "schema")
    (tmp_path / "schema" / "rounding.json").write_text("{")
    assert "schema/rounding.json is not a JSON schema" in refused(path)


@pytest.mark.parametrize("name", ["../../rounding", "common", ""])
def test_a_type_names_a_schema_of_a_type(folder: Path, roundings: bytes, name: str) -> None:
    path = folder / "rounding.json"
    path.write_text(json.dumps({**json.loads(roundings), "type": name}), encoding="utf-8")
    assert "no schema" in refused(path)
