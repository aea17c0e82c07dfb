"""Random bits that remember what was asked of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from hashlib import shake_256
from typing import Any

from attacklab.model.random_bits import RandomBits
from mechanisms.coins import bernoulli, uniform_below


class RecordedBits(RandomBits):
    """The bits of a hash, the same on every machine.

    Args:
        name: of the stream.
    """

    def __init__(self, name: str) -> None:
        self._name = name.encode()
        self._known = ""
        self.used = 0

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        start, self.used = self.used, self.used + count
        return int(self.first(self.used)[start:] or "0", 2)

    def first(self, count: int) -> str:
        """The first bits of the stream, whether they were taken or not."""
        if count > len(self._known):
            content = shake_256(self._name).digest(max(1 << 10, count // 4))
            self._known = "".join(f"{byte:08b}" for byte in content)
        return self._known[:count]


class Recorder(RandomBits):
    """Answers what an algorithm asks for, and keeps it.

    Args:
        reply: to a coin (its probability, a `Fraction`) 0 or 1, to an integer n one below n.
    """

    def __init__(self, reply: Callable[[Fraction | int], int]) -> None:
        self._reply = reply
        self.requests: list[dict[str, Any]] = []

    def take(self, count: int) -> int:
        """A single bit is a fair coin; more are an integer below a power of two."""
        return self._asked(Fraction(1, 2) if count == 1 else 1 << count)

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Run a sampler; coins and uniform integers are requests."""
        if sampler is bernoulli:
            return bool(self._asked(Fraction(*arguments)))
        if sampler is uniform_below:
            return self._asked(int(*arguments))
        return sampler(*arguments, self)

    def _asked(self, asked: Fraction | int) -> int:
        is_coin = isinstance(asked, Fraction)
        request = f"coin {asked.numerator} {asked.denominator}" if is_coin else f"below {asked}"
        reply = self._reply(asked)
        self.requests.append({"request": request, "reply": reply})
        return reply
