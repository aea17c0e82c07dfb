"""The vectors of type `pair`: neighbours, an event, and its probabilities, sound and naive.

Naive implementations are textbook ones, defined so that they are the same on every machine: each draws one uniform
number k·2^−53, k in [0, 2^53), and rounds every operation to nearest in one format; exponentials and logarithms are
correctly rounded too. Libraries whose exponential is off by a last place differ by as much.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import gmpy2
from gmpy2 import mpq

from attacklab.laws import Bounds, exp_bounds
from attacklab.model.floats import BFLOAT16, BINARY16, BINARY32, BINARY64, Format
from experiments.vectors import distributions as of
from experiments.vectors.distributions import discrete_laplace_tail, exactly, laplace_tail, outward
from experiments.vectors.notes import case, file_of, fractions
from experiments.vectors.sums import widest
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.threshold import least_threshold

WORD = 1 << 53


def pairs() -> dict[str, Any]:
    """Return the contents of the file."""
    cases = {
        "exponential": [*_underflowing(), *_lost()],
        "randomized_response": _responses(),
        "discrete_laplace_on_integers": _bounded_noise(),
        "bounded_sum": _sums(),
        "mean_with_local_sensitivity": _means(),
        "partition_selection": _partitions(),
    }
    return file_of("pair", cases)


def _case(
    comment: str,
    flag: str,
    parameters: dict[str, Any],
    neighbours: Sequence[Any],
    event: dict[str, Any],
    sound: Sequence[Bounds],
    naive: Sequence[Bounds],
    implementation: str,
) -> dict[str, Any]:
    """Return a case; `sound` and `naive` have the event's probabilities on the first and on the second neighbour."""
    sides = ("first", "second")
    sound_sides, naive_sides = (
        dict(zip(sides, (outward(*ends) for ends in law), strict=True)) for law in (sound, naive)
    )
    fields = {"parameters": parameters, **dict(zip(sides, neighbours, strict=True))}
    fields["claim"] = {"epsilon": parameters["epsilon"], "delta": parameters.get("delta", Fraction(0))}
    fields |= {"event": event, "sound": sound_sides, "naive": {"implementation": implementation, **naive_sides}}
    return case(comment, [flag], fields)


def _rounding(format_: Format) -> gmpy2.context:
    """Return the context in which MPFR computes as the format does."""
    least = format_.least_exponent - format_.significand_bits + 2
    bits, greatest = format_.significand_bits, format_.greatest_exponent + 1
    return gmpy2.context(precision=bits, emin=least, emax=greatest, subnormalize=True, round=gmpy2.RoundToNearest)


def _naive_selection(utilities: Sequence[int], rate: Fraction, format_: Format) -> list[Fraction]:
    """Return the law of the first index whose cumulative weight share, of e^(rate·(u − max u)), exceeds a uniform."""
    best = max(utilities)
    with _rounding(format_):
        sums = [gmpy2.mpfr(0)]
        for utility in utilities:
            sums.append(sums[-1] + gmpy2.exp(gmpy2.mpfr(mpq(rate * (utility - best)))))
        reached = [int(-(-mpq(total / sums[-1]) * WORD // 1)) for total in sums]
    return [Fraction(high - low, WORD) for low, high in itertools.pairwise(reached)]


def _underflowing() -> Iterator[dict[str, Any]]:
    """Yield cases of two outcomes: the worse one can just be drawn, and on the neighbour it cannot."""
    for format_, epsilon in itertools.product((BINARY64, BINARY32, BFLOAT16, BINARY16), fractions("1/4 1/2 1 2")):
        drawn = itertools.takewhile(lambda u: _naive_selection([0, -u], epsilon / 2, format_)[1], itertools.count(1))  # noqa: B023
        depth = max(drawn, default=0)
        inputs = [[0, -depth], [0, -depth - 1]]
        yield _selected("a weight that vanishes", "TinyProbability", epsilon, inputs, 1, format_)


def _lost() -> Iterator[dict[str, Any]]:
    """Yield cases with enough equal outcomes that adding 1 no longer changes their sum; another outcome is lost."""
    heavy = [0] * (1 << BFLOAT16.significand_bits)
    for epsilon in fractions("1 3/2 2 5/2 3"):
        inputs = [[*heavy, 1], [*heavy, 0]]
        yield _selected("a weight that is lost in a sum", "LostInSum", epsilon, inputs, len(heavy), BFLOAT16)


def _selected(
    comment: str, flag: str, epsilon: Fraction, inputs: Sequence[list[int]], outcome: int, format_: Format
) -> dict[str, Any]:
    return _case(
        f"{comment}, {format_.name}",
        flag,
        {"epsilon": epsilon, "sensitivity": 1},
        inputs,
        {"outcomes": [outcome]},
        [of.exponential(utilities, epsilon / 2)[0][outcome] for utilities in inputs],
        [exactly(_naive_selection(utilities, epsilon / 2, format_)[outcome]) for utilities in inputs],
        f"cumulative sums of weights in {format_.name}",
    )


def _responses() -> Iterator[dict[str, Any]]:
    """Yield a case for each ε = k/16 at which rounding makes the truth more likely than the claim allows."""
    for epsilon in (Fraction(numerator, 16) for numerator in range(1, 65)):
        with _rounding(BINARY64):
            weight = gmpy2.exp(gmpy2.mpfr(mpq(epsilon)))
            keep = Fraction(int(-(-mpq(weight / (1 + weight)) * WORD // 1)), WORD)
        if keep / (1 - keep) > exp_bounds(epsilon).upper:
            yield _case(
                f"ε = {epsilon}",
                "FineRatio",
                {"epsilon": epsilon},
                [True, False],
                {"outcomes": [True]},
                [of.randomized_response(truth, epsilon)[0][True] for truth in (True, False)],
                [exactly(keep), exactly(1 - keep)],
                "a uniform binary64 number below the rounded probability",
            )


def _bounded_noise() -> Iterator[dict[str, Any]]:
    """Yield cases with an output beyond ⌊53·scale·ln 2⌋, the largest noise from one uniform number of 53 bits."""
    for scale in map(Fraction, (1, 2, 3, 4, 5, 7, 10, 20, 50, 100)):
        with gmpy2.context(precision=200):
            least = int(gmpy2.floor(53 * mpq(scale) * gmpy2.const_log2())) + 1
        yield _case(
            f"scale {scale}",
            "BoundedNoise",
            {"epsilon": 1 / scale, "sensitivity": 1},
            [1, 0],
            {"at_least": least},
            [discrete_laplace_tail(least - answer, scale) for answer in (1, 0)],
            [exactly(_tail_of_53_bits(least - answer, scale)) for answer in (1, 0)],
            "a fair sign and the floor of -scale ln(1 - u), u of 53 bits",
        )


def _tail_of_53_bits(least: int, scale: Fraction) -> Fraction:
    """Return P[±⌊−scale·ln(1 − u)⌋ ≥ least], fair sign, least > 0: half the share of k·2^−53 ≤ e^(−least/scale)."""
    (count,) = {int(end * WORD // 1) for end in exp_bounds(-least / scale)}
    return Fraction(count, 2 * WORD)


def _sums() -> Iterator[dict[str, Any]]:
    """Yield cases of the sums that move furthest, plus ideal Laplace noise; the event is an output ≥ the larger sum."""
    for data, rounded in widest("forward"):
        sides = sorted(zip(rounded, (data.first, data.second), strict=True), key=lambda side: -side[0])
        (threshold, _), _ = sides
        yield _case(
            f"{len(data.first)} records",
            "SumMovesFar",
            {"epsilon": 1, "bounds": [data.low, data.high], "relation": data.relation},
            [records for _, records in sides],
            {"at_least": threshold},
            [laplace_tail(Fraction(threshold) - sum(map(Fraction, records))) for _, records in sides],
            [laplace_tail(Fraction(threshold) - Fraction(total)) for total, _ in sides],
            "a sum from the first to the last record in binary64, with ideal Laplace noise",
        )


def _means() -> Iterator[dict[str, Any]]:
    """Yield cases of means of n and of n + 1 zeros in [0, 1], with noise scaled to 1/n and to 1/(n + 1)."""
    for size, threshold in ((size, Fraction(4)) for size in range(1, 13)):
        yield _case(
            f"{size} records against {size + 1}",
            "LocalSensitivity",
            {"epsilon": Fraction(1), "bounds": [0, 1], "relation": "add-remove"},
            [[0] * size, [0] * (size + 1)],
            {"at_least": threshold},
            [laplace_tail(threshold)] * 2,
            [laplace_tail(threshold * count) for count in (size, size + 1)],
            "the mean with ideal Laplace noise of scale bound/(n epsilon)",
        )


def _partitions() -> Iterator[dict[str, Any]]:
    """Yield cases of one person's key with integer noise and the threshold ⌊1 + ln(1/(2δ))/ε⌋, which is for reals."""
    for epsilon, delta in itertools.product(fractions("1/10 1/4 1/2 1 2"), fractions("1e-4 1e-5 1e-6 1e-7 1e-9")):
        right, usual = least_threshold(DiscreteLaplace(1 / epsilon), delta), 1
        while exp_bounds(-epsilon * usual).lower >= 2 * delta:
            usual += 1
        if usual < right:
            tails = [discrete_laplace_tail(threshold - 1, 1 / epsilon) for threshold in (right, usual)]
            yield _case(
                f"ε = {epsilon}, δ = {float(delta):g}",
                "MassAtThreshold",
                {"epsilon": epsilon, "delta": delta},
                [1, 0],
                {"outcomes": [True]},
                [tails[0], exactly(0)],
                [tails[1], exactly(0)],
                f"discrete Laplace noise and the threshold {usual} in place of {right}",
            )
