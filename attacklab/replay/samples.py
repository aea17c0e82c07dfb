"""Samples of records, drawn by a coin for each or by an order: the law of such a sample amplifies privacy."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attacklab.replay.laws import SAMPLING, UNIFORM, Sampling, near
from attacklab.replay.session import Affine, Seen, Session, filled

if TYPE_CHECKING:
    from attacklab.replay.compare import Compared

MOST_COINS = 64
"""With more coins for records, it is not looked at whether each record has its own."""

MOST_FURTHER = 8
"""So many coins that one input has more than the other are decided as well."""

ENDS = (2.0**-20, 1 - 2.0**-20)
"""Uniform numbers near the ends of their interval, which rare paths need."""

Masks = Mapping[tuple[Any, ...], Sequence[Seen]]


def law_of(pair: Compared) -> Sampling | None:
    """The samples that a pair's runs draw; None where their law is not known."""
    calls, masks, coins = pair.first.calls, masks_of(pair.first), coins_of(pair.first)
    orders = [number for number, call in enumerate(calls) if call.family == SAMPLING]
    if (orders and _follows(pair, orders)) or (coins and _follows(pair, coins)):
        return None
    drawn = [number for number, call in enumerate(calls) if call.key[:-1] in masks]
    if not masks or not _noisy_values(pair.first) or not _follows(pair, drawn):
        return Sampling()
    if any(np.size(group[0].outcome) == 1 for group in masks.values()):
        one, other = _values_with(pair, decided(masks, lambda _: True))
        if one != other or not _is_one_coin(pair, masks):
            return None  # a record that is not drawn counts all the same, or it has several coins
    rates = [_threshold(seen) if _is_below(seen) else 1 - _threshold(seen) for one in masks.values() for seen in one]
    samples = sum(len(group) if np.size(group[0].outcome) > 1 else 1 for group in masks.values())
    return Sampling(float(np.clip(min(rates), 1e-9, 1)), samples)


def coins_of(run: Session) -> list[int]:
    """The calls of uniform numbers that are compared one by one, and draw no sample that is known."""
    used = {unit: len(node.affine.steps) for unit, node, _ in run.elements()}
    compared = [one for seen in run.seen if seen.kind != "other" for one in seen.operands if isinstance(one, Affine)]
    coins = [one.ids.item() for one in compared if one.ids.size == 1 and used.get(one.ids.item(), 0) <= len(one.steps)]
    masks, owners = masks_of(run), {id(run.owner(unit)[0]) for unit in coins}
    return [
        number
        for number, call in enumerate(run.calls)
        if call.family == UNIFORM and id(call) in owners and call.key[:-1] not in masks
    ]


def masks_of(run: Session) -> Masks:
    """Comparisons that draw a sample, a coin for each record, by the place where the coins are drawn.

    The coins are numbers of one array, or drawn one by one at one place and compared with one rate.
    """
    masks: dict[tuple[Any, ...], list[Seen]] = defaultdict(list)
    for seen in run.seen:
        sides = seen.operands
        if seen.kind == "compare" and len(sides) == 2:
            coins = next((one for one in sides if isinstance(one, Affine) and one.ids.size), None)
            number: Any = next((one for one in sides if not isinstance(one, Affine)), None)
            call = None if coins is None else run.owner(int(coins.ids.reshape(-1)[0]))[0]
            if call is not None and call.family == UNIFORM and np.size(number) == 1:
                masks[call.key[:-1]].append(seen)
    return {place: group for place, group in masks.items() if _is_sample(group)}


def decided(masks: Masks, is_out: Callable[[int], bool]) -> dict[tuple[Any, ...], Any]:
    """Changes of coins with which all records are in the samples but some, by the keys of their calls."""
    return {
        (*place, number): functools.partial(_moved, group[0], is_out, number)
        for place, group in masks.items()
        for number in range(len(group) + MOST_FURTHER)
    }


def _moved(mask: Seen, is_out: Callable[[int], bool], number: int, raw: Any) -> Any:
    """Coins at those sides of the threshold that decide so; `number` is that of a coin drawn alone."""
    is_alone = np.size(mask.outcome) == 1
    out = np.reshape([is_out(number if is_alone else place) for place in range(np.size(raw))], np.shape(raw))
    threshold = _threshold(mask)
    moved = np.where(out != _is_below(mask), threshold * raw, threshold + (1 - threshold) * raw)
    return moved if isinstance(raw, np.ndarray) else moved.item()


def _values_with(pair: Compared, changes: Mapping[Any, Any]) -> list[list[Fraction]]:
    """The values that noise is added to on both inputs, with some draws changed."""
    inputs = pair.pair.first, pair.pair.second
    return [_noisy_values(pair.runs.run(input_, Session(pair.seed, None, changes))) for input_ in inputs]


def _is_one_coin(pair: Compared, masks: Masks) -> bool:
    """Whether one coin decides for the record in question; taken to be so where there are many coins."""
    most = max(max(len(group), *(np.size(seen.outcome) for seen in group)) for group in masks.values())
    whole = _values_with(pair, decided(masks, lambda _: False)) if most <= MOST_COINS else []
    for at in range(most + 1 if whole else 0):
        without = _values_with(pair, decided(masks, at.__eq__))
        if any(map(_are_near, (without[0], without[0], whole[0]), (without[1], whole[1], without[1]))):
            return True
    return not whole


def _follows(pair: Compared, drawn: Sequence[int]) -> bool:
    """Whether values that noise is added to depend on some draws: on which records are drawn, or their order."""
    for input_ in (pair.pair.first, pair.pair.second):
        base = pair.runs.run(input_, Session(pair.seed))
        spares = [pair.runs.run(input_, Session(pair.seed + seed)) for seed in range(77, 80)]
        if any(len(spare.calls) != len(base.calls) for spare in spares):
            return True
        numbers = [number for number in drawn if number < len(base.calls)]
        others: list[dict[int, Any]] = [{number: spare.calls[number].raw for number in numbers} for spare in spares]
        uniform = [number for number in numbers if base.calls[number].family == UNIFORM]
        others += [
            {number: filled(share * base.calls[number].scale, base.calls[number].raw) for number in uniform}
            for share in ENDS
        ]
        for raws in others:
            changes = {number: functools.partial(_instead, raw) for number, raw in raws.items()}
            run = pair.runs.run(input_, Session(pair.seed, None, changes))
            if not _are_near(*([node.affine.exact(at)[0] for _, node, at in one.elements()] for one in (base, run))):
                return True
    return False


def _instead(new: Any, _raw: Any) -> Any:
    return new


def _noisy_values(run: Session) -> list[Fraction]:
    """The values that noise is added to; uniform numbers may be coins, and are left out."""
    elements = ((run.owner(unit)[0], node, at) for unit, node, at in run.elements())
    return [node.affine.exact(at)[0] for call, node, at in elements if call.family != UNIFORM]


def _are_near(one: Sequence[Fraction], other: Sequence[Fraction]) -> bool:
    """Whether two rows of values are the same but for rounding."""
    return len(one) == len(other) and np.allclose([*map(near, one)], [*map(near, other)], rtol=1e-9)


def _is_sample(group: Sequence[Seen]) -> bool:
    if any(np.size(seen.outcome) > 1 for seen in group):
        return all(np.size(seen.outcome) > 1 for seen in group)
    return len(group) > 1 and len({(seen.site, seen.operation, _threshold(seen)) for seen in group}) == 1


def _threshold(mask: Seen) -> float:
    return next(float(np.ravel(one)[0]) for one in mask.operands if not isinstance(one, Affine))


def _is_below(mask: Seen) -> bool:
    """Whether a record is drawn where its coin is below the threshold."""
    return mask.operation.startswith("less") == isinstance(mask.operands[0], Affine)
