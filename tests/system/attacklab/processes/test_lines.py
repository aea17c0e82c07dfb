"""The protocol: every bit kept both ways, and nothing but the protocol accepted."""

from __future__ import annotations

import json
import math
import re
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacklab.model.errors import TargetError
from attacklab.processes.codec import decoded
from attacklab.processes.wire import ChildError, ChildFailure, ReleaseError, read_answer, request_line

NASTY = [5e-324, -5e-324, 0.0, -0.0, 2.0**-1022, 1.7976931348623157e308, 0.1, math.inf, -math.inf]


def bit_pattern(value: float) -> bytes:
    return struct.pack("<d", value)


def answer(outputs: list[Any]) -> bytes:
    return json.dumps({"outputs": outputs}).encode()


def outputs_of(outputs: list[Any]) -> Any:
    return read_answer(answer(outputs), len(outputs))


def refusal(line: bytes | str, trials: int = 1) -> ChildError:
    with pytest.raises(ChildError) as raised:
        read_answer(line.encode() if isinstance(line, str) else line, trials)
    return raised.value


def test_a_request_is_one_line_with_the_documented_fields() -> None:
    line = request_line("noise", 0.1, 1000, (1 << 63) - 1)
    assert line == (
        b'{"kind": "noise", "input": "0x1.999999999999ap-4", "trials": 1000, "seed": 9223372036854775807}\n'
    )


def test_a_numpy_input_says_its_type() -> None:
    line = request_line("sum", np.array([1.5, -0.0], dtype=np.float32), 1, 0)
    assert json.loads(line) == {
        "kind": "sum",
        "input": ["0x1.8000000000000p+0", "-0x0.0p+0"],
        "trials": 1,
        "seed": 0,
        "dtype": "float32",
    }
    assert json.loads(request_line("sum", np.array([[1, 2], [3, 4]]), 1, 0))["input"] == [[1, 2], [3, 4]]
    mixed = json.loads(request_line("dataset", (1, [None, True], 2.0), 1, 0))
    assert mixed["input"] == [1, [None, True], "0x1.0000000000000p+1"]


def test_integers_may_be_decimal_strings_and_other_texts_are_none() -> None:
    """JavaScript's numbers have 53 bits, and its JSON rounds integers that have more."""
    for values in ([0, -1, 3], [2**53 + 1, -(2**53) - 1], [2**63 - 1, -(2**63)]):
        as_text = outputs_of(list(map(str, values)))
        assert as_text.dtype == np.int64
        assert as_text.tolist() == values
        assert list(outputs_of([values[0], str(values[1])])) == values[:2]
    for text in ("1.0", "1e3", " 1", "1_0", "+1", "", "0x", "9" * 30, str(2**63)):
        assert re.search(r"is not a hex float|does not fit in 64 bits", str(refusal(answer([text]))))


def test_an_array_for_a_python_target_keeps_its_type_and_every_bit() -> None:
    values = np.array([[5e-324, -0.0, 0.1], [np.inf, 1.0, -1.0]])
    content = struct.pack("<6d", *values.ravel().tolist()).hex()
    for array in (values, values.astype(">f8"), np.asfortranarray(values)):
        sent = json.loads(request_line("sum", array, 1, 0, to_child=True))["input"]
        assert sent == {"array": "f8", "shape": [2, 3], "bytes": content}
        assert decoded(sent).tobytes() == values.tobytes()
    assert request_line("noise", 1.0, 1, 0, to_child=True) == request_line("noise", 1.0, 1, 0)


def test_inputs_that_json_cannot_carry_with_every_bit_are_refused() -> None:
    wide = np.longdouble(1) / 3
    too_wide = [wide, np.array([wide]), [wide]] if np.dtype(np.longdouble).itemsize > 8 else []
    for input_ in ("text", {"a": 1}, np.array(["a"]), np.array([1j]), [object()], 1j, *too_wide):
        with pytest.raises(TargetError, match="an input for another process must consist of numbers"):
            request_line("dataset", input_, 1, 0)


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_hex_floats_keep_every_bit(values: list[float]) -> None:
    read = outputs_of([value.hex() for value in values])
    assert read.dtype == np.float64
    assert read.tobytes() == b"".join(map(bit_pattern, values))


def test_the_hex_floats_of_c_libraries_are_read() -> None:
    for text, value in (
        ("0x1.8p+1", 3.0),  # as C's printf("%a") writes it: no trailing zeros
        ("0X1.8P+1", 3.0),
        ("+0x1p0", 1.0),
        ("0x1p-1074", 5e-324),  # subnormals with a leading 1, as some C libraries write them
        ("0x0.0000000000001p-1022", 5e-324),
        ("-0x0p+0", -0.0),
        ("-Infinity", -math.inf),
        ("inf", math.inf),
    ):
        assert outputs_of([text]).tobytes() == bit_pattern(value), text
    for text in ("nan", "-NaN", "nan(0x8000)"):
        assert np.isnan(outputs_of(["0x1p+0", text])).tolist() == [False, True], text


def test_text_that_is_not_a_binary64_number_is_refused() -> None:
    for text in (
        "0.5",  # Python's float.fromhex would take it for 0x0.5
        "1e5",
        "0x8p-3",  # a long double in the x87 format
        "0x1.00000000000001p+0",  # 56 bits after the point
        "0x1.8p-1074",  # half the least subnormal number too much
        "0x1p-1075",
        "0x1p+1024",
        "0x1p+99999",
        "",
        "abc",
        "0x1.8p+1 ",
        "٣",
    ):
        error = refusal(answer(["0x1p+0", text]), 2)
        assert error.failure is ChildFailure.GARBAGE
        assert "the output of trial 1 is not a " in str(error)


def test_outputs_of_one_type_come_as_an_array_and_others_as_a_list() -> None:
    assert outputs_of([1, -(2**63), 2**63 - 1]).tolist() == [1, -(2**63), 2**63 - 1]
    assert outputs_of([1, 2]).dtype == np.int64
    assert outputs_of([True, False]).dtype == np.bool_
    assert outputs_of([None, "0x1p-1", None]) == [None, 0.5, None]
    assert outputs_of([[1, 2], [3]]) == [[1, 2], [3]]
    rows = outputs_of([["0x1p+0", "-0x0p+0"], ["inf", "0x1p-1074"]])
    assert rows.shape == (2, 2)
    assert rows.tobytes() == b"".join(map(bit_pattern, [1.0, -0.0, math.inf, 5e-324]))


NO_ANSWERS: tuple[tuple[bytes | str, str], ...] = (
    ("", "not a line of JSON"),
    ("hello", "not a line of JSON: 'hello'"),
    (b"\xff\xfe", "not a line of JSON"),
    ("[" * 100_000, "not a line of JSON"),
    ("[1]", "not a JSON object"),
    ("{}", "an answer must hold outputs or values"),
    ('{"outputs": "0x1p0"}', "an answer must hold outputs"),
    ('{"outputs": [1], "more": 1}', "an answer must hold outputs"),
    ('{"outputs": [0.5]}', "0.5 is not exact: write floats as hex strings"),
    ('{"outputs": [1e3]}', "1e3 is not exact"),
    ('{"outputs": [Infinity]}', "Infinity is not exact"),
    ('{"outputs": [NaN]}', "NaN is not exact"),
    ('{"outputs": [{"a": 1}]}', "the output of trial 0 is an object"),
    ('{"outputs": [9223372036854775808]}', "does not fit in 64 bits"),
    ('{"binary": "f8", "count": 1}', "an answer must hold outputs or values"),
    ('{"values": {"text": "a"}}', "values must be a list, or an array with one row a trial"),
    ('{"values": {"array": "f8", "shape": [], "bytes": "0000000000000000"}}', "or an array with one row a trial"),
    ('{"error": 3}', "an answer must hold outputs"),
    ('{"outputs": [1], "work": [3]}', "an answer must hold outputs or values"),
)


def test_what_is_not_an_answer_is_called_garbage() -> None:
    for line, told in NO_ANSWERS:
        error = refusal(line)
        assert error.failure is ChildFailure.GARBAGE
        assert str(error).startswith("garbage: ")
        assert told in str(error)
        assert "\n" not in str(error)


def test_integers_and_floats_are_not_mixed_since_integers_would_lose_bits() -> None:
    assert "mix integers and floats" in str(refusal(answer([2**53 + 1, "0x1p+0"]), 2))


def test_a_wrong_number_of_outputs_is_told_before_anything_is_read() -> None:
    for count in (0, 2):
        error = refusal(array("i1", [count, 1], "00" * count))
        assert str(error) == f"wrong number of outputs: {count} outputs for 1 trials"
    assert refusal(answer([1, 2]), 1).failure is ChildFailure.COUNT


def array(code: Any, shape: Any, content: Any) -> str:
    return json.dumps({"values": {"array": code, "shape": shape, "bytes": content}})


def read_array(code: str, content: bytes, count: int) -> Any:
    return read_answer(array(code, [count], content.hex()).encode(), count)


def test_arrays_of_bytes_keep_bits_and_formats() -> None:
    for pattern in (0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF):  # all are NaN
        content = struct.pack("<QQ", 0, pattern)
        assert read_array("f8", content, 2).tobytes() == content
    assert read_array("f8", struct.pack(f"<{len(NASTY)}d", *NASTY), len(NASTY)).tolist() == NASTY
    half = read_array("f2", b"\x01\x80", 1)
    assert half.dtype == np.float16
    assert half.tobytes() == b"\x01\x80"
    assert read_array("i8", b"\xff" * 8, 1).tolist() == [-1]
    assert read_array("u8", b"\xff" * 8, 1).tolist() == [2**64 - 1]
    rows = read_answer(array("i2", [2, 3], struct.pack("<6h", *range(6)).hex()).encode(), 2)
    assert np.asarray(rows).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_bytes_that_are_no_such_array_are_called_garbage() -> None:
    one = "0" * 16
    for code, shape, content in (
        ("f16", [1], one * 2), (["f8"], [1], one), ("O", [1], one), ("U1", [1], "0" * 8), ("f8", [2], one),
        ("f8", [1], one + "00"), ("f8", [1], "xy" * 8), ("f8", [1], 3), ("f8", 3, one), ("f8", [-1], one),
        ("f8", ["1"], one), ("f8", [True], one), ("f8", [10**30], one),
    ):  # fmt: skip
        assert refusal(array(code, shape, content)).failure is ChildFailure.GARBAGE


def test_a_release_that_failed_is_told_apart_from_a_process_that_failed() -> None:
    with pytest.raises(ReleaseError, match=r"^no luck$"):
        read_answer(b'{"error": "no\\nluck"}', 1)
    assert str(refusal('{"error": "no luck", "failure": "memory limit"}')) == "memory limit: no luck"
    assert refusal('{"error": "no luck", "failure": "memory limit"}').failure is ChildFailure.MEMORY_LIMIT
    for word in ('"bad mood"', '["crash"]', "null"):
        assert "failure must be one of" in str(refusal(f'{{"error": "no luck", "failure": {word}}}'))


def values_of(values: list[Any]) -> Any:
    return read_answer(json.dumps({"values": values}).encode(), len(values))


def test_values_of_any_form_are_read_and_numbers_of_one_type_come_as_their_array() -> None:
    read = values_of(
        [{"dict": [[{"text": "n"}, 3]]}, {"tuple": ["0x1p+0", None]}, {"complex": ["0x1p-1", "inf"]}, 10**30]
    )
    assert read.tolist() == [{"n": 3}, (1.0, None), complex(0.5, math.inf), 10**30]
    assert values_of(["0x1p+0", "-0x0p+0"]).tobytes() == struct.pack("<2d", 1.0, -0.0)
    (row,) = values_of([{"array": "f4", "shape": [2], "values": ["0x1p+0", "0x1p-149"]}])
    assert (row.dtype, row.tolist()) == (np.float32, [1.0, 2.0**-149])
    (record,) = values_of([{"object": "Answer", "parts": [["count", 3]]}])
    assert (type(record).__name__, record.count) == ("Answer", 3)


def test_a_value_of_no_known_form_is_called_garbage() -> None:
    for value in (
        {"a": 1},
        {},
        {"dict": [[[1], 2]]},  # a list cannot be a key
        {"dict": [1]},
        {"set": 3},
        {"bytes": "xy"},
        {"fraction": [1, 0]},
        {"decimal": "one"},
        {"complex": [1]},
        {"array": "O8", "shape": [1], "values": [1]},
        {"array": "U999999999999", "shape": [1], "values": [{"text": "a"}]},
        {"array": "f8", "shape": [3], "values": ["0x1p+0"]},
        {"array": "f8", "shape": [1], "bytes": "00"},
        {"object": "Answer", "parts": 3},
        {"text": "a", "bytes": "00"},
        "0.5",
    ):
        error = refusal(json.dumps({"values": [1, value]}), 2)
        assert error.failure is ChildFailure.GARBAGE
        assert "\n" not in str(error)
