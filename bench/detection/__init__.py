"""Broken and sound targets written apart from the attacks, to measure what a default audit finds.

`known` is the set on which attacks may be developed; `held_out` is one that nobody looks at while working on attacks.
"""

from bench.detection.known import KNOWN
from bench.detection.specimen import Specimen

SPECIMENS: tuple[Specimen, ...] = KNOWN
"""Those that are known, by class."""

__all__ = ["SPECIMENS", "Specimen"]
