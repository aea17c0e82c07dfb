"""How an implementation with a flaw answers requests about vectors: by samples, by exact numbers, or on flawed bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from attacklab.laws import one_uniform, step_law
from attacklab.model.random_bits import RandomBits, SeededBits
from attacklab.vectors import read_value, written
from experiments.vectors import exact_twins
from experiments.vectors.flawed_sources import FlawedBits
from experiments.vectors.samplers import COMPOUND, RUNS, Run

Request: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = dict[str, Any]
Parameters: TypeAlias = Mapping[str, Any]
Answers: TypeAlias = Mapping[tuple[str, str], Callable[[Request], Answer]]
"""What is answered, by the type of the vectors and the mechanism."""

Release: TypeAlias = Callable[[Parameters, Any, int, np.random.Generator], Any]
"""Outputs by parameters, input, number of trials and generator."""

INTEGER_NOISE = ("two_sided_geometric", "discrete_laplace", "discrete_gaussian", "discrete_laplace_on_integers")
SAMPLERS = (
    *("uniform_below", "bernoulli", "bernoulli_exp", "randomized_response"),
    *(*INTEGER_NOISE, "discrete_laplace_on_a_grid", "two_sided_geometric_on_a_range"),
)
"""What flaws in bits are shown on; selections draw from the same coins."""


def by_samples(release: Release) -> Callable[[Request], Answer]:
    """Outputs of a generator that is seeded as the request says."""

    def outputs(request: Request) -> Answer:
        rng = np.random.default_rng(request["seed"])
        return {"outputs": written(list(release(request["parameters"], _input(request), request["trials"], rng)))}

    return outputs


def by_draws(draw: Callable[[Parameters, Any, np.random.Generator], Any]) -> Callable[[Request], Answer]:
    """Outputs that are drawn one by one."""
    return by_samples(lambda of, input_, trials, rng: [draw(of, input_, rng) for _ in range(trials)])


def by_law(release: Release) -> Callable[[Request], Answer]:
    """The law of a release that compares one uniform number with thresholds, or the probability of the event."""

    def law(request: Request) -> Answer:
        of = request["parameters"]
        masses = step_law(one_uniform(lambda data, trials, rng: release(of, data, trials, rng), _input(request))).masses
        if request["type"] == "law":
            return {"law": written([[outcome, mass] for outcome, mass in masses.items()])}
        event = [read_value(outcome) for outcome in request["event"]["outcomes"]]
        within = [mass for outcome, mass in masses.items() if outcome in event]
        return {"probability": written(sum(within, Fraction(0)))}

    return law


def by_probability(of_event: Callable[[Parameters, Any, Mapping[str, Any]], Any]) -> Callable[[Request], Answer]:
    """The probability of an event, which is far too small for samples, or whose excess is."""

    def answer(request: Request) -> Answer:
        event = {name: read_value(value) for name, value in request["event"].items()}
        return {"probability": written(of_event(request["parameters"], _input(request), event))}

    return answer


def by_bits(
    flawed: Callable[[RandomBits], RandomBits] = FlawedBits,
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

    def sampled(run: Run) -> Callable[[Request], Answer]:
        def outputs(of: Parameters, input_: Any, trials: int, rng: np.random.Generator) -> list[Any]:
            common = SeededBits(rng)
            bits = (flawed(fresh(rng) if fresh else common) for _ in range(trials))
            return [after(run(of, input_, source)) for source in bits]

        return by_samples(outputs)

    def once(answered: Callable[[Request, Run], Answer]) -> Callable[[Request], Answer]:
        def answer(request: Request) -> Answer:
            def run(of: Parameters, input_: Any, bits: Any) -> Any:
                return after(RUNS[request["mechanism"]](of, input_, flawed(bits)))

            return answered(request, run)

        return answer

    kinds = {"law": RUNS, "pair": exact_twins.OF_PAIRS, "special": exact_twins.SPECIAL}
    answers = {(type_, name): sampled(run) for type_, runs in kinds.items() for name, run in runs.items()}
    answers |= {("tape", name): once(exact_twins.taped) for name in RUNS}
    answers |= {("trace", algorithm.name): once(exact_twins.traced) for algorithm in COMPOUND}
    return {key: answer for key, answer in answers.items() if key[1] in only}


def _input(request: Request) -> Any:
    return read_value(request["input"])
