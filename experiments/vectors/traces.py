"""The vectors of type `trace`: the coins and integers that an algorithm must ask for, given the replies so far."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from attacklab.random_bits import RandomBits
from attacklab.vectors import Case, Group, VectorFile
from experiments.vectors.notes import NOTES
from experiments.vectors.recorded_bits import RecordedBits
from experiments.vectors.samplers import ALGORITHMS, Algorithm, Setting
from mechanisms.coins import bernoulli, uniform_below

DESCRIPTION = (
    "The requests for randomness that a published algorithm makes, each with the reply that it gets, and its output. "
    "`coin n d` asks for 1 with probability n/d, `below n` for an integer uniform below n. A sampler whose arithmetic "
    "is exact makes these requests, however it reads its bits; one that rounds a ratio or divides big integers wrongly "
    "asks for another coin. Ratios are in lowest terms."
)

RUNS = 48
"""How many runs are made in a setting."""

MOST = 400
"""Runs of more requests are left out."""

COMPOUND = tuple(one for one in ALGORITHMS if one.name not in ("uniform_below", "bernoulli"))


class Recorder(RandomBits):
    """Answers what an algorithm asks for, and keeps it.

    Args:
        replies: what the replies are drawn from.
    """

    def __init__(self, replies: RandomBits) -> None:
        self._replies = replies
        self.requests: list[dict[str, Any]] = []

    def take(self, count: int) -> int:
        """A single bit is a fair coin; more are an integer below a power of two."""
        request = "coin 1 2" if count == 1 else f"below {1 << count}"
        return self._kept(request, self._replies.take(count))

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Run a sampler; coins and uniform integers are requests."""
        if sampler is bernoulli:
            coin = Fraction(*arguments)
            reply = bernoulli(coin, self._replies)
            return bool(self._kept(f"coin {coin.numerator} {coin.denominator}", int(reply)))
        if sampler is uniform_below:
            return self._kept(f"below {arguments[0]}", uniform_below(arguments[0], self._replies))
        return sampler(*arguments, self)

    def _kept(self, request: str, reply: int) -> int:
        self.requests.append({"request": request, "reply": reply})
        return reply


def traces() -> VectorFile:
    """The file."""
    return VectorFile("trace", DESCRIPTION, NOTES, [_group(one) for one in COMPOUND])


def _group(algorithm: Algorithm) -> Group:
    cases = [case for setting in algorithm.settings for case in _cases(algorithm.name, setting)]
    return Group(algorithm.name, algorithm.source, cases)


def _cases(name: str, setting: Setting) -> list[Case]:
    """The first run, and the shortest and the longest of all."""
    runs = [run for number in range(RUNS) if len((run := _run(name, setting, number))[0]) <= MOST]
    shortest, longest = (choose(runs, key=lambda run: len(run[0])) for choose in (min, max))
    chosen = [("the first", runs[0]), ("the shortest", shortest), ("the longest", longest)]
    cases: dict[str, Case] = {}
    for comment, (requests, output) in chosen:
        flags = [*_flags(setting), *(["LongRun"] if len(requests) > len(shortest[0]) else [])]
        fields = {"parameters": setting.parameters, "input": setting.input, "requests": requests, "output": output}
        cases.setdefault(str(requests), Case(f"{comment} of {RUNS} runs", flags or ["Basic"], fields))
    return list(cases.values())


def _flags(setting: Setting) -> list[str]:
    """Which flaws a setting is there for."""
    values = [Fraction(value) for value in setting.parameters.values() if isinstance(value, (int, Fraction))]
    return ["BiasedIntegers"] if any(value in (3, 9, 20, 25) for value in values) else []


def _run(name: str, setting: Setting, number: int) -> tuple[list[dict[str, Any]], Any]:
    recorder = Recorder(RecordedBits(f"{name} {dict(setting.parameters)} {setting.input} {number}"))
    return recorder.requests, setting.sampler(recorder)
