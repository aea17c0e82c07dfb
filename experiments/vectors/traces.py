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


def traces() -> VectorFile:
    """The file."""
    return VectorFile("trace", DESCRIPTION, NOTES, [_group(one) for one in COMPOUND])


def _group(algorithm: Algorithm) -> Group:
    cases = [case for setting in algorithm.settings for case in _cases(algorithm, setting)]
    return Group(algorithm.name, algorithm.source, cases)


def _cases(algorithm: Algorithm, setting: Setting) -> list[Case]:
    """The first run, and the shortest and the longest of all."""
    runs = [run for number in range(RUNS) if len((run := _run(algorithm, setting, number))[0]) <= MOST]
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


def _run(algorithm: Algorithm, setting: Setting, number: int) -> tuple[list[dict[str, Any]], Any]:
    bits = RecordedBits(f"{algorithm.name} {dict(setting.parameters)} {setting.input} {number}")
    recorder = Recorder(lambda asked: _drawn(asked, bits))
    output = algorithm.output(setting, recorder)
    return recorder.requests, output


def _drawn(asked: Fraction | int, bits: RandomBits) -> int:
    return int(bernoulli(asked, bits)) if isinstance(asked, Fraction) else uniform_below(asked, bits)
