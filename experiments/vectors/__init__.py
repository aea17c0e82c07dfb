"""Language-neutral test vectors: `python -m experiments.vectors` computes and writes each file."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from experiments.vectors.calibrations import calibrations
from experiments.vectors.laws import laws
from experiments.vectors.notes import to_bytes
from experiments.vectors.pairs import pairs
from experiments.vectors.sums import sums
from experiments.vectors.tapes import tapes

FILES: Mapping[str, Callable[[], dict[str, Any]]] = {
    "calibration": calibrations,
    "law": laws,
    "pair": pairs,
    "sum": sums,
    "tape": tapes,
}
"""For each type, the function that returns the contents of its file."""


def contents() -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each file."""
    for type_, make in FILES.items():
        yield f"{type_}.json", to_bytes(make())
