"""All true samplers of the zoo, class by class."""

from __future__ import annotations

from tests.attacklab.laws.zoo import comparisons, loops, objects
from tests.attacklab.laws.zoo.case import Case

TRUE: dict[str, tuple[Case, ...]] = {
    "loops": loops.CASES,
    "objects": objects.CASES,
    "comparisons": comparisons.CASES,
}
