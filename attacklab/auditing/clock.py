"""The seconds that an audit may take, and how many trials they leave time for.

Seconds are those in which the target and the attacks compute, or wait for something other than a processor: a busy
machine leaves as much time as an idle one. How long an output takes is measured when attacks draw outputs to look at.
From this follows how many trials an attack has time for in its share of the seconds, in steps (1, 2, 5, 10, 20, …).

Outputs that take less than `FAST` are not timed but counted, at one of two prices: then the findings depend on the
seed alone, on a fast machine and on a slow one. Slower targets get as many trials as there is time for.

Finding scenarios takes outputs as well. It may take half of what is left of the seconds; an attack that needs more is
inconclusive, and says how many seconds it takes.
"""

from __future__ import annotations

import math
from typing import Any

from attacklab.auditing.drawing import Drawn, Draws, Request
from attacklab.model.errors import OutOfTime

STEPS: tuple[int, ...] = tuple(factor * 10**power for power in range(7) for factor in (1, 2, 5))
"""The numbers of trials that there may be time for."""

FAST, PRICES = 1e-5, ((1e-6, 2e-7), (1e-5, 3e-6))
"""An output that takes fewer seconds than `FAST` is charged a price of `PRICES`, pairs (below, price): the price of the
first pair whose `below` exceeds its seconds. The first pair is for vectorised code, the second for a call in Python."""

MEASURED, SHARE = 1_000, 500
"""Timed calls draw more and more outputs, up to `MEASURED` of them or 1/`SHARE` of the audit's seconds."""


class Clock:
    """Measures how long outputs take to draw, and how many seconds are left."""

    def __init__(self, seconds: float, draws: Draws) -> None:
        self._seconds, self._draws = seconds, draws
        self._spent = self._charged = self._kept = 0.0
        self._rates: dict[int, float] = {}
        """The least seconds that an output took, by the size of its input."""

    @property
    def left(self) -> float:
        """The seconds that are left to plan with, where fast outputs count by their fixed price."""
        return max(0.0, self._seconds - self._charged)

    @property
    def limit(self) -> float:
        """The seconds that are really left: after these the audit ends, whatever was planned."""
        return max(0.0, self._seconds - self._spent)

    @property
    def rate(self) -> float:
        """The least seconds that any output took; infinite before an output was drawn."""
        return min(self._rates.values(), default=math.inf)

    def rate_on(self, input_: Any) -> float:
        """Return the least seconds that an output took on inputs of this size; `rate` if none was drawn on them."""
        return self._rates.get(_size(input_), self.rate)

    def keep_half(self) -> None:
        """From now on, keep half of the remaining seconds: refuse draws that would take more."""
        self._kept = self.left / 2

    def draw(self, request: Request) -> Drawn:
        """Draw outputs to look at.

        Raises:
            OutOfTime: the time that is left is too short for these outputs.
        """
        if _size(request.input_) not in self._rates:
            self._measure(request)
        seconds = cost(request.trials, rate := self.rate_on(request.input_))
        if self.left - seconds < max(self._kept, math.ulp(0.0)):
            needed = 2 * (self._seconds - self.left + seconds)
            raise OutOfTime(
                f"there is no time left to look for inputs and events: your function takes {rate:.3g} s for an output, "
                f"so this attack needs about {needed:.3g} s; set --trials (in Python trials=), which lifts the time "
                "limit, or in Python raise seconds="
            )
        return self._timed(request)

    def charge(self, seconds: float, outputs: int, rate: float) -> None:
        """Charge for outputs that took `seconds`: a fixed price if they are fast, these seconds if they are slow."""
        self._spent += seconds
        self._charged += cost(outputs, rate) if rate < FAST else seconds

    def _measure(self, request: Request) -> None:
        """Measure the rate: draw one output twice, because a first call costs more, then ever more outputs."""
        self._timed(request._replace(trials=1))
        trials = 1
        while trials == 1 or (trials < MEASURED and trials * self.rate_on(request.input_) < self._seconds / SHARE):
            self._timed(request._replace(trials=trials))
            trials *= 4

    def _timed(self, request: Request) -> Drawn:
        started, size = self._draws.now(), _size(request.input_)
        try:
            return self._draws(request)
        finally:
            elapsed = self._draws.now() - started
            self._rates[size] = min(self._rates.get(size, math.inf), elapsed / max(1, request.trials))
            self.charge(elapsed, request.trials, self._rates[size])


def cost(outputs: int, rate: float) -> float:
    """Return the seconds that outputs cost at a rate (seconds an output); 0 if the rate is infinite."""
    price = next((price for below, price in PRICES if rate < below), rate)
    return outputs * price if math.isfinite(price) else 0.0


def _size(input_: Any) -> int:
    """Return the size class of an input: lengths in one class differ by less than a factor of 4."""
    try:
        return len(input_).bit_length() // 2
    except TypeError:
        return 0
