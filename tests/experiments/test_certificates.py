"""The lab's certificates: drafts speak of what targets run and claim, and committed ones are up to date."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from checker.core.certificate import load, require_sources
from mechanisms.laplace.exact_fast import exact_discrete_laplace_fast

from attacklab.certificates import Draft, certificate, to_text
from attacklab.findings import Finding, Verdict, read_record
from attacklab.proof.certificates import require_draft
from attacklab.reporting.proofs import RECORD, TIMES
from attacklab.targets import Target
from experiments import targets
from experiments.certificates import DRAFTS
from experiments.targets.making import exact_by_both_paths, exact_by_reference, named, what_runs
from mechanisms.laplace.exact import exact_discrete_laplace

ROOT = Path(__file__).parent.parent.parent
PROOFS = ROOT / "reports" / "proofs"
EXACT = sorted(name for name in targets.__all__ if name.startswith("exact_"))


def test_every_exact_target_has_a_certificate() -> None:
    assert {name for name in DRAFTS if not name.startswith(("array_", "small_", "unlike_"))} == set(EXACT)


def target(name: str) -> Target:
    made = getattr(targets, name)()
    assert isinstance(made, Target)
    return made


def complete(function: Callable[..., Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that a function is called with, those that it has by default among them."""
    known = {name: one.default for name, one in inspect.signature(function).parameters.items()}
    return {name: parameters.get(name, default) for name, default in known.items()}


@pytest.mark.parametrize("name", [name for name in DRAFTS if name in EXACT])
def test_a_draft_speaks_of_what_its_target_runs_and_claims(name: str) -> None:
    made = target(name)
    assert made.draft is DRAFTS[name]
    draft = made.draft()
    require_draft(made, draft)
    assert_speaks_of_what_runs(made, draft)


def assert_speaks_of_what_runs(made: Target, draft: Draft) -> None:
    roles = [("fast" if "fast" in draft.functions else None, made.release), (None, made.sampler)]
    for role, path in roles:
        if path is None:
            continue
        function, parameters = what_runs(path)
        spoken_of = [draft.functions[role]] if role else list(draft.functions.values())
        assert function in spoken_of
        assert complete(function, parameters) == complete(function, {**draft.functions, **draft.parameters})


def draft_of(**changes: Any) -> Draft:
    fields: dict[str, Any] = {
        "theorem": "a theorem",
        "functions": {"reference": exact_discrete_laplace, "fast": exact_discrete_laplace_fast},
        "parameters": {"epsilon": Fraction(1), "grid": targets.laplaces.GRID},
        "neighbours": "answers at most the sensitivity apart",
        "claim": {"kind": "pure", "epsilon": "1"},
    }
    return Draft(**{**fields, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"functions": {"fast": exact_discrete_laplace, "reference": exact_discrete_laplace_fast}},
        {"functions": {"reference": exact_discrete_laplace}},
        {"parameters": {"epsilon": Fraction(1, 2), "grid": targets.laplaces.GRID}},
        {"parameters": {"epsilon": Fraction(1)}},
        {"parameters": {"epsilon": Fraction(1), "grid": targets.laplaces.GRID, "sensitivity": 2}},
    ],
)
def test_a_draft_of_something_else_than_runs_is_noticed(changes: dict[str, Any]) -> None:
    made = target("exact_discrete_laplace")
    assert_speaks_of_what_runs(made, draft_of())
    with pytest.raises((AssertionError, KeyError)):
        assert_speaks_of_what_runs(made, draft_of(**changes))


def test_what_wraps_a_function_in_code_of_its_own_is_what_runs() -> None:
    sampler = partial(exact_discrete_laplace, epsilon=Fraction(1), grid=targets.laplaces.GRID)

    def doubled(answer: float, bits: Any) -> float:
        return 2 * sampler(answer, bits)

    made = exact_by_reference(Target.noise, doubled, epsilon=1.0)
    assert what_runs(made.release) == what_runs(doubled) == (doubled, {})
    with pytest.raises(AssertionError):
        assert_speaks_of_what_runs(made, draft_of())


def test_the_outer_parameters_of_nested_wrappers_are_those_that_run() -> None:
    inner = partial(exact_discrete_laplace, epsilon=Fraction(1), sensitivity=1)
    made = exact_by_reference(Target.noise, partial(inner, epsilon=Fraction(2)), epsilon=1.0)
    assert what_runs(made.release) == (exact_discrete_laplace, {"epsilon": Fraction(2), "sensitivity": 1})
    both = exact_by_both_paths(Target.noise, exact_discrete_laplace_fast, exact_discrete_laplace, {"n": 1}, epsilon=1.0)
    assert what_runs(both.release) == (exact_discrete_laplace_fast, {"n": 1})
    prepared = target("exact_sum_over_count")
    assert prepared.sampler is not None
    assert what_runs(prepared.release) == what_runs(prepared.sampler)
    assert what_runs(prepared.release)[0].__name__ == "prepare_sum_over_count"


def test_a_target_brings_its_certificate_at_the_default_parameters_only() -> None:
    assert targets.exact_discrete_laplace().draft is DRAFTS["exact_discrete_laplace"]
    assert targets.exact_discrete_laplace(1.0).draft is DRAFTS["exact_discrete_laplace"]
    assert targets.exact_discrete_laplace(epsilon=1.0).draft is DRAFTS["exact_discrete_laplace"]
    assert targets.exact_discrete_laplace(0.5).draft is None
    assert targets.naive_laplace_numpy().draft is None


def test_a_target_without_a_draft_of_its_name_has_none() -> None:
    @named
    def exact_nothing(epsilon: float = 1.0) -> Target:
        return Target.noise(lambda *_: [], epsilon=epsilon)

    assert exact_nothing().draft is None


def test_there_is_one_committed_certificate_for_each_draft() -> None:
    assert {path.stem for path in PROOFS.glob("*.json")} == set(DRAFTS)


@pytest.mark.parametrize("name", DRAFTS)
def test_a_committed_certificate_is_of_the_committed_sources(name: str) -> None:
    written = load(PROOFS / f"{name}.json")
    require_sources(written)
    assert written.mechanism == name


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAFTS)
def test_a_committed_certificate_is_written_again_byte_for_byte(name: str) -> None:
    again = to_text(certificate(name, DRAFTS[name]()))
    assert again == to_text(certificate(name, DRAFTS[name]()))
    assert again == (PROOFS / f"{name}.json").read_text("utf-8")


def test_the_committed_record_says_of_each_committed_certificate_that_it_was_accepted() -> None:
    findings: list[Finding] = read_record(PROOFS / RECORD)["findings"]
    assert [finding.target for finding in findings] == sorted(DRAFTS)
    for finding in findings:
        assert finding.verdict is Verdict.PROVED
        assert finding.certificate is not None
        content = (PROOFS / f"{finding.target}.json").read_bytes()
        assert finding.certificate.size == len(content)
        assert finding.certificate.sha256 == hashlib.sha256(content).hexdigest()
    assert {one["mechanism"] for one in read_record(PROOFS / TIMES)["times"]} == set(DRAFTS)
