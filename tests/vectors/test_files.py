"""Values keep every bit, and a file that breaks a rule is refused in one line that says where and why."""

from __future__ import annotations

import json
import math
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacklab.laws import Bounds
from attacklab.model.errors import UsageError
from attacklab.vectors import BadVectors, read_file, read_value, written
from attacklab.vectors.files import MOST_BYTES

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "vectors"
NUMBERS = st.integers() | st.fractions() | st.floats(allow_nan=False)


@given(st.recursive(st.none() | st.booleans() | NUMBERS, lambda values: st.lists(values, max_size=4), max_leaves=8))
def test_a_value_is_read_back_with_its_type_and_every_bit(value: Any) -> None:
    def described(value: Any) -> Any:
        if isinstance(value, list):
            return [described(part) for part in value]
        return repr(int(value) if isinstance(value, Fraction) and value.denominator == 1 else value)

    assert described(read_value(written(value))) == described(value)


def test_values_of_numpy_and_gmpy2_are_written_and_other_objects_are_not() -> None:
    values = (gmpy2.mpq(6, 4), np.int64(-3), np.float32(0.1), math.nan, np.bool_(True), np.array([1, 2]))
    assert [*map(written, values)] == ["3/2", "-3", "0x1.99999a0000000p-4", "nan", True, ["1", "2"]]
    assert written(Bounds(gmpy2.mpq(1, 3), gmpy2.mpq(1, 2))) == {"lower": "1/3", "upper": "1/2"}
    for value in ("1", b"1", object(), 1j):
        with pytest.raises(UsageError, match="vectors hold no"):
            written(value)


def test_floats_are_read_as_c_writes_them_and_text_that_would_be_rounded_is_refused() -> None:
    texts = ("0x1p+0", "0x1p-1074", "0x0.8p-1073", "0x1.fffffffffffffp+1023")
    assert [*map(read_value, texts)] == [1.0, 5e-324, 5e-324, 1.7976931348623157e308]
    for text in (
        *("", "1.5", "01", "+1", "1/0", "1/-2", "-", "1e3", " 1", "1 ", "1\n", "١", "1/2/3", "NaN", "Infinity", "-nan"),
        *("0x1.8", "0x1.8P+1", "0x1.8p1", "0X1.8p+1", "0x2p+0", "0x1.p+0"),
        *("0x1p+1024", "0x1.8p-1074", "0x1p-1075", "0x1.00000000000001p+0", "0x1p+99999", "9" * 5000, "word"),
        *(1, 1.5, {"lower": "1"}, {"lower": "1", "upper": "2", "middle": "3"}, {"lower": "2", "upper": "1"}),
        *({"lower": None, "upper": "1"}, {"lower": "0x1p+0", "upper": "0x1p+1"}, ["1", "x"]),
    ):
        with pytest.raises(UsageError, match="is not written as a value of vectors is"):
            read_value(text)


IDLE = {"bug_type": "BASIC", "description": "d", "effect": "e", "links": []}


@pytest.mark.parametrize(
    ("part", "changed", "message"),
    [
        ("file", {"version": 2}, "version 2; this program reads version 1"),
        ("file", {"type": "unheard"}, "no schema"),
        ("file", {"type": "common"}, "no schema"),
        ("file", {"cases": 1}, "cases are not numbered from 1 to 1"),
        ("case", {"id": 2}, "cases are not numbered"),
        ("case", {"flags": ["Unknown"]}, "the flag Unknown has no note"),
        ("case", {"flags": []}, "groups/0/cases/0/flags"),
        ("notes", {"Idle": IDLE}, "no case has the flag Idle"),
        ("case", {"bits": "0120"}, "groups/0/cases/0/bits"),
        ("case", {"bits_used": 4}, "groups/0/cases/0/bits_used"),
        ("note", {"bug_type": "UNHEARD"}, "notes/LongRun/bug_type"),
        ("note", {"links": ["ftp://example.org"]}, "notes/LongRun/links/0"),
    ],
)
def test_each_rule_of_a_file_is_checked(tmp_path: Path, part: str, changed: dict[str, Any], message: str) -> None:
    shutil.copytree(FOLDER / "schema", tmp_path / "schema")
    file = json.loads((FOLDER / "tape.json").read_bytes())
    case, notes = file["groups"][0]["cases"][0], file["notes"]
    {"file": file, "case": case, "note": notes["LongRun"], "notes": notes}[part].update(changed)
    require_refused(tmp_path / "tape.json", json.dumps(file).encode(), message)


def require_refused(path: Path, content: bytes, *messages: str) -> None:
    path.write_bytes(content)
    with pytest.raises(BadVectors) as caught:
        read_file(path)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert "\n" not in said
    assert any(message in said for message in messages)


def test_other_content_is_refused(tmp_path: Path) -> None:
    for content in (b"", b'{"version": 1', b"\xff\xfe", b"[" * 100_000, b"[]", b"1", b" " * (MOST_BYTES + 1)):
        messages = "is not JSON", "it has no type", "more than 1,000,000 bytes"
        require_refused(tmp_path / "file.json", content, *messages)
