"""What the test-suite of dp-recorder checks in annotated code, found in code that has no annotations.

Source: T. Cebere, D. Erb, D. Desfontaines, A. Bellet and J. Fitzsimons, "Privacy in Theory, Bugs in Practice: Grey-Box
Auditing of Differential Privacy Libraries", PETS 2026, arXiv:2602.17454, with the tests of
https://github.com/ObliviousAI/dp-recorder (`tests/test_*.py`, by which the rows are named), and issue 65 of
https://github.com/ryan112358/mbi, which the same authors wrote. Their facts, our code.
"""

from __future__ import annotations

import functools
import linecache
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attacklab.model.findings import Verdict
from attacklab.replay import replay


def mean_by_the_private_size(records: Any) -> Any:
    total = np.array([np.clip(records, -1.0, 1.0).sum()])
    noisy = total + np.random.laplace(0.0, 1.0, 1)
    return noisy[0] / len(records)  # flaw


def counts_of_the_classes_that_are_there(labels: Any) -> Any:
    classes, found = np.unique(labels), []
    for label in classes:
        count = np.array([(labels == label).sum()])
        found.append((count + np.random.laplace(0.0, len(classes), 1))[0])  # flaw
    return found


def whole_budget_twice(records: Any) -> Any:
    total = np.array([records.sum()]) + np.random.laplace(0.0, 1.0, 1)  # flaw
    count = np.array([len(records)]) + np.random.laplace(0.0, 1.0, 1)  # flaw
    return total[0], count[0]


def clip_that_keeps_nan(records: Any) -> Any:
    total = np.array([np.clip(records, -5.0, 5.0).sum()])
    return (total + np.random.laplace(0.0, 5.0, 1))[0]  # flaw


def scale_that_vanishes_for_all_columns(records: Any, columns: int = 5, degree: int = 5) -> Any:
    scale = float(columns - degree)
    return (np.array([records.sum()]) + np.random.laplace(0.0, scale, 1))[0]  # flaw


def sum_of_what_was_not_clipped(records: Any) -> Any:
    bound = 5.0
    np.clip(records, -bound, bound)
    return (np.array([records.sum()]) + np.random.laplace(0.0, bound, 1))[0]  # flaw


def correct_count(bits: Any) -> Any:
    ones = np.array([(np.asarray(bits) == 1).sum()], dtype=float)
    return (ones + np.random.laplace(0.0, 1.0, 1))[0]


FLAVOURS = ("vanilla", "mint", "lime", "plum", "fig", "pear")
ROUNDS, OF_CHOICE, OF_COUNT = 3, 2.0, 5.0


class Mechanisms:
    """What an analysis takes from a library of its own."""

    @staticmethod
    def choose(scores: Any) -> int:
        """The place of the largest noisy score."""
        return int(np.argmax(scores + np.random.gumbel(0.0, OF_CHOICE, scores.shape)))

    @staticmethod
    def add_noise(value: Any) -> Any:
        """A noisy count."""
        return value + np.random.laplace(0.0, OF_COUNT, value.shape)


def peeled(votes: Any, rounds: int = ROUNDS) -> Any:
    """The most frequent flavours, one after another, each with its noisy count."""
    counts, found = np.zeros(len(FLAVOURS), dtype=int), []
    for vote in votes:
        counts[vote] += 1  # flaw
    scores = counts.astype(float)
    for _ in range(rounds):
        place = Mechanisms.choose(scores)
        count = Mechanisms.add_noise(counts[place])
        found.append({"flavour": FLAVOURS[place], "count": round(max(0.0, count)), "noisy": count})
        scores[place] = -np.inf
    return found


VOTES = [0, 0, 1, 2, 3, 3, 4, 0]
A_ROUND = 2 / OF_CHOICE + 2 / OF_COUNT
"""What another vote in place of one may lose in a round: two scores move by one, and a count for each of them."""

MODEL, PUBLIC = ([[9, 0], [0, 9]], [[0, 9], [9, 0]])


def chosen_by_two_errors(records: Any, sensitivity: float = 2.0) -> Any:
    """The marginal that a model knows worst compared with a public table, of both of which the error moves by 2."""
    counts = [np.bincount(column, minlength=2) for column in np.asarray(records).T]
    scores = np.array(
        [np.abs(of - m).sum() - np.abs(of - p).sum() for of, m, p in zip(counts, MODEL, PUBLIC, strict=True)]
    )
    weights = np.exp((scores - scores.max()) / (2 * sensitivity))
    return int(np.random.choice(2, p=weights / weights.sum()))  # flaw


def chosen_by_their_sensitivity(records: Any) -> Any:
    return chosen_by_two_errors(records, sensitivity=4.0)


CERTAIN = "probability 1 against 0"
CHOICES = [[0, 0], [1, 1]], [[1, 1], [1, 1]]
CHOSEN = math.log((1 + math.exp(8 / (2 * 2.0))) / 2)
"""The scores are 0 and 0 on one input, and 4 and −4 on the other."""

Row = tuple[Callable[..., Any], Any, Any, float, str]
BROKEN: dict[str, Row] = {
    "buggy_private_mean": (mean_by_the_private_size, np.full(3, 0.5), np.full(2, 0.5), 1.0, "a loss without bound"),
    "domain_inference": (
        counts_of_the_classes_that_are_there,
        np.array([0, 1, 2, 0]),
        np.array([0, 1, 0]),
        1.0,
        "a loss without bound",
    ),
    "double_spending": (whole_budget_twice, np.zeros(100), np.append(np.zeros(100), 1.0), 1.0, "ε = 2"),
    "nan_injection": (clip_that_keeps_nan, np.array([1.0, 2.0]), np.array([1.0, np.nan]), 1.0, CERTAIN),
    "noise_miscalibration": (scale_that_vanishes_for_all_columns, np.ones(2), np.ones(1), 1.0, "a loss without bound"),
    "sensitivity_miscalibration": (
        sum_of_what_was_not_clipped,
        np.array([1.0, -2.0, 3.0]),
        np.array([1.0, -2.0, 100.0]),
        1.0,
        f"ε = {97 / 5:g}",
    ),
    "mbi issue 65": (chosen_by_two_errors, *CHOICES, 1.0, f"ε = {CHOSEN:.6g}"),
    **{
        f"instrumented: {name}": (functools.partial(peeled, rounds=1), VOTES, [*VOTES[:-1], vote], A_ROUND, CERTAIN)
        for name, vote in (
            ("insert_nan", np.nan),
            ("insert_inf", -np.inf),
            ("insert_large_outliers", 2**63),
            ("insert_shifted_outliers", 204),
        )
    },
}
SOUND: dict[str, tuple[Callable[..., Any], Any, Any, float]] = {
    "correct_mechanism": (correct_count, np.array([0, 1, 1, 0]), np.array([0, 1, 0]), 1.0),
    "instrumented: uniform_supported": (peeled, VOTES, [*VOTES[:-1], 1], ROUNDS * A_ROUND),
    "instrumented: uniform_domain": (peeled, VOTES, [*VOTES[:-1], 5], ROUNDS * A_ROUND),
    "instrumented: copy_random": (peeled, VOTES, [*VOTES, 3], ROUNDS * A_ROUND),
    "mbi issue 65, repaired": (chosen_by_their_sensitivity, *CHOICES, 1.0),
}


@pytest.mark.parametrize("row", BROKEN.values(), ids=BROKEN.keys())
def test_what_dp_recorder_finds_is_named_without_annotations_with_its_exact_loss(row: Row) -> None:
    function, first, second, epsilon, loss = row
    worst = replay(function, [(first, second)], epsilon=epsilon)[0]
    assert worst.refutes
    assert worst.witness.loss == loss
    assert "# flaw" in linecache.getline(worst.witness.file, worst.witness.line)


@pytest.mark.parametrize("row", SOUND.values(), ids=SOUND.keys())
def test_what_dp_recorder_passes_is_not_accused(row: tuple[Callable[..., Any], Any, Any, float]) -> None:
    function, first, second, epsilon = row
    (finding,) = replay(function, [(first, second)], epsilon=epsilon)
    assert finding.verdict is Verdict.NOT_DETECTED


def test_mechanisms_that_a_test_has_wrapped_are_watched_as_those_of_the_library(monkeypatch: Any) -> None:
    calls: list[str] = []

    def wrapped(name: str) -> Any:
        original = getattr(Mechanisms, name)

        def mechanism(value: Any) -> Any:
            calls.append(name)
            return original(value)

        return staticmethod(mechanism)

    for name in ("choose", "add_noise"):
        monkeypatch.setattr(Mechanisms, name, wrapped(name))
    (finding,) = replay(peeled, [(VOTES, [*VOTES[:-1], 1])], epsilon=ROUNDS * A_ROUND)
    assert finding.verdict is Verdict.NOT_DETECTED
    assert calls.count("choose") == calls.count("add_noise") == ROUNDS * finding.trials
    assert replay(peeled, [(VOTES, [*VOTES[:-1], 1])], epsilon=A_ROUND / 4)[0].verdict is not Verdict.NOT_DETECTED
