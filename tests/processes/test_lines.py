"""The protocol: every bit kept both ways, and nothing but the protocol accepted."""

import json
import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacklab.model.errors import TargetError
from attacklab.model.targets import Kind
from attacklab.processes.codec import read, written
from attacklab.processes.programs import NoAnswer, Program
from attacklab.processes.targets import ReleaseError, outputs_of, request_of

pytestmark = pytest.mark.slow

NASTY = [5e-324, -5e-324, 0.0, -0.0, 2.0**-1022, 1.7976931348623157e308, 0.1, math.inf, -math.inf]


def answered(line: str | bytes, trials: int = 1) -> Any:
    """What the lab makes of a line of answer."""
    answer = Program(["true"]).object_in(line.encode() if isinstance(line, str) else line)
    return outputs_of(answer, trials)


def read_as(word: str, values: list[Any]) -> Any:
    return answered(json.dumps({word: values}), len(values))


def an_array(code: Any, shape: Any, content: Any) -> str:
    return json.dumps({"values": {"array": code, "shape": shape, "bytes": content}})


def bit_patterns(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def test_a_request_has_the_documented_fields() -> None:
    narrow = np.array([1.5, -0.0], dtype=np.float32)
    for kind, input_, sent, rest in (
        (Kind.NOISE, 0.1, "0x1.999999999999ap-4", {}),
        (Kind.SUM, narrow, ["0x1.8000000000000p+0", "-0x0.0p+0"], {"dtype": "float32"}),
        (Kind.SUM, np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]], {"dtype": "int64"}),
        (Kind.DATASET, (1, [None, True], 2.0), [1, [None, True], "0x1.0000000000000p+1"], {}),
        (Kind.DATASET, ["a"], [{"text": "a"}], {}),
        (None, (1, narrow), {"tuple": [1, {"array": "f4", "shape": (2,), "bytes": "0000c03f00000080"}]}, {}),
    ):
        said = {} if kind is None else {"kind": kind.value}
        assert request_of(kind, input_, 7, 3) == {**said, "input": sent, "trials": 7, "seed": 3, **rest}


def test_an_input_that_json_cannot_carry_with_every_bit_is_refused() -> None:
    wide = np.longdouble(1) / 3
    too_wide = [wide, np.array([wide])] if np.dtype(np.longdouble).itemsize > 8 else []
    for input_ in ([object()], len, int, np.array(["2020-01-01"], dtype="M8[D]"), *too_wide):
        for kind in (Kind.DATASET, None):
            with pytest.raises(TargetError, match="an input cannot be sent to another process: values of type"):
                request_of(kind, input_, 1, 0)


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_hex_floats_keep_every_bit(values: list[float]) -> None:
    outputs = read_as("outputs", [value.hex() for value in values])
    assert outputs.dtype == np.float64
    assert outputs.tobytes() == bit_patterns(*values)


def test_an_array_keeps_its_type_and_every_bit() -> None:
    values = np.array([[5e-324, -0.0, 0.1], [np.inf, 1.0, -1.0]])
    for array in (values, values.astype(">f8"), np.asfortranarray(values), values.astype("f2"), values != 0):
        returned = read(json.loads(json.dumps(written(array))))
        assert (returned.dtype.newbyteorder("="), returned.shape) == (array.dtype.newbyteorder("="), array.shape)
        assert returned.tobytes() == array.astype(returned.dtype).tobytes()
    for pattern in (0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF):  # all are NaN
        content = struct.pack("<QQ", 0, pattern)
        assert answered(an_array("f8", [2], content.hex()), 2).tobytes() == content
    assert answered(an_array("f8", [len(NASTY)], bit_patterns(*NASTY).hex()), len(NASTY)).tolist() == NASTY
    assert answered(an_array("i2", [2, 3], struct.pack("<6h", *range(6)).hex()), 2).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_the_numbers_of_other_languages_are_read() -> None:
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
        assert read_as("outputs", [text]).tobytes() == bit_patterns(value), text
    for text in ("nan", "-NaN", "nan(0x8000)"):
        assert np.isnan(read_as("outputs", ["0x1p+0", text])).tolist() == [False, True], text
    for values in ([0, -1, 3], [2**53 + 1, -(2**53) - 1], [2**63 - 1, -(2**63)]):  # JavaScript writes such as strings
        outputs = read_as("outputs", [str(values[0]), *values[1:]])
        assert (outputs.dtype, outputs.tolist()) == (np.int64, values)


def test_outputs_of_one_type_come_as_an_array_and_values_of_any_form_as_they_are() -> None:
    for word in ("outputs", "values"):
        assert read_as(word, [True, False]).dtype == np.bool_
        assert read_as(word, [None, "0x1p-1", None]).tolist() == [None, 0.5, None]
        assert read_as(word, [[1, 2], [3]]).tolist() == [[1, 2], [3]]
    forms = [{"n": 3}, (1.0, None), complex(0.5, math.inf), 10**30, "text", b"\x00\xff", frozenset({2})]
    assert read_as("values", json.loads(json.dumps(written(forms)))).tolist() == forms
    (record,) = read_as("values", [{"object": "Answer", "parts": [["count", 3]]}])
    assert (type(record).__name__, record.count) == ("Answer", 3)


NO_ANSWERS: tuple[tuple[bytes | str, str], ...] = (
    *((line, "not a line of JSON with an object") for line in ("", "hello", b"\xff\xfe", "[" * 100_000, "[1]")),
    ('{"outputs": [0.5]}', "0.5 is not exact: write floats as hex strings"),
    ('{"outputs": [1e3]}', "1e3 is not exact"),
    ('{"outputs": [NaN]}', "NaN is not exact"),
    *((line, "must hold outputs or values") for line in ("{}", '{"outputs": [1], "more": 1}', '{"binary": "f8"}')),
    ('{"outputs": "0x1p0"}', "outputs must be a list"),
    ('{"values": {"text": "a"}}', "values must be a list, or an array with one row a trial"),
    (an_array("f8", [], "00" * 8), "values must be a list, or an array with one row a trial"),
    ('{"outputs": [1, "0x1p+0"]}', "wrong number of outputs: 2 outputs for 1 trials"),
    (an_array("i1", [0, 1], ""), "wrong number of outputs: 0 outputs for 1 trials"),
    ('{"error": "no\\nluck", "failure": "bad mood"}', "bad mood: no luck"),
)

NO_NUMBERS = (
    "0.5",  # Python's float.fromhex would take it for 0x0.5
    "0x8p-3",  # a long double in the x87 format
    "0x1.00000000000001p+0",  # 56 bits after the point
    "0x1.8p-1074",  # half the least subnormal number too much
    *("0x1p-1075", "0x1p+1024", "0x1p+99999", "1e5", "", "abc", "0x1.8p+1 ", "٣", "1.0", " 1", "1_0", "+1", "0x"),
)

NO_VALUES: tuple[Any, ...] = (
    *({"a": 1}, {}, {"dict": [[[1], 2]]}, {"dict": [1]}, {"set": 3}, {"bytes": "xy"}, {"fraction": [1, 0]}),
    *({"decimal": "one"}, {"complex": [1]}, {"object": "Answer", "parts": 3}, {"text": "a", "bytes": "00"}),
    {"array": "O8", "shape": [1], "values": [1]},
    {"array": "U999999999999", "shape": [1], "values": [{"text": "a"}]},
    {"array": "f8", "shape": [3], "values": ["0x1p+0"]},
)

NO_ARRAYS: tuple[tuple[Any, Any, Any], ...] = (
    *(("f16", [1], "0" * 32), (["f8"], [1], "0" * 16), ("O", [1], "0" * 16)),
    *(("f8", [1], "0" * 18), ("f8", [1], "xy" * 8), ("f8", [1], 3)),
    *(("f8", shape, "0" * 16) for shape in ([2], 3, ["1"], [10**30])),
)


def test_what_is_not_an_answer_is_told_in_one_line() -> None:
    wrong = [(json.dumps({"values": [1, value]}), "the output of trial 1 ") for value in (*NO_NUMBERS, *NO_VALUES)]
    wrong += [(an_array(*array), "garbage: ") for array in NO_ARRAYS]
    for line, told in (*NO_ANSWERS, *wrong):
        with pytest.raises(NoAnswer) as raised:
            answered(line, 2 if told == "the output of trial 1 " else 1)
        assert told in str(raised.value), line
        assert "\n" not in str(raised.value)
    with pytest.raises(NoAnswer, match="mix integers and floats"):  # an integer of 54 bits would lose one
        read_as("outputs", [2**53 + 1, "0x1p+0"])


def test_a_release_that_failed_is_told_apart_from_a_process_that_failed() -> None:
    with pytest.raises(ReleaseError, match=r"^no luck$"):
        answered('{"error": "no\\nluck"}')
