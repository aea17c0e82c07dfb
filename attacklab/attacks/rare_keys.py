"""Rare keys: a name that only one person has is released more often than δ allows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, FunctionAttack, Probe, Scenario, dataset_pairs
from attacklab.attacks.failures import probed
from attacklab.attacks.features.values import Parts, opened
from attacklab.model.neighbours import as_array
from attacklab.model.targets import Kind, Outputs, Target

MOST_PAIRS = 64  # how many pairs are searched for a key
DEEPEST = 4  # this many levels of inputs and outputs are looked through


def rare_keys(target: Target, probe: Probe) -> Iterator[Scenario]:
    """A set of keys, released where a noisy count passes a threshold that is too low.

    A query that groups records by a key cannot list the keys that nobody has, so it releases those that it finds in the
    records. The count of a key is noisy, and small ones are left out; but a key that one person has passes the
    threshold now and then. On the neighbour without that person it never comes out. So its probability is at most δ
    where the claim holds, and often about δ: too rare to be learned from outputs.

    The adversary knows the two inputs. It takes the first pair, declared or from the domain, in which one input holds a
    text or a whole number that the other does not. It bets that the output holds this text or number: as a key, a
    member, or a part of a text. The bet is judged even if no output that was looked at wins it.

    A negative result does not rule out keys that several records share, or keys that come out in another spelling.
    """
    for pair in itertools.islice(dataset_pairs(target), MOST_PAIRS):
        first, second = (_names(side, DEEPEST) for side in (pair.first, pair.second))
        alone = sorted(first ^ second, key=repr)
        if not alone:
            continue
        outputs = probed(probe, pair.first)
        if outputs is not None and outputs.dtype == object and any(map(_may_hold_keys, outputs)):
            words, key = f"the output holds {alone[0]!r}", alone[0]
            yield Scenario(pair if key in first else pair.swapped(), (Event(words, partial(_hold, key=key)),))
        return


def _names(value: Any, depth: int) -> frozenset[str | int]:
    """Return the texts and whole numbers in an input, down to `depth` levels inside it."""
    known = opened(value)
    if isinstance(known, Parts):
        known = known.named
    if isinstance(known, np.ndarray):
        known = as_array(known).tolist()
    if isinstance(known, str) or (isinstance(known, int) and not isinstance(known, bool)):
        return frozenset({known})
    parts = [*known, *known.values()] if isinstance(known, dict) else known
    if depth == 0 or not isinstance(parts, list | tuple | frozenset):
        return frozenset()
    return frozenset().union(*(_names(part, depth - 1) for part in parts))


def _may_hold_keys(output: Any) -> bool:
    return isinstance(opened(output), str | list | tuple | dict | frozenset | Parts)


def _hold(outputs: Outputs, *, key: str | int) -> NDArray[np.bool_]:
    return np.fromiter((_holds(output, key, DEEPEST) for output in outputs), dtype=bool, count=len(outputs))


def _holds(value: Any, key: str | int, depth: int) -> bool:
    """Whether an output holds a key: among a dict's keys, in a set or in a text. A number in a list does not count."""
    known = opened(value)
    if isinstance(known, str):
        return isinstance(key, str) and key in known
    if isinstance(known, Parts):
        known = known.named
    if depth == 0 or not isinstance(known, dict | frozenset | list | tuple):
        return False
    if isinstance(known, dict | frozenset) and key in known:
        return True
    parts = known.values() if isinstance(known, dict) else known
    return any(_holds(part, key, depth - 1) for part in parts)


RARE_KEYS = FunctionAttack(
    rare_keys,
    "a key that one person has is released more often than the claim allows",
    frozenset({Kind.DATASET}),
    "Korolova, Kenthapadi, Mishra and Ntoulas 2009, 'Releasing Search Queries and Clicks Privately'; the event is ours",
)
