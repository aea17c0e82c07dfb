"""How many people have each key, in an order that tells nothing of the order of the people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def tally(keys: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Count the people of each key.

    Args:
        keys: the key of each person; a list, a tuple or an array of strings.

    Returns:
        Each key that somebody has with the number of people who have it, in the order of the keys' code points.

    Raises:
        TypeError: a key is not a string, by its type.
    """
    return tuple(sorted(Counter(map(plain_key, keys)).items()))


def plain_key(key: str) -> str:
    """Take a key as the string that it is, whatever kind of string.

    Raises:
        TypeError: it is not a string.
    """
    if not isinstance(key, str):
        raise TypeError(f"keys must be strings, not {type(key).__name__}")
    return str.__str__(key)
