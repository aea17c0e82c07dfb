"""Examines one pair, in both directions: record, align, add up the cost, and say what that means for the claim."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attacklab.align.align import Shifts, align
from attacklab.align.apart import Unmoved, exact_excess, unmoved
from attacklab.align.costs import Cost, keeps
from attacklab.align.outcomes import (
    FRESH,
    Counted,
    Exhausted,
    Give,
    Question,
    Trial,
    Unit,
    outcomes,
    question_of,
    unseen_draws,
    untried,
)
from attacklab.align.parts import Parts, close, parts_of
from attacklab.draws import Raised, Run
from attacklab.draws.places import NOWHERE, Site
from attacklab.model.claims import Claim

MOST_RUNS = 3000
"""The most runs for one direction of a pair."""


FINE = 1e-3
"""Outputs are too coarse if comparing them allows a rounding above this share of the least noise scale."""


class Status(enum.IntEnum):
    """The result of aligning a pair; a larger value is worse."""

    ALIGNED = 0
    """The same shifts serve all outcomes, and keep the claim."""
    OPEN = 1
    """No shifts serve all outcomes, or their cost is not known to keep the claim."""
    SUSPECTED = 2
    """A part of the output that no draw moves differs between the inputs. Fresh samples decide."""
    VIOLATED = 3
    """The loss at an outcome is known exactly, and exceeds the claim."""


@dataclass(frozen=True)
class Examined:
    """The result of examining one pair.

    Attributes:
        status: what the pair shows about the claim.
        reason: why the pair has this status, in words.
        question: the pair in its worse direction, with the draws that are known to be seeded or repeated.
        cost: the privacy loss of the shifts; None if some outcome has no shift that restores it.
        trials: how many outcomes were tried.
        by_unit: what the shift of each draw costs.
        unmoved: the part of the output that differs between the inputs and that no draw moves.
        epsilon: the privacy loss at one outcome; None if it is not known exactly.
        seeded: for draws that are the same in every run, the lines that seed their generators, or the draws themselves.
        scale: the least scale of noise, or the spread of a number of the output if that is smaller.
        unseen: the place of a part of the output that can't be looked into; empty if there is none.
        coarse: whether outputs are so large that rounding hides the noise.
        run: a run on the first input.
    """

    status: Status
    reason: str
    question: Question
    run: Run
    cost: Cost | None = None
    trials: int = 0
    by_unit: dict[Unit, float] | None = None
    unmoved: Unmoved | None = None
    epsilon: float | None = None
    seeded: tuple[Site, ...] = ()
    scale: float | None = None
    unseen: str = ""
    coarse: bool = False


def examine(give: Give, first: Any, second: Any, claim: Claim, seed: int) -> Examined:
    """Align a pair in both directions and return the worse result; skip the second after SUSPECTED or VIOLATED."""
    seeds = np.random.SeedSequence(seed).generate_state(2 * FRESH, np.uint64) >> 2
    there = _one_way(give, first, second, claim, [int(one) for one in seeds[:FRESH]])
    if there.status > Status.OPEN:
        return there
    back = _one_way(give, second, first, claim, [int(one) for one in seeds[FRESH:]])
    if there.status is back.status is Status.ALIGNED:
        return max(there, back, key=lambda one: (one.cost.epsilon, one.cost.mu) if one.cost else (0.0, 0.0))
    return max(there, back, key=lambda one: one.status)


def _one_way(give: Give, first: Any, second: Any, claim: Claim, seeds: Sequence[int]) -> Examined:
    question, runs = question_of(Counted(give, MOST_RUNS), first, second, seeds)
    common: dict[str, Any] = {
        "question": question,
        "run": runs[0],
        "seeded": _seeded(question, runs[0]),
        "scale": _least_scale(runs),
    }
    try:
        return _tried(question, runs, claim, seeds[0], common)
    except Exhausted:
        return Examined(Status.OPEN, f"{MOST_RUNS:,} runs of your function were too few to find shifts", **common)


def _tried(question: Question, runs: Sequence[Run], claim: Claim, seed: int, common: dict[str, Any]) -> Examined:
    trials = list(outcomes(question, runs, seed))
    common["trials"] = len(trials)
    unseen = unseen_draws(runs, trials)
    if unseen:
        return Examined(Status.OPEN, unseen, **common)
    answers = [question.answer(trial, {}) for trial in trials]
    common["coarse"] = _is_too_coarse([trials[0].parts, answers[0].parts], common)
    excess = None if common["coarse"] else exact_excess(question, trials, claim)
    if excess is not None:
        reason = f"the output reveals every draw, so it loses {excess.loss}; the claim is {claim}{excess.moved}"
        return Examined(Status.VIOLATED, reason, by_unit=excess.by_unit, epsilon=excess.epsilon, **common)
    part = unmoved([trial.parts for trial in trials], [answer.parts for answer in answers])
    if part is not None:
        where = "first" if part.on_first else "second"
        return Examined(Status.SUSPECTED, f"on the {where} input {part}", unmoved=part, **common)
    return _judged(align(question, trials), question, trials, runs, claim, common)


def _judged(
    found: Shifts,
    question: Question,
    trials: Sequence[Trial],
    runs: Sequence[Run],
    claim: Claim,
    common: dict[str, Any],
) -> Examined:
    cost = found.cost()
    common["by_unit"] = max((one.by_unit for one in found.aligned), key=lambda one: sum(one.values()), default={})
    common["unseen"] = next((trial.parts.unseen for trial in trials if trial.parts.unseen), "")
    why = _not_passed(found, question, trials, runs, common)
    if why or cost is None:
        return Examined(Status.OPEN, why, **common)
    if not keeps(claim, cost):
        return Examined(Status.OPEN, f"the cheapest shifts that were found cost {cost}", cost=cost, **common)
    return Examined(Status.ALIGNED, f"the shifts cost {cost}", cost=cost, **common)


def _not_passed(
    found: Shifts, question: Question, trials: Sequence[Trial], runs: Sequence[Run], common: dict[str, Any]
) -> str:
    """Say why the shifts decide nothing about the claim, whatever they cost; return an empty text if they decide."""
    if common["unseen"]:
        return f"{common['unseen']} has a type that cannot be compared; return numbers or text"
    why = found.open or untried(question, runs[0])
    if why:
        return why
    if all(isinstance(trial.run.output, Raised) for trial in trials):
        return f"your function raises {runs[0].output.kind} on both inputs"
    if found.cost() is None:
        return "outputs of different types need different shifts, so no δ is known"
    if common["coarse"]:
        return "its outputs are so large that rounding hides its noise"
    return ""


def _is_too_coarse(outputs: Sequence[Parts], common: dict[str, Any]) -> bool:
    """Whether outputs are so large that the rounding allowed in comparing them exceeds a small part of the noise."""
    difference = max(parts.rounding * (2 * abs(number) + 1) for parts in outputs for number in (0.0, *parts.vector()))
    return common["scale"] is not None and difference > FINE * common["scale"]


def _seeded(question: Question, run: Run) -> tuple[Site, ...]:
    """Return the lines that seed, or make, draws that are the same in every run or repeat an earlier draw."""
    fixed = [draw for draw in run.draws if draw.key in question.known]
    twins = [draw for draw in run.draws if draw.key in question.twins]
    return tuple(draw.seeded if draw.seeded != NOWHERE else draw.site for draw in (*fixed, *twins))


def _least_scale(runs: Sequence[Run]) -> float | None:
    """Return the least scale of noise, or the least spread of a number of the output if that is smaller."""
    sizes = [np.ravel(draw.scale) for run in runs for draw in run.draws if draw.law.has_shifts]
    scales = [float(size.min()) for size in sizes if size.size]
    outputs = [parts_of(run.output).numbers for run in runs]
    for place, value in outputs[0].items():
        numbers = [output.get(place, value) for output in outputs]
        if not close(max(numbers), min(numbers)):
            scales.append(max(numbers) - min(numbers))
    return min((scale for scale in scales if scale > 0), default=None)
