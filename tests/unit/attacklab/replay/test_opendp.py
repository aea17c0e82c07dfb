"""What OpenDP's measurements call and choose is judged: here by a stand-in for the library that cannot draw itself."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attacklab.model.findings import Verdict
from attacklab.replay import replay

SPENT = "the budget is spent"


class Measurement:
    """A measurement that knows how it was made."""

    def __init__(self, name: str, **parts: Any) -> None:
        self.__opendp_dict__ = {"__function__": name, "__kwargs__": parts}
        self.input_domain = SimpleNamespace(carrier_type="f64")

    def __call__(self, data: Any) -> Any:
        return sys.modules["opendp.core"].measurement_invoke(self, data)


class Queryable:
    """A compositor that answers two queries."""

    def __init__(self, value: list[int]) -> None:
        self.value = value

    def __call__(self, query: Any) -> Any:
        return sys.modules["opendp.core"].queryable_eval(self.value, query)


def measurement_invoke(this: Any, arg: Any) -> Any:
    made = Queryable([0])
    made.__opendp_dict__ = {  # type: ignore[attr-defined]
        "__function__": "measurement_invoke",
        "__kwargs__": {"this": this, "arg": arg},
    }
    return made


def queryable_eval(value: list[int], query: Any) -> Any:
    value[0] += 1
    if value[0] > 2:
        raise ValueError(SPENT)
    return query


@pytest.fixture(autouse=True)
def _opendp(monkeypatch: pytest.MonkeyPatch) -> None:
    core, mod = ModuleType("opendp.core"), ModuleType("opendp.mod")
    core.measurement_invoke, core.queryable_eval = measurement_invoke, queryable_eval  # type: ignore[attr-defined]
    mod.Queryable = Queryable  # type: ignore[attr-defined]
    for module in (core, mod):
        monkeypatch.setitem(sys.modules, module.__name__, module)


LAPLACE = Measurement("make_laplace", scale=2.0)
SUM = Measurement("make_chain_mt", measurement1=LAPLACE, transformation0=sum)
COUNT = Measurement("make_chain_mt", measurement1=Measurement("make_laplace", scale=1.0), transformation0=len)
THREE, OTHER = [1.0, 1.0, 1.0], [1.0, 1.0]
SCORES, OTHER_SCORES = [3.0, 2.0, 1.0], [2.0, 3.0, 1.0]


def composed(data: Any) -> Any:
    return Measurement("make_composition", measurements=[SUM, COUNT])(data)


def by_queries(data: Any) -> Any:
    queryable = Measurement("make_approximate", measurement=Measurement("make_adaptive_composition"))(data)
    return queryable(SUM), queryable(COUNT)


def twice_as_much(data: Any) -> Any:
    return Measurement("make_chain_pm", measurement0=SUM, postprocess1=lambda answer: 2 * answer)(data)


def of_the_users(data: Any) -> Any:
    return Measurement("make_user_measurement", function=lambda of: sum(of) + np.random.laplace(0, 2))(data)


def by_kind(data: Any) -> Any:
    return Measurement("make_noise", output_measure="MaxDivergence", scale=0.5)(data)


def true_or_false(data: Sequence[float]) -> Any:
    return [Measurement("make_randomized_response_bool", prob=0.75)(one > 2) for one in data]


def of_three(data: Sequence[float]) -> Any:
    answer = Measurement("make_randomized_response", categories=[1.0, 2.0, 3.0], prob=0.75)
    return [answer(one) for one in data].count(2.0)


def by_gumbel(data: Any) -> Any:
    return Measurement("make_noisy_max", output_measure="ZeroConcentratedDivergence", scale=0.5)(data)


def by_exponential(data: Any) -> Any:
    return Measurement("make_noisy_max", output_measure="MaxDivergence", scale=1.0, negate=True)(data)


def permute_and_flip(scores: Sequence[float]) -> list[float]:
    """The law of permute and flip, order by order (McKenna and Sheldon 2020, algorithm 1)."""
    coins = [math.exp(score - max(scores)) for score in scores]
    odds = [0.0] * len(scores)
    for order in itertools.permutations(range(len(scores))):
        left = 1.0 / math.factorial(len(scores))
        for place in order:
            odds[place] += left * coins[place]
            left *= 1 - coins[place]
    return odds


def largest_loss(*laws: Sequence[float]) -> float:
    return max(abs(math.log(one / other)) for one, other in zip(*laws, strict=True))


ROWS: list[tuple[Callable[..., Any], float, Any, Any]] = [
    (SUM, 0.5, THREE, OTHER),
    (composed, 1.5, THREE, OTHER),
    (by_queries, 1.5, THREE, OTHER),
    (twice_as_much, 0.5, THREE, OTHER),
    (of_the_users, 0.5, THREE, OTHER),
    (by_kind, 4.0, SCORES, OTHER_SCORES),
    (true_or_false, 2 * math.log(3), SCORES, OTHER_SCORES),
    (of_three, math.log(6), [1.0, 1.0], [1.0, 2.0]),
    (by_gumbel, 2.0, SCORES, OTHER_SCORES),
    (
        by_exponential,
        largest_loss(permute_and_flip([-3, -2, -1]), permute_and_flip([-2, -3, -1])),
        SCORES,
        OTHER_SCORES,
    ),
]


@pytest.mark.parametrize(("share", "verdict"), [(0.95, Verdict.VIOLATED), (1.05, Verdict.NOT_DETECTED)])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: getattr(row[0], "__name__", "chained"))
def test_the_loss_of_a_measurement_is_that_of_what_it_calls(row: Any, share: float, verdict: Verdict) -> None:
    release, loss, one, other = row
    findings = replay(release, [(one, other)], epsilon=share * loss)
    assert [finding.verdict for finding in findings] == [verdict]


def test_a_compositor_whose_budget_is_spent_refuses_as_it_does_unwatched() -> None:
    def release(data: Any) -> Any:
        queryable = Measurement("make_sequential_composition")(data)
        return queryable(COUNT), queryable(COUNT), queryable(COUNT)

    (finding,) = replay(release, [(THREE, OTHER)], epsilon=1.0)
    assert finding.verdict is Verdict.ERROR
    assert SPENT in finding.reason


@pytest.mark.parametrize("name", ["make_alp_queryable", "make_canonical_noise", "make_laplace_threshold"])
def test_a_measurement_that_no_reader_knows_is_named(name: str) -> None:
    (finding,) = replay(Measurement(name), [(THREE, OTHER)], epsilon=1.0)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "opendp.core.measurement_invoke draws in a way that cannot be read" in finding.reason
