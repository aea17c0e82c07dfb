"""A table is accepted as it is, and refused with a word too many anywhere; an independent count agrees."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest

from checker import laws as checked_laws
from checker.forms import Refused
from checker.tables import check_table
from mechanisms.core import laws
from mechanisms.core.noise import Noise
from tests.checker.making import Json, edited
from tests.mechanisms.core.known_laws import ALL_LAWS, named

pytestmark = pytest.mark.slow

NARROW = laws.DiscreteLaplace(Fraction(3, 2))
WIDE = laws.DiscreteLaplace(Fraction(500))


@pytest.fixture(autouse=True, scope="module")
def _masses_are_found_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checked_laws.DiscreteLaplace, "mass", cache(checked_laws.DiscreteLaplace.mass))
        yield


@cache
def _evidence(law: laws.Law) -> Json:
    return Noise(law).table.evidence()


def _is_refused(table: Json) -> bool:
    try:
        check_table(table)
    except Refused:
        return True
    return False


def words_of_steps(table: Json) -> Counter[int]:
    """Count the words of each step times W², as a reader of the table would: slot by slot, row by row."""
    width, size = 1 << table["width_bits"], 1 << 64 - table["slot_bits"]
    words: Counter[int] = Counter()
    for slot, (share, upper, lower) in enumerate(table["slots"]):
        threshold = slot * size + share * width
        for first, last, start in (
            (slot * size, threshold, lower * width),
            (threshold, (slot + 1) * size, upper * width),
        ):
            last = min(last, table["limit"])
            for place in range(width if last > first else 0):
                words[start + place] += (last - first) // width * width**2
    for cell, even, ramp in table["open"]:
        for place in range(width):
            from_far = width - 1 - place if cell >= 0 else place
            words[cell * width + place] += even * width + ramp * (2 * from_far + 1)
    return words


def has_excess(table: Json, scale: Fraction) -> bool:
    """Whether a step of discrete Laplace noise has more words than it is worth, found step by step by mpmath."""
    with mpmath.workdps(60):
        rate = mpmath.mpf(scale.denominator) / scale.numerator
        worth = mpmath.tanh(rate / 2) * mpmath.mpf(2) ** 64 * 4 ** table["width_bits"]
        return any(words > worth * mpmath.exp(-rate * abs(step)) for step, words in words_of_steps(table).items())


@cache
def _words(law: laws.DiscreteLaplace) -> Counter[int]:
    return words_of_steps(_evidence(law))


def _left(law: laws.DiscreteLaplace, step: int) -> int:
    """Return how many words more a step of a table is worth, rounded up."""
    width = 1 << _evidence(law)["width_bits"]
    with mpmath.workdps(60):
        rate = mpmath.mpf(law.scale.denominator) / law.scale.numerator
        worth = mpmath.tanh(rate / 2) * mpmath.mpf(2) ** 64 * mpmath.exp(-rate * abs(step))
        return int(mpmath.ceil(worth - mpmath.mpf(_words(law)[step]) / width**2))


@pytest.mark.parametrize("law", ALL_LAWS, ids=named)
def test_tables_are_accepted(law: laws.Law) -> None:
    assert check_table(_evidence(law))[1] > 0


@pytest.mark.parametrize("law", [NARROW, WIDE])
def test_a_word_too_many_in_any_cell_is_refused(law: laws.DiscreteLaplace) -> None:
    table = _evidence(law)
    width = 1 << table["width_bits"]
    for place in range(0, len(table["open"]), max(1, len(table["open"]) // 12)):
        cell, even, ramp = table["open"][place]
        start = cell * width
        far, near = (start + width - 1, start) if start >= 0 else (start, start + width - 1)
        too_many = [cell, even + (_left(law, far) + 1) * width, ramp]
        assert _is_refused(edited(table, ("open", place), too_many)), too_many
        too_steep = [cell, even, ramp + (_left(law, near) + 1) * width]
        assert _is_refused(edited(table, ("open", place), too_steep)), too_steep


def test_a_moved_threshold_and_swapped_starts_are_refused() -> None:
    for law in (NARROW, WIDE):
        table = _evidence(law)
        width = 1 << table["width_bits"]
        used = [
            slot
            for slot, row in enumerate(table["slots"])
            if row[1] != row[2] and (slot + 1) << 64 - table["slot_bits"] <= table["limit"]
        ]
        for slot in used[:: max(1, len(used) // 6)]:
            share, upper, lower = table["slots"][slot]
            for gains, sign in ((upper, -1), (lower, 1)):
                far = gains * width + (width - 1 if gains >= 0 else 0)
                move = sign * (_left(law, far) + 2)
                if not 0 <= share + move <= (1 << 64 - table["slot_bits"]) // width:
                    continue  # the words of a slot are not so many
                moved = edited(table, ("slots", slot), [share + move, upper, lower])
                assert _is_refused(moved), (slot, move)
            assert _is_refused(edited(table, ("slots", slot), [share, lower, upper])), slot


def test_limits_shapes_and_places_are_refused() -> None:
    table = _evidence(WIDE)
    first = table["open"][0]
    changes: list[tuple[tuple[str | int, ...], Any]] = [
        (("limit",), table["limit"] + 1),
        (("limit",), 1 << 64),
        (("limit",), (1 << 64) + (1 << table["width_bits"])),
        (("slot_bits",), table["slot_bits"] + 1),
        (("slot_bits",), 64),
        (("width_bits",), table["width_bits"] + 1),
        (("width_bits",), -1),
        (("slots",), table["slots"][:-1]),
        (("slots", 0, 0), float(table["slots"][0][0])),
        (("slots", 0, 0), -1),
        (("slots", 0, 0), (1 << 64 - table["slot_bits"] - table["width_bits"]) + 1),
        (("slots", 0, 1), 1 << 62 - table["width_bits"]),
        (("slots", 0, 2), -(1 << 62 - table["width_bits"]) - 1),
        (("open", 0, 0), first[0] + 1),
        (("open", 0, 1), -1),
        (("open", 0, 2), -first[2]),
        (("open", 0, 2), True),
        (("open", 0), first[:2]),
        (("law", "scale", "rational"), "499"),
        (("law", "is"), "RoundedLaplace"),
    ]
    for place, new in changes:
        assert _is_refused(edited(table, place, new)), (place, new)
    assert _is_refused(table | {"more": 1})
