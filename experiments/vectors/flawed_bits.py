"""The exact samplers on flawed sources of bits, as they answer requests about vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attacklab.random_bits import RandomBits, SeededBits, TapedBits
from attacklab.vectors import read_value, written
from experiments.vectors import exact_twins
from experiments.vectors.flawed_answers import Answer, Answers, Request
from experiments.vectors.flawed_sources import Passing
from experiments.vectors.samplers import RUNS, Run
from experiments.vectors.traces import COMPOUND, Recorder

INTEGER_NOISE = ("two_sided_geometric", "discrete_laplace", "discrete_gaussian", "discrete_laplace_on_integers")
SAMPLERS = (
    *("uniform_below", "bernoulli", "bernoulli_exp", "randomized_response"),
    *(*INTEGER_NOISE, "discrete_laplace_on_a_grid", "two_sided_geometric_on_a_range"),
)
"""What flaws in bits are shown on; selections draw from the same coins."""


def by_bits(
    flawed: Callable[[RandomBits], RandomBits] | None = None,
    fresh: Callable[[np.random.Generator], RandomBits] | None = None,
    after: Callable[[Any], Any] = lambda output: output,
    only: Sequence[str] = SAMPLERS,
) -> Answers:
    """The exact samplers on bits that are not what they should be.

    Args:
        flawed: what stands between the samplers and their bits.
        fresh: the bits of one output, where each has its own; no tape and no replies can be put in their place, so
            that those are held to the sampler alone.
        after: what becomes of an output.
        only: the mechanisms that are asked.
    """
    wrap = flawed or Passing

    def sampled(runs: Mapping[str, Run], name: str) -> Callable[[Request], Answer]:
        def outputs(request: Request) -> Answer:
            rng = np.random.default_rng(request["seed"])
            common, input_ = SeededBits(rng), read_value(request["input"])
            bits = (wrap(fresh(rng) if fresh else common) for _ in range(request["trials"]))
            return {"outputs": [written(after(runs[name](request["parameters"], input_, one))) for one in bits]}

        return outputs

    def tape(request: Request) -> Answer:
        given = TapedBits(int(request["bits"], 2), length := len(request["bits"]))
        output = RUNS[request["mechanism"]](request["parameters"], read_value(request["input"]), wrap(given))
        return {"output": written(after(output)), "bits_used": written(length - given.left)}

    def trace(request: Request) -> Answer:
        replies = map(int, request["replies"])
        recorder = Recorder(lambda _: next(replies))
        output = RUNS[request["mechanism"]](request["parameters"], read_value(request["input"]), wrap(recorder))
        return {"requests": [one["request"] for one in recorder.requests], "output": written(after(output))}

    kinds = (("law", RUNS), ("pair", exact_twins.OF_PAIRS), ("special", exact_twins.SPECIAL))
    asked: dict[tuple[str, str], Callable[[Request], Answer]] = {
        (type_, name): sampled(runs, name) for type_, runs in kinds for name in runs
    }
    asked |= {("tape", name): tape for name in RUNS} | {("trace", one.name): trace for one in COMPOUND}
    return {key: one for key, one in asked.items() if key[1] in only}


def int32(output: int) -> int:
    """The nearest integer of 32 bits."""
    return min(max(output, -(1 << 31)), (1 << 31) - 1)
