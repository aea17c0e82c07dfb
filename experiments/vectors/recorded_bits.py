"""Random bits that are named by a text, and remember what was taken of them."""

from __future__ import annotations

from hashlib import shake_256

from attacklab.random_bits import RandomBits


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
