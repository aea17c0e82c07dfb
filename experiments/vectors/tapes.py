"""The vectors of type `tape`: bits, with the output that an algorithm makes of them and how many it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attacklab.vectors import Case, Group, VectorFile
from experiments.vectors.notes import NOTES
from experiments.vectors.recorded_bits import RecordedBits
from experiments.vectors.samplers import ALGORITHMS, IN_OUR_ORDER, Algorithm, Setting

DESCRIPTION = (
    "What an algorithm returns for a string of random bits, and how many of them it takes. `take(k)` reads the next k "
    "bits, the first of them the most significant. No publication fixes an order of bits, so these are for this "
    "project's exact algorithms, and for implementations that follow them bit by bit."
)

RUNS = 48
"""How many runs are made in a setting."""

SPARE = 8
"""How many bits stand behind those that are used, for an implementation that takes too many."""


@dataclass(frozen=True)
class _Run:
    bits: str
    output: Any
    used: int


def tapes() -> VectorFile:
    """The file."""
    return VectorFile("tape", DESCRIPTION, NOTES, [_group(one) for one in (*ALGORITHMS, *IN_OUR_ORDER)])


def _group(algorithm: Algorithm) -> Group:
    cases = [case for setting in algorithm.settings for case in _cases(algorithm, setting)]
    return Group(algorithm.name, algorithm.source, cases)


def _cases(algorithm: Algorithm, setting: Setting) -> list[Case]:
    """The first run, and the shortest and the longest of all."""
    runs = [_run(algorithm, setting, number) for number in range(RUNS)]
    shortest, longest = (choose(runs, key=lambda run: run.used) for choose in (min, max))
    chosen = [("the first", runs[0], "Basic"), ("the shortest", shortest, "Basic"), ("the longest", longest, "LongRun")]
    cases: dict[str, Case] = {}
    for comment, run, flag in chosen:
        flag = flag if run.used > shortest.used else "Basic"
        fields = {"parameters": setting.parameters, "input": setting.input, "bits": run.bits}
        case = Case(f"{comment} of {RUNS} runs", [flag], {**fields, "output": run.output, "bits_used": run.used})
        cases.setdefault(run.bits, case)
    return list(cases.values())


def _run(algorithm: Algorithm, setting: Setting, number: int) -> _Run:
    bits = RecordedBits(f"{algorithm.name} {dict(setting.parameters)} {setting.input} {number}")
    output = algorithm.output(setting, bits)
    return _Run(bits.first(bits.used + SPARE), output, bits.used)
