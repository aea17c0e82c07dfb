"""Stages: broken ones are refuted by two inputs, sound ones are not, and distances are exact."""

import itertools
import math
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from attacklab import Categories, Domain, Finding, NeighbouringPair, Records, Target, Verdict, audit, one_by_one
from attacklab.attacks import AlignmentAttack
from attacklab.model.claims import Metric
from attacklab.model.errors import UsageError
from attacklab.model.findings import Counterexample
from attacklab.model.neighbours import Relation
from attacklab.stages.distances import Unmeasurable, powered_distance
from mechanisms.summation.naive import agreeing_pairs, squares_about_own_mean

UNIT = Domain(shape=Records(most=4096), bounds=(0.0, 1.0))
FAR = Domain(shape=Records(least=1024, most=1024), bounds=(2.0**50, 2.0**50 + 1))
NARROW = Domain(shape=Records(least=512, most=1024), bounds=(1.0, 1 + 2.0**-48))
MILLIONS = Domain(shape=Records(most=5000), bounds=(0, 1 << 20), integers=True)
AGES = Domain(shape=Records(most=500), bounds=(0, 120), integers=True)
BITS = Domain(shape=Records(most=3000), bounds=(0, 1), integers=True)
NAMES = Domain(shape=Categories(names=("a", "b", "c"), most=4))
ONE = Domain(shape=Records(most=1), bounds=(0, 1))
THIRTY = Domain(shape=Records(least=30, most=100), bounds=(0, 1))
REPLACED = {"relation": "substitute"}
POINTS = [(0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.5, 1.0)]


def counts(names: Sequence[str]) -> dict[str, int]:
    """How often each name occurs."""
    return {str(name): list(names).count(name) for name in set(names)}


def tenfold(rows: Sequence[Any]) -> float:
    """A sum that multiplies its records where they are."""
    total = 0.0
    for row in rows:
        row *= 10
        total += min(float(row[0]), 1.0)
    return total


AB, NAN = ["a", "b"], ["nan", "1"]
LONG = np.eye(2000)[1000]


BROKEN: Sequence[tuple[str, Callable[[Any], Any], dict[str, Any], str]] = (
    ("deviations about a rounded mean", squares_about_own_mean, {"domain": FAR, **REPLACED}, "instead of ε"),
    ("a count from 300 on", lambda x: len(x) if len(x) >= 300 else 0, {"domain": UNIT}, "300"),
    ("a sum in 32 bits", lambda x: int(np.sum(x, dtype=np.int32)), {"stability": 1 << 20, "domain": MILLIONS}, "apart"),
    ("a number that stands for none", lambda x: 10 * int((x == 99).sum()), {"domain": AGES}, "99"),
    ("two kinds at once", lambda x: len(set(x)), {"d_in": 2, "domain": ["a", "b"]}, "2"),
    ("lower case", lambda x: sum(map(len, map(str.lower, x))) - sum(map(len, x)), {"stability": 0, "domain": str}, "1"),
    ("a count in tens", lambda x: round(len(x), -1), {"domain": UNIT}, "10 apart"),
    ("a sum rounded once", math.fsum, {"stability": 2.0**-48, "domain": NARROW, **REPLACED}, "instead of ε"),
    ("a sum in double precision", lambda x: float(np.clip(x, 0, 1).sum()), {"domain": UNIT}, "rounding"),
    ("a sum in single precision", lambda x: np.float32(x).sum(dtype=np.float32), {"domain": UNIT}, ""),
    ("a sum without bounds", sum, {}, "infinitely"),
    ("a sum in half precision", lambda x: np.sum(x, dtype=np.float16), {"domain": BITS}, "2 apart"),
    ("a sum of eight bits", lambda x: np.sum(x, dtype=np.int8), {"domain": BITS}, "255"),
    ("a count behind a 1", lambda x: len(x) * (x[:1] == [1.0]), {"domain": [0.0, 1.0]}, "apart"),
    ("a mean of nobody", lambda x: sum(x) / len(x), {"domain": [0.0, 1.0]}, "ZeroDivisionError"),
    ("a histogram by substitution", counts, {"metric": "l1", "domain": NAMES, **REPLACED}, "2"),
    ("its root", counts, {"stability": 1.4, "metric": "l2", "domain": NAMES, **REPLACED}, "1.41"),
    ("pairs", lambda x: agreeing_pairs(x[:50]), {"domain": ["a", "b"]}, "'a' (26 times)"),
    ("years of dates", lambda x: [int(date[:4]) for date in x], {"metric": "symmetric", "domain": str}, "ValueError"),
    ("first records", lambda x: x[:2], {"metric": "symmetric", "domain": [1, 2, 3]}, "2"),
    ("two records at once", len, {"stability": lambda records: records - 1, "d_in": 2}, "2"),
    ("a maximum", lambda x: max(x, default=0.0), {"stability": 0.5, "domain": UNIT}, "1"),
)

SOUND: Sequence[tuple[str, Callable[[Any], Any], dict[str, Any]]] = (
    ("a count", len, {}),
    ("a sum of integers", lambda x: int(np.sum(x)), {"domain": BITS}),
    ("a sum of fractions", lambda x: sum(map(Fraction, x)), {"domain": [0.0, 1.0, 0.1, 0.7]}),
    ("a sum, with room for rounding", lambda x: float(x.sum()), {"domain": UNIT, "relax": 1e-9}),
    ("deviations about the mean", squares_about_own_mean, {"domain": UNIT, "relax": 1e-9}),
    ("products", lambda xy: sum((x - 0.5) * (y - 0.5) for x, y in xy), {"stability": 0.25, "domain": POINTS}),
    ("agreeing pairs", lambda x: agreeing_pairs(x[:8]), {"stability": 14, "domain": ["a", "b"]}),
    ("upper case", lambda x: [name.upper() for name in x], {"metric": "symmetric", "domain": str}),
    ("nobody at all", lambda _: None, {"stability": 0}),
    ("two records at once", len, {"stability": lambda records: records, "d_in": 2}),
    ("a large integer beside a float", lambda x: [2**53 + len(x), 0.5], {"metric": "l1"}),
    ("listed records", lambda x: sum(1 if v in (0.0, 1.0) else 5 for v in x), {"domain": [0.0, 1.0]}),
    ("one record at most", lambda x: float(sum(x)) if len(x) < 2 else 1e9, {"domain": ONE}),
    ("a number in a vector", lambda x: np.sum(x, keepdims=True) if len(x) else 0, {"domain": BITS}),
    ("records that are dicts", lambda x: sum(one["v"] for one in x), {"stability": 5, "domain": [{"v": 0}, {"v": 5}]}),
    ("numbers and none", lambda x: sum(v is not None for v in x), {"domain": [1.0, 2.5, None]}),
    ("thirty records at least", lambda x: float(x.max()), {"domain": THIRTY, "relation": "substitute"}),
    ("a generator", lambda x: (v for v in x), {"metric": "symmetric", "domain": [1, 2]}),
    ("records that it changes", tenfold, {"domain": [np.array([0.05]), np.array([0.01])]}),
    ("counts as a view", lambda x: {"a": len(x)}.values(), {"metric": "l1", "domain": AB}),
    ("long records", lambda x: int(sum(v.sum() for v in x)), {"domain": [np.zeros(2000), LONG]}),
    ("not a number as a key", lambda x: Counter(map(float, x)), {"metric": "l1", "domain": NAN}),
    ("a mean of two at least", lambda x: sum(x) / len(x), {"stability": 0.5, "domain": [0.0, 1.0], "sizes": (2, 40)}),
    ("cells", lambda x: np.bincount(x, None, 2), {"stability": 2, "metric": "l1", "domain": BITS, **REPLACED}),
)  # fmt: skip


def found(function: Callable[[Any], Any], given: dict[str, Any], seconds: float = 0.4) -> Finding:
    """What an audit of a stage finds, within four times what it needs; it claims a stability of 1 if none is given."""
    declared = {name: value for name, value in given.items() if name != "relax"}
    stage = Target.stage(function, name="stage", **{"stability": 1, **declared})
    (finding,) = audit(stage, relax=given.get("relax", 0.0), seconds=seconds)
    return finding


@pytest.mark.parametrize(("function", "given", "says"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_a_broken_stage_is_refuted_by_two_inputs_that_show_it(
    function: Callable[[Any], Any], given: dict[str, Any], says: str
) -> None:
    finding = found(function, given)
    assert finding.verdict is Verdict.VIOLATED
    assert finding.refutes
    assert finding.alpha is None
    assert isinstance(finding.evidence, Counterexample)
    claimed = Fraction(finding.evidence.claimed)
    assert finding.evidence.distance == "infinite" or Fraction(finding.evidence.distance) > claimed
    assert says in finding.reason or says in finding.flaw
    assert Finding.from_json(finding.to_json()) == finding


@pytest.mark.parametrize(("function", "given"), [row[1:] for row in SOUND], ids=[row[0] for row in SOUND])
def test_a_sound_stage_is_not_refuted(function: Callable[[Any], Any], given: dict[str, Any]) -> None:
    assert found(function, given, seconds=0.2).verdict is Verdict.NOT_DETECTED


def test_a_stage_is_proved_where_all_its_inputs_were_tried() -> None:
    finding = found(counts, {"metric": "l1", "domain": NAMES})
    assert finding.verdict is Verdict.PROVED
    assert finding.scope is not None
    assert finding.scope.inputs == sum(3**size for size in range(5))
    assert finding.scope.pairs == sum(size * 3**size for size in range(1, 5))
    listed = found(lambda x: len(set(map(str, x))), {"domain": [None, "a", 2.5, "a"], "sizes": (1, 3)})
    assert listed.scope is not None
    assert listed.scope.inputs == sum(3**size for size in range(1, 4))
    by_one = found(lambda names: 2.0 * (len(names) == 4 and len(set(names)) == 3), {"domain": NAMES})
    assert by_one.verdict is Verdict.VIOLATED


def test_a_counterexample_is_small_and_round() -> None:
    finding = found(lambda x: float(sum(x) > 2.25), {"stability": 0.5, "domain": UNIT})
    assert finding.pair is not None
    assert len(finding.pair["first"]["readable"]) <= 4
    assert set(finding.pair["first"]["readable"]) <= {"0.0", "0.5", "1.0", "0.1", "0.3333333333333333"}


def test_rounding_is_told_from_more() -> None:
    by_ulps = found(lambda x: float(x.sum()), {"domain": UNIT})
    assert "1 + " in str(by_ulps.evidence)
    assert by_ulps.flaw.startswith("rounding")
    twice = found(lambda x: 2 * len(x), {})
    assert not twice.flaw.startswith("rounding")
    assert "loses 2 ε instead of ε" in twice.reason


def test_a_stage_with_noise_is_an_error() -> None:
    rng = random.Random(1)
    finding = found(lambda x: len(x) + rng.random(), {})
    assert finding.verdict is Verdict.ERROR


SIX = Domain(shape=Records(least=5, most=6), bounds=(0.0, 1.0))


def test_a_stage_moves_as_far_as_the_release_that_adds_noise_to_it_loses() -> None:
    """With Laplace noise of scale 1, the loss on a pair is the distance of the stage's outputs on it."""
    pairs = [NeighbouringPair.records(np.ones(6), np.ones(5), Relation.ADD_REMOVE)]
    alike = lambda records: float(len(records) * (len(records) - 1) / 2)  # noqa: E731
    noisy = one_by_one(lambda records, rng: alike(records) + rng.laplace(0.0, 1.0))
    (lost,) = audit(Target.dataset(noisy, epsilon=1.0, pairs=pairs), [AlignmentAttack()], trials=100)
    (moved,) = audit(Target.stage(alike, stability=1, domain=SIX, pairs=pairs), seconds=0.5)
    assert lost.verdict is moved.verdict is Verdict.VIOLATED
    assert "alike(records) + rng.laplace" in lost.reason
    assert lost.reason.endswith("is ε = 1.0; the value that the noise hides moves by 5, and the noise has scale 1")
    assert "5 apart, claimed are at most 1; noise scaled by the claim loses 5 ε" in moved.reason


def dies(records: Any, doubled: int = 1) -> int:
    """A count whose process ends where it has 16 records."""
    return os._exit(3) if len(records) == 16 else doubled * len(records)


def spins(records: Any) -> int:
    """A sum without end of the numbers below the largest record, in code that Python cannot interrupt."""
    return sum(range(int(max(records, default=0)))) and 0


@pytest.mark.parametrize(
    ("function", "verdict", "says"),
    [
        (dies, Verdict.ERROR, "or on [0 (16 times)]; declare a domain"),
        (partial(dies, doubled=2), Verdict.VIOLATED, "2 apart"),
        pytest.param(spins, Verdict.ERROR, "did not end within 4 s, on [2", marks=pytest.mark.slow),
    ],
)
def test_a_call_that_does_not_return_ends_nothing_else(
    function: Callable[[Any], Any], verdict: Verdict, says: str
) -> None:
    finding = found(function, {"domain": int}, seconds=2.0)
    assert finding.verdict is verdict
    assert says in finding.reason


SENSELESS = {"attacks": [1], "trials": 10, "alpha": 0.1, "relax": -0.5, "seconds": 0}


@pytest.mark.parametrize("name", SENSELESS)
def test_a_setting_of_samples_or_without_sense_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"is a stage, which draws nothing; leave out {name}|{name} must be"):
        audit(Target.stage(len, stability=1), **{name: SENSELESS[name]})


BUFFER = np.zeros(1)
NOISE = random.Random(1)


def reused(records: Any) -> Any:
    """A stage that gives the same array each time."""
    BUFFER[0] = 5 * len(records)
    return BUFFER


AB_TO_SIX = {"domain": AB, "sizes": (0, 6)}
FEW = Domain(shape=Records(most=3), bounds=(0, 2), integers=True)


@pytest.mark.parametrize(
    ("function", "given", "verdict"),
    [
        (reused, {"metric": "l1"}, Verdict.VIOLATED),
        (lambda x: [2**53 + bool(len(x)), 0.5], {"stability": 0, "metric": "l1"}, Verdict.VIOLATED),
        (lambda x: {"n": 100 * len(x)}, {"metric": "symmetric"}, Verdict.ERROR),
        (lambda x: x.nothing, {}, Verdict.ERROR),
        (lambda x: [memoryview(bytes(one)) for one in x], {"metric": "symmetric"}, Verdict.ERROR),
        (lambda _: NOISE.random(), {}, Verdict.ERROR),
        (lambda x: len(x) + (NOISE.random() < 1e-2), {}, Verdict.ERROR),
        (lambda x: 1.0000001 * len(x), {"relax": 1e-6}, Verdict.PROVED),
        (lambda x: 10**400 * len(x), {"stability": 2 * 10**400, "d_in": 2, **AB_TO_SIX}, Verdict.NOT_DETECTED),
    ],
)
def test_no_finite_domain_makes_a_proof_of_what_is_none(
    function: Callable[[Any], Any], given: dict[str, Any], verdict: Verdict
) -> None:
    assert found(function, {"domain": FEW, **given}).verdict is verdict


def test_proofs_and_refutations_are_those_of_brute_force() -> None:
    rng = random.Random(3)
    for _ in range(20):
        table = {size: rng.randrange(3) for size in range(4)}
        weights = [rng.randrange(3) for _ in range(3)]
        relation = rng.choice(["add-remove", "substitute"])

        def stage(records: Any, table: Any = table, weights: Any = weights) -> int:
            return table[len(records)] + sum(weights[int(record)] * (at + 1) for at, record in enumerate(records))

        datasets = [list(one) for size in range(4) for one in itertools.product(range(3), repeat=size)]
        apart = max(
            abs(stage(one) - stage(other))
            for one, other in itertools.product(datasets, repeat=2)
            if (relation == "substitute" and len(one) == len(other) and sum(map(int.__ne__, one, other)) == 1)
            or (relation == "add-remove" and other in [one[:at] + one[at + 1 :] for at in range(len(one))])
        )
        for bound, verdict in ((apart, Verdict.PROVED), (apart - Fraction(1, 2), Verdict.VIOLATED)):
            assert found(stage, {"stability": bound, "domain": FEW, "relation": relation}).verdict is verdict


def test_the_screen_shows_both_inputs_and_promises_no_power() -> None:
    broken = str(audit(Target.stage(lambda x: 2 * len(x), name="twice", stability=1, domain=[7.0]), seconds=0.5))
    assert "[7.0] gives 2, [] gives 0: 2 apart" in broken
    assert "random numbers" not in broken
    sound = str(audit(Target.stage(len, stability=1), seconds=0.5))
    assert "attacklab prove" not in sound
    assert "pairs (add-remove) of up to" in sound


def test_a_declared_pair_is_tried() -> None:
    rare = [1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0]
    pair = NeighbouringPair.records(np.array(rare), np.array(rare[1:]), Relation.ADD_REMOVE)
    given = {"domain": [1.0, 2.0], "pairs": [pair]}
    assert found(lambda x: 3.0 * (x == rare), given).verdict is Verdict.VIOLATED
    with pytest.raises(UsageError, match="domain"):
        found(len, given | {"domain": [1.0]})


@pytest.mark.parametrize(
    ("first", "second", "metric", "apart"),
    [
        (0.1, 0.3, "absolute", Fraction(0.3) - Fraction(0.1)),
        (np.float32(0.1), 0.1, "absolute", abs(Fraction(float(np.float32(0.1))) - Fraction(0.1))),
        (2**53 + 1, float(2**53), "absolute", 1),
        (math.nan, math.nan, "absolute", 0),
        (math.nan, 1.0, "absolute", math.inf),
        (math.inf, math.inf, "absolute", 0),
        (math.inf, -math.inf, "absolute", math.inf),
        (None, 0.0, "absolute", math.inf),
        (0.0, -0.0, "absolute", 0),
        ([1, 2], [2, 4], "l1", 3),
        ([1, 2], [2, 4], "l2", 5),
        ([1, 2], [2, 4], "linf", 2),
        ([1, 2], [1], "l1", math.inf),
        ({"a": 1}, {"b": 2}, "l1", 3),
        ([1, 1, 2], [1, 2, 3], "symmetric", 2),
        ([0.0], [-0.0], "symmetric", 2),
        ([1], [1.0], "symmetric", 2),
        ([math.nan], [math.nan], "symmetric", 0),
    ],
)
def test_distances_are_exact(first: Any, second: Any, metric: str, apart: Any) -> None:
    assert powered_distance(first, second, Metric(metric)) == apart
    assert powered_distance(second, first, Metric(metric)) == apart


def test_distances_agree_with_an_independent_count() -> None:
    rng = random.Random(7)
    for _ in range(200):
        first, second = ([rng.randrange(5) for _ in range(rng.randrange(6))] for _ in range(2))
        left, right = Counter(first), Counter(second)
        expected = sum(abs(left[key] - right[key]) for key in range(5))
        assert powered_distance(first, second, Metric.SYMMETRIC) == expected
        assert powered_distance(dict(left), dict(right), Metric.L1) == expected


@pytest.mark.parametrize(
    "given",
    [
        {"stability": -1},
        {"stability": math.inf},
        {"stability": "one"},
        {"metric": "l3"},
        {"d_in": 0},
        {"relation": "node"},
        {"pairs": [NeighbouringPair(np.zeros(1), np.zeros(9), None)]},
        {"domain": []},
        {"domain": complex},
        {"domain": "abc"},
        {"domain": Domain(bounds=(0, 1))},
        {"domain": UNIT, "sizes": (0, 2)},
        {"sizes": (3, 1)},
    ],
)
def test_what_makes_no_stage_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Target.stage(len, **{"stability": 1, **given})


@pytest.mark.parametrize(("output", "metric"), [("text", "absolute"), ([1, 2], "absolute"), (1, "symmetric")])
def test_an_output_that_has_no_such_distance_is_an_error(output: Any, metric: str) -> None:
    with pytest.raises(Unmeasurable):
        powered_distance(output, output, Metric(metric))
    assert found(lambda _: output, {"metric": metric}).verdict is Verdict.ERROR
