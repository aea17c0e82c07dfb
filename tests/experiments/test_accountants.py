"""Accountants: their verdicts, and what our own two are found to be."""

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
    assert set(accountants.verdicts(measured["said"]["central limit"], measured["known"])) == {"violated"}
    assert set(accountants.verdicts(measured["said"]["Rényi orders, rounded up"], measured["known"])) == {"safe"}
