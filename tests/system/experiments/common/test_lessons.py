"""The pictures and the grading of lessons."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex

from experiments.common.lessons import EXACT, IDEAL, NAIVE, advantages, graded


def test_the_first_word_of_a_name_decides_the_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plt, "show", lambda: None)

    advantages({"naive: no noise": 0.5, "exact twin": 0.2, "ideal mechanism": 0.1}, 0.4)

    assert [to_hex(bar.get_facecolor()) for bar in plt.gca().patches] == [NAIVE, EXACT, IDEAL]
    plt.close("all")


def test_no_findings_solve_no_challenge(capsys: pytest.CaptureFixture[str]) -> None:
    assert not graded([])
    assert capsys.readouterr().out == "NOT YET\n"
