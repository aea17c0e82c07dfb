"""The vectors of types `tape` and `trace`: what an algorithm makes of random bits, and which coins it asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from attacklab.model.random_bits import RandomBits
from attacklab.vectors import Case, Group, VectorFile
from experiments.vectors.notes import DESCRIPTIONS, NOTES
from experiments.vectors.recorded_bits import RecordedBits, Recorder
from experiments.vectors.samplers import ALGORITHMS, COMPOUND, IN_OUR_ORDER, Algorithm, Setting
from mechanisms.coins import bernoulli, uniform_below

RUNS = 48
"""How many runs are made in a setting."""

SPARE_BITS = 8
"""How many bits stand behind those that are used, for an implementation that takes too many."""

MOST_REQUESTS = 400
"""Runs of more requests are left out."""


@dataclass(frozen=True)
class _Run:
    """How long a run is, in bits or requests, and what its case holds."""

    length: int
    fields: dict[str, Any]


def tapes() -> VectorFile:
    """The file of tapes."""
    groups = _groups((*ALGORITHMS, *IN_OUR_ORDER), _taped, _tape_flags)
    return VectorFile("tape", DESCRIPTIONS["tape"], NOTES, groups)


def traces() -> VectorFile:
    """The file of traces."""
    return VectorFile("trace", DESCRIPTIONS["trace"], NOTES, _groups(COMPOUND, _traced, _trace_flags))


def _groups(
    algorithms: Iterable[Algorithm],
    run: Callable[[Algorithm, Setting, RecordedBits], _Run],
    flags: Callable[[Setting, str, bool], list[str]],
) -> list[Group]:
    return [
        Group(
            algorithm.name,
            algorithm.source,
            [c for setting in algorithm.settings for c in _cases(algorithm, setting, run, flags)],
        )
        for algorithm in algorithms
    ]


def _cases(
    algorithm: Algorithm,
    setting: Setting,
    run: Callable[[Algorithm, Setting, RecordedBits], _Run],
    flags: Callable[[Setting, str, bool], list[str]],
) -> list[Case]:
    """The first run, and the shortest and the longest of all."""
    name = f"{algorithm.name} {dict(setting.parameters)} {setting.input}"
    runs = [run(algorithm, setting, RecordedBits(f"{name} {number}")) for number in range(RUNS)]
    runs = [candidate for candidate in runs if "bits" in candidate.fields or candidate.length <= MOST_REQUESTS]
    shortest, longest = (choose(runs, key=lambda run: run.length) for choose in (min, max))
    cases: dict[str, Case] = {}
    for place, chosen in {"first": runs[0], "shortest": shortest, "longest": longest}.items():
        about = {"parameters": setting.parameters, "input": setting.input}
        flagged = flags(setting, place, chosen.length > shortest.length) or ["Basic"]
        cases.setdefault(str(chosen.fields), Case(f"the {place} of {RUNS} runs", flagged, {**about, **chosen.fields}))
    return list(cases.values())


def _taped(algorithm: Algorithm, setting: Setting, bits: RecordedBits) -> _Run:
    output = algorithm.output(setting, bits)
    return _Run(bits.used, {"bits": bits.first(bits.used + SPARE_BITS), "output": output, "bits_used": bits.used})


def _tape_flags(_: Setting, place: str, is_long: bool) -> list[str]:
    return ["LongRun"] if is_long and place == "longest" else []


def _traced(algorithm: Algorithm, setting: Setting, bits: RecordedBits) -> _Run:
    recorder = Recorder(lambda asked: _drawn(asked, bits))
    output = algorithm.output(setting, recorder)
    return _Run(len(recorder.requests), {"requests": recorder.requests, "output": output})


def _drawn(asked: Fraction | int, bits: RandomBits) -> int:
    return int(bernoulli(asked, bits)) if isinstance(asked, Fraction) else uniform_below(asked, bits)


def _trace_flags(setting: Setting, _: str, is_long: bool) -> list[str]:
    values = [Fraction(value) for value in setting.parameters.values() if isinstance(value, (int, Fraction))]
    biased = any(value in (3, 9, 20, 25) for value in values)
    return [*(["BiasedIntegers"] if biased else []), *(["LongRun"] if is_long else [])]
