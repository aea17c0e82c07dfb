"""Declared domains: sound targets that take few inputs pass, broken ones do not, and no attack leaves a domain."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import gmpy2
import numpy as np
import pytest

from attacklab.attacks import ATTACKS, BlackBox
from attacklab.auditing.referee import audit
from attacklab.model.domains import Categories, Domain, Graphs, Queries, Records, Streams
from attacklab.model.findings import Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Release, Target
from mechanisms.exponential.naive import Selections, naive_exponential
from mechanisms.laplace.naive import naive_laplace_numpy
from tests.unit.attacklab.ideal import ideal_exponential, two_sided_geometric

EPSILON = 1.0
GRID = 1 << 10  # sound noise lies on multiples of 1/GRID, to which its answer is rounded first

TRIALS = 2_000


def steps(rng: np.random.Generator, trials: int, sensitivity: int, epsilon: float = EPSILON) -> np.ndarray:
    """Discrete Laplace noise for a sensitivity in steps."""
    return two_sided_geometric(rng, trials, epsilon / sensitivity)


def on_grid(answer: float, trials: int, rng: np.random.Generator, *, epsilon: float = EPSILON) -> np.ndarray:
    """Sound for a sensitivity of 1: rounding to the grid moves two answers apart by one step at the most."""
    return (np.floor(float(answer) * GRID) + steps(rng, trials, GRID + 1, epsilon)) / GRID


def grid_sum(records: np.ndarray, trials: int, rng: np.random.Generator, *, epsilon: float = EPSILON) -> np.ndarray:
    """Sound for bounds 0 and 1: a sum of whole steps."""
    clipped = np.clip(np.nan_to_num(records, nan=0.0), 0.0, 1.0)
    return (int(np.floor(clipped * GRID).sum()) + steps(rng, trials, GRID, epsilon)) / GRID


def only_if(takes: Callable[[Any], bool], release: Release) -> Release:
    """The release that refuses what it does not take."""

    def refusing(input_: Any, trials: int, rng: np.random.Generator) -> Any:
        if not takes(input_):
            raise ValueError("outside the domain")
        return release(input_, trials, rng)

    return refusing


def seldom(release: Release, rate: float = 1e-3) -> Release:
    """The release that refuses now and then, whatever its input."""

    def refusing(input_: Any, trials: int, rng: np.random.Generator) -> Any:
        if (rng.random(trials) < rate).any():
            raise RuntimeError("try again later")
        return release(input_, trials, rng)

    return refusing


def geometric(epsilon: float) -> Release:
    return lambda answer, trials, rng: answer + steps(rng, trials, 1, epsilon)


def rational(epsilon: float, number: Callable[[int, int], Any]) -> Release:
    """Noise on multiples of 1/3, exactly."""

    def release(answer: Any, trials: int, rng: np.random.Generator) -> list[Any]:
        lowest = math.floor(Fraction(answer) * 3)
        return [number(lowest + int(step), 3) for step in steps(rng, trials, 4, epsilon)]

    return release


NUMBERS = {"fraction": Fraction, "mpq": gmpy2.mpq, "decimal": lambda n, d: Decimal(n) / Decimal(d)}


def naive_laplace(answer: float, trials: int, rng: np.random.Generator) -> np.ndarray:
    return naive_laplace_numpy(answer, trials, rng, epsilon=EPSILON)


def is_integer(answer: Any) -> bool:
    return type(answer) is int


def is_not_negative(utilities: np.ndarray) -> bool:
    return bool((utilities >= 0).all())


def has_no_nan(records: np.ndarray) -> bool:
    return not np.isnan(records).any()


def is_within(records: np.ndarray) -> bool:
    return bool(((records >= 0) & (records <= 1)).all())


def unclipped(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    return records.sum() + steps(rng, trials, GRID) / GRID


def exponential(utilities: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    return ideal_exponential(utilities, trials, rng, epsilon=EPSILON)


def naive(utilities: np.ndarray, trials: int, rng: np.random.Generator) -> Selections:
    return naive_exponential(utilities, trials, rng, epsilon=EPSILON)


UNIT = (0.0, 1.0)


def of_noise(release: Release, domain: Domain | None) -> Target:
    return Target.noise(release, epsilon=EPSILON, name="stub", domain=domain)


def of_selection(release: Release, domain: Domain | None) -> Target:
    return Target.selection(release, epsilon=EPSILON, name="stub", domain=domain)


def of_sum(release: Release, domain: Domain | None) -> Target:
    return Target.sum(release, bounds=UNIT, epsilon=EPSILON, name="stub", domain=domain)


Maker = Callable[[Release, Domain | None], Target]
Case = tuple[Maker, Domain, Release, Release]

CASES: dict[str, Case] = {
    "integers only": (
        of_noise,
        Domain(integers=True),
        only_if(is_integer, geometric(EPSILON)),
        only_if(is_integer, geometric(2 * EPSILON)),
    ),
    "never negative": (
        of_selection,
        Domain(non_negative=True),
        only_if(is_not_negative, exponential),
        only_if(is_not_negative, naive),
    ),
    "rejecting NaN": (of_sum, Domain(special=False), only_if(has_no_nan, grid_sum), only_if(has_no_nan, unclipped)),
    "rejecting what is out of bounds": (
        of_sum,
        Domain(bounds=UNIT),
        only_if(is_within, grid_sum),
        only_if(is_within, lambda *given: grid_sum(*given, epsilon=2 * EPSILON)),
    ),
    "floats only": (of_noise, Domain(floats_only=True), on_grid, naive_laplace),
    "rare refusals": (of_noise, Domain(floats_only=True), seldom(on_grid), seldom(naive_laplace)),
    **{
        f"exact rationals: {name}": (of_noise, Domain(), rational(EPSILON, number), rational(3 * EPSILON, number))
        for name, number in NUMBERS.items()
    },
}


def verdicts(findings: list[Finding]) -> set[Verdict]:
    return {finding.verdict for finding in findings} - {Verdict.NOT_APPLICABLE}


EACH = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@EACH
def test_sound_targets_pass_with_their_domain_declared(case: Case) -> None:
    make, domain, sound, _ = case
    findings = audit(make(sound, domain), trials=TRIALS)
    assert verdicts(findings) == {Verdict.NOT_DETECTED}, [one for one in findings if one.verdict is Verdict.ERROR]


@EACH
def test_broken_targets_with_the_same_domain_are_caught(case: Case) -> None:
    make, domain, _, broken = case
    assert any(finding.refutes for finding in audit(make(broken, domain), trials=TRIALS, until_refuted=True))


@pytest.mark.parametrize(
    "name", ["integers only", "never negative", "rejecting NaN", "rejecting what is out of bounds", "floats only"]
)
def test_the_same_sound_targets_do_not_pass_without_their_domain(name: str) -> None:
    make, _, sound, _ = CASES[name]
    assert verdicts(audit(make(sound, None), trials=1_000)) & {Verdict.VIOLATED, Verdict.ERROR}


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
    (Kind.NOISE, "doubles"): {"integer_cast"},
    (Kind.NOISE, "whole doubles"): {"integer_cast"},
    (Kind.NOISE, "percentages"): {"integer_cast"},
    (Kind.NOISE, "integers from 5 to 40"): {"integer_cast"},
    (Kind.NOISE, "around a third"): {"integer_cast"},
    (Kind.SUM, "integers from 5 to 40"): {"missing_clip"},
    (Kind.MEAN, "integers from 5 to 40"): {"missing_clip"},
    **{(Kind.SELECTION, name): {"special_values"} for name in DOMAINS if name != "special"},
}
"""Attacks whose inputs a domain does not have: integers that are not doubles, records out of bounds, NaN."""


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.DATASET])
@pytest.mark.parametrize("name", DOMAINS)
def test_no_attack_leaves_the_domain_and_those_that_can_still_apply(kind: Kind, name: str) -> None:
    spy, applied = spied(kind, DOMAINS[name])
    assert spy.calls > 0
    assert spy.outside == []
    _, always = spied(kind, None)
    assert always - applied == LOST.get((kind, name), set())


SHAPES: dict[str, tuple[Domain, Callable[[Any], float]]] = {
    "queries": (Domain(shape=Queries(size=5)), lambda queries: float(queries[0])),
    "whole queries": (Domain(shape=Queries(size=5), integers=True, non_negative=True), lambda q: float(q[0])),
    "records": (Domain(shape=Records(), bounds=(0, 100)), lambda records: float(sum(records))),
    "categories": (Domain(shape=Categories(names=("no", "yes"))), lambda names: float(list(names).count("yes"))),
    "streams": (Domain(shape=Streams(length=8), bounds=(0, 1)), lambda stream: float(sum(stream))),
    "graphs": (Domain(shape=Graphs(nodes=6)), lambda graph: float(np.sum(graph))),
}


def told(statistic: Callable[[Any], float], release: Release) -> Release:
    return lambda input_, trials, rng: release(statistic(input_), trials, rng)


def bare(answer: float, trials: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG001 - the form of a release
    return np.full(trials, answer)


def drowned(answer: float, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Noise so large that no answer shows, on a grid on which all answers lie."""
    return answer + steps(rng, trials, 1 << 12)


@pytest.mark.parametrize("name", SHAPES)
def test_a_dataset_without_noise_is_refuted_by_default(name: str) -> None:
    domain, statistic = SHAPES[name]
    target = Target.dataset(told(statistic, bare), epsilon=EPSILON, domain=domain)
    assert any(finding.refutes for finding in audit(target, trials=1_000, until_refuted=True))


@pytest.mark.parametrize("name", SHAPES)
def test_a_dataset_drowned_in_noise_is_not(name: str) -> None:
    domain, statistic = SHAPES[name]
    target = Target.dataset(told(statistic, drowned), epsilon=EPSILON, domain=domain)
    assert verdicts(audit(target, trials=1_000)) == {Verdict.NOT_DETECTED}


@pytest.mark.parametrize("name", SHAPES)
def test_no_attack_leaves_the_shape_of_a_dataset(name: str) -> None:
    domain, _ = SHAPES[name]
    spy = Spy(Kind.DATASET, domain.contains)
    findings = audit(Target.dataset(spy, epsilon=EPSILON, domain=domain), [*ATTACKS[:-1], BLACK_BOX], trials=64)
    assert spy.calls > 0
    assert spy.outside == []
    assert any(finding.pair is not None for finding in findings)


def test_a_dataset_without_a_domain_or_pairs_is_an_error_that_says_what_to_declare() -> None:
    findings = audit(Target.dataset(bare, epsilon=EPSILON, name="mute"), trials=100)
    (undeclared,) = [finding for finding in findings if finding.verdict is not Verdict.NOT_APPLICABLE]
    assert (undeclared.attack, undeclared.verdict) == ("black_box", Verdict.ERROR)
    assert undeclared.reason == (
        "mute does not say which datasets it takes; declare domain=Domain(shape=...), or pairs=(...) to try; "
        "on the command line, --domain or --pairs"
    )


def test_declared_pairs_of_a_dataset_are_judged_by_default() -> None:
    pair = NeighbouringPair.records([3, 1], [3], Relation.ADD_REMOVE)
    target = Target.dataset(told(sum, bare), epsilon=EPSILON, pairs=(pair,))
    judged = [finding for finding in audit(target, trials=1_000) if finding.refutes]
    assert [finding.attack for finding in judged] == ["no_noise"]
    assert judged[0].pair["first"]["readable"] == ["3", "1"]


def test_a_declared_pair_finds_what_no_attack_looks_for() -> None:
    def release(answer: float, trials: int, rng: np.random.Generator) -> np.ndarray:
        return np.full(trials, answer) if answer == 12345.5 else on_grid(answer, trials, rng)

    pair = NeighbouringPair.answers(12345.5, 12346.0, sensitivity=1.0)
    floats = Domain(floats_only=True)
    assert not any(one.refutes for one in audit(of_noise(release, floats), trials=1_000))
    declared = Target.noise(release, epsilon=EPSILON, domain=floats, pairs=(pair,))
    assert any(one.refutes for one in audit(declared, trials=1_000))
