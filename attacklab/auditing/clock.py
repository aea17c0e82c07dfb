"""The seconds that an audit may take, and how many trials they leave time for.

Seconds are those in which the target and the attacks compute, or wait for something other than a processor: a busy
machine leaves as much time as an idle one. How long an output takes is seen from the calls that draw outputs to look
at. It says how many trials of an attack its share of the seconds leaves time for, in steps (1, 2, 5, 10, 20, …).

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
"""Outputs that take less are counted, at the price of vectorised code or of a call in Python: (below, price)."""

MEASURED, SHARE = 1_000, 500
"""Timed calls get longer until they draw this number of outputs, or take the seconds divided by the second number."""


class Clock:
    """Measures how long outputs take to draw, and what is left of the seconds."""

    def __init__(self, seconds: float, draws: Draws) -> None:
        self._seconds, self._draws = seconds, draws
        self._spent = self._charged = self._kept = 0.0
        self._rates: dict[int, float] = {}
        """The least seconds that an output took, by the size of its input."""

    @property
    def left(self) -> float:
        """The seconds that are left to plan with."""
        return max(0.0, self._seconds - self._charged)

    @property
    def limit(self) -> float:
        """The seconds after which the audit ends whatever was planned."""
        return max(0.0, self._seconds - self._spent)

    @property
    def rate(self) -> float:
        """The least seconds that an output took; infinite as long as none was drawn."""
        return min(self._rates.values(), default=math.inf)

    def rate_on(self, input_: Any) -> float:
        """The seconds of an output on an input of such a size; on any other as long as none was drawn on one."""
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
                f"there is no time left to look for scenarios: the target takes {rate:.2g} s for an output, so this "
                f"attack needs about {needed:.2g} s; raise --trials (in Python trials=, or seconds=)"
            )
        return self._timed(request)

    def charge(self, seconds: float, outputs: int, rate: float) -> None:
        """Subtract the cost of a number of outputs; for slow outputs, the seconds that passed."""
        self._spent += seconds
        self._charged += cost(outputs, rate) if rate < FAST else seconds

    def _measure(self, request: Request) -> None:
        """Draw an output, and again, as what the first call costs is not seen again; then ever more."""
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
    """The seconds that a number of outputs take at a rate; 0 before any output was drawn."""
    price = next((price for below, price in PRICES if rate < below), rate)
    return outputs * price if math.isfinite(price) else 0.0


def _size(input_: Any) -> int:
    """How large an input is, within a factor of 4."""
    try:
        return len(input_).bit_length() // 2
    except TypeError:
        return 0
