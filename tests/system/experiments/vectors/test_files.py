"""The committed files are those that the lab writes, and hold as many cases as they must."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from experiments.vectors import FILES
from tests.system.experiments.vector_files import FOLDER


@pytest.mark.parametrize("name", sorted(FILES, key=lambda name: name != "law"))
def test_the_committed_bytes_are_those_that_are_written(name: str) -> None:
    written = FILES[name]().to_bytes()
    assert written == (FOLDER / f"{name}.json").read_bytes()
    assert len(written) < 1_000_000


def test_every_file_has_its_type_as_name_and_a_schema(files: Mapping[str, Any]) -> None:
    assert files.keys() == FILES.keys()
    for name, file in files.items():
        assert file["type"] == name
        assert (FOLDER / file["schema"]).is_file()
        assert (FOLDER / f"{name}.json").stat().st_size < 1_000_000


def test_in_each_file_every_flag_has_five_cases_and_every_mechanism_ten(files: Mapping[str, Any]) -> None:
    for name, file in files.items():
        flags = Counter(flag for group in file["groups"] for case in group["cases"] for flag in case["flags"])
        assert not {flag: count for flag, count in flags.items() if count < 5}, name
        assert not [group["mechanism"] for group in file["groups"] if len(group["cases"]) < 10], name


def test_a_flag_means_the_same_in_every_file(files: Mapping[str, Any]) -> None:
    notes: dict[str, Any] = {}
    for file in files.values():
        for flag, note in file["notes"].items():
            assert notes.setdefault(flag, note) == note


def test_no_case_stands_twice_in_a_file(files: Mapping[str, Any]) -> None:
    for name, file in files.items():
        for group in file["groups"]:
            told = ("id", "comment", "flags")
            cases = [str({key: one for key, one in case.items() if key not in told}) for case in group["cases"]]
            assert len(set(cases)) == len(cases), (name, group["mechanism"])
