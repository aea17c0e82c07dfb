"""The vectors of type `pair`: neighbours, an event, and its probabilities, sound and naive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from attacklab.laws import Bounds, exp_bounds
from attacklab.model.floats import BFLOAT16, BINARY16, BINARY32, BINARY64, Format
from attacklab.vectors import Case, Group, VectorFile
from experiments.vectors import distributions, naive_laws, sources
from experiments.vectors.distributions import exactly, outward
from experiments.vectors.notes import DESCRIPTIONS, NOTES
from experiments.vectors.samplers import fractions
from experiments.vectors.sums import widest
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.threshold import least_threshold

FORMATS = (BINARY64, BINARY32, BFLOAT16, BINARY16)
EPSILONS = fractions("1/4 1/2 1 2")


def pairs() -> VectorFile:
    """The file."""
    groups = [
        Group("exponential", sources.EXPONENTIAL, [*_underflowing(), *_lost()]),
        Group("randomized_response", sources.RESPONSE, list(_responses())),
        Group("discrete_laplace_on_integers", sources.DISCRETE_LAPLACE, list(_bounded_noise())),
        Group("bounded_sum", sources.SUM, list(_sums())),
        Group("mean_with_local_sensitivity", sources.LOCAL, list(_means())),
        Group("partition_selection", sources.PARTITIONS, list(_partitions())),
    ]
    return VectorFile("pair", DESCRIPTIONS["pair"], NOTES, groups)


def _case(
    comment: str,
    flag: str,
    parameters: dict[str, Any],
    neighbours: Sequence[Any],
    event: dict[str, Any],
    sound: Sequence[Bounds],
    implementation: str,
    naive: Sequence[Bounds],
) -> Case:
    """A case; the probabilities are those on the first and on the second neighbour."""
    sound_sides, naive_sides = (
        {side: outward(*bounds) for side, bounds in zip(("first", "second"), both, strict=True)}
        for both in (sound, naive)
    )
    fields = {
        "parameters": parameters,
        "first": neighbours[0],
        "second": neighbours[1],
        "claim": {"epsilon": parameters["epsilon"], "delta": parameters.get("delta", Fraction(0))},
        "event": event,
        "sound": sound_sides,
        "naive": {"implementation": implementation, **naive_sides},
    }
    return Case(comment, [flag], fields)


def _underflowing() -> Iterator[Case]:
    """Two outcomes; the worse one is the last that can be drawn, and its neighbour cannot."""
    for format_ in FORMATS:
        for epsilon in EPSILONS:
            depth = _last_drawn(epsilon / 2, format_)
            inputs = [[0, -depth], [0, -depth - 1]]
            yield _selected("a weight that vanishes", "TinyProbability", epsilon, inputs, 1, format_)


def _last_drawn(rate: Fraction, format_: Format) -> int:
    depth = 0
    while naive_laws.selection([0, -depth - 1], rate, format_)[1]:
        depth += 1
    return depth


def _lost() -> Iterator[Case]:
    """Equal outcomes up to where the format no longer counts in ones, and one more that the neighbour cannot reach."""
    heavy = [0] * (1 << BFLOAT16.significand_bits)
    for epsilon in fractions("1 3/2 2 5/2 3"):
        inputs = [[*heavy, 1], [*heavy, 0]]
        yield _selected("a weight that is lost in a sum", "LostInSum", epsilon, inputs, len(heavy), BFLOAT16)


def _selected(
    comment: str, flag: str, epsilon: Fraction, inputs: Sequence[list[int]], outcome: int, format_: Format
) -> Case:
    rate = epsilon / 2
    sound = [distributions.exponential(list(map(Fraction, utilities)), rate)[0][outcome] for utilities in inputs]
    naive = [exactly(naive_laws.selection(utilities, rate, format_)[outcome]) for utilities in inputs]
    return _case(
        f"{comment}, {format_.name}",
        flag,
        {"epsilon": epsilon, "sensitivity": 1},
        inputs,
        {"outcomes": [outcome]},
        sound,
        f"cumulative sums of weights in {format_.name}",
        naive,
    )


def _responses() -> Iterator[Case]:
    """The values of ε among k/16 at which rounding favours the truth."""
    for numerator in range(1, 65):
        epsilon = Fraction(numerator, 16)
        keep = naive_laws.response(epsilon, BINARY64)
        if keep / (1 - keep) <= exp_bounds(epsilon).upper:
            continue
        sound = [distributions.randomized_response(truth, epsilon)[0][True] for truth in (True, False)]
        yield _case(
            f"ε = {epsilon}",
            "FineRatio",
            {"epsilon": epsilon},
            [True, False],
            {"outcomes": [True]},
            sound,
            "a uniform binary64 number below the rounded probability",
            [exactly(keep), exactly(1 - keep)],
        )


def _bounded_noise() -> Iterator[Case]:
    """An output beyond the largest noise that one uniform number of 53 bits makes."""
    for scale in map(Fraction, (1, 2, 3, 4, 5, 7, 10, 20, 50, 100)):
        most = naive_laws.largest_noise(scale)
        far = [distributions.discrete_laplace_tail(most + 1 - answer, scale) for answer in (1, 0)]
        naive = [exactly(naive_laws.tail_of_noise(most + 1 - answer, scale)) for answer in (1, 0)]
        yield _case(
            f"scale {scale}",
            "BoundedNoise",
            {"epsilon": 1 / scale, "sensitivity": 1},
            [1, 0],
            {"at_least": most + 1},
            far,
            "a fair sign and the floor of -scale ln(1 - u), u of 53 bits",
            naive,
        )


def _sums() -> Iterator[Case]:
    """The sums of type `sum` that move furthest, with ideal Laplace noise added, at the larger of both."""
    for data, float_sums in widest("forward"):
        sides = sorted(zip(float_sums, (data.first, data.second), strict=True), key=lambda side: -side[0])
        (threshold, first), (lower, second) = sides
        exact = [sum(map(Fraction, records), Fraction(0)) for records in (first, second)]
        sound, naive = (
            [naive_laws.laplace_tail((Fraction(threshold) - Fraction(answer)) / data.sensitivity) for answer in answers]
            for answers in (exact, (threshold, lower))
        )
        yield _case(
            f"{len(data.first)} records",
            "SumMovesFar",
            {"epsilon": 1, "bounds": [data.low, data.high], "relation": data.relation},
            [first, second],
            {"at_least": threshold},
            sound,
            "a sum from the first to the last record in binary64, with ideal Laplace noise",
            naive,
        )


def _means() -> Iterator[Case]:
    """Records of 0 under a bound of 1: noise scaled to 1/n, against noise scaled to 1/(n + 1)."""
    for size in range(1, 13):
        threshold, epsilon = Fraction(4), Fraction(1)
        sound = [naive_laws.laplace_tail(epsilon * threshold)] * 2
        naive = [naive_laws.laplace_tail(epsilon * threshold * count) for count in (size, size + 1)]
        yield _case(
            f"{size} records against {size + 1}",
            "LocalSensitivity",
            {"epsilon": epsilon, "bounds": [0, 1], "relation": "add-remove"},
            [[0] * size, [0] * (size + 1)],
            {"at_least": threshold},
            sound,
            "the mean with ideal Laplace noise of scale bound/(n epsilon)",
            naive,
        )


def _partitions() -> Iterator[Case]:
    """A key of one person, named where the count with integer noise reaches a threshold made for continuous noise."""
    for epsilon in fractions("1/10 1/4 1/2 1 2"):
        for delta in fractions("1e-4 1e-5 1e-6 1e-7 1e-9"):
            right, usual = least_threshold(DiscreteLaplace(1 / epsilon), delta), usual_threshold(epsilon, delta)
            if usual >= right:
                continue
            sound, naive = (
                [distributions.discrete_laplace_tail(threshold - 1, 1 / epsilon), exactly(0)]
                for threshold in (right, usual)
            )
            yield _case(
                f"ε = {epsilon}, δ = {float(delta):g}",
                "MassAtThreshold",
                {"epsilon": epsilon, "delta": delta},
                [1, 0],
                {"outcomes": [True]},
                sound,
                f"discrete Laplace noise and the threshold {usual} in place of {right}",
                naive,
            )


def usual_threshold(epsilon: Fraction, delta: Fraction) -> int:
    """⌊1 + ln(1/(2δ))/ε⌋: the threshold for continuous noise, rounded down."""
    threshold = 1
    while exp_bounds(-epsilon * threshold).lower >= 2 * delta:
        threshold += 1
    return threshold
