"""Known flaws as a table: each is one function that yields its pairs and the bets on them; the rows are at the end.

In all of them the adversary knows ε, the sensitivity or the bounds, and picks the inputs. Unless a function says
otherwise, the event is a half-line: outputs beyond the middle of the two typical answers. The events are fixed, not
learned as in `black_box`, because some of them are too rare to learn.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import (
    Event,
    FunctionAttack,
    Probe,
    Scenario,
    adapted_pairs,
    as_floats,
    bounds_of,
    ends,
    literal,
    on_path,
    origin,
    whole_only,
)
from attacklab.attacks.bets import exact_answer, half_line, half_lines, typical
from attacklab.attacks.failures import answered, bet_on_failing, despite_failures, failed, probed, scenario_on
from attacklab.model import bisection
from attacklab.model.domains.datasets import RELATIONS
from attacklab.model.errors import OutsideDomain, Refused, TargetError
from attacklab.model.floats import BINARY64, format_of, power_of_two_within
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Outputs, Target

TYPICAL = 127  # the typical answer of a dataset is the median of this many outputs
FEW_RECORDS = 64  # the most records of a dataset, to keep draws quick; more only if the target fails on this many
TYPICAL_ON_PATH = 31  # fewer outputs for the typical answer of each of about three dozen datasets on a path

SPECIAL_RECORDS = (math.nan, math.inf, -math.inf, sys.float_info.max, -sys.float_info.max, math.ulp(0.0), -0.0)
SPECIAL_UTILITIES = (math.nan, math.inf, -math.inf)

HEIGHTS = tuple((2**power + math.isqrt(5 * 4**power)) // 2 for power in (*range(4, 63, 2), 63))
"""Steps from the origin to the answers that are tried: the golden ratio times powers of 2, rounded in every format."""

SPREADS = 4.0
"""A typical output must move by more than this many interquartile ranges to count. The median of five draws from a
Laplace distribution moves as far by chance once in 10^7 times."""

NEGATIVE_WINDOW = (-2.8, -0.36)
"""The interval of output/bound in which the likelihood ratio exceeds e^ε if a mean of 2/ε records spends ε twice."""

Records = NDArray[np.float64]


def position_chunks(target: Target, probe: Probe, chunks: int = 600) -> Iterator[Scenario]:
    """Sample and aggregate that cuts chunks by position, so that removing one record changes all chunks after it.

    Its noise is scaled to a change of one of k chunks' answers. Without the first record all records move up by one,
    and every chunk of two equal records mixes, which shows where chunks answer with a maximum. From k to k + 1 records
    the runs double in length: the last chunk, a single record, weighs twice what the noise is scaled to, which shows
    where they answer with a mean. The adversary knows k. A negative result does not rule out other numbers of chunks,
    or other ways of cutting.
    """
    lower, upper = bounds_of(target)
    blocks = np.tile([lower, lower, upper, upper], chunks // 2)
    at_lower = np.full(chunks, lower)
    for longer, shorter in ((blocks, blocks[1:]), (np.append(at_lower, upper), at_lower)):
        yield _on_higher(longer, shorter, _records_by(Relation.ADD_REMOVE), probe)


def missing_clip(target: Target, probe: Probe, size: int = 1 << 15, widths: float = 2.0**30) -> Iterator[Scenario]:
    """A record outside the bounds counts at its full value, because it is clipped on one side only or not at all.

    All records lie at one bound. One of them is moved outside it by 2^30 widths of the range, where it must count as
    that bound. If the claim holds for add-remove only, such a record is added instead. There are few records, or many
    if the target fails on few. A negative result does not rule out a missing clip nearer to the range, nor one hidden
    by a clamp of the answer.
    """
    lower, upper = bounds_of(target)
    relation = target.relation or Relation.SUBSTITUTE
    few = probed(probe, np.full(FEW_RECORDS, lower))
    size = size if few is None or failed(few).any() else min(size, FEW_RECORDS)
    for bound, outside in ((lower, lower - widths * (upper - lower)), (upper, upper + widths * (upper - lower))):
        inside = np.full(size, bound)
        others = inside if relation is Relation.ADD_REMOVE else inside[1:]
        with contextlib.suppress(OutsideDomain):
            near = target.adapted(NeighbouringPair.records(np.append(others, outside), inside, relation))
            yield _on_higher(near.first, near.second, _records_by(relation), probe)


def double_budget(target: Target, probe: Probe) -> Iterator[Scenario]:
    """A mean computed as a noisy sum over a noisy count, each of which spends all of ε.

    The pair is n records at the bound u against n + 1 of them. An answer y near −u needs noise that moves the sum and
    the count apart by 2n records in all, however that is divided between the two. One more record makes it 2n + 2, so
    the losses add up to nearly 2ε. At y = −u the likelihood ratio is e^(2ε)·(n² + n/ε + 1/(2ε²))/((n + 1)² + (n + 1)/ε
    + 1/(2ε²)), which `mechanisms/local_sensitivity/README.md` states. At n = 2/ε the event, a window around −u, is
    common enough to be seen. A negative result does not rule out a budget overspent in any other way, nor this flaw
    behind a clamp of the answer.
    """
    largest = max(bounds_of(target), key=abs)
    size = max(1, round(2 / target.claim.nominal.epsilon))
    low, high = sorted(largest * end for end in NEGATIVE_WINDOW)
    window = f"{low!r} <= float(output) <= {high!r}"
    event = Event(f"the answer lies in [{low!r}, {high!r}]", partial(_between, low=low, high=high), window)
    pair = NeighbouringPair.records(np.full(size, largest), np.full(size + 1, largest), Relation.ADD_REMOVE)
    yield from despite_failures([Scenario(pair, (event,))], probe)


def failing_size(target: Target, probe: Probe, most_records: int = 1 << 12) -> Iterator[Scenario]:
    """A target that fails only for datasets of some sizes reveals, by failing, whether one person is present.

    Code that divides by the number of records, or by n minus a constant, fails below some size. Datasets of 0, 1, 2,
    4, 8, … equal records show between which sizes the target starts or stops failing, and bisection finds the border.
    The pair lies on either side of it; the event is the failure. Where the number of records is public, nothing leaks.
    A negative result does not rule out failures beyond the largest size, sizes that fail between two powers of two, or
    failures that depend on the values of records (see `special_values`).

    Raises:
        TargetError: the target raises at every size.
    """
    if target.relation is Relation.SUBSTITUTE:
        return
    lower, _ = bounds_of(target)

    @functools.cache
    def fails(size: int) -> bool:
        outputs = probed(probe, np.full(size, lower))
        return outputs is None or bool(failed(outputs).any())

    sizes = [0, *(1 << power for power in range(most_records.bit_length()))]
    if all(map(fails, sizes)):
        answered(probe, np.full(most_records, lower), 1)
    for low, high in itertools.pairwise(sizes):
        if fails(low) != fails(high):
            border = bisection.least(fails if fails(high) else lambda size: not fails(size), low, high)
            pair = NeighbouringPair.records(np.full(border - 1, lower), np.full(border, lower), Relation.ADD_REMOVE)
            yield scenario_on(pair, [probed(probe, side) for side in (pair.first, pair.second)], ())


def sum_sensitivity(target: Target, probe: Probe, most_records: int = 1 << 14) -> Iterator[Scenario]:
    """A rounded, wrapped or overflowing sum moves further between neighbours than its declared sensitivity.

    A path of datasets leads from n records at one end of the bounds to n at the other, one record at a time. However
    the sum is rounded, it is a double, and doubles near it are U apart. If the whole path moves the sum by U or more,
    then *some single step* moves it by U, though in real arithmetic it moves by u − l. With bounds (1, 1 + 2^−48) and
    1024 records, U is 64 times that, in whatever order records are added. Bisection finds the step from noisy outputs
    alone. If the bounds are too wide, it looks for the change that real arithmetic does not explain: a machine integer
    wraps around, or a double overflows. For add-remove, the path adds records at the bound of larger magnitude.

    A step moves the real sum by no more than the sensitivity under either relation, max(|l|, |u|) or u − l. A negative
    result does not rule out a machine integer that takes more than 2^14 records at the bounds to fill, nor repeated
    rounding or reordering, which matter in binary32 from a few thousand records on (Higham 2002, section 4.2).
    """
    near, far = ends(target)
    for relation in RELATIONS if target.relation is None else (target.relation,):
        path: Callable[[int], Records]
        if relation is Relation.ADD_REMOVE:
            size, path = most_records, lambda added: np.full(1 + added, far)
            slope = 0.0 if target.kind is Kind.MEAN else far
        else:
            size = _size_that_rounds(target, near, far, most_records)
            path = partial(on_path, near, far, size)
            # If doubles near the sum are further apart than a step, any change at all is what we look for.
            rounds_away = math.ulp(size * far) > abs(far - near)
            slope = 0.0 if rounds_away else (far - near) / (size if target.kind is Kind.MEAN else 1)
        step = steepest_step(partial(_typical_on, path, probe), size, slope)
        yield _on_higher(path(step), path(step + 1), _records_by(relation), probe, TYPICAL_ON_PATH)


def integer_cast(target: Target, probe: Probe) -> Iterator[Scenario]:
    """An answer is rounded or wraps around in a narrower format before the noise is added.

    An integer above 2^53 is rounded when it becomes a double: 2^60 + 128 goes down to 2^60, its neighbour 2^60 + 129
    goes up to 2^60 + 256. In binary32 that begins at 2^24. An integer of 16 bits wraps around at 2^15, and so does an
    answer of 327.68 that is held in hundredths. So answers that differ by 1 come out far apart.

    Answers are tried at ever greater heights, up and down; they are floats if integers are refused. Around a height
    whose typical output has left it by more than the noise explains, intervals of doubled lengths are searched for one
    over which outputs move further than answers. Bisection finds the step. A target that holds the answer at an end of
    its range moves less, and is not accused. If no such step is found, the attack tries the highest integers beyond
    2^53 that the target takes. A target that gives floats and declares no integers is tried on doubles only. A negative
    result does not rule out jumps of less than a few times the spread of the noise, or wrong values at a few answers.
    """
    step = math.floor(target.sensitivity) or power_of_two_within(target.sensitivity)
    for kind in (int, float) if step >= 1 else (float,):
        answer = partial(_answer, target, kind, Fraction(step))
        try:
            outputs = answered(probe, answer(0), TYPICAL)
        except Refused:
            continue
        doubles = outputs.dtype.kind == "f" and not whole_only(target)
        moved = functools.cache(partial(_moved, probe, answer, doubles))
        noise = SPREADS * max(_spread(outputs), target.sensitivity)
        ways = [_heights(target, sign, step) for sign in (1, -1)]
        jump = _jump(moved, ways, float(step), noise)
        is_of_integers = isinstance(answer(1), int)
        make = NeighbouringPair.integers if is_of_integers else NeighbouringPair.answers
        pair_of = partial(make, sensitivity=target.sensitivity)
        if jump is not None:
            yield _on_higher(answer(jump), answer(jump + 1), pair_of, probe)
        elif is_of_integers and not doubles:
            taken = (height for height in ways[0][::-1] if height > 2**53 and not math.isnan(moved(height + 1)))
            for height in itertools.islice(taken, 1):
                yield Scenario(pair_of(answer(height + 1), answer(height)), (half_line(answer(height)),))
        return


def special_values(target: Target, probe: Probe) -> Iterator[Scenario]:
    """NaN, an infinity or an extreme value makes the target fail, or its noise vanish, on one dataset only.

    One NaN among the records passes through `np.clip` and makes the sum NaN in every trial. If a sensitivity is so
    small that the scale of the noise rounds to 0, the bare answer is released. A target may do anything with such a
    value, even fail, as long as it does so on both neighbours alike.

    - **Answers**: 0 against the sensitivity, 0 against the least subnormal, 0.0 against −0.0, and the two largest
      numbers that still resolve the sensitivity; all in the outputs' format, as rounding to it is not the target's.
    - **Records**: all at the bound of smaller magnitude (at 0 if the bounds' signs differ), with one replaced by NaN,
      ±∞, ± the largest double, the least subnormal, −0.0 or the other bound, and the other way round; for add-remove,
      added. Whatever record within the bounds the target takes it for, the sum moves by no more than the sensitivity.
    - **Utilities**: NaN or ±∞ as one of them; only failing is judged, because no sensitivity bounds these.

    The adversary bets on a failure, on the larger half of the outputs, and on one exact output, bit for bit. A negative
    result does not rule out other parameters than the target's own, failures rarer than one in a few dozen, or ones
    that depend on the number of records (see `failing_size`).
    """
    makes = {Kind.NOISE: _special_answers, Kind.SELECTION: _special_utilities}
    for pair in adapted_pairs(target, makes.get(target.kind, _special_records)(target, probe)):
        sides = [probed(probe, side) for side in (pair.first, pair.second)]
        bets = () if target.kind is Kind.SELECTION else tuple(_bets_on_values(sides))
        yield scenario_on(pair, sides, bets)


def steepest_step(answer: Callable[[int], float], size: int, slope: float) -> int:
    """Bisect a path for a step that moves the answer more than it should.

    If answers are multiples of U, `slope` is 0 and the ends of the path differ, the step found moves the answer by U or
    more: at least one of two halves has ends that differ. The same holds if answers differ from real arithmetic by
    multiples of U and `slope` is how far each step moves the answer in real arithmetic.

    Args:
        answer: `answer(k)`, the answer to dataset k of the path.
        size: the number of steps.
        slope: how far each step is expected to move the answer; only the rest of its move counts.

    Returns:
        A number k; the step leads from dataset k to dataset k + 1.
    """
    seen = functools.cache(answer)
    seen(0), seen(size)

    def excess(low: int, high: int) -> float:
        change = seen(high) - seen(low)
        if not math.isfinite(change):
            return abs(change) if math.isinf(change) else 0.0
        return abs(change - slope * (high - low))

    return bisection.steepest_step(excess, 0, size)


def _on_higher(
    first: Any, second: Any, make: Callable[[Any, Any], NeighbouringPair], probe: Probe, outputs: int = TYPICAL
) -> Scenario:
    """Return a bet on the input with the higher median output, or on failure if the target fails on either input."""
    try:
        sides = [(typical(probe(input_, outputs)), input_) for input_ in (first, second)]
    except TargetError:
        return bet_on_failing(make(first, second), probe)
    (low, lower), (high, higher) = sorted(sides, key=lambda side: side[0])
    return Scenario(make(higher, lower), half_lines(low, high))


def _records_by(relation: Relation) -> Callable[[Any, Any], NeighbouringPair]:
    return partial(NeighbouringPair.records, relation=relation)


def _between(outputs: Outputs, *, low: float, high: float) -> NDArray[np.bool_]:
    values = as_floats(outputs)
    return (low <= values) & (values <= high)


def _size_that_rounds(target: Target, near: float, far: float, most: int) -> int:
    """Return the least power of two n, at most `most`, for which doubles near n·far are 64 noise scales apart."""
    wanted = 64.0 * abs(far - near) / min(target.claim.nominal.epsilon, 1.0)
    size = 2
    while size < most and not math.ulp(size * far) >= wanted:
        size *= 2
    return size


def _typical_on(path: Callable[[int], Records], probe: Probe, place: int) -> float:
    """Return the median output for dataset `place` of the path; 0 if the target fails, as it may on few records."""
    try:
        return typical(probe(path(place), TYPICAL_ON_PATH))
    except TargetError:
        return 0.0


def _answer(target: Target, kind: type, step: Fraction, steps: int) -> Any:
    return target.cast(kind(Fraction(origin(target)) + steps * step))


def _heights(target: Target, sign: int, step: float) -> list[int]:
    """Return numbers of steps in one direction: the `HEIGHTS` inside the domain, and the domain's end if it has one."""
    end = math.inf if target.domain is None else target.domain.high if sign > 0 else target.domain.low
    if math.isinf(end):
        return [sign * height for height in HEIGHTS]
    most = math.floor(abs(Fraction(end) - Fraction(origin(target))) / Fraction(step))
    return [sign * height for height in (*(height for height in HEIGHTS if height < most), most)]


def _moved(probe: Probe, answer: Callable[[int], Any], doubles: bool, steps: int, outputs: int = 5) -> float:
    """Return the median of output − answer for the answer `steps` steps from the origin; NaN if it is refused."""
    given = answer(steps)
    if doubles and float(given) != given:
        return math.nan
    try:
        return typical(np.array([_difference(output, given) for output in probe(given, outputs).tolist()]))
    except TargetError:
        return math.nan


def _difference(output: Any, answer: Any) -> float:
    """Return output − answer, rounded once; NaN for a failure."""
    try:
        return float(Fraction(output) - Fraction(answer))
    except OverflowError:
        return float(output)
    except (TypeError, ValueError):
        return math.nan


def _spread(outputs: Outputs) -> float:
    """Return the interquartile range of the finite outputs; 0 if there are none."""
    values = as_floats(outputs)
    values = values[np.isfinite(values)]
    return float(np.subtract(*np.quantile(values, (0.75, 0.25)))) if values.size else 0.0


def _jump(moved: Callable[..., float], ways: Iterable[Iterable[int]], step: float, noise: float) -> int | None:
    """Return a k with a jump of typical outputs between the answers at k and k + 1 steps; None if none is found."""

    def excess(low: int, high: int) -> float:
        """Return |change of outputs| − |change of answers| from `low` to `high` steps; 0 if it is not known."""
        rise = step * (high - low)
        further = abs(moved(high) - moved(low) + rise) - rise
        return 0.0 if math.isnan(further) else further

    for heights in ways:
        taken = itertools.takewhile(lambda height: not math.isnan(moved(height)), itertools.chain((0,), heights))
        steps = (ends for ends in itertools.pairwise(taken) if not abs(moved(ends[1]) - moved(0)) <= noise)
        for kept, height in itertools.islice(steps, 2):
            widths = [1 << power for power in range(abs(height).bit_length())]
            lows = [
                (low, low + max(1, width // 2)) for width in widths for low in (height + width // 2, height - width)
            ]
            for low, high in ((min(kept, height), max(kept, height)), *lows):
                if excess(low, high) > noise:
                    k = bisection.steepest_step(excess, low, high)
                    if abs(moved(k + 1, TYPICAL_ON_PATH) - moved(k, TYPICAL_ON_PATH)) > noise:
                        return k
    return None


def _special_answers(target: Target, probe: Probe) -> Iterator[NeighbouringPair]:
    outputs, sensitivity = probed(probe, origin(target)), target.sensitivity
    released = BINARY64 if outputs is None else format_of(outputs)
    # At the largest answer that still resolves the sensitivity, numbers of the format are this power of two apart.
    step = power_of_two_within(sensitivity)
    large = released.at_most(min(2.0**released.significand_bits * step, sys.float_info.max))
    next_below = float(released.next_below(released.rounded(np.array([large])))[0])
    for first, second in (
        (released.at_most(sensitivity), 0.0),
        (released.least, 0.0),
        (0.0, -0.0),
        (large, next_below),
    ):
        yield NeighbouringPair.answers(first, second, sensitivity=sensitivity)


def _special_records(target: Target, _probe: Probe) -> Iterator[NeighbouringPair]:
    (near, far), few = ends(target), 4
    base = np.full(few, near)
    values = [value for value in SPECIAL_RECORDS if target.takes(value)]
    unlike = [value for value in values if value != near or math.copysign(1.0, value) != math.copysign(1.0, near)]
    for value, records in (*((value, base) for value in (*unlike, far)), (near, np.full(few, far))):
        if target.relation is Relation.ADD_REMOVE:
            yield NeighbouringPair.records(np.append(value, records), records, target.relation)
        else:
            yield NeighbouringPair.records(np.append(value, records[1:]), records, Relation.SUBSTITUTE)


def _special_utilities(_target: Target, _probe: Probe) -> Iterator[NeighbouringPair]:
    for value in SPECIAL_UTILITIES:
        yield NeighbouringPair(np.array([0.0, value]), np.zeros(2), None)


def _bets_on_values(sides: Iterable[Outputs | None]) -> Iterator[Event]:
    values = [as_floats(outputs) for outputs in sides if outputs is not None]
    values = [numbers[~np.isnan(numbers)] for numbers in values]
    medians = [typical(numbers) for numbers in values if numbers.size]
    if medians:
        larger = max(medians)
        at_least = f"float(output) >= {literal(larger)}"
        yield Event(f"the answer is at least {larger!r}", partial(_at_least, threshold=larger), at_least)
    atoms: dict[int, float] = {}
    for numbers in values:
        patterns, seen = np.unique(numbers.view(np.int64), return_counts=True)
        if seen.size and seen.max() > 1:
            atoms[int(patterns[seen.argmax()])] = float(patterns[seen.argmax()].view(np.float64))
    yield from map(exact_answer, atoms.values())


def _at_least(outputs: Outputs, *, threshold: float) -> NDArray[np.bool_]:
    return np.asarray(as_floats(outputs) >= threshold)


NEAR = "Near and Abuah, 'Programming Differential Privacy', chapter 8; the pairs and events are ours"
CASACUBERTA = (
    "Casacuberta, Shoemate, Vadhan and Wagaman 2022, 'Widespread Underestimation of Sensitivity in Differentially "
    "Private Libraries and How to Fix It'"
)


def _row(find: Callable[..., Iterable[Scenario]], kinds: Iterable[Kind], flaw: str, source: str) -> FunctionAttack:
    return FunctionAttack(find, flaw, frozenset(kinds), source)


SUMS: tuple[Any, ...] = (Kind.SUM, Kind.MEAN)
INTEGER_CAST = _row(
    integer_cast,
    {Kind.NOISE},
    "an answer is rounded or wraps around in a narrower format before the noise is added",
    f"{CASACUBERTA}, on casts of types; the search is ours",
)
SUM_SENSITIVITY = _row(
    sum_sensitivity,
    SUMS,
    "a rounded, wrapped or overflowing sum moves further than its declared sensitivity",
    f"{CASACUBERTA}, with pairs for known orders of summation; the bisection is ours",
)
POSITION_CHUNKS = _row(position_chunks, {Kind.MEAN}, "removing one record changes every later chunk", NEAR)
MISSING_CLIP = _row(missing_clip, SUMS, "a record outside the bounds is not clipped", NEAR)
DOUBLE_BUDGET = _row(double_budget, {Kind.MEAN}, "a noisy sum and a noisy count each spend all of ε", NEAR)
FAILING_SIZE = _row(failing_size, SUMS, "the target fails only for datasets of some sizes", NEAR)
SPECIAL_VALUES = _row(
    special_values,
    set(Kind) - {Kind.DATASET},
    "NaN, an infinity or an extreme value makes the target fail or its noise vanish on one dataset only",
    f"{CASACUBERTA}, on sums that overflow; IEEE 754-2019, sections 6 and 7; the pairs are ours",
)
