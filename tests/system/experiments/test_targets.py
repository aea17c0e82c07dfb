"""The lab's targets are called what their functions are called, and naive and exact ones pair by name."""

from __future__ import annotations

import functools
from fractions import Fraction

import pytest

from attacklab.laws import Limits
from attacklab.laws.proof import prove
from attacklab.model.findings import Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from experiments import targets
from experiments.targets import MECHANISMS, OTHER_CLAIMS, UNPAIRED

EPSILON = 0.5
NAMES = [name for name in targets.__all__ if name not in OTHER_CLAIMS]


@functools.cache
def made(name: str) -> Target:
    target = getattr(targets, name)(EPSILON)
    assert isinstance(target, Target)
    return target


def mechanism_of(name: str) -> str | None:
    """The longest X of `MECHANISMS` that the name says; None if it says none."""
    rest = name.removeprefix("naive_")
    if name.startswith("exact_"):
        rest = name.removeprefix("exact_").removeprefix("discrete_").removeprefix("rounded_")
    said = [mechanism for mechanism in MECHANISMS if f"{rest}_".startswith(f"{mechanism}_")]
    return max(said, key=len, default=None)


def test_a_target_is_called_what_the_function_that_makes_it_is_called() -> None:
    assert [name for name in targets.__all__ if made(name).name != name] == []


def test_every_target_says_its_mechanism_or_why_it_has_no_twin() -> None:
    assert {name for name in NAMES if name not in UNPAIRED and mechanism_of(name) is None} == set()
    assert set(UNPAIRED) <= set(NAMES)
    assert set(OTHER_CLAIMS) <= set(targets.__all__)


def test_a_mechanism_has_naive_and_exact_targets_of_one_kind_that_make_one_claim() -> None:
    for mechanism in MECHANISMS:
        names = [name for name in NAMES if name not in UNPAIRED and mechanism_of(name) == mechanism]
        assert {name.partition("_")[0] for name in names} == {"naive", "exact"}, mechanism
        assert len({(made(name).kind, made(name).claim) for name in names}) == 1, mechanism


def test_a_target_without_a_twin_would_not_find_one_by_its_name() -> None:
    """Whatever is listed as unpaired could not have been listed as a mechanism."""
    for name in UNPAIRED:
        stem = name.partition("_")[2]
        assert mechanism_of(name) is None
        assert not {f"naive_{stem}", f"exact_{stem}"} <= set(targets.__all__)


ZERO_ONE = NeighbouringPair.answers(0.0, 1.0, sensitivity=1.0)
ALIKE_AND_APART = NeighbouringPair.utilities([0.0, 0.0], [1.0, -1.0], sensitivity=1.0)
LITTLE_NOISE = 8.0
"""An ε whose textbook σ is 0.61, so that laws have few outcomes."""
LIMITS = Limits(unresolved=Fraction(1, 1 << 20))
"""Far closer than any of these claims is missed by."""


SHORT_LAWS = ("exact_exponential_zcdp", "naive_exponential_noisy_max_zcdp")
"""Those of either kind whose laws are soon found."""


@functools.cache
def proved(name: str) -> Finding:
    pair = ALIKE_AND_APART if "exponential" in name else ZERO_ONE
    return prove(getattr(targets, name)(2.0 if "exponential" in name else LITTLE_NOISE), pair, limits=LIMITS)


@pytest.mark.parametrize("name", SHORT_LAWS)
def test_a_claim_that_is_no_epsilon_is_refuted_by_exact_laws_if_it_is_naive_and_only_then(name: str) -> None:
    finding = proved(name)
    assert (finding.verdict is Verdict.VIOLATED) is name.startswith("naive")
    assert Finding.from_json(finding.to_json()).claim == finding.claim
