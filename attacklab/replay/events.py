"""Parts of an output that take a value on one input and not on the other, whatever the noise: shown by a few runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
MOST_EVENTS = 6


@dataclass(frozen=True)
class Event:
    """A value of a part of the output, and how often it came on each input."""

    words: str
    reason: str
    odds: str


def telling_event(pair: Pair, parts: Sequence[tuple[Leaf | None, Leaf | None]], is_simple: bool) -> Event | None:
    """The value of a part that refutes the claim, if there is one.

    Args:
        pair: the examination of the pair.
        parts: in which the outputs differ.
        is_simple: whether nothing but noise that is followed can move a part: then a few runs are certain.
    """
    events = list(dict.fromkeys((leaf.path, leaf.value) for both in parts for leaf in both if leaf is not None))
    events += [(one.path, None) for one, other in parts if one is not None and other is None][:1]
    events = events[:MOST_EVENTS]
    counts = {event: [0, 0] for event in events}
    made, wanted = 0, FRESH if is_simple else FEW_RUNS
    while made < wanted:
        for side, input_ in enumerate((pair.pair.first, pair.pair.second)):
            run = pair.runs.run(input_, Session(pair.seed + 1000 + made))
            values: dict[str, Any] = {leaf.path: leaf.value for leaf in leaves(run.output)}
            for path, value in events:
                counts[path, value][side] += values.get(path) == value
        made += 1
        if made == wanted == FEW_RUNS and max(abs(one - other) for one, other in counts.values()) >= FEW_RUNS // 4:
            wanted = _runs_for(pair.claim)
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
            always = "whatever the noise: probability 1 against 0" if is_simple else f"in all of {made} runs each"
            return Event(told, f"{reason}, {always}", "probability 1 against 0")
        return Event(
            told,
            f"{told} in {one} of {made} runs on the first input and in {other} on the second",
            f"{one} against {other} of {made} runs",
        )
    return None


def _runs_for(claim: Claim) -> int:
    """How many runs show a probability of 1 against 0 at the claim, and some more."""
    return min(MOST_RUNS, math.ceil(60 * (1 + math.exp(min(claim.nominal.epsilon, 6.0)))) + FEW_RUNS)


def _refutes(claim: Claim, one: int, other: int, runs: int) -> bool:
    """Whether counts refute a claim, at a level of 10^−10 an event."""
    more, less = max(one, other), min(one, other)
    lower = float(special.betaincinv(more, runs - more + 1, ALPHA)) if more else 0.0
    upper = float(special.betaincinv(less + 1, runs - less, 1 - ALPHA)) if less < runs else 1.0
    return any(lower > math.exp(min(point, 500.0)) * upper + claim.at(point).delta for point in claim.points)
