"""The term of every target that has one, by the target's name, and what its data are."""

from typing import Any

import numpy as np

from attacklab import Kind, SeededBits
from experiments import targets
from mechanisms.core.term import Mechanism
from mechanisms.core.threshold import KeysAbove

TARGETS = {name: getattr(targets, name)() for name in targets.__all__}
TERMS: dict[str, Mechanism] = {
    name: target.release.term for name, target in TARGETS.items() if hasattr(target.release, "term")
}


def data_of(name: str) -> str:
    """Say what a term's data are: a number, numbers, keys or a bit."""
    if isinstance(TERMS[name], KeysAbove):
        return "keys"
    if TERMS[name].relation == "bit":
        return "bit"
    return "number" if TARGETS[name].kind is Kind.NOISE else "numbers"


def names_of(*data: str) -> list[str]:
    """Return the names of the terms whose data are of one of these sorts."""
    return [name for name in TERMS if data_of(name) in data]


def outputs(name: str, data: Any, seed: int = 0) -> str:
    """Return a few outputs as text that is the same if each bit is: drawn one at a time, and many at once."""
    bits, term = SeededBits(seed), TERMS[name]
    many = term.many(data, 3, bits)
    return repr([term.release(data, bits), many.tolist() if isinstance(many, np.ndarray) else many])
