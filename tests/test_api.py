"""One call and one verdict: what `from attacklab import audit` makes of functions and targets."""

from typing import Any

import numpy as np
import pytest

from attacklab import Domain, Finding, Kind, NeighbouringPair, Records, Relation, Report, Target, Verdict, api, audit
from attacklab.attacks import NO_NOISE
from attacklab.auditing import referee
from attacklab.model.errors import UsageError
from attacklab.reporting.screen import screen

PAIR = NeighbouringPair.records([1.0, 1.0], [1.0], Relation.ADD_REMOVE)


def bare(answer: float) -> float:
    return 2.0 * answer


def bare_sum(records: Any) -> float:
    return float(np.sum(records))


def test_a_plain_function_is_audited_with_its_claim() -> None:
    report = audit(bare, epsilon=1, trials=1_000)
    assert report.verdict is Verdict.VIOLATED
    assert report.best is not None
    assert report.best in list(report)
    assert (report.best.target, report.best.refutes) == ("bare", True)
    assert str(report).startswith("FAIL  bare   claims ε = 1")
    assert "\n".join(screen(report, more=api.MORE).lines()) == str(report)


@pytest.mark.parametrize(
    ("function", "declared", "kind"),
    [
        (bare, {}, Kind.NOISE),
        (bare_sum, {"pairs": (PAIR,)}, Kind.DATASET),
        (bare_sum, {"domain": Domain(shape=Records(), bounds=(0, 1))}, Kind.DATASET),
        (bare, {"domain": Domain(bounds=(0, 9))}, Kind.NOISE),
        (bare_sum, {"kind": "sum", "bounds": (0, 1)}, Kind.SUM),
    ],
)
def test_the_kind_of_a_function_follows_from_what_is_declared(
    monkeypatch: pytest.MonkeyPatch, function: Any, declared: Any, kind: Kind
) -> None:
    audited: list[tuple[Target, dict[str, Any]]] = []

    def noted(target: Target, _attacks: Any, **rest: Any) -> list[Finding]:
        audited.append((target, rest))
        return []

    monkeypatch.setattr(referee, "audit", noted)
    assert audit(function, epsilon=2.0, seed=3, **declared) == []
    ((target, settings),) = audited
    assert (target.kind, target.claim.nominal.epsilon, settings) == (kind, 2.0, {"seed": 3})


def test_a_target_is_audited_as_it_is() -> None:
    report = audit(Target.noise(bare_release, epsilon=1.0), [NO_NOISE], trials=1_000)
    assert isinstance(report, Report)
    assert [finding.attack for finding in report] == ["no_noise"]


def bare_release(answer: float, trials: int, rng: Any) -> Any:  # noqa: ARG001 - the form of a release
    return np.full(trials, answer)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match=r"bare_release is a target with a claim of its own; leave out epsilon"):
        audit(Target.noise(bare_release, epsilon=1.0), epsilon=2.0)
    with pytest.raises(UsageError, match="needs a claim"):
        audit(bare)
    with pytest.raises(UsageError, match="takes no sensitive"):
        audit(bare, epsilon=1.0, sensitive=2.0)


def finding(verdict: Verdict) -> Finding:
    claim = Target.noise(bare_release, epsilon=1.0).claim
    return Finding(target="t", target_version="1", attack="a", verdict=verdict, reason="", claim=claim)


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        ([], Verdict.NOT_APPLICABLE),
        ([Verdict.NOT_APPLICABLE, Verdict.NOT_DETECTED], Verdict.NOT_DETECTED),
        ([Verdict.NOT_DETECTED, Verdict.ERROR], Verdict.ERROR),
        ([Verdict.ERROR, Verdict.VIOLATED, Verdict.NOT_DETECTED], Verdict.VIOLATED),
    ],
)
def test_the_verdict_is_the_worst_of_those_that_decide(verdicts: list[Verdict], verdict: Verdict) -> None:
    report = Report(map(finding, verdicts))
    assert report.verdict is verdict
    assert (report.best is None) is (not verdicts)
    assert report.best is None or report.best.verdict is verdict
