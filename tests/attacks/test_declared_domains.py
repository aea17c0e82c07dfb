"""Declared domains: sound targets that take few inputs pass, broken ones do not, and no attack leaves a domain."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from attacklab import ATTACKS, BlackBox, Categories, Domain, Graphs, Kind, Queries, Records, Streams, Target, Verdict
from attacklab.auditing.referee import audit

EPSILON = 1.0

DOMAINS = {
    "any": Domain(),
    "integers": Domain(integers=True),
    "non-negative": Domain(non_negative=True),
    "doubles": Domain(floats_only=True),
    "whole doubles": Domain(integers=True, floats_only=True),
    "percentages": Domain(bounds=(0.0, 100.0)),
    "integers from 5 to 40": Domain(integers=True, bounds=(5, 40)),
    "around a third": Domain(bounds=(-1 / 3, 2 / 3)),
    "special": Domain(special=True),
    "finite": Domain(special=False),
}
BLACK_BOX = BlackBox(learning=64, outcomes=(2, 9))


class Spy:
    """A release that keeps whichever inputs lie outside the domain, by a check of its own."""

    def __init__(self, kind: Kind, takes: Callable[[Any], bool]) -> None:
        self.kind, self.takes, self.calls = kind, takes, 0
        self.outside: list[Any] = []

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> np.ndarray:
        self.calls += 1
        if not self.takes(input_):
            self.outside.append(input_)
        if self.kind is Kind.SELECTION:
            return rng.integers(0, len(input_), trials)
        return rng.standard_normal(trials)


def distinct(values: Any) -> list[Any]:
    """Values, those of the same bits once."""
    if not isinstance(values, np.ndarray):
        return list(values)
    _, places = np.unique(values.view(f"u{values.itemsize}"), return_index=True)
    return list(values[places])


def takes_by_hand(domain: Domain, *, special: bool) -> Callable[[Any], bool]:
    def takes(input_: Any) -> bool:
        values = [input_] if np.ndim(input_) == 0 else distinct(input_)
        for value in values:
            is_whole = isinstance(value, int | np.integer)
            if domain.floats_only and (is_whole or np.asarray(value).dtype != np.float64):
                return False
            if not is_whole and not np.isfinite(value):
                if not special:
                    return False
                continue
            if domain.integers and not (is_whole or (domain.floats_only and float(value).is_integer())):
                return False
            exact = Fraction(int(value)) if is_whole else Fraction(float(value))
            low, high = domain.bounds or (None, None)
            if (low is not None and exact < Fraction(low)) or (high is not None and exact > Fraction(high)):
                return False
            if domain.non_negative and exact < 0:
                return False
        return True

    return takes


@cache
def spied(kind: Kind, domain: Domain | None) -> tuple[Spy, set[str]]:
    """What a target with this domain was called with, and which attacks found something to try on it."""
    special = kind in (Kind.SUM, Kind.MEAN) and (domain is None or domain.special is not False)
    plain = domain or Domain()
    if domain is not None and (domain.integers or domain.non_negative or domain.bounds):
        special = False
    spy = Spy(kind, takes_by_hand(plain, special=special or bool(plain.special)))
    bounds = {"bounds": (0.0, 44.0)} if kind in (Kind.SUM, Kind.MEAN) else {}
    target = getattr(Target, kind.value)(spy, epsilon=EPSILON, name="spy", domain=domain, **bounds)
    findings = audit(target, [*ATTACKS[:-1], BLACK_BOX], trials=64)
    assert not any(finding.verdict is Verdict.ERROR for finding in findings), findings
    return spy, {finding.attack for finding in findings if finding.pair is not None}


LOST: dict[tuple[Kind, str], set[str]] = {
    (Kind.SUM, "integers from 5 to 40"): {"missing_clip"},
    (Kind.MEAN, "integers from 5 to 40"): {"missing_clip"},
    **{(Kind.SELECTION, name): {"special_values"} for name in DOMAINS if name != "special"},
}
"""Attacks whose inputs a domain does not have: records out of bounds, NaN."""


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.DATASET])
@pytest.mark.parametrize("name", DOMAINS)
def test_no_attack_leaves_the_domain_and_those_that_can_still_apply(kind: Kind, name: str) -> None:
    spy, applied = spied(kind, DOMAINS[name])
    assert spy.calls > 0
    assert spy.outside == []
    _, always = spied(kind, None)
    assert always - applied == LOST.get((kind, name), set())


SHAPES = [
    Domain(shape=Queries(size=5)),
    Domain(shape=Queries(size=5), integers=True, non_negative=True),
    Domain(shape=Records(), bounds=(0, 100)),
    Domain(shape=Categories(names=("no", "yes"))),
    Domain(shape=Streams(length=8), bounds=(0, 1)),
    Domain(shape=Graphs(nodes=6)),
]


@pytest.mark.parametrize("domain", SHAPES, ids=str)
def test_no_attack_leaves_the_shape_of_a_dataset(domain: Domain) -> None:
    spy = Spy(Kind.DATASET, domain.contains)
    findings = audit(Target.dataset(spy, epsilon=EPSILON, domain=domain), [*ATTACKS[:-1], BLACK_BOX], trials=64)
    assert spy.calls > 0
    assert spy.outside == []
    assert any(finding.pair is not None for finding in findings)


def test_a_dataset_without_a_domain_or_pairs_is_an_error_that_says_what_to_declare() -> None:
    findings = audit(Target.dataset(Spy(Kind.DATASET, bool), epsilon=EPSILON, name="mute"), trials=100)
    (undeclared,) = [finding for finding in findings if finding.verdict is not Verdict.NOT_APPLICABLE]
    assert (undeclared.attack, undeclared.verdict) == ("black_box", Verdict.ERROR)
    assert all(words in undeclared.reason for words in ("mute", "domain=", "pairs=", "--domain", "--pairs"))
