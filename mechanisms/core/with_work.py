"""Claims on output and work together: for terms whose bits tell no more than the output, and two repairs for others.

Sources: Ratliff and Vadhan 2024, 'A Framework for Differential Privacy Against Timing Attacks' (arXiv 2409.05623), for
joint privacy of output and time, and random delays behind programs whose time is stable; Haeberlen, Pierce and Narayan
2011, 'Differential Privacy Under Fire', for a public time after which a public value is released.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mechanisms.core.claims import Claim, OutputAndWork, together
from mechanisms.core.inversion import undecided
from mechanisms.core.laws import Law
from mechanisms.core.noise import Noise
from mechanisms.core.numbers import convert, count
from mechanisms.core.rounding import fraction
from mechanisms.core.term import Mechanism, OneByOne, Prepared, Relation
from mechanisms.core.work import Work, but_for
from mechanisms.randomness import RandomBits

MOST_BITS = 1 << 20
"""Of a padded release, or of a delay on average: 128 KiB."""

_CLAIM_BITS = 128


class _Around(Mechanism):
    """A term that runs another one."""

    mechanism: Mechanism

    @property
    def relation(self) -> Relation | None:
        """The mechanism's."""
        return self.mechanism.relation


@dataclass(frozen=True)
class WithWork(_Around):
    """A mechanism that is run as it is, and whose claim covers the number of random bits that each release takes.

    Args:
        mechanism: one whose bits tell no more than the output but with a small probability; see `Mechanism.work`.

    Raises:
        ValueError: its work may depend on the data, or nobody has said that it does not; or the probability is above
            0, and its claim has no δ.
    """

    mechanism: Mechanism

    def __post_init__(self) -> None:
        if isinstance(self.mechanism.claim, OutputAndWork):
            raise ValueError("the claim covers work already")
        if self.work is None or self.work.moves:
            raise ValueError(
                f"nothing says that the bits of {type(self.mechanism).__name__} tell no more than its output; "
                "make it Padded, or Delayed if its work moves by a known number of bits"
            )
        self.claim  # noqa: B018 # there is one

    @property
    def work(self) -> Work | None:
        """The mechanism's."""
        return self.mechanism.work

    @property
    def claim(self) -> Claim:
        """The mechanism's of output and work, but for τ."""
        assert self.work is not None  # noqa: S101 # for types; it was required
        return OutputAndWork(but_for(self.mechanism.claim, self.work.otherwise))

    def prepared(self, data: Any) -> Prepared:
        """Look at the data; see `Mechanism.prepared`."""
        return self.mechanism.prepared(data)


def _few_bits(name: str, value: Any) -> int:
    bits = count(name, value)
    if bits > MOST_BITS:
        raise ValueError(f"{name} must be at most {MOST_BITS}, not {bits}")
    return bits


class _Spent(Exception):
    """No bit is left."""


class _Limited(RandomBits):
    """A part of a stream of bits."""

    def __init__(self, bits: RandomBits, left: int) -> None:
        self._bits, self.left = bits, left

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        if count > self.left:
            raise _Spent
        self.left -= count
        return self._bits.take(count)


@dataclass(frozen=True)
class Padded(_Around):
    """A mechanism that takes a public number of bits, whatever it draws: bits that it does not need are drawn as well.

    If it needs more, which happens with probability p at most on any data (`Mechanism.beyond`), a public output is
    released in place of its own. So what is released is the mechanism's but with probability p: δ + (1 + e^ε)·p. Of a
    loop with a public number of rounds this is the general case: so many bits have room for so many rounds.

    Args:
        mechanism: what is released.
        bits: how many bits each release takes.
        fallback: what is released if they do not suffice, a plain value.

    Raises:
        TypeError: `bits` is not an integer.
        ValueError: they are more than `MOST_BITS`, or there is no bound below 1 on how often they do not suffice, or
            it is above 0, and the mechanism's claim has no δ.
    """

    mechanism: Mechanism
    bits: int
    fallback: bool | int | float | None

    def __post_init__(self) -> None:
        convert(self, _few_bits, "bits")
        if not isinstance(self.fallback, bool | int | float | None):
            raise TypeError(f"fallback must be a plain number or None, not {type(self.fallback).__name__}")
        if self.mechanism.beyond(self.bits) >= 1:
            name = type(self.mechanism).__name__
            raise ValueError(f"nothing says that {name} takes {self.bits} bits or fewer most of the time; allow more")
        self.claim  # noqa: B018 # there is one

    @property
    def work(self) -> Work:
        """So many bits, always."""
        return Work(self.bits)

    @property
    def claim(self) -> Claim:
        """The mechanism's, but for the probability that bits do not suffice."""
        return but_for(self.mechanism.claim, self.mechanism.beyond(self.bits))

    def prepared(self, data: Any) -> OneByOne:
        """Look at the data; see `Mechanism.prepared`."""
        inner = self.mechanism.prepared(data)
        return OneByOne(lambda bits: self._padded(inner, bits))

    def _padded(self, inner: Prepared, bits: RandomBits) -> Any:
        limited = _Limited(bits, self.bits)
        try:
            output = inner.one(limited)
        except _Spent:
            output = self.fallback
        bits.take(limited.left)
        return output


@dataclass(frozen=True)
class Delayed(_Around):
    """A mechanism whose work moves by a known number of bits d, followed by a random number of bits that are not used.

    The bits of the mechanism are c + f(O), |c − c′| ≤ d, but with probability τ. Behind them come the bits of a draw of
    noise Z by inversion, 64 but with a probability, and a delay of `most` + Z bits, clamped to [0, 2·`most`], which it
    is with probability 2·P[Z > `most`]. Z is independent of O. So but with these three probabilities together, O and
    the work are a public function of O and of c + Z, and c + Z loses what the law loses by a shift of d.

    This is a delay of work: of time it would be one if time moved by a known number of nanoseconds, which nobody here
    knows.

    Args:
        mechanism: one whose bits differ between neighbours by a known number more than the output tells.
        law: of Z, of pure DP, in bits.
        most: how far Z reaches; the mean of the delay, in bits.

    Raises:
        TypeError: `most` is not an integer.
        ValueError: the mechanism's work does not move by a known number, no rule adds up the claims, the noise is too
            wide, or `most` is more than `MOST_BITS`.
    """

    mechanism: Mechanism
    law: Law
    most: int

    def __post_init__(self) -> None:
        convert(self, _few_bits, "most")
        work = self.mechanism.work
        if work is None or not work.moves:
            raise ValueError(
                f"the work of {type(self.mechanism).__name__} does not move by a known number of bits; "
                "take WithWork if it does not move, or else Padded"
            )
        Noise(self.law)  # checks that it fits
        self.claim  # noqa: B018 # there is one

    @property
    def claim(self) -> Claim:
        """The mechanism's and that of the delay together, but for the three probabilities."""
        work = self.mechanism.work
        assert work is not None  # noqa: S101 # for types; it was required
        clamped = 2 * fraction(self.law.tail(self.most + 1, _CLAIM_BITS).upper)
        both = together(self.mechanism.claim, self.law.loss(work.moves))
        return OutputAndWork(but_for(both, work.otherwise + undecided(self.law) + clamped))

    def prepared(self, data: Any) -> OneByOne:
        """Look at the data; see `Mechanism.prepared`."""
        inner, noise = self.mechanism.prepared(data), Noise(self.law)
        return OneByOne(lambda bits: self._delayed(inner, noise, bits))

    def _delayed(self, inner: Prepared, noise: Noise, bits: RandomBits) -> Any:
        output = inner.one(bits)
        bits.take(min(max(self.most + noise.one(bits), 0), 2 * self.most))
        return output
