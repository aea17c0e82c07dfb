"""Targets whose claim rests on sampling or shuffling, and a session with an adaptive adversary."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

from attacklab.laws.enclosures import float_above
from attacklab.model.domains import Domain, Records
from attacklab.model.neighbours import Relation
from attacklab.model.targets import Target
from experiments.targets.making import BIT, named, of_term
from mechanisms.core.flip import delta_of_shuffled
from mechanisms.core.sample import spent_on_sample
from mechanisms.interactive import exact as exact_session
from mechanisms.interactive import naive as naive_session
from mechanisms.subsampling import exact, naive

PEOPLE = 4
"""The number of records: the largest one under add-remove, the exact one under substitute."""

RATE = Fraction(1, 4)
SIZE = 2
SHARE = Fraction(SIZE, PEOPLE)
FLIP = Fraction(1, 8)
LOCAL_EPSILON = 1.9459101490553132
"""ln 7, the ε of one answer that is flipped with probability 1/8."""

ANY_NUMBER = Domain(shape=Records(most=PEOPLE), bounds=(0, 1), integers=True)
ALL_PEOPLE = Domain(shape=Records(least=PEOPLE, most=PEOPLE), bounds=(0, 1), integers=True)


@named
def naive_poisson_count(epsilon: float = 1.0) -> Target:
    """Count of a batch of fixed size that claims what a Poisson sample would."""
    spent = float(spent_on_sample(Fraction(epsilon), RATE))
    release = partial(naive.naive_poisson_count, epsilon=spent, rate=float(RATE))
    return Target.dataset(release, epsilon=epsilon, relation=Relation.ADD_REMOVE, domain=ANY_NUMBER)


@named
def exact_poisson_count(epsilon: float = 1.0) -> Target:
    """Count of a Poisson sample with discrete Laplace noise, exact."""
    term = exact.exact_poisson_count(epsilon=epsilon, rate=RATE)
    return of_term(Target.dataset, term, epsilon=epsilon, relation=Relation.ADD_REMOVE, domain=ANY_NUMBER)


@named
def naive_sampled_count(epsilon: float = 1.0) -> Target:
    """Count of a sample with replacement that claims what one without would."""
    spent = float(spent_on_sample(Fraction(epsilon), SHARE))
    release = partial(naive.naive_sampled_count, epsilon=spent, size=SIZE)
    return Target.dataset(release, epsilon=epsilon, relation=Relation.SUBSTITUTE, domain=ALL_PEOPLE)


@named
def exact_sampled_count(epsilon: float = 1.0) -> Target:
    """Count of a sample without replacement with discrete Laplace noise, exact."""
    term = exact.exact_sampled_count(epsilon=epsilon, size=SIZE, records=PEOPLE)
    return of_term(Target.dataset, term, epsilon=epsilon, relation=Relation.SUBSTITUTE, domain=ALL_PEOPLE)


@named
def naive_shuffled_response(epsilon: float = 1.0) -> Target:
    """Randomized answers of four people, shuffled so that the last one keeps its place."""
    release = partial(naive.naive_shuffled_response, epsilon=LOCAL_EPSILON)
    return Target.dataset(release, **_shuffled_claim(epsilon))


@named
def exact_shuffled_response(epsilon: float = 1.0) -> Target:
    """Randomized answers of four people in uniformly random order, exact."""
    term = exact.exact_shuffled_response(flip=FLIP, people=PEOPLE, epsilon=epsilon)
    return of_term(Target.dataset, term, **_shuffled_claim(epsilon))


def _shuffled_claim(epsilon: float) -> dict[str, Any]:
    delta = float_above(delta_of_shuffled(Fraction(epsilon), FLIP, PEOPLE))
    return {"epsilon": epsilon, "delta": delta, "relation": Relation.SUBSTITUTE, "domain": ALL_PEOPLE}


@named
def naive_query_session(epsilon: float = 1.0) -> Target:
    """A session with an adaptive adversary, whose budget is checked too early."""
    return Target.dataset(partial(naive_session.naive_query_session, epsilon=epsilon), epsilon=epsilon, pairs=[BIT])


@named
def exact_query_session(epsilon: float = 1.0) -> Target:
    """A session with an adaptive adversary that stays within its budget, exact."""
    return of_term(Target.dataset, exact_session.exact_query_session(epsilon=epsilon), epsilon=epsilon, pairs=[BIT])
