"""Features: whatever can be read off an output of any type, as one number for each output.

A number is a feature by itself, with its bits. A row, list, tuple, dict, set, dataclass, text or bytes is taken apart
into the numbers in it, and into its length, its type, the presence and order of its keys, and the order and differences
of its numbers. A feature is a pure function of outputs: it is NaN for an output that does not have it, because of
another shape or a missing key.
"""

from attacklab.attacks.features.atoms import hashes
from attacklab.attacks.features.features import Feature, features, numbers, taken_apart
from attacklab.attacks.features.values import NotUnderstood

__all__ = ["Feature", "NotUnderstood", "features", "hashes", "numbers", "taken_apart"]
