"""A claim on output and work is accepted where a rule says what the bits tell, and refused with any smaller τ."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from checker import rules
from checker.claims import ApproximateDP as Loss
from checker.claims import but_for
from checker.forms import Refused
from checker.laws import law as law_of
from mechanisms.core.certificate import certificate
from mechanisms.core.claims import ApproximateDP, OutputAndWork
from mechanisms.core.compose import Both, Mapped, Size
from mechanisms.core.grid import Grid
from mechanisms.core.kernel import Kernel
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.maps import Within
from mechanisms.core.noisy import Noisy
from mechanisms.core.records import Answer, Counts
from mechanisms.core.restated import Restated
from mechanisms.core.term import encoded
from mechanisms.core.with_work import WithWork
from tests.unit.checker.making import TERMS, accepted, edited, rational, refusal, written
from tests.unit.mechanisms.core.known_laws import ALL_LAWS, known_tail, named

NOT_COVERED = [name for name, term in TERMS.items() if not isinstance(term.claim, OutputAndWork)]
UNSAID = [
    "session",
    "threshold",
    "values",
    "keys",
    "select",
    "permute",
    "noisy_max",
    "base2",
    "distances",
    "response",
    "poisson",
    "geometric",
]
"""Terms whose bits may tell more than the output, or of which nobody has said that they do not."""


def covering(claim: Any) -> Any:
    return {"is": "OutputAndWork", "claim": claim}


@pytest.mark.parametrize("name", NOT_COVERED)
def test_a_claim_on_work_of_a_term_on_outputs_is_refused(name: str) -> None:
    whole = written(name)
    told = refusal(whole | {"claim": covering(whole["claim"])})
    assert "the claim covers work, and the term does not" in told


@pytest.mark.parametrize("name", UNSAID)
def test_a_term_whose_bits_may_tell_more_covers_no_work(name: str) -> None:
    whole = written(name)
    loose = {"is": "ApproximateDP", "epsilon": 100, "delta": 1}
    for claim in (whole["claim"], loose):
        wrapped = {"is": "WithWork", "mechanism": whole["term"]}
        assert "may tell more" in refusal(whole | {"term": wrapped, "claim": covering(claim)})
    with pytest.raises(ValueError, match="nothing says that the bits"):
        WithWork(TERMS[name])


def test_a_claim_on_work_implies_that_on_outputs_and_is_no_claim_of_a_part() -> None:
    whole = written("with_work")
    said = accepted(whole).statement
    assert said == "(4/3, 6.912416E-17)-DP of output and work together for every pair of answers at most 5/4 apart"
    accepted(whole | {"claim": whole["claim"]["claim"]})
    assert "must be ApproximateDP" in refusal(whole | {"claim": covering(whole["claim"])})
    restated = {"is": "Restated", "mechanism": whole["term"], "promised": whole["claim"]}
    assert "must be ApproximateDP" in refusal(whole | {"term": restated})
    for term in ({"is": "Both", "parts": [whole["term"]]}, restated | {"promised": whole["claim"]["claim"]}):
        assert "the term does not" in refusal(whole | {"term": term})
        accepted(whole | {"term": term, "claim": whole["claim"]["claim"]})
    assert "covers work already" in refusal(
        whole | {"term": {"is": "Padded", "mechanism": whole["term"], "bits": 64, "fallback": 0}}
    )


def test_without_the_probability_of_other_work_a_claim_is_refused() -> None:
    for name in (
        "with_work",
        "with_work_quantile",
        "with_work_sample",
        "with_work_counts",
        "with_work_select",
        "delayed",
    ):
        whole = written(name)
        assert "not seen to keep" in refusal(edited(whole, ("claim", "claim", "delta"), rational(Fraction(0))))
    whole = written("padded")
    assert "not seen to keep" in refusal(edited(whole, ("claim", "delta"), rational(Fraction(0))))


@pytest.mark.parametrize("law", ALL_LAWS, ids=named)
def test_the_probability_of_a_second_word_is_bounded_by_the_definition_of_the_law(law: Any) -> None:
    """The K of the rule is the least with P[N ≥ K] ≤ 2^−65, by mpmath; τ counts two words for each tail between."""
    bound = rules._inverted(law_of(encoded(law))).otherwise
    assert bound is not None
    least = int(bound * 2**64 + 2) // 4
    with mpmath.workdps(60):
        assert known_tail(law, least) <= mpmath.mpf(2) ** -65
        assert least == 1 or known_tail(law, least - 1) > mpmath.mpf(2) ** -65
    assert bound == Fraction(4 * least - 2, 2**64)


WORSE: dict[str, list[tuple[Any, ...]]] = {
    "with_work": [("mechanism", "law", "scale", Fraction(4, 3)), ("mechanism", "query", "sensitivity", 3)],
    "with_work_quantile": [("mechanism", "bits", 127), ("mechanism", "mechanism", "query", "last", 5000)],
    "with_work_counts": [("mechanism", "query", "cells", 4)],
    "with_work_threshold": [("mechanism", "queries", 5), ("mechanism", "positives", 3)],
    "with_work_select": [("mechanism", "bits", 127), ("mechanism", "mechanism", "query", "outcomes", 500)],
    "with_work_sample": [("mechanism", "size", 3), ("mechanism", "records", 4)],
    "padded": [("bits", 39)],
    "delayed": [
        ("most", 199),
        ("law", "scale", 4),
        ("mechanism", "rate", Fraction(1, 8)),
        ("mechanism", "mechanism", "law", "scale", 1),
    ],
}
"""Fields whose change makes the joint loss larger. A lower rate loses less, but takes a bit more for each record."""


@pytest.mark.parametrize("name", WORSE)
def test_a_term_that_loses_more_by_its_work_is_refused(name: str) -> None:
    for *place, new in WORSE[name]:
        value = rational(new) if isinstance(new, Fraction) else new
        assert "not seen to keep" in refusal(edited(written(name), ("term", *place), value)), place


WRONG: dict[str, list[tuple[Any, ...]]] = {
    "padded": [
        ("bits", 0),
        ("bits", 1),
        ("bits", True),
        ("bits", 2**20 + 1),
        ("bits", 2**70),
        ("mechanism", {"is": "Size"}),
        ("mechanism", "is", "Counts"),
    ],
    "with_work": [("mechanism", "query", {"is": "Counts"}), ("mechanism", None)],
    "delayed": [
        ("most", 0),
        ("most", -200),
        ("most", 2**20 + 1),
        ("mechanism", "rate", rational(Fraction(1, 3))),
        ("mechanism", "rate", 1),
        ("law", "scale", rational(Fraction(2**46 + 1))),
        ("law", {"is": "RoundedGaussian", "variance": 25}),
        ("mechanism", written("with_work")["term"]),
        ("mechanism", written("discrete_laplace")["term"]),
        ("mechanism", written("keys")["term"]),
    ],
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_cover_work_is_refused(name: str) -> None:
    for *place, new in WRONG[name]:
        assert refusal(edited(written(name), ("term", *place), new)), place


def test_other_kinds_of_claim_have_no_room_for_what_happens_rarely() -> None:
    whole = written("discrete_gaussian")
    for term in (
        {"is": "WithWork", "mechanism": whole["term"]},
        {"is": "Padded", "mechanism": whole["term"], "bits": 64, "fallback": 0},
    ):
        assert "needs a δ" in refusal(whole | {"term": term})
    assert "needs a δ" in refusal(
        whole | {"term": {"is": "WithWork", "mechanism": written("restated_gdp")["term"]}, "claim": {}}
    )
    with pytest.raises(Refused, match="needs a δ"):
        but_for(rules.release(whole["term"]).losses, Fraction(1, 2**64))
    assert but_for(rules.release(whole["term"]).losses, Fraction(0)) == rules.release(whole["term"]).losses


@pytest.mark.parametrize("name", TERMS)
def test_the_checker_and_the_code_derive_the_same_of_every_term(name: str) -> None:
    """They share no code: a mistake in one of them shows here."""
    term, release = TERMS[name], rules.release(encoded(TERMS[name]))
    derived = (
        None if release.work.otherwise is None else (release.work.bits, release.work.otherwise, release.work.moves)
    )
    assert derived == (None if term.work is None else (term.work.bits, term.work.otherwise, term.work.moves))
    for bits in (1, 2, 3, 40, 63, 64, 127, 128, 129, 256, 512):
        assert release.work.more_than(bits) == term.beyond(bits)
    assert release.covers_work == isinstance(term.claim, OutputAndWork)


def test_parts_add_up_their_bits_and_their_probabilities_and_counts_of_unknown_number_have_none() -> None:
    answer = Answer(Fraction(1), Grid(0))
    noisy = Noisy(answer, DiscreteLaplace(Fraction(2)))
    words = Kernel(answer, 0, ((3, 1), (1, 3)))
    (bits, otherwise), both = (64, rules.release(encoded(noisy)).work.otherwise), Both((noisy, words, noisy))
    assert otherwise is not None
    work = rules.release(encoded(Mapped(both, Within(0.0, 1.0)))).work
    assert (work.bits, work.otherwise) == (2 * bits + 2, 2 * otherwise)
    joint = accepted(certificate("both", WithWork(both)))
    assert "of output and work together" in joint.statement
    assert rules.release(encoded(Size())).work.bits == 0
    assert rules.release(encoded(Noisy(Counts(), DiscreteLaplace(Fraction(2))))).work.otherwise is None


def test_the_delta_of_a_joint_claim_is_that_of_the_theorem() -> None:
    """δ + (1 + e^ε)·τ with ε = 3/2 and δ = 1/8, by Python's own exponential to 15 digits."""
    (raised,) = but_for((Loss(Fraction(3, 2), Fraction(1, 8)),), Fraction(1, 2**10))
    assert isinstance(raised, Loss)
    assert math.isclose(raised.delta, 1 / 8 + (1 + math.exp(1.5)) / 2**10, rel_tol=1e-15)
    term = WithWork(
        Restated(Noisy(Answer(Fraction(1), Grid(0)), DiscreteLaplace(Fraction(1))), ApproximateDP(Fraction(3, 2)))
    )
    assert term.work is not None
    claim: Any = term.claim
    assert math.isclose(claim.claim.delta, (1 + math.exp(1.5)) * float(term.work.otherwise), rel_tol=1e-14)
