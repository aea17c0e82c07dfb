"""What elementwise code does is written down as it is, and what looks at a value is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from checker.core.certificate import Refused
from checker.kinds import elementwise
from checker.kinds.lending import Recorder, lent, used
from checker.kinds.trace import Table, Traced, apply, constant, matched, number, require_same, require_unwritten, where
from mechanisms import certified


def floats(name: str = "x") -> Traced:
    return Traced.unknown(name, "float64")


def integers(name: str = "n") -> Traced:
    return Traced.unknown(name, "int64")


def test_numpy_code_and_operators_give_one_expression() -> None:
    x, y = floats("x"), floats("y")
    require_same(np.add(np.float64(2) * x, y), 2.0 * x + y, "the sum")
    require_same(np.where(x > 0, np.abs(y), 3), where(x > 0.0, abs(y), 3.0), "the choice")
    require_same(np.clip(integers(), -5, 5), apply("clip", integers(), -5, 5), "the clipped")
    require_same(integers() * 0.5, integers().astype(np.float64) * 0.5, "the product")


def test_what_is_written_through_a_view_is_seen_in_the_array() -> None:
    x, words = floats(), Traced.unknown("w", "uint64")
    copied = x.copy()
    pattern = copied.view(np.uint64)
    pattern |= words & np.uint64(1 << 63)
    require_same(copied, (x.view("uint64") | (words & number(1 << 63, "uint64"))).view("float64"), "the signed number")
    require_unwritten(x, "the argument")
    x.view(np.int64)[:] ^= integers()
    with pytest.raises(Refused, match="the argument is written to"):
        require_unwritten(x, "the argument")


def test_what_is_written_in_part_keeps_the_rest() -> None:
    negative, n = floats() < 0, integers()
    written, chosen = n.copy(), n.copy()
    np.invert(written, out=written, where=negative)
    chosen[negative] = 0
    require_same(written, where(negative, ~n, n), "the inverted")
    require_same(chosen, where(negative, 0, n), "the chosen")


def test_a_constant_is_known_by_its_bits() -> None:
    x = floats()
    with pytest.raises(Refused, match="the product is computed as"):
        require_same(x * math.nextafter(0.1, 1), x * 0.1, "the product")
    with pytest.raises(Refused):
        require_same(x + 0.0, x + -0.0, "the sum")
    assert matched((x * 0.1, x + 3), (x * floats("?slope"), x + floats("?plus")), "both") == {"slope": 0.1, "plus": 3.0}
    with pytest.raises(Refused, match=r"different constants for \?slope"):
        matched(x * 0.1 + 0.2, x * floats("?slope") + floats("?slope"), "the line")
    with pytest.raises(Refused, match="is computed as"):
        matched(x * x, x * floats("?slope"), "the line")
    with pytest.raises(Refused, match="is not a number of format float64"):
        constant((1 << 53) + 1, "float64")


@pytest.mark.parametrize(
    "look",
    [
        bool,
        len,
        int,
        float,
        list,
        hash,
        np.asarray,
        np.array,
        np.exp,
        np.sum,
        np.add.reduce,
        np.sort,
        lambda x: x[0],
        lambda x: x[:1],
        lambda x: x.sum(),
        lambda x: x.shape,
        lambda x: 3 in x,
        lambda x: np.array([1.0, 2.0]) + x,
        lambda x: np.add(x, 1, out=np.zeros(3)),
        lambda x: np.add(x, 1, where=x > 0),
        lambda x: np.add(x, 1, dtype=np.float32),
        lambda x: x.astype(np.float32),
        lambda x: x + np.float32(1),
        lambda x: x.view(np.int64) + x.view(np.uint64),
        lambda x: np.ones(4).take(x.view(np.int64)),
        lambda x: np.where(x > 0),
        lambda x: x.__setitem__(0, 1.0),
        lambda x: x.__setitem__(slice(None), x > 0),
    ],
)
def test_what_looks_at_values_or_mixes_formats_is_refused(look: Callable[[Traced], Any]) -> None:
    with pytest.raises((Refused, TypeError, AttributeError)):
        look(floats())


def test_a_table_is_looked_up_by_an_unknown_index() -> None:
    found = Table("centres", "float64").take(integers(), mode="clip")
    require_same(found, Table("centres", "float64").take(integers(), mode="clip"), "the centre")
    with pytest.raises(Refused):
        require_same(found, Table("edges", "float64").take(integers(), mode="clip"), "the centre")
    with pytest.raises(Refused, match="mode 'wrap'"):
        Table("centres", "float64").take(integers(), mode="wrap")


def test_numpys_operations_are_those_of_the_standard() -> None:
    assert elementwise.require_numpy() > 100_000


def test_an_operation_that_contracts_or_errs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    true = np.add

    def in_extended_precision(*operands: Any, **options: Any) -> Any:
        return true(*operands, **options) * (1 + 2.0**-52) if "out" not in options else true(*operands, **options)

    monkeypatch.setattr(np, "add", in_extended_precision)
    elementwise.require_numpy.cache_clear()
    with pytest.raises(Refused, match="numpy's add returns"):
        elementwise.require_numpy()
    monkeypatch.undo()
    elementwise.require_numpy.cache_clear()


@pytest.mark.parametrize("name", ["add", "multiply", "rint", "ceil", "clip", "absolute"])
def test_a_zero_of_another_sign_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    elementwise.require_numpy.cache_clear()
    true = getattr(np, name)

    def turned(*given: Any, **named: Any) -> Any:
        found = true(*given, **named)
        return np.where(found == 0, -found, found) if found.dtype.kind == "f" else found

    monkeypatch.setattr(np, name, turned)
    with pytest.raises(Refused, match=rf"numpy's {name} returns -?0\.0 where -?0\.0"):
        elementwise.require_numpy()


def test_a_lent_name_is_given_back() -> None:
    stand_in = Recorder(7)
    with lent(certified.round_up, Fraction=stand_in, len=stand_in):
        assert used(certified.round_up, "Fraction") is stand_in
    assert used(certified.round_up, "Fraction") is not stand_in
    with pytest.raises(Refused, match="has no 'len'"):
        used(certified.round_up, "len")
    with pytest.raises(Refused, match="has no"), lent(certified.round_up, nothing_of_that_name=stand_in):
        pass
    with pytest.raises(Refused, match="called 0 times"):
        _ = stand_in.call
