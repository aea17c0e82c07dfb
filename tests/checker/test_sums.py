"""Certificates of sums and means of records: the true ones are accepted, false claims and broken mechanisms refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from checker.core.certificate import Conclusion, Refused
from checker.kinds import laplace_words, record_map
from checker.kinds.record_map import RecordMap, require_reading, require_record_map
from checker.theorems import sums as theorem
from experiments.certificates import DRAFTS
from experiments.targets.sums import AGES, NARROW
from mechanisms import integer_sums, private_numbers
from mechanisms.grid import Grid
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.summation import bounds, exact, exact_fast
from mechanisms.summation.bounds import Bounds
from tests.checker.conftest import Checked
from tests.checker.mutated_sources import mutate, rechecked
from tests.representatives import first_of_each

NAMES = ("exact_age_sum", "exact_bounded_sum", "exact_bounded_mean")
DOMAIN = Domain(-1, 3, Grid(-4))
WIDEST = Bounds(-(2.0**53), 2.0**53, Grid(0))


@pytest.fixture
def few_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out noise made of words, which has tests of its own."""
    monkeypatch.setattr(laplace_words, "require_fast_noise", lambda *_: 1)


@pytest.mark.slow
@pytest.mark.usefixtures("few_words")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "exact_age_sum")) for name in NAMES]
)
def test_sums_and_means_are_private_for_every_pair(checked: Checked, name: str) -> None:
    found = checked(DRAFTS[name]())
    assert found.statement.startswith("1-DP for every pair of databases of any size")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_sums_and_means_are_private_for_every_pair_and_every_word(checked: Checked, name: str) -> None:
    assert checked(DRAFTS[name]()).statement.startswith("1-DP for every pair of databases of any size")


@cache
def _true_record_map(owner: Any, unit: Fraction) -> RecordMap:
    return require_record_map(owner, unit)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what the tests of true mechanisms and of the parts look at: records and the noise mechanism."""
    monkeypatch.setattr(theorem, "require_record_map", _true_record_map)
    monkeypatch.setattr(theorem, "discrete_laplace_on_grid", lambda _: Conclusion("", (), {}))


HAIR = Fraction(1, 10**30)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", NAMES)
def test_a_claim_a_hair_smaller_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="one record costs 1, more than"):
        rechecked(name, claim={"kind": "pure", "epsilon": str(1 - HAIR)})


@pytest.mark.usefixtures("quick")
def test_the_loss_is_found_for_the_neighbours_that_are_claimed(checked: Checked) -> None:
    draft = DRAFTS["exact_bounded_mean"]()
    assert checked(draft, neighbours="substitute", claim={"kind": "pure", "epsilon": "1/2"})
    draft = DRAFTS["exact_age_sum"]()
    high = {**draft.parameters, "bounds": Bounds(50, 100, Grid(-20)), "relation": "substitute"}
    assert checked(draft, parameters=high, neighbours="substitute")
    for neighbours in ("add-remove", "add-remove or substitute"):
        with pytest.raises(Refused, match="one record costs 2, more than 1"):
            checked(draft, parameters=high, neighbours=neighbours)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "changes", [{"neighbours": "edge"}, {"claim": {"kind": "pure"}}, {"theorem": "sum_over_count"}]
)
def test_what_the_theorem_does_not_know_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        rechecked("exact_age_sum", **changes)


@pytest.mark.usefixtures("quick")
def test_the_number_of_records_is_not_public_where_records_are_added() -> None:
    with pytest.raises(Refused, match="TypeError"):
        rechecked("exact_bounded_sum", neighbours="add-remove")


BROKEN_RELEASES = [
    (
        "exact_age_sum",
        exact,
        "exact_bounded_sum",
        "bounds.sensitivity(relation)",
        "bounds.sensitivity(relation) / 2",
    ),
    ("exact_age_sum", exact, "exact_bounded_sum", "epsilon=epsilon", "epsilon=epsilon * (1 + Fraction(1, 2**52))"),
    ("exact_age_sum", exact_fast, "exact_bounded_sum_fast", "epsilon=epsilon", "epsilon=2 * epsilon"),
    ("exact_age_sum", exact_fast, "exact_bounded_sum_fast", "return exact", "return bounds.total(records) + exact"),
    ("exact_bounded_sum", exact, "exact_narrow_sum", "bounds.sensitivity", "bounds.sensitivity / 2"),
    ("exact_bounded_sum", exact, "exact_narrow_sum", "+ above", "+ above + 0 * total"),
    ("exact_bounded_sum", exact_fast, "exact_narrow_sum_fast", "+ above", "+ np.cumsum(above)"),
    ("exact_bounded_sum", exact_fast, "exact_narrow_sum_fast", "trials, bits", "2 * trials, bits"),
    ("exact_bounded_mean", exact, "exact_bounded_mean", "if relation ==", "if True or relation =="),
    ("exact_bounded_mean", exact, "exact_bounded_mean", "max(divisor, 1.0)", "max(divisor, 1.0, count)"),
    ("exact_bounded_mean", exact, "exact_bounded_mean", "total, bits", "total * 2, bits"),
    ("exact_bounded_mean", exact_fast, "exact_bounded_mean_fast", "if relation ==", "if True or relation =="),
    ("exact_bounded_mean", exact_fast, "exact_bounded_mean_fast", "totals /= counts", "totals /= counts.mean()"),
    ("exact_bounded_mean", exact_fast, "exact_bounded_mean_fast", "totals /= counts", "totals /= counts[::-1]"),
]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("name", "module", "function", "old", "new"), first_of_each(BROKEN_RELEASES))
def test_a_release_that_costs_more_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, module: Any, function: str, old: str, new: str
) -> None:
    mutate(monkeypatch, module, function, old, new)
    with pytest.raises(Refused):
        rechecked(name)


@pytest.mark.usefixtures("quick")
def test_a_budget_that_is_spent_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch, exact, "budget_of_sum", "exact_epsilon / 2", "exact_epsilon")
    with pytest.raises(Refused, match="one record costs 2"):
        rechecked("exact_bounded_mean")


@pytest.mark.parametrize(
    ("owner", "unit", "range_"),
    [
        (AGES, AGES.grid.step, (0, 100 << 20)),
        (NARROW, NARROW.grid.step, (0, 256)),
        (Bounds(-2, 5, Grid(0)), Fraction(1), (-2, 5)),
        (WIDEST, Fraction(1), (-(2**53), 2**53)),
        (DOMAIN, Fraction(1), (0, 64)),
    ],
)
def test_the_range_of_a_record_is_found(owner: Any, unit: Fraction, range_: tuple[int, int]) -> None:
    found = require_record_map(owner, unit)
    assert (found.least, found.greatest) == range_
    assert found.move("substitute") == range_[1] - range_[0]
    assert found.move("add-remove") == max(map(abs, range_))


NO_CLIP = ("np.fmin(np.fmax(values, float(self.lower)), float(self.upper))", "np.fmax(values, float(self.lower))")
READ = 'doubles("records", records)'
CHUNK = "values[start : start + size]"


BROKEN_SUMS = [
    (Bounds, "steps", *NO_CLIP),
    (Bounds, "steps", "float(self.upper)", "np.inf"),
    (Bounds, "steps", "np.rint(steps, out=steps)", "np.rint(steps + np.roll(steps, 1))"),
    (Bounds, "steps", "np.rint(steps, out=steps)", "np.rint(np.cumsum(steps))"),
    (Bounds, "steps", "np.rint(steps, out=steps)", "np.rint(steps - steps.mean())"),
    (Bounds, "steps", "np.rint(steps, out=steps)", "np.rint(steps * steps)"),
    (Bounds, "steps", "astype(np.int64)", "astype(np.int32)"),
    (Bounds, "steps", "steps *=", "steps *= -"),
    (Bounds, "steps", "steps *=", "values *= 2\n    steps *="),
    (Bounds, "total_and_count", "* self.grid.step, len", "* self.grid.step * 2, len"),
    (Bounds, "total_and_count", "len(values)", "len(values) - 1"),
    (Bounds, "total_and_count", "len(values)", "min(len(values), 1000)"),
    (Bounds, "total_and_count", READ, f"np.unique({READ})"),
    (Domain, "positions_of_doubles", "np.clip(steps, 0, self.width)", "np.fmax(steps, 0)"),
    (Domain, "positions_of_doubles", "np.isnan(steps), self.middle", "steps < 0, self.middle"),
    (Domain, "positions_of_doubles", "self.middle", "np.nan"),
    (integer_sums, "_sum_from", ".sum()", ".sum(dtype=np.int32)"),
    (integer_sums, "_sum_from", CHUNK, "values[start : start + size + 1]"),
    (integer_sums, "_sum_from", CHUNK, "values[start : start + size - 1]"),
    (integer_sums, "_sum_from", CHUNK, "values[start : start + size][:8000]"),
    (integer_sums, "sum_of_integers", "range(0, len", "range(1, len"),
    (integer_sums, "sum_of_integers", "len(values), chunk_size", "len(values) - 1, chunk_size"),
    (integer_sums, "sum_of_integers", "sum(map", "max(map"),
    (integer_sums, "sum_of_integers", "min(CHUNK, (2**63 - 1) // greatest)", "CHUNK"),
    (private_numbers, "doubles", "return exact if", "return np.sort(exact) if"),
    (private_numbers, "nearest_doubles", "map(_nearest_double, numbers)", "sorted(map(_nearest_double, numbers))"),
    (private_numbers, "_of_elements", "all(map(operator.eq, elements, found.tolist()))", "True"),
    (private_numbers, "_special", "math.nan if math.isnan(value) else value", "math.inf"),
]


@pytest.mark.parametrize(("owner", "name", "old", "new"), first_of_each(BROKEN_SUMS))
def test_records_that_do_not_count_on_their_own_or_can_wrap_around_are_refused(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str
) -> None:
    mutate(monkeypatch, owner, name, old, new)
    if owner in (integer_sums, private_numbers) and name in vars(bounds):
        monkeypatch.setattr(bounds, name, vars(owner)[name])
    adding: Any = DOMAIN if owner is Domain else WIDEST if owner is integer_sums else AGES
    with pytest.raises((Refused, TypeError, ValueError, AttributeError)):
        require_record_map(adding, Fraction(1) if owner is Domain else adding.grid.step)


@pytest.mark.parametrize(
    "reading",
    [
        lambda _, values: np.array(list(map(record_map._of, values[:1]))),
        lambda _, values: np.array(list(map(record_map._of, values)))[::-1],
        lambda _, values: np.array(list(map(record_map._of, values))) * (1 + 2.0**-52),
        lambda _, values: np.nan_to_num(np.array(list(map(record_map._of, values)))),
    ],
)
def test_readings_that_mix_records_are_refused(reading: Callable[..., Any]) -> None:
    with pytest.raises(Refused, match="are read as"):
        require_reading(reading)
