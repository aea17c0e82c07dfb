"""Implementations with known flaws, one each: what each type of vectors can ask of them, and what they answer.

The mechanisms are the naive twins of `mechanisms/`, and others that libraries or textbooks have. An implementation is
asked about every mechanism of which it is one, in each type of vectors that has this mechanism. Those that compare one
uniform number answer with exact probabilities, the others with samples. So that a case shows the flaw it is there for,
inputs outside the domain are put into it first, except where the flaw is that nobody does so.
"""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import ml_dtypes

from attacklab.laws import LawError
from attacklab.model.errors import UsageError
from attacklab.model.random_bits import TapeEnded
from attacklab.vectors.program import Failed, Skipped
from experiments.vectors import exact_twins
from experiments.vectors import flawed_mechanisms as flawed
from experiments.vectors.flawed_answers import (
    INTEGER_NOISE,
    Answer,
    Answers,
    Request,
    by_bits,
    by_draws,
    by_law,
    by_probability,
    by_samples,
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


class Flawed(NamedTuple):
    """An implementation.

    Attributes:
        name: what it is called in tables.
        wrong: what is wrong with it, in a few words.
        flaws: the flaws that it stands for, by their names in `attacklab.auditing.flaws`.
        answers: what it answers; nothing where it is no mechanism that vectors ask for.
    """

    name: str
    wrong: str
    flaws: Sequence[str]
    answers: Answers

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


def _each(type_: str, *mechanisms: str, by: Callable[[Request], Answer]) -> Answers:
    return {(type_, name): by for name in mechanisms}


_bfloat16 = partial(naive_exponential_low_precision, dtype=ml_dtypes.bfloat16)
_attempts = {key: answer for key, answer in by_bits(OneAttempt).items() if key[0] in ("law", "tape", "trace")}
_logarithm, _loops = by_draws(flawed.noise_by_logarithm), by_samples(flawed.counted_in_loops)
_laplace, _clock = by_samples(flawed.float_noise), by_draws(flawed.short_noise)
_division, _quotient = by_samples(flawed.sum_over_count), flawed.wrong_to_nearest(flawed.by_division)
_terms, _twice = (flawed.wrong_to_nearest(number) for number in (flawed.added_one_by_one, flawed.rounded_twice))
_response = by_law(flawed.rounded_response)


def _int32(output: int) -> int:
    return min(max(output, -(1 << 31)), (1 << 31) - 1)


NO_VECTORS: Answers = {}

_ANSWERS: Mapping[str, Answers] = {
    "weights as they come": flawed.selection_by_law(naive_exponential, bare=True),
    "weights below the largest": flawed.selection_by_law(naive_exponential_stabilised),
    "weights in bfloat16": flawed.selection_by_law(_bfloat16),
    "noisy max, Gumbel noise": flawed.selection(naive_gumbel_noisy_max),
    "noisy max, exponential noise": flawed.selection(naive_exponential_noisy_max, "permute_and_flip"),
    "permute-and-flip, not permuted": _each("law", "permute_and_flip", by=by_draws(flawed.first_kept)),
    "randomized response": {(type_, "randomized_response"): _response for type_ in ("law", "pair")},
    "ε as the probability": _each("law", "randomized_response", by=by_draws(flawed.response_of_epsilon)),
    "remainders of random words": by_bits(Remainders),
    "coins of doubles, on bits": {**by_bits(DoubleCoins), ("law", "bernoulli"): flawed.rounded_coin},
    "coins of one uniform double": by_bits(FiftyThreeBits),
    "one attempt": _attempts,
    "noise in int32": by_bits(after=_int32, only=INTEGER_NOISE),
    "integer noise by a logarithm": {
        **_each("law", "two_sided_geometric", "discrete_laplace", by=_logarithm),
        **_each("pair", "discrete_laplace_on_integers", by=by_probability(flawed.tail_by_logarithm)),
    },
    "geometric variates in loops": {
        **_each("law", "two_sided_geometric", "discrete_laplace", by=_loops),
        ("pair", "discrete_laplace_on_integers"): _loops,
        ("special", "two_sided_geometric_on_a_range"): _loops,
    },
    "one seed for all": by_bits(fresh=seeded_once),
    "seeds of 16 bits": by_bits(fresh=seeded_by_a_clock),
    "a Mersenne Twister": by_bits(fresh=twisted),
    "Laplace noise of numpy": {
        ("pair", "discrete_laplace_on_integers"): _laplace,
        ("special", "discrete_laplace_on_a_grid"): _laplace,
    },
    "Laplace noise, seeded by a clock": {
        ("pair", "discrete_laplace_on_integers"): _clock,
        ("special", "discrete_laplace_on_a_grid"): _clock,
    },
    "Gaussian noise in doubles": NO_VECTORS,
    "sum of ages in int16": NO_VECTORS,
    "propose-test-release": NO_VECTORS,
    "sample and aggregate": NO_VECTORS,
    "sum, first to last": flawed.sums_by(flawed.in_order("forward")),
    "sum by halves": flawed.sums_by(flawed.in_order("pairwise")),
    "sum by Kahan": flawed.sums_by(flawed.in_order("compensated")),
    "sum of numpy": flawed.sums_by(numpy_sum),
    "sum, correctly rounded": flawed.sums_by(correctly_rounded_sum),
    "sum with np.clip": _each("special", "bounded_sum", by=by_samples(flawed.clipped_sum)),
    "sum that refuses": _each("special", "bounded_sum", by=by_draws(flawed.refusing_sum)),
    "mean of the records": _each("special", "bounded_mean", by=by_draws(flawed.mean_of_records)),
    "count that refuses −0": _each("special", "discrete_laplace_on_a_grid", by=by_draws(flawed.refusing_count)),
    "answers as int64": _each("special", "two_sided_geometric_on_a_range", by=by_draws(flawed.answers_as_int64)),
    "mean, noise for this database": _each(
        "pair", "mean_with_local_sensitivity", by=by_probability(flawed.tail_of_local_noise)
    ),
    "noisy sum over noisy count": {
        ("pair", "mean_with_local_sensitivity"): _division,
        ("special", "bounded_mean"): _division,
    },
    "threshold for continuous noise": {
        ("pair", "partition_selection"): by_probability(flawed.named),
        **flawed.formulas(*flawed.THRESHOLDS),
    },
    "classical σ": flawed.formulas("gaussian_sigma"),
    "budgets added in doubles": flawed.formulas("budget_total"),
    "other formulas in doubles": flawed.formulas(*flawed.OTHER_FORMULAS),
    "division of two doubles": _each("rounding", "binary64", by=_quotient),
    "rounding by way of doubles": _each("rounding", "binary32", "bfloat16", "binary16", by=_twice),
    "terms added one by one": _each("rounding", "sum_of_binary64", by=_terms),
    "rounding to nearest always": _each(
        "rounding", "binary64", "binary32", "bfloat16", "binary16", by=flawed.always_nearest
    ),
}

_TEXT = (Path(__file__).parent.parent / "data" / "flawed_implementations.toml").read_text("utf-8")

IMPLEMENTATIONS = tuple(
    Flawed(name, row["wrong"], row["flaws"], _ANSWERS[name]) for name, row in tomllib.loads(_TEXT).items()
)
"""In the order of the file, which says what is wrong with each."""
