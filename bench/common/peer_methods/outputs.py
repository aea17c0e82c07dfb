"""The outputs that an audit draws, kept so that other methods get the very same."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attacklab.model.floats import Doubles
from attacklab.model.targets import Outputs

Release = Callable[[Doubles, int, np.random.Generator], Outputs]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Outputs of both inputs of a pair.

    Attributes:
        learning: of the first and of the second input, as many of either, to find an event from.
        judging: the same, to be looked at once by what was found.
    """

    learning: tuple[Outputs, Outputs]
    judging: tuple[Outputs, Outputs]


class Recorder:
    """A release that remembers its outputs by input, and how long it took to draw them."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._outputs: dict[bytes, list[Outputs]] = {}
        self._last: dict[bytes, None] = {}
        self.seconds = 0.0

    def __call__(self, answers: Doubles, trials: int, rng: np.random.Generator) -> Outputs:
        """As the release itself."""
        started = time.perf_counter()
        outputs = self._release(answers, trials, rng)
        self.seconds += time.perf_counter() - started
        key = np.asarray(answers, dtype=np.float64).tobytes()
        self._outputs.setdefault(key, []).append(outputs)
        self._last.pop(key, None)
        self._last[key] = None
        return outputs

    def drawn(self, judging: int) -> Drawn:
        """The outputs of the pair that was drawn from last: so many judged, and all before them were learned from.

        Args:
            judging: how many outputs of either input were drawn at the end.
        """
        sides = [np.concatenate(self._outputs[key]) for key in list(self._last)[-2:]]
        learning = min(map(len, sides)) - judging
        return Drawn(
            (sides[0][-judging - learning : -judging], sides[1][-judging - learning : -judging]),
            (sides[0][-judging:], sides[1][-judging:]),
        )
