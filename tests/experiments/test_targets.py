"""The lab's targets are called what their functions are called, and naive and exact ones pair by name."""

import functools

import pytest

from attacklab.model.targets import Target
from experiments import targets
from experiments.targets import MECHANISMS, OTHER_CLAIMS, UNPAIRED

pytestmark = pytest.mark.slow

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
