"""The same pair under other draws: further seeds, and for a pure claim each comparison turned and each draw far out.

A path that noise opens rarely shows in none of two runs. So both inputs are run again with other draws, and whatever
is new there, another way through the code or another part of the output that differs, is examined as the first was.
"""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from attacklab.model.claims import PrivacyClaim
from attacklab.replay.choices import steered
from attacklab.replay.compare import Outcome, differences_between, further, made_alike
from attacklab.replay.judge import Pair
from attacklab.replay.laws import EXPONENTIAL, SHIFT_LAWS, UNIFORM, near
from attacklab.replay.outputs import skeleton
from attacklab.replay.paths import bounds_of, probability, selections
from attacklab.replay.samples import ENDS
from attacklab.replay.session import Session

SEEDS = 40
"""Further seeds of a pair."""

LEAST_VARIANTS, SECONDS, MOST_SECONDS = 4, 0.7, 7.0
"""After so long of the processor's time, or of the clock's, no more draws are tried, but for so many."""

FAR = 12.0
"""How far out, in scales, a draw is put: integrals over noise are right up to there."""

MOST_MOVED = 8
"""Of further calls, the draws are not put far out."""

MOST_TURNED = 16
"""On so many ways through the code, so many comparisons are turned."""

LEAST_SEEDS = 12
"""With so many seeds, an output that is to tell its path is always from that one."""

LEAST_CHANCE = 2.0**-60
"""Outcomes of comparisons that are rarer are left out: no uniform number of 53 bits gives them."""

MOST_EXAMINED = 6

TOGETHER = "parts of the output"
"""By which name it is kept how many parts differ at once: two that are clipped often, each by itself, lose both."""

MOST_PLACES = 64
"""Of further numbers in an array, it is not looked at how far they move."""

Changes = Mapping[int, Any]


def examine_variants(base: Pair, only: int | None = None) -> Outcome:
    """What other draws show on a pair that was examined, and by which nothing was refuted.

    Args:
        base: the pair.
        only: the number of the one seed that is tried; None for all, and the draws far out.

    Returns:
        An outcome of its own. A loss by a path that the output does not tell from others is named, not held against the
        claim: how probable the path is is not known.
    """
    outcome, ends = Outcome(), (time.process_time() + SECONDS, time.monotonic() + MOST_SECONDS)
    known, seen = {_path(base.first): _sizes(base)}, {_way(base.first)}
    ways: dict[str, set[Any]] = defaultdict(set)
    new: list[tuple[float, bool, int, Changes]] = []
    turning = [base]
    for seed, changes in _variants(base, only, turning):
        if outcome.variants >= LEAST_VARIANTS and _is_over(ends):
            break
        variant = Pair(base.runs, base.pair, base.claim, seed, changes)
        outcome.variants += 1
        path, sizes = _path(variant.first), _sizes(variant)
        way = _way(variant.first)
        is_new, before = way not in seen, known.get(path, {})
        seen.add(way)
        turning += [variant] if changes and all(_way(pair.first) != way for pair in turning) else []
        larger = [size for part, size in sizes.items() if size > 1.01 * before.get(part, 0.0)]
        for run in (variant.first, variant.second):
            ways[repr(skeleton(run.output))].add(_way(run))
        is_new = is_new or (base.is_open and bool(changes))
        if larger or is_new:
            new.append((max(larger, default=0.0), is_new, seed, changes))
        known[path] = before | {part: max(size, before.get(part, 0.0)) for part, size in sizes.items()}
    is_pure = only is None and isinstance(base.claim, PrivacyClaim) and not base.claim.delta
    new.sort(key=lambda entry: -entry[0])
    for size, is_new, seed, changes in new[:MOST_EXAMINED]:
        if not size and _is_over(ends):
            break
        variant = Pair(base.runs, base.pair, base.claim, seed, changes)
        variant.ways = base.ways
        is_same_path = not size and not base.is_open and _path(variant.first) == _path(base.first)
        is_same_path = is_same_path and _chosen(variant.first) == _chosen(base.first)
        found = variant.examine()
        is_told = is_pure and is_new and found.is_refuted
        if is_told:
            for again in range(seed + 30_000, seed + 30_000 + LEAST_SEEDS):
                run = base.runs.run(base.pair.first, Session(again, None, changes))
                ways[repr(skeleton(run.output))].add(_way(run))
            is_told = len(ways[repr(skeleton(variant.first.output))]) == 1
        for one in found.differences:
            if one.is_counted or (is_told and one.is_certain):
                outcome.differences.append(one)
            elif not is_same_path:
                outcome.unjudged.append(f"with other draws, {one.reason}")
        if not is_same_path:  # else the pair was judged as it was run first
            outcome.take(found)
    if base.late is not None and not outcome.is_refuted:
        outcome.differences.append(base.late)
    if any(size == math.inf for size, *_ in new[MOST_EXAMINED:]):
        outcome.unjudged.append("with other draws, outputs differ in more ways than are examined")
    return outcome


def _is_over(ends: tuple[float, float]) -> bool:
    return time.process_time() > ends[0] or time.monotonic() > ends[1]


def _variants(base: Pair, only: int | None, turning: list[Pair]) -> Iterator[tuple[int, Changes]]:
    """Seeds, and what is made of draws: `turning` has the ways of which comparisons are turned, and grows meanwhile."""
    for number in range(SEEDS) if only is None else [only]:
        yield base.seed + 10_000 + 2 * number, {}
    if only is not None or not isinstance(base.claim, PrivacyClaim) or base.claim.delta:
        return  # what is so rare may be what δ allows
    for pair in () if base.is_sampled else itertools.islice(turning, MOST_TURNED):
        bounds = (bounds_of(pair.first, base.shown) or [])[:MOST_TURNED]
        for place, bound in enumerate(bounds):
            chance = probability([replace(bound, above=not bound.above)])
            if chance is not None and chance < LEAST_CHANCE:
                continue
            wanted = [*(one.above for one in bounds[:place]), not bound.above]
            yield base.seed, steered(pair.first, bounds[: place + 1], wanted)
    moved = [(number, call) for number, call in enumerate(base.first.calls) if call.family in SHIFT_LAWS and call.size]
    for number, call in moved[:MOST_MOVED]:
        for sign, end in zip((-1, 1), ENDS, strict=True):
            if call.family == UNIFORM:
                raw = call.raw * 0 + end * np.asarray(call.scale)
            elif call.family == EXPONENTIAL and sign < 0:
                raw = call.raw * end
            else:
                raw = further(call, sign * FAR)(call.raw)
            yield base.seed, {number: functools.partial(_instead, raw)}


def _sizes(pair: Pair) -> dict[str, float]:
    """What differs between the two runs: parts of the output, and how many; and by how many scales values move."""
    sizes = dict.fromkeys(differences_between(pair), math.inf)
    sizes[TOGETHER] = float(len(sizes))
    for one, other in zip(pair.first.nodes, pair.second.nodes, strict=False):
        if one.affine.ids.shape != other.affine.ids.shape or made_alike(one, other, pair.first, pair.second):
            continue
        for place in range(min(one.affine.ids.size, MOST_PLACES)):
            law, law_2 = pair.first.law(one, place), pair.second.law(other, place)
            apart = near(abs(law.centre - law_2.centre)) / (near(law.scale) or 1.0)
            sizes[str(one.site)] = max(apart, sizes.get(str(one.site), 0.0))
    return sizes


def _instead(new: Any, raw: Any) -> Any:
    return new if np.shape(new) == np.shape(raw) else raw


def _way(run: Session) -> tuple[int, int]:
    """The path of a run, and how its comparisons and choices by noise came out; not coins, as uniform numbers are."""
    outcomes = tuple(
        (seen.site[:3], np.asarray(seen.outcome).tobytes())
        for seen in run.seen
        if seen.kind == "compare" and any(run.owner(unit)[0].family != UNIFORM for unit in [*seen.draws()][:1])
    )
    return _path(run), hash((_chosen(run), outcomes))


def _chosen(run: Session) -> tuple[Any, ...]:
    return tuple((one.seen.site[:3], one.outcome) for one in selections(run))


def _path(run: Session) -> int:
    """What a run drew where, and where it computed with it."""
    drawn = tuple((call.key, call.shape, repr(call.scale)) for call in run.calls)
    return hash((drawn, tuple((node.site[:3], len(node.affine.steps)) for node in run.nodes)))
