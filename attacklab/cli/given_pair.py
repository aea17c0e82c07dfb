"""The inputs that options give: a pair by --first and --second, those of a finite domain by --inputs."""

from __future__ import annotations

import json
import re
from typing import Any

from attacklab.model.domains.finite import all_databases, all_utilities
from attacklab.model.domains.text import pair_of
from attacklab.model.errors import UsageError
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Target

UP_TO = re.compile(r"up to (?P<most>\d+) of (?P<values>.+)")
RANGE = re.compile(r"(?P<low>-?\d+)\.\.(?P<high>-?\d+)")


def given_pair(target: Target, first: str | None, second: str | None) -> NeighbouringPair | None:
    """The pair of two texts, each JSON or numbers separated by commas; None where neither is given.

    Answers, utilities and records are floats, unless the target's domain is one of integers. The inputs of a dataset
    target are as `domains.text.read_pairs` reads them.

    Raises:
        UsageError: only one is given, one cannot be read, or they are not neighbours.
    """
    if first is None and second is None:
        return None
    if first is None or second is None:
        raise UsageError("--first and --second go together; give both or neither")
    left, right = _read("--first", first), _read("--second", second)
    if target.kind is Kind.DATASET:
        relation = target.relation or _relation(target, left, right)
        return pair_of({"first": left, "second": right, "relation": relation}, "the pair")
    if target.kind is not Kind.NOISE:
        left, right = _listed(left), _listed(right)
    for side in (left, right):
        numbers = side if isinstance(side, list) and target.kind is not Kind.NOISE else [side]
        if any(isinstance(number, bool) or not isinstance(number, int | float) for number in numbers):
            wanted = "a number" if target.kind is Kind.NOISE else "numbers"
            raise UsageError(
                f"a {target.kind} target takes {wanted} for each of --first and --second, not {first} and {second}"
            )
    return target.cast_pair(_of_numbers(target, left, right))


def given_inputs(target: Target, text: str) -> list[Any]:
    """The inputs of a finite domain: a JSON list, numbers separated by commas, or "up to N of VALUES".

    VALUES is LOW..HIGH, for all integers from the one to the other, or values as above. For a selection these are all
    vectors of 1 to N utilities, for other kinds but noise all of 0 to N records.

    Raises:
        UsageError: the text is none of these.
    """
    match = UP_TO.fullmatch(text.strip())
    if match is None:
        return _values(text)
    if target.kind is Kind.NOISE:
        raise UsageError(f"the input of a noise target is one number; write --inputs {match['values']}")
    listed = all_utilities if target.kind is Kind.SELECTION else all_databases
    return list(listed(int(match["most"]), _values(match["values"])))


def _values(text: str) -> list[Any]:
    ends = RANGE.fullmatch(text.strip())
    if ends is not None:
        return list(range(int(ends["low"]), int(ends["high"]) + 1))
    values = _listed(_read("--inputs", text))
    if len(values) > 1 and all(isinstance(value, float) and value.is_integer() for value in values):
        return list(map(int, values))  # as JSON has them
    return list(values)


def _read(option: str, text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise UsageError(f"{option} is nested too deep; give a flatter input") from None
    except ValueError:
        pass
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        raise UsageError(f"{option} must be JSON, or numbers separated by commas, not {text!r}") from None
    return numbers if len(numbers) > 1 else numbers[0]


def _relation(target: Target, first: Any, second: Any) -> Relation | None:
    """The relation that the shape of the target's inputs allows, or None."""
    known = () if target.domain is None or target.domain.shape is None else target.domain.shape.relations
    fits = _by_size(_listed(first), _listed(second))
    return fits if fits in known else next(iter(known), None)


def _by_size(first: list[Any], second: list[Any]) -> Relation:
    return Relation.SUBSTITUTE if len(first) == len(second) else Relation.ADD_REMOVE


def _listed(side: Any) -> Any:
    return side if isinstance(side, list) else [side]


def _of_numbers(target: Target, first: Any, second: Any) -> NeighbouringPair:
    if target.kind in (Kind.SUM, Kind.MEAN):
        floats = [[float(record) for record in side] for side in (first, second)]
        return NeighbouringPair.records(floats[0], floats[1], _by_size(first, second))
    if target.domain is not None and target.domain.integers:
        whole = [_whole(side) for side in (first, second)]
        return NeighbouringPair.integers(whole[0], whole[1], sensitivity=target.sensitivity)
    make = NeighbouringPair.answers if target.kind is Kind.NOISE else NeighbouringPair.utilities
    return make(first, second, sensitivity=target.sensitivity)


def _whole(side: Any) -> Any:
    """The same numbers, with whole ones such as 1.0 as integers."""
    if isinstance(side, list):
        return [_whole(number) for number in side]
    return int(side) if isinstance(side, float) and side.is_integer() else side
