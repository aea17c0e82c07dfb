"""Private counts of people."""

from __future__ import annotations

from typing import Any

LARGEST = 20


def count_people(count: int, bits: Any) -> int:
    """Release a count with two-sided geometric noise.

    Args:
        count: from 0 to 20; one person changes it by at most 1.
        bits: the source of random bits.

    Returns:
        The noisy count, clamped to 0 to 20. Noise n has a probability in proportion to 2^−|n|, so ε is ln 2 < 0.7.
    """
    noise: int = bits.repeat(_noise)
    return min(max(count + noise, 0), LARGEST)


def metered_count(count: int, bits: Any) -> tuple[int, int]:
    """Release a count with two-sided geometric noise, and how many random bits it took.

    Services that buy randomness charge their users for it, so each answer comes with its receipt.

    Args:
        count: from 0 to 20; one person changes it by at most 1.
        bits: the source of random bits.

    Returns:
        The noisy count, clamped to 0 to 20, and the number of bits. Noise n has a probability in proportion to
        2^−|n|, so ε is ln 2 < 0.7.
    """
    used = 0
    while True:
        size = 0
        while bits.take(1):
            size += 1
        negative = bits.take(1)
        used += size + 2
        if size or not negative:
            return min(max(count - size if negative else count + size, 0), LARGEST), used


def _noise(bits: Any) -> int | None:
    """One attempt; what is beyond ±20 is clamped whatever the count, so that the attempt may stop there."""
    size = 0
    while size < LARGEST and bits.take(1):
        size += 1
    negative = bits.take(1)
    if not size and negative:
        return None
    return -size if negative else size
