"""Compositions are enclosed: an interval holds what another route finds, and tells a short formula from a safe one."""

import math
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import gmpy2
import numpy as np
import pytest
from scipy import integrate, special
from scipy.stats import norm

from attacklab import Domain, Profile, Records, Target, audit
from attacklab.calibration import gaussian
from attacklab.calibration.budgets import group_delta
from attacklab.calibration.privacy_loss import Part, delta, epsilon
from attacklab.model.errors import UsageError
from attacklab.model.findings import Verdict
from tests.calibration.test_bounds import holds as holds_within
from tests.ideal import two_sided_geometric

pytestmark = pytest.mark.slow

pytest.importorskip("flint")


holds = partial(holds_within, relative=1e-9)


def of_noise(mu: float) -> Callable[[float], float]:
    """The δ(ε) of Gaussian noise, for ε below 0 too."""
    return lambda at: float(norm.cdf(mu / 2 - at / mu) - math.exp(at) * norm.cdf(-mu / 2 - at / mu))


def of_sample(sigma: float, rate: float) -> Callable[[float], float]:
    """The δ(ε) of Gaussian noise on a sample: P − e^ε·Q of the outputs that lose more than ε."""

    def delta_at(at: float) -> float:
        if math.exp(at) <= 1 - rate:
            return 1 - math.exp(at)
        least = sigma**2 * math.log((math.exp(at) - 1 + rate) / rate) + 0.5
        q = norm.sf(least / sigma)
        return float((1 - rate) * q + rate * norm.sf((least - 1) / sigma) - math.exp(at) * q)

    return delta_at


def twice(sigma: float, rate: float) -> Callable[[float], float]:
    """The same of two steps, by an integral over the first."""
    once = of_sample(sigma, rate)

    def integrand(x: float, at: float) -> float:
        ratio = 1 - rate + rate * math.exp((2 * x - 1) / (2 * sigma**2))
        return float(ratio * norm.pdf(x / sigma) / sigma * once(at - math.log(ratio)))

    return lambda at: integrate.quad(integrand, -12 * sigma, 12 * sigma + 2, (at,), epsabs=1e-15, limit=400)[0]


def of_responses(loss: float, count: int) -> Callable[[float], float]:
    """The δ(ε) of randomized responses, by their binomial law."""
    likely = 1 / (1 + math.exp(-loss))

    def delta_at(at: float) -> float:
        lies = np.arange(count + 1)
        masses = special.binom(count, lies) * likely ** (count - lies) * (1 - likely) ** lies
        return float(np.sum(masses * np.maximum(0, -np.expm1(at - loss * (count - 2 * lies)))))

    return delta_at


def of_discrete(sigma: float, rate: float) -> Callable[[float], float]:
    """The δ(ε) of discrete Gaussian noise on a sample, by its law at every integer."""
    law = np.exp(-(np.arange(-60, 61) ** 2) / (2 * sigma**2))
    q = np.append(law, 0) / law.sum()
    p = (1 - rate) * q + rate * np.roll(q, 1)
    return lambda at: float(max(np.maximum(0, a - math.exp(at) * b).sum() for a, b in ((p, q), (q, p))))


def of_both(known: Callable[[float], float], loss: float) -> Callable[[float], float]:
    """The δ(ε) of a release of which it is known, for ε below 0 too, and a randomized response."""
    likely = 1 / (1 + math.exp(-loss))
    return lambda at: likely * known(at - loss) + (1 - likely) * known(at + loss)


ROUTES: Sequence[tuple[Sequence[Part], Callable[[float], float], Sequence[float]]] = (
    ([Part("gaussian", 0.5, count=10)], of_noise(0.5 * math.sqrt(10)), (0.0, 3.0, 12.0)),
    ([Part("gaussian", 20.0)], of_noise(20.0), (150.0, 300.0)),
    ([Part("gaussian", 1.0, 0.01)], of_sample(1.0, 0.01), (0.0, 0.05, 2.0)),
    ([Part("gaussian", Fraction(1, 3), 0.999)], of_sample(3.0, 0.999), (0.3, 1.5)),
    ([Part("gaussian", 1.0, 0.1, 2)], twice(1.0, 0.1), (0.2, 1.5)),
    ([Part("gaussian", Fraction(10, 9), 0.05, 2)], twice(0.9, 0.05), (0.0,)),
    ([Part("response", 0.1, count=10)], of_responses(0.1, 10), (0.0, 0.5, 0.9)),
    ([Part("laplace", 0.7)], lambda at: -math.expm1((at - 0.7) / 2), (0.0, 0.5)),
    ([Part("discrete_gaussian", 0.5)], of_discrete(2.0, 1.0), (0.1, 1.0)),
    ([Part("discrete_gaussian", 0.5, 0.3)], of_discrete(2.0, 0.3), (0.1, 0.4)),
    ([Part("discrete_laplace", 0.1, count=10)], of_responses(0.1, 10), (0.0, 0.5)),
    ([Part("gaussian", 0.8), Part("response", 0.4)], of_both(of_noise(0.8), 0.4), (0.5, 2.0)),
    ([Part("gaussian", 0.001), Part("response", 3.0)], of_both(of_noise(0.001), 3.0), (0.5,)),
    ([Part("response", 8.0), Part("response", 5e-4)], of_both(of_responses(5e-4, 1), 8.0), (7.5,)),
)


@pytest.mark.parametrize(("parts", "known", "losses"), ROUTES)
def test_an_enclosure_holds_what_another_route_finds(
    parts: Sequence[Part], known: Callable[[float], float], losses: Sequence[float]
) -> None:
    for at in losses:
        found = delta(parts, at)
        assert holds(found, known(at))
        if not (len(parts) == 2 and parts[0].law == "gaussian"):
            assert found.upper - found.lower <= found.upper * 1e-3


def test_ends_are_rounded_outwards_and_what_is_no_composition_is_refused() -> None:
    with gmpy2.context(precision=300):
        for loss in range(1, 20):
            found, least = delta([Part("response", loss / 8)], 0.0), gmpy2.exp(gmpy2.mpq(loss, 8))
            assert found.lower <= (least - 1) / (least + 1) <= found.upper
    one = [Part("response", 1.0)]
    assert delta(iter(one), 0.5) == delta(one, 0.5)
    assert holds(epsilon(one, 1e-300), 1.0, relative=1e-4)
    for parts, width in (([], 1e-3), (one, -1.0), ([Part("discrete_gaussian", 1e-9)], 1e-3)):
        with pytest.raises(UsageError):
            delta(parts, 0.5, width=width)


def test_an_epsilon_is_enclosed_as_narrowly_as_was_asked_down_to_tiny_deltas() -> None:
    for rest, loss in ((0.3, 0.8), (1e-5, 0.8), (1e-30, 0.8), (1e-6, 100.0), (1e-25, 1e-24)):
        exact = gaussian.epsilon(rest, 1.0, loss, 8)
        found = epsilon([Part("gaussian", loss, count=8)], rest)
        assert found.lower <= exact.upper
        assert found.upper >= exact.lower
        assert found.upper - found.lower <= found.upper * 1e-4
    assert epsilon([Part("response", 0.1), Part("response", 1e-4)], 0.04995).upper < 2e-4  # in seconds, near 0
    assert epsilon([Part("response", 0.1)], 0.5).upper == 0


def test_a_target_may_claim_what_is_enclosed_and_one_that_spends_more_is_refuted() -> None:
    """Counts of people who take part with probability ¼, and the same without sampling."""
    once = [Part("discrete_laplace", 1.0, 0.25)]
    claim = Profile(lambda at: delta(once, at).above(), "a count of a sample")

    def refutes(rate: float) -> bool:
        def release(records: Sequence[float], trials: int, rng: np.random.Generator) -> Any:
            return rng.binomial(len(records), rate, trials) + two_sided_geometric(rng, trials)

        people = Domain(shape=Records(), bounds=(0, 1))
        target = Target.dataset(release, claim=claim, relation="add-remove", domain=people)
        return bool(audit(target, trials=20_000, alpha=1e-9).verdict is Verdict.VIOLATED)

    assert [refutes(rate) for rate in (0.25, 1.0)] == [False, True]


def test_a_group_has_the_largest_delta_along_a_chain_of_neighbours() -> None:
    """Where δ is small it is δ·(e^kε − 1)/(e^ε − 1); it never exceeds 1; and for one record it is δ."""
    assert holds(group_delta(0.1, 1e-9, 10), 1e-9 * math.expm1(1.0) / math.expm1(0.1))
    assert group_delta(5.0, 1e-2, 100).upper <= 1
    assert holds(group_delta(1.0, 1e-5, 1), 1e-5)


def test_what_cannot_be_enclosed_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {"law": "cauchy", "loss": math.inf, "rate": 1.1, "count": 2.0, "sensitivity": 1.5}
    for name, value in (*wrong.items(), *((name, 0) for name in list(wrong)[1:]), ("loss", 2.0**11)):
        with pytest.raises(UsageError, match=name):
            Part(**{"law": "gaussian", "loss": 1.0, name: value})
    for call, name in (
        (lambda: epsilon([Part("discrete_gaussian", 1e3)], 1e-6), "too many digits"),
        (lambda: epsilon([Part("gaussian", 1.0)], 0.0), "delta"),
        (lambda: delta([Part("gaussian", 1.0)], -1.0), "epsilon"),
    ):
        with pytest.raises(UsageError, match=name):
            call()
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(UsageError, match=r"attacklab\[accountants\]"):
        delta([Part("gaussian", 1.0)], 1.0)
