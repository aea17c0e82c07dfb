"""The seconds that an audit may take, and how many trials they leave time for.

Seconds are those in which the target and the attacks compute, or wait for something other than a processor: a busy
machine leaves as much time as an idle one. How long an output takes, and how long a call besides, is seen from the
calls that draw outputs to look at. That says how many trials of an attack its share of the seconds leaves time for, in
steps (1, 2, 5, 10, 20, …).

Outputs that take less than `FAST` are not timed but counted, at one of two prices: then the findings depend on the seed
alone, on a fast machine and on a slow one. Slower targets get as many trials as there is time for.

Finding scenarios takes outputs as well. It may take half of what is left of the seconds; an attack that needs more is
inconclusive, and says how many seconds it takes.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

from attacklab.auditing.drawing import Drawn, Draws, Request
from attacklab.model.errors import OutOfTime

STEPS: tuple[int, ...] = tuple(factor * 10**power for power in range(7) for factor in (1, 2, 5))
"""The numbers of trials that there may be time for."""

FAST, PRICES = 1e-5, ((1e-6, 2e-7), (1e-5, 3e-6))
"""Outputs that take less are counted, at the price of vectorised code or of a call in Python: (below, price)."""

MEASURED = 1_000
"""The first outputs are drawn in ever longer calls, up to this many, so that what a call costs is told from what an
output costs."""

FIRST_SHARE, LATER_SHARE = 50, 500
"""Until that takes the seconds that there are, divided by this: for the first input, and for inputs of other sizes."""


class Clock:
    """Takes the time that outputs take to draw.

    Args:
        seconds: how long they may take.
        now: gives the time.
    """

    def __init__(self, seconds: float, now: Callable[[], float]) -> None:
        self._seconds, self.now = seconds, now
        self._spent, self._charged, self._shortest = 0.0, 0.0, math.inf
        self._outputs: dict[int, float] = {}
        """The least seconds that an output took, by the size of its input."""
        self._kept: float | None = None
        self._is_doubted = True
        """Whether the rate is measured again before it first leaves no time: both outputs it is from may be held up."""

    @property
    def left(self) -> float:
        """The seconds that are left to plan with."""
        return max(0.0, self._seconds - self._charged)

    @property
    def limit(self) -> float:
        """The seconds after which the audit ends whatever was planned."""
        return max(0.0, self._seconds - self._spent)

    @property
    def output(self) -> float:
        """The least seconds that an output took; infinite as long as none was drawn."""
        return min(self._outputs.values(), default=math.inf)

    def output_on(self, input_: Any) -> float:
        """The seconds of an output on an input of such a size; on any other as long as none was drawn on one."""
        return self._outputs.get(_size(input_), self.output)

    def cost(self, outputs: int, calls: int = 0, output: float | None = None) -> float:
        """The seconds that so many outputs take in so many calls; none as long as no output was drawn."""
        output = self.output if output is None else output
        if not math.isfinite(output):
            return 0.0
        price = next((price for below, price in PRICES if output < below), None)
        return outputs * output + calls * max(0.0, self._shortest - output) if price is None else outputs * price

    def draw(self, draws: Draws, request: Request) -> Drawn:
        """`draws(request)`.

        Raises:
            OutOfTime: scenarios are looked for, and the time that is left is too short for these outputs.
        """
        if self._kept is not None:
            self._require_time(self._kept, draws, request)
        return self._timed(draws, request)

    def charge(self, seconds: float, outputs: int, output: float) -> None:
        """Take off what so many outputs cost, or the seconds themselves where outputs are slow."""
        self._spent += seconds
        self._charged += self.cost(outputs, output=output) if output < FAST else seconds

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """While scenarios are looked for: half of the seconds that are left now are kept."""
        self._kept = self.left / 2
        try:
            yield
        finally:
            self._kept = None

    def _require_time(self, kept: float, draws: Draws, request: Request) -> None:
        if _size(request.input_) not in self._outputs:
            self._measure(draws, request)
        output = self.output_on(request.input_)
        if not self._affords(request, kept) and self._is_doubted and output < self.left:
            self._is_doubted = False
            self._timed(draws, request._replace(trials=1))
        if not self._affords(request, kept):
            output = self.output_on(request.input_)
            needed = 2 * (self._seconds - self.left + self.cost(request.trials, output=output))
            raise OutOfTime(
                f"there is no time left to look for scenarios: the target takes {output:.2g} s for an output, so this "
                f"attack needs about {needed:.2g} s; raise --trials (in Python trials=, or seconds=)"
            )

    def _affords(self, request: Request, kept: float) -> bool:
        return self.left > 0 and self.left - self.cost(request.trials, output=self.output_on(request.input_)) >= kept

    def _measure(self, draws: Draws, request: Request) -> None:
        most = self._seconds / (LATER_SHARE if self._outputs else FIRST_SHARE)
        self._timed(draws, request._replace(trials=1))  # what the first call costs is not seen again
        size, before = 1, self._spent
        while size <= MEASURED and self._spent - before < most:
            self._timed(draws, request._replace(trials=size))
            size *= 4

    def _timed(self, draws: Draws, request: Request) -> Drawn:
        started, size = self.now(), _size(request.input_)
        try:
            return draws(request)
        finally:
            elapsed = self.now() - started
            self._shortest = min(self._shortest, elapsed)
            self._outputs[size] = min(self._outputs.get(size, math.inf), elapsed / max(1, request.trials))
            self.charge(elapsed, request.trials, self._outputs[size])


def _size(input_: Any) -> int:
    """How large an input is, within a factor of 4."""
    try:
        return len(input_).bit_length() // 2
    except TypeError:
        return 0
