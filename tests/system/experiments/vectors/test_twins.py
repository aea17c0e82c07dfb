"""Exact implementations pass every case; `test_flawed.py` says which flawed ones fail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from attacklab.model.findings import Verdict
from attacklab.vectors.checking import Budget, check
from experiments.vectors import FILES, exact_twins

ALPHA = 1e-9
"""The probability that a sound program would be refuted; the seed is fixed."""


@pytest.mark.parametrize("name", FILES)
def test_exact_implementations_pass(files: Mapping[str, Any], name: str) -> None:
    file = _every(6, files[name]) if name == "calibration" else files[name]
    findings = list(check([file], exact_twins.answer, Budget(20, ALPHA, 0)))
    assert len(findings) == sum(len(group["cases"]) for group in file["groups"])
    wrong = [one for one in findings if one.verdict in (Verdict.VIOLATED, Verdict.ERROR)]
    assert not wrong
    skipped = {one.mechanism for one in findings if one.verdict is Verdict.NOT_APPLICABLE}
    assert skipped <= {"mean_with_local_sensitivity"}


def _every(nth: int, file: Mapping[str, Any]) -> Mapping[str, Any]:
    """The file with every nth case of each group: these formulas take long."""
    return {**file, "groups": [{**group, "cases": group["cases"][::nth]} for group in file["groups"]]}


def test_answers_are_json(files: Mapping[str, Any]) -> None:
    def ask(request: Mapping[str, Any], *forms: Any) -> Any:
        answer = exact_twins.answer(json.loads(json.dumps(request)), *forms)
        assert json.loads(json.dumps(answer)) == answer
        return answer

    findings = list(check([files["special"], files["rounding"]], ask, Budget(1, ALPHA, 0)))
    assert len(findings) == files["special"]["cases"] + files["rounding"]["cases"]
