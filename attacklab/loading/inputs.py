"""Reads domains and pairs from the text that the command line and the pytest marker take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from attacklab.model.domains.domain import Domain
from attacklab.model.errors import UsageError
from attacklab.model.files import read_json
from attacklab.model.neighbours import NeighbouringPair, Relation, as_array

WORDS: Mapping[str, dict[str, Any]] = {
    "integers": {"integers": True},
    "non-negative": {"non_negative": True},
    "floats": {"floats_only": True},
    "special": {"special": True},
    "finite": {"special": False},
}
"""Words for the numbers that a target takes, with the fields of `Domain` that each word sets."""


def domain_from_text(text: str) -> Domain:
    """Read a domain: `WORDS` and bounds `LOW..HIGH`, separated by commas, or JSON as `Domain.to_json` writes it.

    Raises:
        UsageError: the text is neither.
    """
    if text.lstrip().startswith("{"):
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"the domain is not JSON: {error}; write valid JSON") from None
        return Domain.from_json(data)
    fields: dict[str, Any] = {}
    for word in (part.strip() for part in text.split(",")):
        low, separator, high = word.partition("..")
        if separator:
            try:
                fields["bounds"] = (float(low), float(high))
            except ValueError:
                raise UsageError(f"domain {text!r} has {word!r} for its bounds; write a number on both sides") from None
        elif word in WORDS:
            fields |= WORDS[word]
        else:
            raise UsageError(
                f"domain {text!r} has {word!r}; use {', '.join(WORDS)} or LOW..HIGH, separated by commas, or JSON"
            )
    return Domain(**fields)


def read_pairs(path: Path) -> tuple[NeighbouringPair, ...]:
    """Read a JSON file of pairs: a list of objects with `first`, `second` and, for datasets, `relation`.

    Numbers may be hex strings, to keep every bit. A list of numbers or of strings becomes a vector, and a list of
    equally long lists of numbers a matrix. Other values are not changed. If a relation is named, `read_pairs` checks
    that the two inputs are neighbours by it.

    Raises:
        UsageError: the file cannot be read, or does not hold neighbouring pairs; the message names the pair.
    """
    try:
        listed = read_json(path, has_special=True)
    except (OSError, UsageError) as error:
        raise UsageError(f"cannot read the pairs in {path}: {error}; name a JSON file") from None
    if not isinstance(listed, list) or not listed:
        raise UsageError(f"{path} must hold a list of one or more pairs")
    return tuple(_pair(entry, f"pair {number} of {path}") for number, entry in enumerate(listed))


def _pair(data: Any, label: str) -> NeighbouringPair:
    """Make a pair from JSON values; `label` is what messages call it."""
    if not isinstance(data, dict) or not {"first", "second"} <= set(data) <= {"first", "second", "relation"}:
        raise UsageError(f"{label} must be an object with first, second and, for datasets, relation")
    first, second = (_input(data[side], label) for side in ("first", "second"))
    if isinstance(first, list) or isinstance(second, list):
        first, second = (_parsed(data[side]) for side in ("first", "second"))  # both of one form
    relation = None if data.get("relation") is None else Relation(data["relation"])
    if relation is None:
        return NeighbouringPair(first, second, None)
    make = NeighbouringPair.graphs if relation in (Relation.NODE, Relation.EDGE) else NeighbouringPair.records
    try:
        return make(first, second, relation)
    except UsageError as error:
        raise UsageError(f"{label}: {error}") from error


def _input(value: Any, label: str) -> Any:
    parsed = _parsed(value)
    if not isinstance(parsed, list):
        if parsed is not None:
            return parsed
        raise UsageError(
            f"{label} has the input null; write a number, a string, an object, or a list of numbers or strings"
        )
    array = as_array(parsed) if parsed else np.empty(0)
    if array.dtype.kind in "biufU":
        return array
    if not all(isinstance(record, list | dict) for record in parsed):
        raise UsageError(
            f"{label} has an input of mixed values; write numbers only, strings only, or lists or objects only"
        )
    return parsed


def _parsed(value: Any) -> Any:
    if isinstance(value, list):
        return [_parsed(item) for item in value]
    if isinstance(value, str) and value.lstrip("+-").lower().startswith(("0x", "inf", "nan")):
        try:
            return float.fromhex(value)
        except ValueError:
            return value
    return value
