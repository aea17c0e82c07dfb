"""Events that fresh runs show more often on one input than on the other: values of parts of an output, and odds."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special, stats

from attacklab.model.claims import Claim
from attacklab.replay.outputs import Leaf, is_float, leaves, number_of, shown
from attacklab.replay.session import Session

if TYPE_CHECKING:
    from attacklab.replay.judge import Pair

FRESH = 3
"""Runs with other draws where every draw is noise that is followed, and no comparison hides anything."""

MOST_RUNS, FEW_RUNS, TIMES_MORE = 1500, 40, 4
"""Runs that are counted: the most, the first few, and by how many times more those after them are."""

ENOUGH = -math.log(1e-10)
"""As much evidence refutes: it comes with a probability of 10^−10 for an event that keeps the claim."""

STAKES = (1.0, 0.9, 0.6, 0.3, 0.1)

CERTAIN = "probability 1 against 0"
SUM = "the sum of numbers in "

CHOOSING, LOOKS = 300, (100, 400, 1_600)
"""Runs of each input in which the event is chosen; and fresh ones in which it is counted, with a look at each size."""

LEVEL = 1e-6
"""A claim that is kept is refuted by counts with this probability at most, over all looks."""

BINS, MOST_ALONE = 20, 40
"""Numbers are looked at in so many bins; and so many parts of an output are looked at one by one as well."""

MOST_EVENTS = 6
LEAST_APART = 5


@dataclass(frozen=True)
class Event:
    """A value of a part of the output, the path and the value, and how often it came on each input."""

    words: str
    reason: str
    odds: str
    part: tuple[str, Any] | None


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
        events = _apart(pair, [path for path, _ in events]) + events
    events = list(dict.fromkeys(events[:MOST_EVENTS]))
    counts = {event: [0, 0] for event in events}
    made, wanted = 0, FRESH if is_simple else FEW_RUNS
    while made < wanted:
        for side in range(2):
            values = _values(pair, side, 1000 + made)
            for path, value in events:
                counts[path, value][side] += values.get(path) == value
        made += 1
        if not is_simple and max(_evidence(pair.claim, one, other, made) for one, other in counts.values()) >= ENOUGH:
            break
        if made == wanted and not is_simple and _may_refute(pair.claim, list(counts.values()), made):
            wanted = min(MOST_RUNS, TIMES_MORE * made)
    best = max(events, key=lambda event: _evidence(pair.claim, counts[event][0], counts[event][1], made))
    one, other = counts[best]
    if is_simple and {one, other} != {0, made}:
        return telling_event(pair, parts, False)  # perhaps noise is lost on a way where nothing sees it
    if is_simple or _evidence(pair.claim, one, other, made) >= ENOUGH:
        path, value = best
        part = None if SUM in path else best
        told = f"{path} is {'missing' if value is None else shown(value)}"
        if {one, other} == {0, made}:
            others = [event for event in events if event[0] == path and event != best]
            against = shown(others[0][1]) if others and others[0][1] is not None else "not there"
            sides = (
                (told, against) if one else (f"{path} is {against}", shown(value) if value is not None else "missing")
            )
            reason = f"{sides[0]} on the first input and {sides[1]} on the second"
            always = f"whatever the noise: {CERTAIN}" if is_simple else f"in all of {made} runs each"
            return Event(told, f"{reason}, {always}", CERTAIN, part)
        return Event(
            told,
            f"{told} in {one} of {made} runs on the first input and in {other} on the second",
            f"{one} against {other} of {made} runs",
            part,
        )
    return None


def _values(pair: Pair, side: int, number: int) -> dict[str, Any]:
    """The parts of an output of one input with other draws, and the sums of numbers that stand together."""
    input_ = pair.pair.second if side else pair.pair.first
    run = pair.runs.run(input_, Session(pair.seed + number))
    values = {leaf.path: leaf.value for leaf in leaves(run.output)}
    groups: dict[str, list[float]] = defaultdict(list)
    for path, value in values.items():
        if is_float(value):
            groups[f"{SUM}{path[: path.rfind('[')]}"].append(number_of(value))
    sums = {
        path: float(f"{math.fsum(group):.9g}")
        for path, group in groups.items()
        if len(group) > 1 and math.isfinite(sum(map(abs, group)))
    }
    return values | {path: ("float", number.hex()) for path, number in sums.items()}


def _apart(pair: Pair, paths: Sequence[str]) -> list[tuple[str, Any]]:
    """The values of some parts that come more often on one input than on the other, in a few runs of their own."""
    counts: Counter[tuple[str, Any]] = Counter()
    for number in range(FEW_RUNS):
        for side, by in enumerate((1, -1)):
            values = _values(pair, side, 900_000 + number)
            counts.update({(path, values.get(path)): by for path in (*paths, *(one for one in values if SUM in one))})
    most = sorted(counts, key=lambda event: -abs(counts[event]))[: MOST_EVENTS // 2]
    return [event for event in most if abs(counts[event]) > LEAST_APART]


def _may_refute(claim: Claim, counts: Sequence[Sequence[int]], runs: int) -> bool:
    """Whether more runs may refute a claim that these do not, if evidence goes on as it may have begun."""
    best = max(_evidence(claim, one, other, runs) for one, other in counts)
    return 0 < best < ENOUGH and (best + 2 * math.sqrt(best)) * MOST_RUNS / runs > ENOUGH


@functools.lru_cache(maxsize=8)
def _allowed(claim: Claim) -> list[tuple[float, float]]:
    """What a claim allows: e^−ε and δ, at each of its points."""
    return [(math.exp(-min(point, 500.0)), claim.at(point).delta) for point in claim.points]


def _evidence(claim: Claim, one: int, other: int, runs: int) -> float:
    """The logarithm of what counts say against a claim, which exceeds log 1/α at any time with probability α at most.

    In a run of both inputs, (1 + b·e^−ε X)·(1 − b·Y) for the indicators of an event is 1 + b·e^−ε δ on average at most
    where P[X] ≤ e^ε P[Y] + δ, however the two hang together. So the mean of products of such numbers, over stakes b,
    directions and points of the claim, stays below 1/α (Ville 1939).
    """
    more, less = max(one, other), min(one, other)
    logs = []
    for odds, delta in _allowed(claim):
        for stake in STAKES if not less else STAKES[1:]:
            gained = more * math.log1p(stake * odds) - runs * math.log1p(stake * odds * delta)
            logs.append(gained + (less * math.log1p(-stake) if less else 0.0))
    return float(special.logsumexp(logs)) - math.log(2 * len(claim.points) * len(STAKES))


def shown_by_fresh_runs(claim: Claim, run: Callable[[int, int], Any], is_over: Callable[[], bool]) -> str:
    """How often an event came on each input in fresh runs that refute the claim, in words; empty where none do.

    The event is a set of outputs by the odds of their parts in the first runs. It is counted in others, and refutes by
    the exact bounds on two binomial rates (Clopper and Pearson 1934).

    Args:
        claim: what is claimed.
        run: the output of one input, the first or the second, with the draws of a number.
        is_over: whether no further runs are to be made, once there was one look.
    """
    seen = [[_told(run(side, number)) for number in range(CHOOSING)] for side in range(2)]
    level, best = LEVEL / len(LOOKS) / 2, (-math.inf, 0.0, 0.0, 0.0)
    scores = _scores(seen)
    score, sign = scores[0], 1
    for tried, by in itertools.product(scores, (1, -1)):
        rows = [np.sort([by * tried(one) for one in side]) for side in seen[::by]]
        levels = np.unique(rows[0])
        rates, others = (1 - np.searchsorted(row, levels) / CHOOSING for row in rows)
        for odds, delta in _allowed(claim):
            gains = (odds * (rates - delta) - others) / np.sqrt(rates * odds * odds + others + 1 / CHOOSING)
            at = int(np.argmax(gains))
            if gains[at] > best[0]:
                best, score, sign = (float(gains[at]), float(levels[at]), odds, delta), tried, by
    _, least, odds, delta = best
    counts, made = [0, 0], 0
    for size in LOOKS:
        for number, side in itertools.product(range(made, size), range(2)):
            counts[side] += sign * score(_told(run(side, CHOOSING + number))) >= least
        made, (one, other) = size, counts[::sign]
        lowest = float(stats.beta.ppf(level, one, size - one + 1)) if one else 0.0
        highest = float(stats.beta.isf(level, other + 1, size - other)) if other < size else 1.0
        if odds * (lowest - delta) > highest:
            return f"{counts[0]} of {size} fresh outputs of the first input show it, {counts[1]} of the second"
        gain, spread = odds * (one - delta * size) - other, math.sqrt(odds * odds * (one + 1) + other + 1)
        if is_over() or gain < -2 * spread:
            break
    return ""


def _told(output: Any) -> dict[str, Any]:
    """The parts of an output, and all of them as one."""
    values: dict[str, Any] = {leaf.path: leaf.value for leaf in leaves(output)}
    return values | {"": repr(values)}


def _scores(seen: Sequence[Sequence[Mapping[str, Any]]]) -> list[Callable[[Mapping[str, Any]], float]]:
    """The logarithm of the odds of an output, the first input against the second: by all its parts, and by each.

    All are taken as if they were independent. A number of which few values come again is told by the quantiles that it
    lies between.
    """
    rows, weights, edges = [*seen[0], *seen[1]], dict[str, dict[Any, float]](), dict[str, Any]()

    def odds_of(path: str, row: Mapping[str, Any]) -> float:
        return weights[path].get(kind(path, row.get(path)), 0.0)

    def kind(path: str, value: Any) -> Any:
        return int(np.searchsorted(edges[path], number_of(value))) if path in edges and is_float(value) else value

    for path in dict.fromkeys(path for row in rows for path in row):
        values = [row.get(path) for row in rows]
        numbers = [number_of(value) for value in values if is_float(value)]
        if 2 * len({*values}) > len(values) and numbers:
            edges[path] = np.unique(np.quantile(numbers, np.arange(1, BINS) / BINS))
        one, other = (Counter(kind(path, row.get(path)) for row in side) for side in seen)
        weights[path] = {value: math.log((one[value] + 0.5) / (other[value] + 0.5)) for value in one | other}
    alone = [functools.partial(odds_of, path) for path in [*weights][:MOST_ALONE]]
    return [lambda row: sum(odds_of(path, row) for path in weights), *alone]
