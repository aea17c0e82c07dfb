"""Features: what is read off outputs of any form, that it is exact, and that it is defined on whatever comes later."""

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attacklab.attacks.features import NotUnderstood, features, hashes, numbers
from attacklab.attacks.features.features import MOST
from attacklab.model.errors import TargetError
from attacklab.model.targets import Failure, Outputs


@dataclass(frozen=True)
class Answer:
    count: int
    mean: float


class Row(NamedTuple):
    low: float
    high: float


class Tensor:
    """What a tensor of another library looks like from outside."""

    def __init__(self, *values: float) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.values, dtype=dtype)


def listed(*outputs: Any) -> Outputs:
    return np.fromiter(outputs, dtype=object, count=len(outputs))


def read(outputs: Outputs, description: str) -> list[float]:
    """The one feature of that description."""
    (found,) = [feature for feature in features(outputs) if feature.description == description]
    values: list[float] = found.of(outputs).tolist()
    return values


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint64, np.bool_])
@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 2, 2)])
def test_columns_of_arrays_keep_their_type_and_bits(dtype: Any, shape: tuple[int, ...]) -> None:
    outputs = np.random.default_rng(1).integers(0, 200, shape).astype(dtype)
    columns = [feature.of(outputs) for feature in numbers(outputs)]
    assert {column.dtype for column in columns} == {outputs.dtype}
    assert np.stack(columns, axis=1).tobytes() == outputs.tobytes()


def test_a_signed_zero_and_the_payload_of_a_nan_stay_what_they_are() -> None:
    patterns = np.array([1 << 63, 0x7FF8000000000005, 0], dtype=np.uint64)
    (feature,) = numbers(patterns.view(np.float64))
    for outputs in (patterns.view(np.float64), listed(*patterns.view(np.float64).tolist())):
        assert feature.of(outputs).view(np.uint64).tolist() == patterns.tolist()


@pytest.mark.parametrize(
    ("outputs", "description", "values"),
    [
        (listed(0.5, None, 2), "the output", [0.5, math.nan, 2.0]),
        (listed(np.float32(0.1), np.float32(2)), "the output", [float(np.float32(0.1)), 2.0]),
        (np.array([1, 2], dtype=ml_dtypes.bfloat16), "the output", [1.0, 2.0]),
        (listed(Fraction(1, 4), Decimal("1.5")), "the output", [0.25, 1.5]),
        (listed(10**400, 1), "the output", [math.inf, 1.0]),
        (listed((1 << 60) + 7, 1), "the last 32 bits of the output", [7.0, 1.0]),
        (np.array([1 + 2j, 3j]), "the imaginary part of the output", [2.0, 3.0]),
        (listed([1.0, 5.0], [3.0]), "number 1 of the output", [5.0, math.nan]),
        (listed([1.0, 5.0], [3.0]), "the length of the output", [2.0, 1.0]),
        (listed([1.0, 5.0], [7.0, 2.0]), "the place of the largest number of the output", [1.0, 0.0]),
        (np.array([[1.0, 5.0], [7.0, 2.0]]), "the number of descents of the output", [0.0, 1.0]),
        (np.array([[1.0, 5.0], [7.0, 2.0]]), "number 0 of the output minus number 1 of the output", [-4.0, 5.0]),
        (listed({"n": 3, "k": 1}, {"n": 4}), "'n' of the output", [3, 4]),
        (listed({"n": 3, "k": 1}, {"n": 4}), "the presence of 'k' in the output", [True, False]),
        (listed({"n": 3, "k": 1}, {"n": 4}), "the size of the output", [2.0, 1.0]),
        (listed({"a": 1, "b": 2}, {"b": 2, "a": 1}), "the place of 'a' among the keys in the output", [0.0, 1.0]),
        (listed({"x": {"y": [1.5]}}, {"x": {}}), "number 0 of 'y' of 'x' of the output", [1.5, math.nan]),
        (listed({1, "z"}, set()), "the presence of 'z' in the output", [1.0, 0.0]),
        (listed({1, "z"}, frozenset()), "the size of the output", [2.0, 0.0]),
        (listed("n = -2.50 of 7", "n = 1e3"), "number 0 in the output", [-2.5, 1000.0]),
        (listed("n = -2.50 of 7", "n = 1e3"), "the digits after the point of number 0 in the output", [2.0, 0.0]),
        (listed("0x1.8p1", "-inf"), "number 0 in the output", [3.0, -math.inf]),
        (listed("yes", "no"), "the length of the output", [3.0, 2.0]),
        (listed(b"\x05", b"ab"), "byte 0 of the output", [5.0, 97.0]),
        (listed(Answer(3, 0.5), Answer(4, 1.5)), "mean of the output", [0.5, 1.5]),
        (listed(Row(0.0, 2.0), Row(1.0, 3.0)), "number 1 of the output", [2.0, 3.0]),
        (listed(Tensor(1.0, 2.0), Tensor(3.0, 4.0)), "number 1 of the output", [2.0, 4.0]),
        (listed(Tensor(1.0), 2.0), "the output", [math.nan, 2.0]),
        (listed(np.array(2.5), 1.0), "the output", [2.5, 1.0]),
        (listed(Failure("ValueError", "row 7"), 1.0), "number 0 in message of the output", [7, math.nan]),
        (listed(dt.timedelta(seconds=1), dt.timedelta()), "the output", [1_000_000, 0]),
        (np.array(["2020-01-02", "1970-01-02"], dtype="M8[D]"), "the output", [18263, 1]),
        (np.array([(1, 2.5)], dtype=[("n", "i4"), ("y", "f8")]), "y of the output", [2.5]),
        (listed(None, 1.5), "the type of the output", [0.0, 1.0]),
        (np.array([0.0, -0.0, 1.0]), "the sign of zeros in the output", [0.0, 1.0, math.nan]),
    ],
)
def test_what_is_read_off_outputs(outputs: Outputs, description: str, values: list[float]) -> None:
    assert read(outputs, description) == pytest.approx(values, rel=0, abs=0, nan_ok=True)


@pytest.mark.parametrize(
    "output", [object(), lambda: 0, (number for number in range(3)), [1, [object()]], {"a": object()}, int]
)
def test_what_has_only_an_identity_is_an_error_that_says_so(output: Any) -> None:
    for look in (features, hashes):
        with pytest.raises(NotUnderstood, match="cannot be taken apart; return numbers") as raised:
            look(listed(output, output))
        assert isinstance(raised.value, TargetError)


def test_an_output_that_holds_itself_is_an_error_and_not_an_endless_loop() -> None:
    endless: list[Any] = []
    endless.append(endless)
    for look in (features, hashes):
        with pytest.raises(NotUnderstood):
            look(listed(endless, endless))


DIFFERENT = [
    0.0, -0.0, 1, 1.0, True, "1", b"1", None, [1], (1,), [1.0], {"a": 1}, {"b": 1}, {1: "a"}, {1}, frozenset(),
    set("ab"), Fraction(1), Decimal("1.0"), Decimal("1.00"), 1 << 80, [], (), {}, "", [[1]], [1, 1], np.float32(1), 1j,
    Failure("A", "b"), Failure("A", "c"), Answer(1, 0.0), {"a": 1, "b": 2}, {"b": 2, "a": 1}, math.nan, "s1:1",
    np.array([1.0, 2.0]), np.array([[1.0, 2.0]]), np.array([1.0, 2.0], dtype=np.float32),
]  # fmt: skip


def test_hashes_tell_any_two_different_outputs_apart() -> None:
    outputs = listed(*DIFFERENT)
    assert len(set(hashes(outputs).tolist())) == len(DIFFERENT) - 1  # of [1] and (1,), both a row of one number


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8, np.complex64, np.longdouble])
@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 0)])
def test_an_output_has_one_hash_however_it_is_handed_on(dtype: Any, shape: tuple[int, ...]) -> None:
    together = np.random.default_rng(2).integers(0, 9, shape).astype(dtype)
    apart = listed(*together)
    assert hashes(together).tolist() == hashes(apart).tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_a_list_of_numbers_of_one_type_has_the_hash_of_a_row_of_them(dtype: Any) -> None:
    rows = np.arange(6).reshape(3, 2).astype(dtype)
    for sequence in (list, tuple):
        assert hashes(rows).tolist() == hashes(listed(*map(sequence, rows.tolist()), "text")).tolist()[:3]


def test_of_very_many_numbers_those_are_kept_that_differ_between_the_two_inputs() -> None:
    rng = np.random.default_rng(3)
    outputs = rng.standard_normal((400, 500))
    of_first = np.arange(400) < 200
    outputs[of_first, 417] += 3
    outputs[of_first, 333] = np.round(outputs[of_first, 333], 1)
    kept = {feature.description for feature in numbers(outputs, of_first)}
    assert len(kept) == MOST
    assert {"number 417 of the output", "number 333 of the output"} <= kept
    wide = listed(*({str(key): float(value) for key, value in enumerate(row)} for row in outputs[:, :450]))
    assert "'417' of the output" in {feature.description for feature in numbers(wide, of_first)}


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(width=64), st.floats(width=32).map(np.float32),
    st.text(max_size=6), st.binary(max_size=9), st.fractions(), st.decimals(), st.complex_numbers(), st.datetimes(),
    st.uuids(), st.times(), st.text("0123456789.e-+x ", max_size=9),
    st.builds(Failure, st.text(max_size=3), st.text(max_size=3)),
)  # fmt: skip
HASHABLE = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3), st.floats(allow_nan=False))
VALUES = st.recursive(
    SCALARS | hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(min_dims=0, max_dims=2, max_side=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=2).map(tuple),
        st.dictionaries(HASHABLE, inner, max_size=3), st.frozensets(HASHABLE, max_size=3),
    ),
    max_leaves=5,
)  # fmt: skip
OBJECTS = st.lists(VALUES, min_size=1, max_size=4).map(lambda values: listed(*values))
ARRAYS = hnp.arrays(
    hnp.scalar_dtypes() | hnp.array_dtypes(max_size=2), hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3)
).filter(len)
OUTPUTS = OBJECTS | ARRAYS


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(OUTPUTS, OUTPUTS)
def test_features_of_some_outputs_are_defined_on_all_others(seen: Outputs, later: Outputs) -> None:
    try:
        found = features(seen)
    except NotUnderstood:
        return
    for outputs in (seen, later, later[:1]):
        try:
            hashes(outputs)
        except NotUnderstood:
            continue
        for feature in found:
            values = feature.of(outputs)
            assert isinstance(values, np.ndarray)
            assert values.shape == (len(outputs),)
            assert values.dtype.kind in "biuf"
            assert np.array_equal(feature.of(outputs), values, equal_nan=True)


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(OUTPUTS)
def test_hashes_are_the_same_when_outputs_are_looked_at_one_at_a_time(outputs: Outputs) -> None:
    try:
        together = hashes(outputs)
    except NotUnderstood:
        return
    assert together.tolist() == [int(hashes(outputs[place : place + 1])[0]) for place in range(len(outputs))]
