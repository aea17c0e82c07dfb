"""Implementations with known flaws, one each: what each type of vectors can ask of them, and what they answer.

The mechanisms are the naive twins of `mechanisms/`, and others that libraries or textbooks have, of `naive_twins`. An
implementation is asked about every mechanism of which it is one, in each type of vectors that has this mechanism. Those
that compare one uniform number answer with exact probabilities, the others with samples. So that a case shows the flaw
it is there for, inputs outside the domain are put into it first, except where the flaw is that nobody does so.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import ml_dtypes

from attacklab.errors import UsageError
from attacklab.laws import LawError
from attacklab.random_bits import TapeEnded
from attacklab.vectors.program import Failed, Skipped
from experiments.vectors import exact_twins
from experiments.vectors.flawed_answers import NO_VECTORS, Answer, Answers, Request, by_law, by_samples, naive_twin
from experiments.vectors.flawed_arithmetic import (
    MEANS,
    OTHER_FORMULAS,
    THRESHOLDS,
    added_one_by_one,
    always_nearest,
    by_division,
    clipped_sum,
    formulas,
    in_order,
    rounded_twice,
    sum_over_count,
    sums_by,
    wrong_to_nearest,
)
from experiments.vectors.flawed_bits import INTEGER_NOISE, by_bits, int32
from experiments.vectors.flawed_draws import (
    NOISE,
    counted_in_loops,
    float_noise,
    noise_by_logarithm,
    rounded_response,
    selection,
    selection_by_law,
    short_noise,
)
from experiments.vectors.flawed_sources import (
    DoubleCoins,
    FiftyThreeBits,
    OneAttempt,
    Remainders,
    seeded_by_a_clock,
    seeded_once,
    twisted,
)
from mechanisms.exponential.naive import (
    naive_exponential,
    naive_exponential_low_precision,
    naive_exponential_stabilised,
)
from mechanisms.noisy_max.naive import naive_exponential_noisy_max, naive_gumbel_noisy_max
from mechanisms.summation.naive import correctly_rounded_sum, numpy_sum


@dataclass(frozen=True)
class Flawed:
    """An implementation.

    Attributes:
        name: what it is called in tables.
        wrong: what is wrong with it, in a few words.
        answers: what it answers.
        flaws: the flaws that it stands for, by their names in `attacklab.flaws`.
    """

    name: str
    wrong: str
    answers: Answers
    flaws: Sequence[str] = field(default=())

    def answer(self, request: Request, *_forms: Sequence[str]) -> Answer:
        """The answer to a request, as a program gives it.

        Raises:
            Skipped: it is not an implementation of this mechanism.
            Failed: it raised.
        """
        key = request["type"], request["mechanism"]
        if key not in self.answers:
            raise Skipped
        parameters = {name: exact_twins.read(value) for name, value in request.get("parameters", {}).items()}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of numpy, about what is wrong here on purpose
                return self.answers[key]({**request, "parameters": parameters})
        except (ArithmeticError, ValueError, LawError, TapeEnded, StopIteration) as error:
            if isinstance(error, UsageError):
                raise
            raise Failed(str(error)) from error


IMPLEMENTATIONS = (
    Flawed(
        "weights as they come",
        "exp overflows, and NaN and infinity make every weight NaN",
        selection_by_law(naive_exponential, bare=True),
        ("score_overflow", "zero_rounding", "special_values"),
    ),
    Flawed(
        "weights below the largest",
        "a light weight underflows, or the uniform number is too coarse for it",
        selection_by_law(naive_exponential_stabilised),
        ("zero_rounding",),
    ),
    Flawed(
        "weights in bfloat16",
        "a light weight is lost in the sum",
        selection_by_law(partial(naive_exponential_low_precision, dtype=ml_dtypes.bfloat16)),
        ("truncated_addition",),
    ),
    Flawed(
        "noisy max, Gumbel noise",
        "the noise has a largest value, so that outcomes far behind are never drawn",
        selection(naive_gumbel_noisy_max),
        ("lost_weights",),
    ),
    Flawed(
        "noisy max, exponential noise",
        "the noise has a largest value, so that outcomes far behind are never drawn",
        selection(naive_exponential_noisy_max, "permute_and_flip"),
        ("lost_weights",),
    ),
    Flawed(
        "permute-and-flip, not permuted",
        "outcomes are flipped in their own order",
        naive_twin("law", "permute_and_flip"),
    ),
    Flawed(
        "randomized response",
        "the probability of the truth is rounded",
        {(type_, "randomized_response"): by_law(rounded_response) for type_ in ("law", "pair")},
    ),
    Flawed("ε as the probability", "the truth is told with probability ε", naive_twin("law", "randomized_response")),
    Flawed(
        "remainders of random words",
        "some integers come too often",
        by_bits(Remainders),
        ("lattice_bias",),
    ),
    Flawed(
        "coins of doubles, on bits",
        "the probability of a coin is rounded to the nearest double",
        {**by_bits(DoubleCoins), **naive_twin("law", "bernoulli")},
    ),
    Flawed(
        "coins of one uniform double",
        "a coin is a number of 53 bits that is at most the rounded probability",
        by_bits(FiftyThreeBits),
    ),
    Flawed(
        "one attempt",
        "a rejected round is an error",
        {key: one for key, one in by_bits(OneAttempt).items() if key[0] in ("law", "tape", "trace")},
    ),
    Flawed("noise in int32", "noise is cut off at 32 bits", by_bits(after=int32, only=INTEGER_NOISE)),
    Flawed(
        "integer noise by a logarithm",
        "0 comes twice, and noise of one uniform number ends somewhere",
        {
            **{("law", name): by_samples(noise_by_logarithm) for name in ("two_sided_geometric", "discrete_laplace")},
            **naive_twin("pair", "discrete_laplace_on_integers"),
        },
    ),
    Flawed(
        "geometric variates in loops",
        "the work tells the noise; the ratio is rounded",
        {
            **{("law", name): by_samples(counted_in_loops) for name in ("two_sided_geometric", "discrete_laplace")},
            ("pair", "discrete_laplace_on_integers"): by_samples(counted_in_loops),
            ("special", "two_sided_geometric_on_a_range"): by_samples(counted_in_loops),
        },
        ("work",),
    ),
    Flawed("one seed for all", "every output has the same noise", by_bits(fresh=seeded_once), ("repeated_noise",)),
    Flawed("seeds of 16 bits", "the noise is one of 65,536", by_bits(fresh=seeded_by_a_clock), ("generator_seed",)),
    Flawed(
        "a Mersenne Twister", "outputs tell the state of the generator", by_bits(fresh=twisted), ("generator_state",)
    ),
    Flawed(
        "Laplace noise of numpy",
        "low bits of an output tell the answer; an integer answer is rounded to a double",
        dict.fromkeys(NOISE, by_samples(float_noise)),
        ("low_bit_laplace", "precision", "integer_cast"),
    ),
    Flawed(
        "Laplace noise, seeded by a clock",
        "the noise is one of 65,536 doubles",
        dict.fromkeys(NOISE, by_samples(short_noise)),
        ("generator_seed", "low_bit_laplace"),
    ),
    Flawed("Gaussian noise in doubles", "low bits of an output tell the answer", NO_VECTORS, ("low_bit_gaussian",)),
    Flawed("sum of ages in int16", "the sum wraps around", NO_VECTORS, ("sum_sensitivity",)),
    Flawed("propose-test-release", "records are not clipped", NO_VECTORS, ("missing_clip",)),
    Flawed("sample and aggregate", "the place of a record decides on its chunk", NO_VECTORS, ("position_chunks",)),
    Flawed("sum, first to last", "partial sums are rounded", sums_by(in_order("forward")), ("sum_sensitivity",)),
    Flawed("sum by halves", "partial sums are rounded", sums_by(in_order("pairwise")), ("sum_sensitivity",)),
    Flawed("sum by Kahan", "the sum is rounded", sums_by(in_order("compensated")), ("sum_sensitivity",)),
    Flawed("sum of numpy", "partial sums are rounded", sums_by(numpy_sum), ("sum_sensitivity",)),
    Flawed(
        "sum, correctly rounded",
        "the sum is rounded once, to a grid that the sensitivity does not fit",
        sums_by(correctly_rounded_sum),
        ("sum_sensitivity",),
    ),
    Flawed(
        "sum with np.clip",
        "clipping lets NaN through",
        {("special", "bounded_sum"): by_samples(clipped_sum)},
        ("special_values",),
    ),
    Flawed(
        "sum that refuses",
        "a record outside its bounds is an error",
        naive_twin("special", "bounded_sum"),
        ("special_values",),
    ),
    Flawed(
        "mean of the records",
        "it divides by the number of records",
        naive_twin("special", "bounded_mean"),
        ("failing_size", "special_values"),
    ),
    Flawed(
        "count that refuses −0",
        "−0 and signals of the processor are errors",
        naive_twin("special", "discrete_laplace_on_a_grid"),
        ("special_values",),
    ),
    Flawed(
        "answers as int64",
        "an answer of more than 64 bits is an error",
        naive_twin("special", "two_sided_geometric_on_a_range"),
        ("special_values",),
    ),
    Flawed(
        "mean, noise for this database",
        "noise is scaled to the local sensitivity",
        naive_twin("pair", "mean_with_local_sensitivity"),
        ("local_sensitivity",),
    ),
    Flawed(
        "noisy sum over noisy count",
        "each spends the whole budget",
        dict.fromkeys(MEANS, by_samples(sum_over_count)),
        ("double_budget",),
    ),
    Flawed(
        "threshold for continuous noise",
        "the probability at the threshold is forgotten",
        {**naive_twin("pair", "partition_selection"), **formulas(*THRESHOLDS)},
    ),
    Flawed("classical σ", "it holds for ε < 1 only", formulas("gaussian_sigma")),
    Flawed("budgets added in doubles", "their sum is rounded", formulas("budget_total")),
    Flawed("other formulas in doubles", "they are rounded to nearest, or cancel", formulas(*OTHER_FORMULAS)),
    Flawed(
        "division of two doubles",
        "numerator and denominator are rounded first (examples/vectors/consumer.js)",
        {("rounding", "binary64"): wrong_to_nearest(by_division)},
    ),
    Flawed(
        "rounding by way of doubles",
        "numbers are rounded twice",
        {("rounding", name): wrong_to_nearest(rounded_twice) for name in ("binary32", "bfloat16", "binary16")},
    ),
    Flawed(
        "terms added one by one",
        "partial sums are rounded",
        {("rounding", "sum_of_binary64"): wrong_to_nearest(added_one_by_one)},
        ("sum_sensitivity",),
    ),
    Flawed(
        "rounding to nearest always",
        "the mode is ignored",
        {("rounding", name): always_nearest for name in ("binary64", "binary32", "bfloat16", "binary16")},
    ),
)
"""One row of the table each."""
