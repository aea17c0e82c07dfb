"""Uniform numbers whose bits are drawn as they are needed, followed along the bits of a threshold itself.

What is decided by comparing U with T must stay open as long as the bits of U are those of T, however many they are, and
must be decided once they differ. A sampler that gives up after so many bits, or whose precision ends somewhere, shows
itself here up to `FARTHEST` bits.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from checker.core.certificate import Refused
from checker.enclosures.elementary import Enclosure

FARTHEST = 600
"""How many bits are followed."""

_FURTHER = 16
"""How many bits a decision may take after the one that differs."""

_ROOM = 64
_PLACES = (200, FARTHEST - 40)
"""After so many bits the next 0, and the next 1, of the threshold is drawn as the other."""


class _Along:
    """The bits of a threshold, one of them the other way round."""

    def __init__(self, digits: str, drawn: int, turned: int) -> None:
        other = "1" if digits[turned] == "0" else "0"
        self._digits = digits[:turned] + other + digits[turned + 1 :]
        self.drawn, self._turned = drawn, turned

    def take(self, count: int) -> int:
        """Return the bits that follow."""
        if count != 1 or self.drawn > self._turned + _FURTHER:
            raise Refused(f"after {self.drawn} bits, {count} more are drawn for what is decided by {self._turned + 1}")
        self.drawn += 1
        return int(self._digits[self.drawn - 1])


def require_endless(
    decide: Callable[[int, int, Any], Any], threshold: Callable[[int], Enclosure], known: int, outcomes: tuple[Any, Any]
) -> int:
    """Check that U is compared with a threshold T as far as its bits are those of T, and rightly where they differ.

    Args:
        decide: `decide(leading, length, bits)` for a uniform U that begins with some bits.
        threshold: `threshold(bits)` encloses T, which is irrational, with a width of about 2^−bits.
        known: how many bits U begins with.
        outcomes: what is decided for U < T, and for U > T.

    Returns:
        How many bits were followed.

    Raises:
        Refused: it is decided too early, too late or wrongly.
    """
    digits = _digits(threshold)
    followed = 0
    for place in _PLACES:
        for digit, expected in zip("10", outcomes, strict=True):
            turned = digits.index(digit, place)
            bits = _Along(digits, known, turned)
            found = decide(int("0" + digits[:known], 2), known, bits)
            if bits.drawn <= turned:
                raise Refused(f"{bits.drawn} bits decide for {found!r}, which are those of a threshold")
            if type(found) is not type(expected) or found != expected:
                raise Refused(f"on the {turned + 1}th bit of a threshold {found!r} is decided, not {expected!r}")
            followed += bits.drawn
    return followed


def _digits(threshold: Callable[[int], Enclosure]) -> str:
    """Return the binary digits of a threshold."""
    low, high = (end * (1 << FARTHEST) for end in threshold(FARTHEST + _ROOM))
    first, last = low.__floor__(), high.__floor__()
    if first != last or not 0 < Fraction(first, 1 << FARTHEST) < 1:
        raise Refused(f"{FARTHEST} digits of a threshold are not known")
    return f"{first:0{FARTHEST}b}"
