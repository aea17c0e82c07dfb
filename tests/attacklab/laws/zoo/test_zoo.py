"""No false claim of the zoo is proved, no true one is refuted, and few true ones are refused.

The truth of each claim is established by plain runs and by hand, in `deployments`; the first tests check that.
"""

from __future__ import annotations

import contextlib
import decimal
import functools
import itertools
import json
import os
import random
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from attacklab.errors import TargetError
from attacklab.findings import Verdict
from attacklab.laws import Limits
from attacklab.proof import prove
from tests.attacklab.laws.zoo.case import Case
from tests.attacklab.laws.zoo.deployments import breaks_claim, follows, keeps_claim
from tests.attacklab.laws.zoo.false_samplers import FALSE
from tests.attacklab.laws.zoo.numbers import CONVERSIONS
from tests.attacklab.laws.zoo.true_samplers import TRUE

# A refusal may leave an object half made, whose destructor then fails.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

UNRESOLVED = Fraction(1, 1 << 62)
MOST_REFUSED = 4
BY_DEFAULT = 2
"""So many cases of each class are proved in the default tests."""


def _parameters(classes: dict[str, tuple[Case, ...]]) -> list[Any]:
    return [pytest.param(case, id=f"{name}-{case.name}") for name, cases in classes.items() for case in cases]


false_cases = pytest.mark.parametrize("case", _parameters(FALSE))
true_cases = pytest.mark.parametrize("case", _parameters(TRUE))


def _proved_by_default(classes: dict[str, tuple[Case, ...]]) -> Any:
    """The first cases of each class by default, and all of them in the slow tests."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(case, id=f"{name}-{case.name}", marks=[pytest.mark.slow] if place >= BY_DEFAULT else [])
            for name, cases in classes.items()
            for place, case in enumerate(cases)
        ],
    )


@pytest.fixture(autouse=True)
def _modes_are_restored() -> Iterator[None]:
    """A proof may stop a sampler before it has put back what it changed."""
    mask, digits, state = os.umask(0o022), sys.get_int_max_str_digits(), random.getstate()
    os.umask(mask)
    with np.errstate(), np.printoptions(), decimal.localcontext():
        yield
    os.umask(mask)
    sys.set_int_max_str_digits(digits)
    random.setstate(state)
    json.__dict__.pop("rejections", None)


@functools.cache
def outcome_of(case: Case) -> tuple[Verdict, str]:
    """The verdict, or ERROR for a refusal, and what was said."""
    try:
        finding = prove(case.make_target(), case.pair, limits=Limits(unresolved=UNRESOLVED, runs=case.runs))
    except TargetError as error:
        return Verdict.ERROR, str(error)
    return finding.verdict, finding.reason


def test_the_zoo_is_large_and_its_names_differ() -> None:
    false, true = (list(itertools.chain(*classes.values())) for classes in (FALSE, TRUE))
    assert len(false) >= 60
    assert len(true) >= 40
    assert len({case.name for case in false + true}) == len(false) + len(true)
    assert all(case.why for case in false + true)
    assert not any(case.truth for case in false)
    assert all(case.truth for case in true)


@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_conversion_gives_90_for_90_alone(name: str) -> None:
    assert [draw for draw in range(256) if CONVERSIONS[name](draw) == 90] == [90]


@pytest.mark.few(95)
@false_cases
def test_plain_runs_break_a_false_claim(case: Case) -> None:
    """The chance that they seem to break a true one is below 1e-9, by Hoeffding's inequality."""
    assert breaks_claim(case)


@true_cases
def test_laws_worked_out_by_hand_keep_a_true_claim(case: Case) -> None:
    assert keeps_claim(case)


@true_cases
def test_plain_runs_follow_the_laws_worked_out_by_hand(case: Case) -> None:
    """The chance of a false alarm is 1e-10 on each input, by Hoeffding's inequality."""
    assert case.laws is not None
    assert follows(case, case.laws[0], case.pair.first)
    assert follows(case, case.laws[1], case.pair.second)


@_proved_by_default(FALSE)
def test_a_false_claim_is_never_proved(case: Case) -> None:
    """By its value, so that a claim proved with slack counts as proved: no breach here is as small as the slack."""
    verdict, said = outcome_of(case)
    assert not verdict.value.startswith("proved"), said
    _assert_is_told(verdict, said)


@pytest.mark.slow
@pytest.mark.parametrize("case", _parameters({"search": FALSE["search"]}))
def test_more_runs_do_not_prove_what_lies_beyond_the_reach_of_the_search(case: Case) -> None:
    with contextlib.suppress(TargetError):
        finding = prove(case.make_target(), case.pair, limits=Limits(unresolved=UNRESOLVED, runs=3000))
        assert not finding.verdict.value.startswith("proved"), finding.reason


@_proved_by_default(TRUE)
def test_a_true_claim_is_never_refuted(case: Case) -> None:
    verdict, said = outcome_of(case)
    assert verdict is not Verdict.VIOLATED, said
    _assert_is_told(verdict, said)


@pytest.mark.slow
def test_few_true_claims_are_refused() -> None:
    said = {}
    for case in itertools.chain(*TRUE.values()):
        verdict, reason = outcome_of(case)
        if not verdict.value.startswith("proved"):
            said[case.name] = f"{verdict}: {reason}"
    assert len(said) <= MOST_REFUSED, said


def _assert_is_told(verdict: Verdict, said: str) -> None:
    """A refusal is one line of some length without addresses, which would differ from run to run."""
    if verdict is Verdict.ERROR:
        assert "\n" not in said
        assert " at 0x" not in said
        assert len(said) > 20
