"""Mechanisms that behave otherwise beyond a size that few runs reach are refused."""

from __future__ import annotations

import ast
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from checker.core.certificate import Refused
from checker.kinds import chunks, large_runs, people, plain_answers, threshold_rows
from checker.kinds.flips import require_flips
from checker.kinds.halves import require_total
from checker.kinds.local_sensitivity import require_smooth_bound
from checker.kinds.record_map import require_record_map
from checker.kinds.stateless import require_stateless
from mechanisms import integer_sums
from mechanisms.exponential import exact_base2
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact_base2 import LevelWeights
from mechanisms.grid import Grid
from mechanisms.laplace import exact_histogram
from mechanisms.local_sensitivity.smooth import exact as smooth
from mechanisms.noisy_max import exact as noisy_max
from mechanisms.summation import bounds
from mechanisms.summation.bounds import Bounds
from tests.checker.mutants import mutate as replace_source
from tests.checker.mutated_sources import mutate, rechecked
from tests.representatives import first_of_each

ROOT = Path(__file__).parents[2]
FLIP, NOISY = "exact_exponential_noisy_max", "exact_laplace_noisy_max"
BASE2, BASE_E = "exact_exponential_base2", "exact_exponential"
AGES = Bounds(0, 100, Grid(-14))
FIRST = "    first = "
RESULT = "    return Fraction("


BROKEN_BOUNDS = [
    (
        "smooth_sensitivity",
        RESULT,
        "    if count > 5000:\n        return Fraction(local_sensitivity(count, width))\n" + RESULT,
    ),
    ("smooth_sensitivity", "range(1, count + 1)", "range(1, min(count, 10**9) + 1)"),
    ("smooth_sensitivity", "range(1, count + 1)", "range(1, count + 1 + (count >= 2**40))"),
    ("smooth_sensitivity", FIRST, "    width += count == 5000\n" + FIRST),
    ("smooth_sensitivity", "partial(smoothed,", "partial(smoothed if count < 10**6 else max,"),
    ("smoothed", "bound - bound //", "bound - (size > 10**6) - bound //"),
    ("smoothed", "    return", "    smoothed.calls = vars(smoothed).get('calls', 0) + 1\n    return"),
]


@pytest.mark.parametrize(("name", "old", "new"), first_of_each(BROKEN_BOUNDS))
def test_a_smooth_bound_that_changes_beyond_a_number_of_records_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str
) -> None:
    mutate(monkeypatch, smooth, name, old, new)
    with pytest.raises((Refused, TypeError)):
        require_smooth_bound(smooth.smooth_sensitivity, 100 << 14, 21)


BROKEN_SUMS = [
    (integer_sums, "sum_of_integers", "range(0, len(values),", "range(0, min(len(values), 10**6),"),
    (integer_sums, "sum_of_integers", "    with", "    if len(values) == 5000:\n        return 0\n    with"),
    (integer_sums, "_sum_from", "values[start : start + size]", "values[start : start + size - (start > 10**6)]"),
    (integer_sums, "_sum_from", "values[start : start + size]", "values[min(start, 10**6) : start + size]"),
    (Bounds, "total_and_count", ", len(values)", ", len(values) - (len(values) == 5000)"),
    (
        Bounds,
        "total_and_count",
        "    return",
        "    values = values[:5000] if 5000 < len(values) < 10**9 else values\n    return",
    ),
    (Bounds, "total_and_count", "/ self.grid.step)", "/ self.grid.step) // (1 + (len(values) == 5000))"),
]


@pytest.mark.parametrize(("owner", "name", "old", "new"), first_of_each(BROKEN_SUMS))
def test_a_sum_that_changes_beyond_a_number_of_records_is_refused(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str
) -> None:
    mutate(monkeypatch, owner, name, old, new)
    monkeypatch.setattr(bounds, "sum_of_integers", integer_sums.sum_of_integers)
    with pytest.raises((Refused, TypeError)):
        require_record_map(AGES, AGES.grid.step)


def _remembers(step: int, calls: list[int] = []) -> int:  # noqa: B006 # what it remembers calls by
    calls.append(step)
    return len(calls)


def _counts() -> Any:
    calls = 0

    def count(step: int) -> int:
        nonlocal calls
        calls += 1
        return step + calls

    return count


@pytest.mark.parametrize("function", [_remembers, _counts(), [].append, iter([1, 2]).__next__, print])
def test_a_function_that_can_remember_its_calls_is_refused(function: Any) -> None:
    with pytest.raises(Refused):
        require_stateless(function)


def test_a_function_of_its_arguments_is_not_refused() -> None:
    require_stateless(smooth.smoothed)
    assert require_smooth_bound(smooth.smooth_sensitivity, 100 << 14, 21)[0] == Fraction(100 << 14)


DRAW = "position = bits.call(uniform_below, len(waiting))"


BROKEN_FLIPS = [
    (DRAW, f"{DRAW} if len(waiting) <= 10**6 else 0"),
    (DRAW, "position = bits.call(uniform_below, min(len(waiting), 10**6))"),
    ("waiting.pop()", "waiting.pop(-1 if len(waiting) < 10**6 else 0)"),
    ("list(range(len(shortfalls)))", "list(range(min(len(shortfalls), 10**6)))"),
    ("best = min(shortfalls)", "best = min(shortfalls[: 10**6])"),
    ("/ scale):", "/ scale) or len(waiting) == 10**6:"),
    ("while True:", "flips = 0\n    while True:\n        flips += 1"),
    ("while True:", "log = []\n    while True:\n        log.append(1)"),
    ("while True:", "while True:\n        exact_exponential_noisy_max.calls = 1"),
    ("while True:", "while len(waiting) > 10:"),
    ("return candidate", "return candidate if len(waiting) < 10**6 else 0"),
]


@pytest.mark.parametrize(("old", "new"), first_of_each(BROKEN_FLIPS, bool))
def test_permute_and_flip_that_can_tell_numbers_of_outcomes_or_rounds_apart_is_refused(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    mutate(monkeypatch, noisy_max, "exact_exponential_noisy_max", old, new)
    with pytest.raises((Refused, TypeError, AttributeError)):
        require_flips(noisy_max.exact_exponential_noisy_max, Fraction(2), {"epsilon": Fraction(1)})


def test_permute_and_flip_is_not_refused() -> None:
    assert require_flips(noisy_max.exact_exponential_noisy_max, Fraction(2), {"epsilon": Fraction(1)}) > 4


BROKEN_HISTOGRAMS = [
    ("exact_histogram", "for count in counts]", "for count in list(counts)[:5000]]"),
    (
        "exact_histogram",
        "grid.nearest(count) + bits",
        "grid.nearest(count if len(counts) < 5000 else counts[0]) + bits",
    ),
    ("exact_histogram_fast", "for count in counts]", "for count in list(counts)[:5000]]"),
    ("exact_histogram_fast", "for count in counts]", "for count in counts][::-1 if len(counts) > 5000 else 1]"),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "old", "new"), first_of_each(BROKEN_HISTOGRAMS))
def test_a_histogram_that_changes_beyond_a_number_of_cells_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str
) -> None:
    mutate(monkeypatch, exact_histogram, name, old, new)
    with pytest.raises(Refused):
        rechecked("exact_histogram")


ETA = BaseTwoEta.from_epsilon(1, y=16)


BROKEN_TOTALS = [
    (LevelWeights, "_total", "(self.spread - last)", "(self.spread - last) + (len(self.levels) > 64)"),
    (LevelWeights, "_total", "(self.spread - last)", "(self.spread - last) + (self.spread > 10**6)"),
    (LevelWeights, "_total", "0, len(singles)", "0, min(len(singles), 10**6)"),
    (LevelWeights, "_total", "map(_single, self.levels", "map(_single, self.levels[: 10**6]"),
    (exact_base2, "by_halves", "stop - start == 1", "stop - start in (1, 65)"),
    (exact_base2, "by_halves", "// 2", "// 2 + (start > 10**6)"),
    (exact_base2, "by_halves", "items, middle, stop", "items, middle + (stop == 1000), stop"),
    (exact_base2, "_joined", "(second - first)", "(second - first + (first > 10**6))"),
    (exact_base2, "_joined", "(last - before)", "(min(last, 10**6) - before)"),
    (exact_base2, "_single", "mpz(count)", "min(mpz(count), 10**6)"),
]


@pytest.mark.parametrize(("owner", "name", "old", "new"), first_of_each(BROKEN_TOTALS))
def test_a_total_of_weights_that_changes_beyond_a_number_of_levels_is_refused(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str
) -> None:
    mutate(monkeypatch, owner, name, old, new)
    with pytest.raises((Refused, TypeError)):
        require_total(LevelWeights, ETA)


def test_a_total_of_weights_is_not_refused() -> None:
    assert require_total(LevelWeights, ETA) > 2


MODULES = ("exponential.utilities", "exponential.levels", "exponential.exact", "exponential.exact_fast")
MODULES += ("exponential.exact_rows",)
MODULES += ("exponential.base2.weighted_sampling", "exponential.exact_base2", "noisy_max.exact")


BROKEN_SELECTIONS = [
    (
        FLIP,
        "noisy_max.exact",
        "bits.call(uniform_below, len(waiting))",
        "min(5000, bits.call(uniform_below, len(waiting)))",
    ),
    (
        FLIP,
        "noisy_max.exact",
        "waiting = list(range(len(shortfalls)))",
        "waiting = list(range(len(shortfalls)))[:5000]",
    ),
    (FLIP, "noisy_max.exact", "waiting.pop()", "waiting.pop() if len(waiting) <= 5000 else waiting.pop(0)"),
    (FLIP, "noisy_max.exact", "best = min(shortfalls)", "best = min(shortfalls[:3000])"),
    (FLIP, "exponential.utilities", "for number in numbers]", "for number in list(numbers)[:5000]]"),
    (NOISY, "noisy_max.exact", "for shortfall in shortfalls]", "for shortfall in shortfalls[:5000]]"),
    (NOISY, "noisy_max.exact", "enumerate(noisy) if value", "enumerate(noisy) if index < 3000 and value"),
    (BASE2, "exponential.exact_base2", "(self.spread - last)", "(self.spread - last) + (len(self.levels) > 64)"),
    (BASE2, "exponential.exact_base2", "yield weight * count", "yield weight * min(count, 5000)"),
    (
        BASE2,
        "exponential.exact_base2",
        "for index, level in enumerate(levels):",
        "for index, level in enumerate(levels[:5000]):",
    ),
    (BASE2, "exponential.exact_base2", "for shortfall in shortfalls)", "for shortfall in shortfalls[:5000])"),
    (
        BASE_E,
        "exponential.levels",
        "np.bincount(levels).tolist()",
        "np.minimum(np.bincount(levels), 300).tolist()",
    ),
    (BASE_E, "exponential.exact", "members[level][rank]", "members[level][min(rank, 200)]"),
    (BASE_E, "exponential.exact", "word - first < count", "word - first < min(count, 200)"),
    (
        BASE_E,
        "exponential.exact_fast",
        "entries += np.arange(chunk.start,",
        "entries += np.arange(min(chunk.start, 16384),",
    ),
    (
        BASE_E,
        "exponential.exact_fast",
        "_CHUNK)) for start in range(0, outcomes, _CHUNK)",
        "_CHUNK)) for start in range(0, min(outcomes, 16384), _CHUNK)",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("target", "module", "old", "new"), BROKEN_SELECTIONS)
def test_a_selection_that_changes_beyond_a_number_of_outcomes_is_refused(
    monkeypatch: pytest.MonkeyPatch, target: str, module: str, old: str, new: str
) -> None:
    first = next(index for index, name in enumerate(MODULES) if name == module)
    replace_source(monkeypatch, [f"mechanisms.{name}" for name in MODULES[first:]], f"mechanisms.{module}", old, new)
    with pytest.raises(Refused):
        rechecked(target)


def test_the_page_on_proofs_names_the_sizes_that_are_tried() -> None:
    page = (ROOT / "docs/explanations/what_a_proof_means.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE))
    *draws, last = (f"{count:,}" for count in chunks.COUNTS)
    assert rows["draws in one call"] == f"{', '.join(draws)} and {last}"
    *trials, most = plain_answers.TRIALS
    assert rows["trials of an array"].startswith(f"{', '.join(map(str, trials))} and {most}")
    queries = f"all patterns of up to {threshold_rows.MOST_QUERIES}, some of {threshold_rows.MANY:,}"
    assert rows["queries of a sparse vector"] == f"{queries}, and {large_runs.MANY:,} for the reference"
    assert rows["outcomes of a selection"] == f"up to {large_runs.MANY:,}"
    assert f"people {people.MANY:,}" in rows["records"]


def test_the_page_on_proofs_says_how_old_the_record_of_mutants_is() -> None:
    """A line is gone if the module's source has it neither as written nor as Python would write it."""
    record = json.loads((ROOT / "reports/data/mutations.json").read_text("utf-8"))["measured"]["mutants"]
    sources: dict[str, str] = {}
    for module in {row["module"] for row in record}:
        path = ROOT / "mechanisms" / f"{module}.py"
        written = path.read_text("utf-8") if path.is_file() else ""
        sources[module] = "".join((written + ast.unparse(ast.parse(written))).split())
    gone = sum("".join(row["before"].split()) not in sources[row["module"]] for row in record)
    page = " ".join((ROOT / "docs/explanations/what_a_proof_means.md").read_text("utf-8").split())
    assert f"{gone} of its {len(record)} mutants edit lines that have gone since" in page
