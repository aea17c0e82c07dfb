"""Broken and sound targets written apart from the attacks, to measure what a default audit finds.

`known` is the set on which attacks may be developed. A set that nobody looks at while working on attacks belongs into
a package `held_out` beside it, with the same `Specimen`.
"""

from experiments.detection.known import KNOWN
from experiments.detection.specimen import Specimen

SPECIMENS: tuple[Specimen, ...] = KNOWN
"""All of them, by class."""

__all__ = ["SPECIMENS", "Specimen"]
