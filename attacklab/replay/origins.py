"""Where a finding comes from: the lines besides its own that somebody who repairs it looks at.

Three of them, each only where one traced run of each input or the code itself is certain of it: where the runs part,
where one record's change spreads to many or grows to what was measured, and where the scale of the noise is set.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from attacklab.replay.compare import Compared, Difference, alike
from attacklab.replay.judge import SCALE
from attacklab.replay.scales import scale_lines
from attacklab.replay.session import Site, rational
from attacklab.replay.statements import around_line, end_of, parameters_of, source_of, sources_of
from attacklab.replay.trail import MOST_STEPS, Located, Step, Trail, records_of

MOST_ADDED, MOST_SCALES, MOST_PARTINGS = 3, 2, 20
"""Lines that are added, of those the ones that set a scale, and how often runs are seen to part."""


class Parting(NamedTuple):
    """Where two runs take different ways, until they come together again.

    Attributes:
        site: the line of the statement that parts them; where something is caught, of the `except`.
        apart: the lines up to there that one run goes through more often than the other, with their files.
        is_branch: whether it is an `if`, a `while` or an `except`, not a loop through something, or a call.
        raising: the line that raised what is caught.
        end: the last line of what an `except` does.
    """

    site: Site
    apart: set[tuple[str, int]]
    is_branch: bool
    raising: Site | None = None
    end: int = 0


def partings(one: Trail, other: Trail) -> list[Parting]:
    """Where two runs part, in order."""
    sides, at, found = (one.steps, other.steps), [0, 0], list[Parting]()
    while len(found) < MOST_PARTINGS and max(map(len, sides)) < MOST_STEPS:
        while max(at[0] - len(sides[0]), at[1] - len(sides[1])) < 0 and _is_same(sides, at):
            at = [place + 1 for place in at]
        before = [side[:place] for side, place in zip(sides, at, strict=True)]
        nexts = [side[place] for side, place in zip(sides, at, strict=True) if place < len(side)]
        if not nexts or not all(before):
            break
        newest = max(step.call for steps in before for step in steps)
        depth = max(step.depth - (step.call > newest) for step in nexts)
        last = [next((step for step in reversed(steps) if step.depth <= depth), None) for steps in before]
        if last[0] is None or last[1] is None or last[0].site != last[1].site:
            break
        around = around_line(last[0].site)[1]
        if not around:
            break
        handlers = {one.lineno: one for node in around if isinstance(node, ast.Try) for one in node.handlers}
        caught = next((step.site for step in nexts if step.site.line in handlers), None)
        for region in (*around, None):
            ends = [_end(side, place, step, region) for side, place, step in zip(sides, at, last, strict=True)]  # type: ignore[arg-type]
            if _is_same(sides, ends):
                break
        else:
            ends = [len(side) for side in sides]
        ways = [Counter(step.site[:2] for step in side[a:b]) for side, a, b in zip(sides, at, ends, strict=True)]
        apart = {line for line in ways[0] | ways[1] if ways[0][line] != ways[1][line]}
        is_branch = caught is not None or isinstance(around[0], ast.If | ast.While | ast.Match)
        site = last[0].site._replace(line=around[0].lineno)
        if any(line[1] != site.line for line in apart):  # else a comprehension goes through more on one side
            end = end_of(handlers[caught.line]) if caught else 0
            found.append(Parting(caught or site, apart, is_branch, site if caught else None, end))
        at = ends
    return found


def _is_same(sides: tuple[list[Step], list[Step]], at: list[int]) -> bool:
    steps = [side[place][:2] if place < len(side) else None for side, place in zip(sides, at, strict=True)]
    return steps[0] == steps[1]


def _end(steps: list[Step], place: int, last: Step, region: ast.stmt | None) -> int:
    """Where a run has left a statement, or the whole call of a function for None."""
    lines = range(region.lineno, end_of(region) + 1) if region is not None else None
    while place < len(steps) and (
        steps[place].depth > last.depth
        or (steps[place].call == last.call and (lines is None or steps[place].site.line in lines))
    ):
        place += 1
    return place


def explained(found: Difference, examined: Compared, line: Located | None) -> Difference:
    """A difference with the lines that it comes from, in words, at most three; at the first if that is a branch.

    Args:
        found: the difference, at its line.
        examined: the pair that showed it.
        line: how the line was found, if no draw told it.
    """
    if line is None:
        trails = Trail(), Trail()
        trails[0].run(lambda: examined.again({}))
        trails[1].run(lambda: examined.again({}, second=True))
    else:
        trails = line.trails
    inputs = [max(map(records_of, _parts(side)), key=len) for side in (examined.pair.first, examined.pair.second)]
    samplers: dict[tuple[str, int], set[str]] = {}
    for call in examined.first.calls:
        samplers.setdefault(call.site[:2], set()).add(call.sampler)
    named = {site[:2] for site in (found.site, found.met) if site is not None}
    scales = [
        site for drawn in found.drawn for site in scale_lines(drawn, samplers.get(drawn[:2], set()), trails, named)
    ]
    scales = [site for site in scales if not _is_data(site, trails[0], inputs[0])]
    scales = [site for site in scales if found.flaw != SCALE or not _is_alike(site, trails)][:MOST_SCALES]
    lines: list[tuple[Site, str]] = []
    is_lost = line is not None and line.before is None
    parted = _parting_of(found, trails, scales if found.flaw == SCALE else (), is_lost)
    is_caught = parted is not None and found.site.line in range(parted.site.line, parted.end + 1)
    if parted is not None and is_caught and found.site.file == parted.site.file:
        lines.append((parted.site, "the runs part at"))  # the line is one of those that only an except goes on to
    elif parted is not None and (parted.is_branch or is_lost):
        words = f"here the runs part ({source_of(parted.site)})"
        words += "" if _has_named(f"{found.reason} {words}", found.site) else f", before {found.site}"
        found = replace(found, site=parted.site, reason=f"{found.reason}; {words}")
    elif parted is not None:
        lines.append((parted.site, "the runs part at"))
    if parted is not None and parted.raising is not None:
        lines.append((parted.raising, "what is caught is raised at"))
    if line is not None and line.before is not None:
        lines.append((line.before, "it comes from"))
    lines += _grown(found, trails, inputs)
    if not any(_has_named(found.reason, site) or site[:2] == found.site[:2] for site in found.drawn):
        lines += [(site, "its noise is drawn at") for site in found.drawn]
    is_choice = found.met is None and found.flaw != SCALE
    lines += [(site, "its odds are set at" if is_choice else "its scale is set at") for site in scales]
    added: list[str] = []
    for site, words in lines:
        if len(added) < MOST_ADDED and site[:2] != found.site[:2] and not _has_named(found.reason, site):
            joined = " and" if words in added else f"; {words}"
            found = replace(found, reason=f"{found.reason}{joined} {site} ({source_of(site)})")
            added.append(words)
    return found


def _parting_of(
    found: Difference, trails: tuple[Trail, Trail], scales: Collection[Site], is_lost: bool
) -> Parting | None:
    """Where the runs part before what was found; where they do first if its line is not known."""
    places = {site[:2] for site in (found.site, *found.drawn, *scales)}
    if trails[0].returned != trails[1].returned and not found.drawn:
        places |= {trail.returned[:2] for trail in trails}
    ways = partings(*trails)
    return next((one for one in ways if places & one.apart), ways[0] if ways and is_lost else None)


def _has_named(text: str, site: Site) -> bool:
    return re.search(rf"{re.escape(str(site))}(?!\d)", text) is not None


def _is_data(site: Site, trail: Trail, records: list[Any]) -> bool:
    """Whether a line assigns what are the records of the input, for the most part."""
    held = [one for (at, _), sides in trail.held.items() if at[:2] == site[:2] for one in sides[:1]]
    return any(len(one.records) > 2 and 2 * _changed(one.records, records) < len(one.records) for one in held)


def _is_alike(site: Site, trails: tuple[Trail, Trail]) -> bool:
    """Whether a line assigns the same on both inputs."""
    sides = [{key: held for key, held in trail.held.items() if key[0][:2] == site[:2]} for trail in trails]
    return sides[0] == sides[1] != {}


def _grown(found: Difference, trails: tuple[Trail, Trail], inputs: list[list[Any]]) -> list[tuple[Site, str]]:
    """From which line one record changes many values, or one is not finite; and from which a value moves as far."""
    if found.met is None:
        return []
    base = max(1, _changed(*inputs)) * (2 if len(inputs[0]) == len(inputs[1]) else 1)
    feeding, spread, moved = _feeding(found.met, trails[0]), list[tuple[Site, str]](), list[tuple[Site, str]]()
    for (site, name), held in trails[0].held.items():
        other = trails[1].held.get((site, name))
        if (site.file, site.function, name) not in feeding or not other:
            continue
        one, two = held[0].records, other[0].records
        changed, size = _changed(one, two), max(len(one), len(two))
        is_each = min(len(one), len(two)) > 2 and 2 * size >= max(map(len, inputs))
        if _is_finite(one) != _is_finite(two) and _is_finite(inputs[0]) and _is_finite(inputs[1]):
            spread.append((site, f"{name} is not finite from"))
        elif is_each and changed > base:
            spread.append((site, f"a record changes {changed} of {size} values of {name} from"))
        elif found.shift and 0 < len(one) == len(two) and (size == 1 or not is_each) and _moves(one, two, found.shift):
            moved.append((site, f"{name} moves so far from"))
    return spread[:1] + moved[:1]


def _parts(value: Any) -> list[Any]:
    return [value, *(value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ())]


def _changed(one: list[Any], other: list[Any]) -> int:
    """How many values one side has and the other has not."""
    counts = Counter(one), Counter(other)
    return max((counts[0] - counts[1]).total(), (counts[1] - counts[0]).total())


def _is_finite(values: list[Any]) -> bool:
    return "nan" not in values and math.inf not in values and -math.inf not in values


def _moves(one: list[Any], other: list[Any], shift: Fraction) -> bool:
    """Whether the number that moves the most moves by so much."""
    if not all(isinstance(value, int | float) for value in (*one, *other)):
        return False
    return alike(max(abs(rational(a) - rational(b)) for a, b in zip(one, other, strict=True)), shift)


def _feeding(met: Site, trail: Trail) -> set[tuple[str, str, str]]:
    """The variables that the value at a line is made of, with the files and functions that they are of."""
    found, pending, seen = set[tuple[str, str, str]](), [met], set[Site]()
    while pending:
        site = pending.pop()
        function, around = around_line(site)
        if function is None or not around or site in seen:
            continue
        seen.add(site)
        names = sources_of(function, around[0])
        found |= {(site.file, function.name, name) for name in names}
        if not names.isdisjoint(parameters_of(function)):
            pending += dict.fromkeys(trail.callers.get((site.file, function.name), ()))
    return found
