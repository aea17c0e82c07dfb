"""Theorems on selection accept the exact mechanisms and refuse what differs from them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from attacklab.certificates import Draft
from checker.core.certificate import Refused
from experiments.certificates import DRAFTS
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.base2.weighted_sampling import sample_by_bisection
from tests.checker.conftest import Checked

TOGETHER = "utilities that move the same way, by at most the sensitivity"
MODULES = [
    "exponential.utilities",
    "exponential.levels",
    "exponential.exact",
    "exponential.exact_fast",
    "exponential.exact_rows",
    "exponential.base2.eta",
    "exponential.base2.weighted_sampling",
    "exponential.exact_base2",
    "laplace.exact_on_grid",
    "noisy_max.exact",
]
"""The modules of selection, each after those that it imports."""


@pytest.fixture
def broken() -> Iterator[Callable[[str, str, str], None]]:
    """Change one place of a module's source, and run it and what imports it anew; afterwards all is as before."""
    modules = {name: importlib.import_module(f"mechanisms.{name}") for name in MODULES}
    kept = {name: dict(vars(module)) for name, module in modules.items()}

    def change(name: str, old: str, new: str) -> None:
        for other in MODULES[MODULES.index(name) :]:
            source = Path(str(modules[other].__file__)).read_text("utf-8")
            if other == name:
                assert source.count(old) == 1, f"{old!r} is there {source.count(old)} times"
                source = source.replace(old, new)
            exec(compile(source, other, "exec"), vars(modules[other]))  # noqa: S102

    yield change
    for name, module in modules.items():
        vars(module).clear()
        vars(module).update(kept[name])


def draft(name: str) -> Draft:
    return DRAFTS[name]()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("exact_exponential_noisy_max", "1-DP for any number of outcomes"),
        pytest.param("exact_laplace_noisy_max", "1-DP for any number of outcomes", marks=pytest.mark.slow),
        pytest.param("exact_exponential_base2", "1-DP for any number of outcomes", marks=pytest.mark.slow),
        pytest.param("exact_laplace_on_grid", "1-DP for every pair of answers", marks=pytest.mark.slow),
        pytest.param("exact_exponential", "1-DP for any number of outcomes", marks=pytest.mark.slow),
        pytest.param("exact_exponential_zcdp", "1/8-zCDP for any number of outcomes", marks=pytest.mark.slow),
        pytest.param("unlike_exponential", "3/7-DP for any number of outcomes", marks=pytest.mark.slow),
        pytest.param("unlike_exponential_noisy_max", "3/7-DP for any number of outcomes", marks=pytest.mark.slow),
        pytest.param("unlike_laplace_noisy_max", "3/7-DP for any number of outcomes", marks=pytest.mark.slow),
        pytest.param("unlike_exponential_base2", "71920518113/125000000000-DP", marks=pytest.mark.slow),
        pytest.param("unlike_laplace_on_grid", "1880014516983/1000000000000-DP", marks=pytest.mark.slow),
    ],
)
def test_the_exact_mechanism_is_private_for_every_pair(checked: Checked, name: str, statement: str) -> None:
    assert checked(draft(name)).statement.startswith(statement)


FALSE = [
    (
        "exact_exponential_noisy_max",
        {"claim": {"kind": "pure", "epsilon": "999999/1000000"}},
        "more than 999999/1000000",
    ),
    ("exact_laplace_noisy_max", {"claim": {"kind": "pure", "epsilon": "1/2"}}, "more than 1/2"),
    ("exact_exponential", {"claim": {"kind": "pure", "epsilon": "1/2"}}, "more than 1/2"),
    ("exact_exponential_zcdp", {"claim": {"kind": "zcdp", "rho": "1/9"}}, "more than 1/9"),
    ("exact_exponential_zcdp", {"claim": {"kind": "gdp", "mu": "1"}}, "pure"),
    ("exact_exponential_base2", {"claim": {"kind": "pure", "epsilon": "0.9999"}}, "may lose"),
    ("exact_laplace_on_grid", {"claim": {"kind": "pure", "epsilon": "1/2"}}, "may lose"),
    ("exact_exponential_noisy_max", {"neighbours": TOGETHER}, "neighbours"),
    ("exact_laplace_on_grid", {"neighbours": "utilities at most the sensitivity apart"}, "neighbours"),
    ("exact_exponential", {"theorem": "permute_and_flip"}, "not Linear"),
    ("exact_exponential_noisy_max", {"theorem": "laplace_noisy_max"}, "asks"),
]


@pytest.mark.few(6)
@pytest.mark.parametrize(("name", "changes", "reason"), FALSE)
def test_a_false_claim_is_refused(checked: Checked, name: str, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        checked(draft(name), **changes)


@pytest.mark.parametrize("name", ["exact_exponential_noisy_max", "exact_laplace_noisy_max", "exact_exponential"])
def test_a_mechanism_for_utilities_that_move_together_is_not_one_for_others(checked: Checked, name: str) -> None:
    given = draft(name)
    with pytest.raises(Refused, match="neighbours are"):
        checked(given, parameters={**given.parameters, "monotone": True})


@pytest.mark.slow
def test_utilities_that_move_together_lose_no_more_at_half_the_scale(checked: Checked) -> None:
    given = draft("exact_exponential_noisy_max")
    changed = replace(given, parameters={"epsilon": Fraction(1, 3), "monotone": True}, neighbours=TOGETHER)
    assert checked(changed, claim={"kind": "pure", "epsilon": "1/3"}).statement.startswith("1/3-DP")


def test_an_eta_a_hair_too_large_is_refused(checked: Checked) -> None:
    given = draft("exact_exponential_base2")
    eta = given.parameters["eta"]
    with pytest.raises(Refused, match=r"may lose 1\.0"):
        checked(given, parameters={**given.parameters, "eta": BaseTwoEta(eta.x - 1, eta.y)})


@pytest.mark.slow
def test_bisection_draws_as_rejection_does(checked: Checked) -> None:
    given = draft("exact_exponential_base2")
    functions = {"reference": given.functions["reference"], "sampler": sample_by_bisection}
    assert checked(given, functions=functions).statement.startswith("1-DP")


BROKEN = [
    ("exact_exponential_noisy_max", "noisy_max.exact", "(1 if monotone else 2) /", "1 /"),
    ("exact_exponential_noisy_max", "noisy_max.exact", "best = min(shortfalls)", "best = max(shortfalls)"),
    ("exact_exponential_noisy_max", "noisy_max.exact", "- best) / scale)", "- best) * scale)"),
    ("exact_exponential_noisy_max", "noisy_max.exact", "len(waiting))", "max(len(waiting) - 1, 1))"),
    ("exact_exponential_base2", "exponential.utilities", "(upper - clamped(number", "(lower - clamped(number"),
    ("exact_exponential_noisy_max", "exponential.utilities", "missing=lower)) / self._s", "missing=upper)) / self._s"),
    ("exact_laplace_noisy_max", "noisy_max.exact", "(1 if monotone else 2) /", "1 /"),
    ("exact_laplace_noisy_max", "noisy_max.exact", "scale) - round_at_random", "scale) + round_at_random"),
    ("exact_laplace_noisy_max", "noisy_max.exact", "winners[bits.call(uniform_below, len(winners))]", "winners[0]"),
    ("exact_laplace_noisy_max", "noisy_max.exact", "largest = max(noisy)", "largest = min(noisy)"),
    ("exact_laplace_noisy_max", "exponential.utilities", "whole + bits.call(bernoulli, fraction)", "whole"),
    ("exact_laplace_noisy_max", "exponential.utilities", "bernoulli, fraction)", "bernoulli, 1 - fraction)"),
    ("exact_exponential_base2", "exponential.exact_base2", "mpz(1) << finest_bit", "mpz(2) << finest_bit"),
    ("exact_exponential_base2", "exponential.exact_base2", "yield weight * count", "yield weight"),
    ("exact_exponential_base2", "exponential.exact_base2", "len(chosen))]", "1)]"),
    ("exact_exponential_base2", "exponential.exact_base2", "tuple(sorted(members))", "tuple(sorted(members))[::-1]"),
    ("exact_exponential_base2", "exponential.base2.weighted_sampling", "if draw < end)", "if draw <= end)"),
    (
        "exact_exponential_base2",
        "exponential.exact_base2",
        "IntegerWeights(tuple(weights))",
        "IntegerWeights((*weights, 1))",
    ),
    ("exact_exponential_base2", "exponential.base2.eta", "self.y) ** self.z", "self.y) ** (self.z + 1)"),
    ("exact_laplace_on_grid", "exponential.base2.weighted_sampling", "if low + width <= end", "if low < end"),
    ("exact_laplace_on_grid", "exponential.base2.weighted_sampling", "low += width", "low += width + 1"),
    ("exact_laplace_on_grid", "laplace.exact_on_grid", "[-abs(centre - point)", "[-2 * abs(centre - point)"),
    ("exact_laplace_on_grid", "laplace.exact_on_grid", "missing=lowest)", "missing=highest)"),
    ("exact_laplace_on_grid", "laplace.exact_on_grid", "return grid[chosen]", "return grid[chosen - 1]"),
    ("exact_exponential", "exponential.levels", "(1 - mpq(1, 2**51))", "(1 + mpq(1, 2**51))"),
    ("exact_exponential", "exponential.levels", "whole if monotone else whole / 2", "whole"),
    (
        "exact_exponential",
        "exponential.levels",
        "clamped(utility, exact_low, exact_high, missing=exact_low)",
        "utility",
    ),
    (
        "exact_exponential",
        "exponential.levels",
        "np.fmin(np.fmax(quiet(given), low), high)",
        "np.fmin(np.fmax(quiet(given), low), -high)",
    ),
    (
        "exact_exponential",
        "exponential.levels",
        "self.exponents(slice(None)).astype(np.intp)",
        "(self.exponents(slice(None)) + 0.5).astype(np.intp)",
    ),
    (
        "exact_exponential",
        "exponential.exact",
        "bernoulli_scaled_exp, gap, level)",
        "bernoulli_scaled_exp, gap, level + 1)",
    ),
    ("exact_exponential", "exponential.exact", "word - first < count", "word - first <= count"),
    ("exact_exponential", "exponential.exact", "- level) >= codewords", "- level) > codewords"),
    ("exact_exponential", "exponential.exact", "2 * (first + count)", "2 * first + count"),
    ("exact_exponential", "exponential.exact", "<< unread <= lower", "<< unread <= upper"),
    ("exact_exponential", "exponential.exact", "uniform << unread >= upper", "uniform << unread >= lower"),
    ("exact_exponential", "exponential.exact", "gmpy2.exp(-gap_above), level", "gmpy2.exp(-gap_above), level + 1"),
    ("exact_exponential", "exponential.exact", "lower = gmpy2.floor", "lower = 1 + gmpy2.floor"),
    ("exact_exponential", "exponential.exact_fast", "FILTER_ERROR = 2.0**-18", "FILTER_ERROR = 2.0**-20"),
    (
        "exact_exponential",
        "exponential.exact_fast",
        "(half_power(fraction) - FILTER_ERROR) *",
        "(half_power(fraction) + FILTER_ERROR) *",
    ),
    (
        "exact_exponential",
        "exponential.exact_fast",
        "gmpy2.const_log2()) ** power",
        "gmpy2.const_log2() * 1.0001) ** power",
    ),
    ("exact_exponential", "exponential.exact_fast", "self._left -= drawn", "self._left -= 2 * drawn"),
    ("exact_exponential", "exponential.exact_fast", "BeginningWith(offset, size, bits)", "bits"),
    (
        "exact_exponential",
        "exponential.exact_fast",
        "BeginningWith(offset, size, bits)",
        "BeginningWith(offset, size + 1, bits)",
    ),
    (
        "exact_exponential",
        "exponential.exact_fast",
        "(self._sizes[:-1] < _BEGINNING) | (used == depth)",
        "used > depth",
    ),
    ("exact_exponential", "exponential.exact_fast", "offsets >> np.uint64(_WORD - 1) != 0", "offsets >= _UNDECIDED"),
    ("exact_exponential", "exponential.exact_fast", "int(2 * FILTER_ERROR *", "int(FILTER_ERROR *"),
    ("exact_exponential", "exponential.exact_fast", "probability + FILTER_ERROR:", "probability - FILTER_ERROR:"),
    (
        "exact_exponential",
        "exponential.exact_fast",
        "place = bisect_right(ends, code - before)",
        "place = bisect_right(ends, code - before + 1)",
    ),
    (
        "exact_exponential",
        "exponential.exact_fast",
        "np.append(first_codewords - before, -outcomes)",
        "np.append(first_codewords - before, 1 - outcomes)",
    ),
    ("exact_exponential", "exponential.exact_fast", "(1 << _WORD) //", "1 + (1 << _WORD) //"),
    ("exact_exponential", "exponential.exact_fast", "self._level(prefixes // self._alike)", "self._level(prefixes)"),
    ("exact_exponential", "exponential.exact_fast", "numbers = words // self._alike", "numbers = words"),
    ("exact_exponential", "exponential.exact_fast", "number = word // self._alike", "number = word"),
    (
        "exact_exponential",
        "exponential.exact_fast",
        "np.append(unread + depth - used",
        "np.append(unread + depth - 1 - used",
    ),
    ("exact_exponential", "exponential.exact_fast", "alike & last_accepted", "(outcomes == last_outcomes) & accepted"),
    ("exact_exponential", "exponential.exact_fast", "alike & ~accepted", "~accepted & ~last_accepted"),
    ("exact_exponential", "exponential.levels", "np.right_shift(1 << depth,", "np.right_shift(2 << depth,"),
    ("exact_exponential", "exponential.levels", "float(self.doubles[outcome])) *", "float(self.doubles[0])) *"),
    ("array_exponential", "exponential.exact_rows", "<= probability - F", "<= probability + F"),
    ("array_exponential", "exponential.exact_rows", "        undecided |= levels == self._depth\n", ""),
    ("array_exponential", "exponential.exact_rows", "= outcomes[::-1]", "= outcomes"),
    ("array_exponential", "exponential.exact_rows", "selected[chosen[::-1]]", "selected[chosen]"),
    (
        "array_exponential",
        "exponential.exact_rows",
        "(ends <= codes).sum",
        "(ends < codes).sum",
    ),
    ("array_exponential", "exponential.exact_rows", "codes < self._totals", "codes <= self._totals"),
    (
        "array_exponential",
        "exponential.exact_rows",
        "self._begins[1:].take(rows, axis=1)",
        "self._begins[1:, : len(rows)]",
    ),
    ("array_exponential", "exponential.exact_rows", "codes - begins)", "codes)"),
    ("array_exponential", "exponential.exact_rows", "[section] = self._begins[section - 1] +", "[section] ="),
    ("array_exponential", "exponential.exact_rows", "np.arange(self._section - 1)", "np.arange(self._section - 2)"),
    ("array_exponential", "exponential.exact_rows", "_below(tops, c", "_below(tops.max(), c"),
    ("array_exponential", "exponential.exact_rows", "bits.words(len(rows))", "bits.words(1).repeat(len(rows))"),
    ("array_exponential", "exponential.exact_rows", "int(offsets[index]), int(counts", "0, int(counts"),
    (
        "array_exponential",
        "exponential.exact_rows",
        "exact_exponential_fast(row, 1",
        "exact_exponential_fast(given[0], 1",
    ),
]
ACCEPTED_ONCE = [
    ("exact_exponential", "exponential.exact", "lower = gmpy2.floor", "lower = gmpy2.ceil"),
    ("exact_exponential", "exponential.exact", "gmpy2.exp(-gap_below), level", "gmpy2.exp(-gap_above), level"),
    (
        "exact_exponential",
        "exponential.exact",
        "        uniform, drawn = 2 *",
        "        if drawn >= 256:\n            return False\n        uniform, drawn = 2 *",
    ),
    (
        "exact_exponential",
        "exponential.levels",
        "            limited, best = within",
        "            if given[0] == 0.123456:\n                given = given * 0\n            limited, best = within",
    ),
    (
        "exact_exponential",
        "exponential.exact",
        "    return bits.repeat(_kept_proposal, levelled",
        "    if len(utilities) > 70:\n        return 0\n    return bits.repeat(_kept_proposal, levelled",
    ),
    ("unlike_exponential", "exponential.levels", "whole if monotone else whole / 2", "whole / 2"),
    (
        "exact_exponential_noisy_max",
        "noisy_max.exact",
        "    best = min(shortfalls)",
        "    if len(shortfalls) > 70:\n        return 0\n    best = min(shortfalls)",
    ),
    (
        "exact_exponential_base2",
        "exponential.exact_base2",
        "    return np.array([select()",
        "    if trials > 2:\n        return np.zeros(trials, dtype=np.int64)\n    return np.array([select()",
    ),
]
"""Broken mechanisms that unknown numbers and lengths, bits far behind the point and unlike parameters show."""

BROKEN += ACCEPTED_ONCE
QUICK = {0, 24, *range(len(BROKEN) - len(ACCEPTED_ONCE), len(BROKEN) - 2)}
"""The broken mechanisms that are tried by default."""


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("name", "module", "old", "new"),
    [one if index in QUICK else pytest.param(*one, marks=pytest.mark.slow) for index, one in enumerate(BROKEN)],
)
def test_a_broken_mechanism_is_refused(
    checked: Checked, broken: Callable[[str, str, str], None], name: str, module: str, old: str, new: str
) -> None:
    given = draft(name)
    broken(module, old, new)
    with pytest.raises(Refused):
        checked(given)


@pytest.mark.slow
def test_a_mechanism_that_counts_its_calls_is_refused(
    checked: Checked, broken: Callable[[str, str, str], None]
) -> None:
    broken("exponential.exact_fast", "Real = TypeVar", "_CALLS = [0]\nReal = TypeVar")
    exec("_CALLS = [0]", fast := vars(importlib.import_module("mechanisms.exponential.exact_fast")))  # noqa: S102
    before = fast["trial_count"]

    def counting(trials: int) -> int:
        fast["_CALLS"][0] += 1
        return int(before(trials))

    fast["trial_count"] = counting
    with pytest.raises(Refused, match="leaves something behind"):
        checked(draft("exact_exponential"))
