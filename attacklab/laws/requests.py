"""What a program writes while its law is sought: one request or announcement a line, in words.

    take K | coin N D | below N | begin call NAME ARG… | begin round NAME ARG… | end call VALUE… |
    end round rejected | end round accepted VALUE… | output VALUE… | error TEXT

docs/reference/protocol.md says what each means. The first three ask for a reply; the others do not.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from gmpy2 import mpq

from attacklab.laws.errors import LawError, SamplerFailed

MOST_BITS = 64
"""The most bits of one `take`, so that every language can hold the reply."""

MOST_DIGITS = 1000
"""The most decimal digits of an integer."""

MOST_CHARACTERS = 1 << 16
"""The longest line."""

BEGINNINGS = ("begin call ", "begin round ")
REJECTED = "end round rejected"

_INTEGER = re.compile(rf"0|[1-9][0-9]{{0,{MOST_DIGITS - 1}}}", re.ASCII)
_SIGNED = re.compile(rf"0|-?[1-9][0-9]{{0,{MOST_DIGITS - 1}}}", re.ASCII)
_HEX = re.compile(r"[+-]?0x([01])(?:\.([0-9a-f]{1,13}))?p([+-]?[0-9]{1,4})", re.IGNORECASE | re.ASCII)
_NAMED = {"null": None, "true": True, "false": False, "inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class NotInProtocol(LawError):
    """A program wrote a line that the protocol does not have, or one that is out of place."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A request for a random integer.

    Attributes:
        count: how many integers it may get.
        replies: these integers, likeliest first; all are equally likely if there is one share.
        shares: their probabilities (`gmpy2.mpq`).
    """

    count: int
    replies: Sequence[int]
    shares: tuple[Any, ...]

    def share(self, rank: int) -> Any:
        """The probability of the reply of this rank."""
        return self.shares[rank] if len(self.shares) > 1 else self.shares[0]


@dataclass(frozen=True, slots=True)
class Begin:
    """The begin of a call or of a round; the whole line names its law."""

    is_round: bool


@dataclass(frozen=True, slots=True)
class End:
    """The end of a call or of a round; the whole line says how."""

    is_round: bool


@dataclass(frozen=True, slots=True)
class Output:
    """The end of the run, with the outcome."""

    outcome: Any


Event: TypeAlias = Draw | Begin | End | Output


def parse(line: str) -> Event:
    """What a line means.

    Args:
        line: without the newline.

    Raises:
        NotInProtocol: the protocol does not have such a line; the message says what it has instead.
        SamplerFailed: the program says that its mechanism failed.
    """
    words = line.split(" ")
    if len(line) > MOST_CHARACTERS or not line.isascii() or not line.isprintable() or "" in words:
        raise NotInProtocol(
            f"it wrote {shown(line)}; a line must be words of printable ASCII with one space between them, "
            f"of at most {MOST_CHARACTERS} characters"
        )
    match words:
        case ["take", bits]:
            count = _integer(bits, line)
            if count > MOST_BITS:
                raise NotInProtocol(f"it wrote {shown(line)}; a take is of at most {MOST_BITS} bits: ask several times")
            return _uniform(1 << count)
        case ["coin", numerator, denominator]:
            return _coin(_integer(numerator, line), _integer(denominator, line), line)
        case ["below", size]:
            if not (bound := _integer(size, line)):
                raise NotInProtocol(f"it wrote {shown(line)}; there is no integer below 0 to draw: ask below 1 or more")
            return _uniform(bound)
        case ["begin", "call" | "round" as kind, _, *_]:
            return Begin(kind == "round")
        case ["end", "call", *_]:
            return End(False)
        case ["end", "round", "rejected"] | ["end", "round", "accepted", *_]:
            return End(True)
        case ["output", *values]:
            return Output(_outcome(values, line))
        case ["error", *text]:
            raise SamplerFailed(
                f"the program says that it failed: {' '.join(text) or 'no reason given'}; mend it, or "
                "write 'output null' if an adversary can see the failure"
            )
    if line.startswith("{"):
        raise NotInProtocol(
            f"it wrote {shown(line)}, an answer for `audit`; a program under proof writes requests such as 'take 1'"
        )
    raise NotInProtocol(
        f"it wrote {shown(line)}; write one line of the protocol: take K, coin N D, below N, begin call|"
        "round NAME ARGS, end call VALUES, end round rejected, end round accepted VALUES, output VALUES or error TEXT"
    )


def shown(line: str) -> str:
    """A line, quoted and shortened for a message."""
    return repr(line[:80]) + ("…" if len(line) > 80 else "")


def _integer(word: str, line: str) -> int:
    if not _INTEGER.fullmatch(word):
        raise NotInProtocol(
            f"it wrote {shown(line)}, where {shown(word)} is not a decimal integer of at most {MOST_DIGITS} digits"
        )
    return int(word)


def _coin(numerator: int, denominator: int, line: str) -> Draw:
    if not denominator or numerator > denominator:
        raise NotInProtocol(f"it wrote {shown(line)}; a coin N D must have 0 <= N <= D and D > 0")
    mass = mpq(numerator, denominator)
    sides = sorted(((share, reply) for reply, share in enumerate((1 - mass, mass)) if share), key=lambda side: -side[0])
    return Draw(len(sides), tuple(reply for _, reply in sides), tuple(share for share, _ in sides))


def _uniform(count: int) -> Draw:
    return Draw(count, range(count), (mpq(1, count),))


def _outcome(values: list[str], line: str) -> Any:
    outcomes = tuple(_value(value, line) for value in values)
    return outcomes[0] if len(outcomes) == 1 else outcomes


def _value(word: str, line: str) -> Any:
    if word in _NAMED:
        return _NAMED[word]
    if _SIGNED.fullmatch(word):
        return int(word)
    match = _HEX.fullmatch(word)
    if match is None:
        raise NotInProtocol(
            f"it wrote {shown(line)}, where {shown(word)} is not an output: an integer, a hex float such as "
            "0x1.8p+1, inf, -inf, nan, null, true or false"
        )
    leading, digits, exponent = match[1], match[2] or "", int(match[3])
    below_least = -(exponent - 4 * len(digits) + 1074)
    if below_least <= 0 or not int(leading + digits, 16) & ((1 << below_least) - 1):
        with contextlib.suppress(OverflowError):
            return float.fromhex(word)
    raise NotInProtocol(f"it wrote {shown(line)}, where {shown(word)} is not a binary64 number")
