"""The experiments with a clock, in quick mode: they say what was measured, and tell nothing that is not public."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab.auditing.timed import Turns
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Settings, load_experiments
from attacklab.reporting.figures import Role
from bench import timing_alarms
from experiments import timing
from experiments.timing import Case
from tests.system.experiments.records import quick_record, require_page

EXPERIMENTS = load_experiments(Path(__file__).parents[3])


def sleeping() -> Target:
    """Twenty microseconds more for one answer than for the other."""

    def release(answer: int, trials: int, rng: np.random.Generator) -> list[int]:
        time.sleep(2e-5 * (1 + answer - timing.ANSWER))
        return [answer + int(rng.geometric(0.6) - rng.geometric(0.6)) for _ in range(trials)]

    return Target.noise(release, epsilon=1.0)


def test_samplers_that_are_here_are_timed_and_libraries_named_as_not_measured() -> None:
    data = quick_record(EXPERIMENTS["timing"])
    rows = data["timings"]["rows"]
    assert [row["name"] for row in rows] == [case.name for case in timing.CASES if case.environment is None]
    assert [row["noise_is_told"] for row in rows[:2]] == [True, True]  # a loop is longer by its noise
    paragraph = " ".join(timing.explain_timings(data).split())
    assert not {"{", "}"} & set(paragraph)
    assert "opendp 0.16.0 (laplace_integer)" in paragraph
    assert len(timing.timing_table(data)) == 1 + len(rows)
    for row in rows:  # a negative result states its power
        assert (row["shift"] is None) == row["is_told_apart"]
        assert row["is_told_apart"] or f"{row['name']} (a shift of {row['shift']:,.0f} ns would be)" in paragraph
    assert timing.timing_figures(data)[0].panels
    require_page(EXPERIMENTS["timing"], data)


def test_a_library_that_is_told_apart_is_left_out_unless_that_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(*, is_public: bool) -> Any:
        monkeypatch.setattr(timing, "CASES", (Case("some library", Role.OTHER, sleeping, is_public=is_public),))
        return timing.collect(Settings(share=0)).timings["rows"]

    assert [row["is_told_apart"] for row in rows(is_public=True)] == [True]
    with pytest.warns(UserWarning, match="NEW FAILURE, withheld"):
        assert rows(is_public=False) == []


@pytest.mark.parametrize(("factor", "is_found"), [(2.0, True), (0.05, False)])
def test_the_power_that_is_stated_is_that_of_other_turns_too(factor: float, is_found: bool) -> None:
    """Fresh turns of a known clock, of which one side takes so many times the shift longer that was stated.

    At p = 1e-12 the sum of bets has to be 7 of its standard deviations off, and a shift that is found in 97 of 100
    replays makes it 9. Twice the shift makes it 18 and a twentieth 0.5: either is on the wrong side of 7 with a
    probability below 1e-10.
    """
    rng = np.random.default_rng(7)

    def turns(longer: float) -> Turns:
        times = np.round(rng.normal(5_000, 300, (2, 4_000)))
        times[1] += round(longer)
        return Turns(times, (["7"] * 4_000, ["7"] * 4_000), inside=False)

    shift = timing._shift(turns(0), turns(0), 1e-12, rng)
    assert shift is not None
    assert (turns(factor * shift).test().p_value <= 1e-12) is is_found


def test_equal_inputs_raise_no_alarm_on_a_loaded_machine_and_the_page_says_of_how_many() -> None:
    """An alarm has probability 1e-6 in each of 15 runs."""
    data = quick_record(EXPERIMENTS["timing_alarms"])
    assert [len(case["p_values"]) for case in data["timings"]["cases"]] == [5, 5, 5]
    paragraph = " ".join(timing_alarms.explain_timings(data).split())
    assert "15 runs" in paragraph
    assert "alarms: none" in paragraph
    assert len(timing_alarms.timing_table(data)) == 4
    require_page(EXPERIMENTS["timing_alarms"], data)
