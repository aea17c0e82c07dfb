"""The prepared form of an exact mechanism: everything that the records decide, before any random bit is drawn.

`prepare_…(records, *, …)` does what depends on the records alone and returns a `Release`, for many answers from the
same records; `exact_…(records, bits, *, …)` releases one answer.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mechanisms.randomness import RandomBits


class Release(Protocol):
    """Releases answers from what is left of the records, which is private; a refusal is None."""

    def one(self, bits: RandomBits) -> float | None:
        """Release one answer: the path that is plain to read and that an enumeration of its law runs."""

    def many(self, trials: int, bits: RandomBits) -> NDArray[np.float64] | list[float | None]:
        """Release `trials` independent answers with the law of `one`, all at once."""
