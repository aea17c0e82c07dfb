"""Features: whatever can be read off an output of any type, as one number an output.

A number is a feature by itself, with its bits. A row, list, tuple, dict, set, dataclass, text or bytes is taken apart
into the numbers in it, and into its length, its type, the presence and order of its keys, and the order and differences
of its numbers. An event on a feature is a pure function of outputs: on an output that does not have the feature,
another shape or a missing key, it is NaN.
"""

from attacklab.attacks.features.atoms import hashes
from attacklab.attacks.features.features import Feature, features, numbers, taken_apart
from attacklab.attacks.features.values import NotUnderstood

__all__ = ["Feature", "NotUnderstood", "features", "hashes", "numbers", "taken_apart"]
