"""The theorem on finitely many inputs finds the law of any sampler, and compares every pair of neighbours."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from attacklab.certificates import Draft, certificate
from checker.check import check, main
from checker.core.certificate import Refused, load
from checker.kinds.law_tree import Laws
from experiments.certificates import DRAFTS
from mechanisms.coins import bernoulli, bernoulli_exp, uniform_below
from mechanisms.laplace.exact import discrete_laplace
from tests.checker.conftest import Checked

SMALL = [name for name in DRAFTS if name.startswith("small_")]

OWN = '''
from fractions import Fraction

def round_of(bits):
    drawn = bits.take(2)
    return drawn if drawn < 3 else None

def told(truth, bits, *, odd=False):
    """The truth with probability 2/3."""
    lies = bits.repeat(round_of) == 0
    return bool(truth) is not lies

def counting(truth, bits, seen=[]):
    """Lies at its first run only."""
    seen.append(truth)
    return bool(truth) is not (bits.take(1) == 1 and len(seen) < 2)
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A library author's module."""
    (tmp_path / "own_sampler.py").write_text(OWN, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("own_sampler")
    del sys.modules["own_sampler"]


def law_of(sampler: Callable[..., Any], *arguments: Any) -> dict[Any, Fraction]:
    return {leaf.outcome: leaf.mass for leaf in Laws().of(sampler, *arguments).listed}


def test_closed_laws_are_found_exactly() -> None:
    assert law_of(uniform_below, 5) == dict.fromkeys(range(5), Fraction(1, 5))
    assert law_of(bernoulli, Fraction(777, 1001)) == {True: Fraction(777, 1001), False: Fraction(224, 1001)}
    assert law_of(lambda bits: (bits.take(1), bits.call(uniform_below, 3))[1]) == dict.fromkeys(
        range(3), Fraction(1, 3)
    )


def test_what_is_left_open_is_small_and_masses_are_lower_bounds() -> None:
    law = Laws().of(bernoulli_exp, Fraction(1))
    terms, power = Fraction(0), Fraction(1)
    for index in range(60):
        terms, power = terms + power, power * Fraction(-1, index + 1)
    happens = next(leaf.mass for leaf in law.listed if leaf.outcome is True)
    assert 0 <= terms - happens <= law.open < Fraction(1, 1 << 70)


def test_discrete_laplace_noise_has_the_ratio_of_its_scale() -> None:
    law = Laws().of(discrete_laplace, Fraction(1, 2))
    masses = {leaf.outcome: leaf.mass for leaf in law.listed}
    square = masses[1] / masses[0] * masses[0] / masses[-1]
    assert abs(square - 1) < Fraction(1, 1 << 60)
    assert law.open < Fraction(1, 1 << 66)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["small_exponential_base2_four", "small_exponential_noisy_max_four"])
def test_a_small_domain_is_proved_whole(checked: Checked, name: str) -> None:
    assert "-DP for every pair of neighbours" in checked(DRAFTS[name]()).statement


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_each_small_domain_is_proved_whole(checked: Checked, name: str) -> None:
    assert "-DP for every pair of neighbours" in checked(DRAFTS[name]()).statement


TWO = DRAFTS["small_exponential_base2_four"]()
TINY = replace(
    TWO,
    evidence={
        "inputs": {"values": [0, 1, 2], "lengths": [2]},
        "laws": [
            [[0, str(p)], [1, str(1 - p)]]
            for p in (1 / (1 + Fraction(3, 4) ** (u - v)) for u in range(3) for v in range(3))
        ],
    },
)  # fmt: skip


def test_a_tiny_domain_is_proved(checked: Checked) -> None:
    assert checked(TINY).checked["pairs"] == 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"claim": {"kind": "pure", "epsilon": "0.28"}}, "lose 0.3"),
        ({"claim": {"kind": "pure", "epsilon": "-1"}}, "at least 0"),
        ({"claim": {"kind": "gdp", "mu": "1"}}, "about pure and approximate"),
        ({"neighbours": "answers near one another"}, "this theorem knows"),
        ({"evidence": {**TINY.evidence, "laws": TINY.evidence["laws"][1:]}}, "8 laws are stated for 9"),
        ({"evidence": {**TINY.evidence, "laws": TINY.evidence["laws"][::-1]}}, "not the one stated"),
        ({"evidence": {**TINY.evidence, "inputs": {"values": [0, 0, 2], "lengths": [2]}}}, "there twice"),
        ({"evidence": {**TINY.evidence, "inputs": {"listed": [[0, 1]]}, "laws": []}}, "no two of"),
        ({"evidence": {"inputs": {"values": [0], "lengths": [2]}}}, "no two of the inputs"),
    ],
)  # fmt: skip
def test_what_is_false_or_malformed_is_refused(checked: Checked, change: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message):
        checked(TINY, **change)


def listed(own: Any, name: str, truth: str = "2/3", **claim: str) -> Draft:
    laws = [
        [[answer, truth if answer is given else str(1 - Fraction(truth))] for answer in (True, False)]
        for given in (True, False)
    ]
    return Draft(
        theorem="finite_inputs",
        functions={"reference": getattr(own, name)},
        parameters={},
        neighbours="the listed pairs",
        claim={"kind": "pure", "epsilon": "0.6932"} | claim,
        evidence={"inputs": {"listed": [True, False]}, "pairs": [[0, 1]], "laws": laws},
    )


def write(path: Path, draft: Draft) -> Path:
    path.write_text(json.dumps(certificate("own", draft)), "utf-8")
    return path


def test_a_library_authors_own_sampler_is_proved_if_its_package_is_trusted(own: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "own.json", listed(own, "told"))
    assert check(load(path), packages=["own_sampler"]).checked["inputs"] == 2
    assert main([str(path), "--package", "own_sampler"]) == 0
    with pytest.raises(Refused, match="add --package own_sampler"):
        check(load(path))


def test_a_claim_below_its_loss_is_refused(own: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "own.json", listed(own, "told", epsilon="0.6931"))
    with pytest.raises(Refused, match=r"lose 0\.693148, more than"):
        check(load(path), packages=["own_sampler"])


def test_a_sampler_that_keeps_state_is_refused(own: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "own.json", listed(own, "counting", "1/2"))
    with pytest.raises(Refused):
        check(load(path), packages=["own_sampler"])


def test_a_changed_source_of_ones_own_is_refused(own: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "own.json", listed(own, "told"))
    Path(own.__file__).write_text(OWN + "\n", "utf-8")
    with pytest.raises(Refused, match=r"own_sampler\.py is not the source"):
        check(load(path), packages=["own_sampler"])
