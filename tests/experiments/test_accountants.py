"""Accountants: their verdicts, and what our own two are found to be."""

import sys
from pathlib import Path

import pytest

from attacklab.reporting.experiment import Settings
from experiments import accountants

pytestmark = pytest.mark.slow


def test_a_number_below_the_enclosure_spends_more_than_it_says() -> None:
    said = [0.9, 1.0, 1.0005, 1.001, 2.0, None]
    found = accountants.verdicts(said, [[1.0, 1.001]] * len(said))
    assert found == ["violated", "undecided", "undecided", "safe", "safe", "refused"]


def test_the_central_limit_is_refuted_for_few_steps_and_renyi_orders_are_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where no library is built
    monkeypatch.setattr(accountants, "STEPS", (1, 4))
    measured = accountants.collect(Settings(share=0.0, seed=0)).timings
    for name, verdict in (("central limit", "violated"), ("Rényi orders, rounded up", "safe")):
        epsilons = measured["said"][name]["epsilons"]
        assert set(accountants.verdicts(epsilons, measured["known"]["samples"])) == {verdict}


def test_a_library_is_asked_and_may_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "diffprivlib.py").write_text(
        "class BudgetAccountant:\n"
        "    def __init__(self, slack, spent_budget): [self.spent] = spent_budget\n"
        "    def total(self): return self.spent\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(accountants, "_pythons", lambda: [("diffprivlib-9.0", Path(sys.executable))])
    said = dict(accountants._libraries((1, 4)))
    assert said == {"diffprivlib-9.0 BudgetAccountant": {"of": "pure DP", "epsilons": [accountants.EACH, None]}}
