"""Parts of an output that take a value on one input and not on the other, whatever the noise: shown by a few runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scipy import special

from attacklab.model.claims import Claim
from attacklab.replay.outputs import Leaf, leaves, shown
from attacklab.replay.session import Session

if TYPE_CHECKING:
    from attacklab.replay.judge import Pair

FRESH = 3
"""Runs with other draws where every draw is noise that is followed, and no comparison hides anything."""

MOST_RUNS = 1200
FEW_RUNS = 40
ALPHA = 1e-10
MOST_LOOKS = 8
LEAST_RATIO = 1.25
"""More runs are made where the odds seen exceed those that the claim allows by such a factor."""

CERTAIN = "probability 1 against 0"

MOST_EVENTS = 6
LEAST_APART = 5


@dataclass(frozen=True)
class Event:
    """A value of a part of the output, the path and the value, and how often it came on each input."""

    words: str
    reason: str
    odds: str
    part: tuple[str, Any]


def telling_event(pair: Pair, parts: Sequence[tuple[Leaf | None, Leaf | None]], is_simple: bool) -> Event | None:
    """The value of a part that refutes the claim, if there is one.

    Args:
        pair: the examination of the pair.
        parts: in which the outputs differ.
        is_simple: whether nothing but noise that is followed can move a part: then a few runs are certain.
    """
    events = list(dict.fromkeys((leaf.path, leaf.value) for both in parts for leaf in both if leaf is not None))
    events += [(one.path, None) for one, other in parts if one is not None and other is None][:1]
    if not is_simple:
        events = _apart(pair, {path for path, _ in events}) + events
    events = list(dict.fromkeys(events[:MOST_EVENTS]))
    counts = {event: [0, 0] for event in events}
    made, wanted = 0, FRESH if is_simple else FEW_RUNS
    while made < wanted:
        for side in range(2):
            values = _values(pair, side, 1000 + made)
            for path, value in events:
                counts[path, value][side] += values.get(path) == value
        made += 1
        if made == wanted and not is_simple and _may_refute(pair.claim, list(counts.values()), made):
            wanted = min(MOST_RUNS, _runs_for(pair.claim) if made == FEW_RUNS else 2 * made)
    best = max(events, key=lambda event: abs(counts[event][0] - counts[event][1]))
    one, other = counts[best]
    if (is_simple and {one, other} == {0, made}) or (not is_simple and _refutes(pair.claim, one, other, made)):
        path, value = best
        told = f"{path} is {'missing' if value is None else shown(value)}"
        if {one, other} == {0, made}:
            others = [event for event in events if event[0] == path and event != best]
            against = shown(others[0][1]) if others and others[0][1] is not None else "not there"
            sides = (
                (told, against) if one else (f"{path} is {against}", shown(value) if value is not None else "missing")
            )
            reason = f"{sides[0]} on the first input and {sides[1]} on the second"
            always = f"whatever the noise: {CERTAIN}" if is_simple else f"in all of {made} runs each"
            return Event(told, f"{reason}, {always}", CERTAIN, best)
        return Event(
            told,
            f"{told} in {one} of {made} runs on the first input and in {other} on the second",
            f"{one} against {other} of {made} runs",
            best,
        )
    return None


def _values(pair: Pair, side: int, number: int) -> dict[str, Any]:
    """The parts of an output of one input with other draws."""
    input_ = pair.pair.second if side else pair.pair.first
    run = pair.runs.run(input_, Session(pair.seed + number))
    return {leaf.path: leaf.value for leaf in leaves(run.output)}


def _apart(pair: Pair, paths: Collection[str]) -> list[tuple[str, Any]]:
    """The values of some parts that come more often on one input than on the other, in a few runs of their own."""
    counts: Counter[tuple[str, Any]] = Counter()
    for number in range(FEW_RUNS):
        for side, by in enumerate((1, -1)):
            values = _values(pair, side, 900_000 + number)
            counts.update({(path, values.get(path)): by for path in paths})
    most = sorted(counts, key=lambda event: -abs(counts[event]))[: MOST_EVENTS // 2]
    return [event for event in most if abs(counts[event]) > LEAST_APART]


def _runs_for(claim: Claim) -> int:
    """How many runs show a probability of 1 against 0 at the claim, and some more."""
    return min(MOST_RUNS, math.ceil(60 * (1 + math.exp(min(claim.nominal.epsilon, 6.0)))) + FEW_RUNS)


def _may_refute(claim: Claim, counts: Sequence[Sequence[int]], runs: int) -> bool:
    """Whether more runs may refute a claim that these do not."""
    if runs == FEW_RUNS:
        return max(abs(one - other) for one, other in counts) >= FEW_RUNS // 4
    if runs >= MOST_RUNS or any(_refutes(claim, one, other, runs) for one, other in counts):
        return False
    least = LEAST_RATIO * math.exp(min(claim.nominal.epsilon, 500.0))
    return any(max(both) > least * min(both) + claim.nominal.delta * runs for both in counts)


def _refutes(claim: Claim, one: int, other: int, runs: int) -> bool:
    """Whether counts refute a claim, at a level of 10^−10 an event over all times that they are looked at."""
    more, less = max(one, other), min(one, other)
    lower = float(special.betaincinv(more, runs - more + 1, ALPHA / MOST_LOOKS)) if more else 0.0
    upper = float(special.betaincinv(less + 1, runs - less, 1 - ALPHA / MOST_LOOKS)) if less < runs else 1.0
    return any(lower > math.exp(min(point, 500.0)) * upper + claim.at(point).delta for point in claim.points)
