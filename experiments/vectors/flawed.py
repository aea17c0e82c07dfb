"""Implementations with known flaws, one each: what each type of vectors can ask of them, and what they answer.

The mechanisms are the naive twins of `mechanisms/`, and others that libraries or textbooks have, of `naive_twins`. An
implementation is asked about every mechanism of which it is one, in each type of vectors that has this mechanism. Those
that compare one uniform number answer with exact probabilities, the others with samples. So that a case shows the flaw
it is there for, inputs outside the domain are put into it first, but where the flaw is that nobody does so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from attacklab.errors import UsageError
from attacklab.laws import LawError, one_uniform, step_law
from attacklab.random_bits import RandomBits, SeededBits, TapedBits, TapeEnded
from attacklab.vectors import read_value, written
from attacklab.vectors.program import Failed, Skipped
from experiments.common.calibration_formulas import NAIVE
from experiments.vectors import exact_twins, naive_twins
from experiments.vectors.flawed_sources import (
    DoubleCoins,
    FiftyThreeBits,
    OneAttempt,
    Passing,
    Remainders,
    seeded_by_a_clock,
    seeded_once,
    twisted,
)
from experiments.vectors.samplers import RUNS, Run
from experiments.vectors.sums import FORMATS, ORDERS, forward
from experiments.vectors.traces import COMPOUND, Recorder
from mechanisms.exponential.naive import (
    naive_exponential,
    naive_exponential_low_precision,
    naive_exponential_stabilised,
)
from mechanisms.laplace.naive import naive_laplace_numpy
from mechanisms.laplace.naive_geometric import naive_two_sided_geometric
from mechanisms.laplace.naive_randomized_response import naive_randomized_response
from mechanisms.local_sensitivity.sum_over_count.naive import naive_sum_over_count
from mechanisms.noisy_max.naive import naive_exponential_noisy_max, naive_gumbel_noisy_max
from mechanisms.summation.naive import correctly_rounded_sum, naive_bounded_sum, numpy_sum

Request: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = dict[str, Any]
Answers: TypeAlias = Mapping[tuple[str, str], Callable[[Request], Answer]]
"""What is answered, by the type of the vectors and the mechanism."""

Release: TypeAlias = Callable[[Mapping[str, Any], Any, int, np.random.Generator], Any]
"""Outputs by parameters, input, number of trials and generator."""


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


# --- samples and exact laws ------------------------------------------------------------------------------------------


def _drawn(release: Release) -> Callable[[Request], Answer]:
    def outputs(request: Request) -> Answer:
        rng = np.random.default_rng(request["seed"])
        found = release(request["parameters"], read_value(request["input"]), request["trials"], rng)
        return {"outputs": written(list(found))}

    return outputs


def _exact(release: Release) -> Callable[[Request], Answer]:
    """The law of a release that compares one uniform number with thresholds, or the probability of the event."""

    def law(request: Request) -> Answer:
        parameters, input_ = request["parameters"], read_value(request["input"])
        found = step_law(
            one_uniform(lambda data, trials, rng: release(parameters, data, trials, rng), input_)
        ).masses.items()
        listed = [[outcome, mass] for outcome, mass in found]
        if request["type"] == "law":
            return {"law": written(listed)}
        wanted = [read_value(one) for one in request["event"]["outcomes"]]
        return {"probability": written(sum((mass for outcome, mass in listed if outcome in wanted), Fraction(0)))}

    return law


def _one_by_one(draw: naive_twins.Draw) -> Release:
    return lambda of, input_, trials, rng: [draw(of, input_, rng) for _ in range(trials)]


def _clamped(low: float, high: float, input_: Any) -> Any:
    """NaN is the lower end, what lies beyond an end is that end, and there is one zero."""
    clamped = np.clip(np.nan_to_num(np.asarray(input_, dtype=float), nan=low), low, high) + 0.0
    return clamped if isinstance(input_, list) else float(clamped)


def _epsilon(of: Mapping[str, Any]) -> float:
    return float(of["epsilon"] if "epsilon" in of else 2 * of["rate"])


def _selection(mechanism: Callable[..., Any], name: str = "exponential", *, bare: bool = False) -> Answers:
    """A naive selection; `bare` without clamping, which is how it overflows."""

    def release(of: Mapping[str, Any], utilities: Any, trials: int, rng: np.random.Generator) -> Any:
        low, high = map(float, of.get("range", (0, 0)))
        given = utilities if bare or low == high else _clamped(low, high, utilities)
        return mechanism(np.array(given, dtype=float), trials, rng, epsilon=_epsilon(of))

    return {("law", name): _drawn(release), ("pair", name): _drawn(release), ("special", name): _drawn(release)}


def _selection_by_law(mechanism: Callable[..., Any], *, bare: bool = False) -> Answers:
    def release(of: Mapping[str, Any], utilities: Any, trials: int, rng: np.random.Generator) -> Any:
        return mechanism(np.array(utilities, dtype=float), trials, rng, epsilon=_epsilon(of))

    asked = {(type_, "exponential"): _exact(release) for type_ in ("law", "pair")}
    special = ("special", "exponential")
    return {**asked, special: _selection(mechanism, bare=bare)[special]}


def _response(of: Mapping[str, Any], truth: bool, trials: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    return naive_randomized_response(truth, trials, rng, epsilon=float(of["epsilon"]))


def _loops(of: Mapping[str, Any], answer: Any, trials: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Both variates counted in loops, for scales at which that ends."""
    ratio = of.get("ratio", of.get("decay"))
    epsilon = -np.log(float(ratio)) if ratio else of.get("epsilon") or 1 / of["scale"]
    if epsilon < SLOWEST:
        raise Skipped
    noisy = naive_two_sided_geometric(_whole(of, answer), trials, rng, epsilon=float(epsilon))
    return np.clip(noisy, of["lower"], of["upper"]) if "lower" in of else noisy


SLOWEST = Fraction(1, 100)
"""A loop of more than a hundred steps on average is not run."""


def _whole(of: Mapping[str, Any], answer: Any) -> int:
    return min(max(answer, of["lower"]), of["upper"]) if "lower" in of else int(answer or 0)


def _logarithm(of: Mapping[str, Any], answer: Any, trials: int, rng: np.random.Generator) -> list[int]:
    """Integer noise by the logarithm of one uniform number, with a fair sign and 0 twice."""
    scale = -1 / np.log(float(of["ratio"])) if "ratio" in of else float(of.get("scale", 1 / of.get("epsilon", 1)))
    return [(answer or 0) + naive_twins.by_logarithm(scale, rng) for _ in range(trials)]


def _float_noise(of: Mapping[str, Any], answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    given = _clamped(-(2.0**51), 2.0**51, answer) if "step" in of else float(answer)
    return naive_laplace_numpy(given, trials, rng, epsilon=float(of["epsilon"]))


def _short_noise(of: Mapping[str, Any], answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Laplace noise of generators seeded anew from a clock, as `naive_laplace_clock_seeded` has it."""
    given = _clamped(-(2.0**51), 2.0**51, answer) if "step" in of else float(answer)
    seeds = rng.integers(1 << 16, size=trials)
    noise = [np.random.RandomState(int(seed)).laplace(0.0, 1 / float(of["epsilon"])) for seed in seeds]
    return given + np.array(noise)


NOISE = (("pair", "discrete_laplace_on_integers"), ("special", "discrete_laplace_on_a_grid"))


# --- exact samplers with a flaw in their bits ------------------------------------------------------------------------


INTEGER_NOISE = ("two_sided_geometric", "discrete_laplace", "discrete_gaussian", "discrete_laplace_on_integers")
SAMPLERS = (
    *("uniform_below", "bernoulli", "bernoulli_exp", "randomized_response"),
    *(*INTEGER_NOISE, "discrete_laplace_on_a_grid", "two_sided_geometric_on_a_range"),
)
"""What flaws in bits are shown on; selections draw from the same coins."""


def _by_bits(
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


def _int32(output: int) -> int:
    return min(max(output, -(1 << 31)), (1 << 31) - 1)


# --- sums, records, roundings and formulas ---------------------------------------------------------------------------


def _summation(added: Callable[[NDArray[Any]], Any]) -> Answers:
    """A sum of records that were clipped, by an order of its own whatever order the case is about."""

    def summed(request: Request) -> Answer:
        type_, _ = FORMATS[request["format"]]
        return {"value": written(float(type_(added(np.array(read_value(request["records"]), dtype=type_)))))}

    def noisy(of: Mapping[str, Any], records: Any, trials: int, rng: np.random.Generator) -> Any:
        low, high = map(float, of["bounds"])
        relation = of.get("relation", "add-remove")
        return naive_bounded_sum(
            np.atleast_1d(_clamped(low, high, list(records))),
            trials,
            rng,
            epsilon=float(of["epsilon"]),
            lower=low,
            upper=high,
            relation=relation,
            summation=lambda one: float(added(one)),
        )

    asked = {("sum", f"{order}_sum"): summed for order in ORDERS}
    return {**asked, ("pair", "bounded_sum"): _drawn(noisy), ("special", "bounded_sum"): _drawn(noisy)}


def _ordered(order: str) -> Callable[[NDArray[Any]], Any]:
    return lambda records: ORDERS[order](list(records)) if len(records) else 0.0


def _clipped_sum(of: Mapping[str, Any], records: Any, trials: int, rng: np.random.Generator) -> Any:
    low, high = map(float, of["bounds"])
    array = np.array(records, dtype=float)
    return naive_bounded_sum(array, trials, rng, epsilon=float(of["epsilon"]), lower=low, upper=high)


def _sum_over_count(of: Mapping[str, Any], records: Any, trials: int, rng: np.random.Generator) -> Any:
    low, high = map(float, of["bounds"])
    given = np.atleast_1d(_clamped(low, high, list(records)))
    return naive_sum_over_count(given, trials, rng, upper=high, epsilon=float(of["epsilon"]))


MEANS = (("pair", "mean_with_local_sensitivity"), ("special", "bounded_mean"))


def _nearest(number: Callable[[Request], float]) -> Callable[[Request], Answer]:
    """A conversion that is wrong to nearest, and exact in the other modes."""

    def converted(request: Request) -> Answer:
        if request["mode"] != "nearest":
            return exact_twins.answer(request)
        return {"value": written(number(request))}

    return converted


def _as_type(request: Request, double: float) -> float:
    """A double in the format of the case, where numpy has it."""
    types = {"binary32": np.float32, "binary16": np.float16, "bfloat16": ml_dtypes.bfloat16}
    return float(types.get(request["format"], np.float64)(double))


def _by_division(request: Request) -> float:
    number = Fraction(read_value(request["value"]))
    return float(number.numerator) / float(number.denominator)


def _twice(request: Request) -> float:
    number = Fraction(read_value(request["value"]))
    return _as_type(request, number.numerator / number.denominator)


def _one_by_one_added(request: Request) -> float:
    return float(forward([np.float64(one) for one in (0.0, *read_value(request["terms"]))]))


def _always_nearest(request: Request) -> Answer:
    return exact_twins.answer({**request, "mode": "nearest"})


def _formulas(*names: str) -> Answers:
    def formula(request: Request) -> Answer:
        return {"value": written(float(NAIVE[request["mechanism"]](**request["parameters"])))}

    return {("calibration", name): formula for name in names}


THRESHOLDS = ("laplace_threshold", "gaussian_threshold", "laplace_threshold_delta", "gaussian_threshold_delta")
OTHER_FORMULAS = tuple(name for name in NAIVE if name not in {*THRESHOLDS, "gaussian_sigma", "budget_total"})


def _twin(type_: str, *mechanisms: str) -> Answers:
    """What `naive_twins` answers."""

    def asked(request: Request) -> Answer:
        raw = {**request, "parameters": {name: _raw(one) for name, one in request["parameters"].items()}}
        return naive_twins.answer(raw)

    return {(type_, name): asked for name in mechanisms}


def _raw(value: Any) -> Any:
    return value if isinstance(value, str) else written(value)


NO_VECTORS: Answers = {}
"""What has no mechanism that vectors ask for."""

IMPLEMENTATIONS = (
    Flawed(
        "weights as they come",
        "exp overflows, and NaN and infinity make every weight NaN",
        _selection_by_law(naive_exponential, bare=True),
        ("score_overflow", "zero_rounding", "special_values"),
    ),
    Flawed(
        "weights below the largest",
        "a light weight underflows, or the uniform number is too coarse for it",
        _selection_by_law(naive_exponential_stabilised),
        ("zero_rounding",),
    ),
    Flawed(
        "weights in bfloat16",
        "a light weight is lost in the sum",
        _selection_by_law(partial(naive_exponential_low_precision, dtype=ml_dtypes.bfloat16)),
        ("truncated_addition",),
    ),
    Flawed(
        "noisy max, Gumbel noise",
        "the noise has a largest value, so that outcomes far behind are never drawn",
        _selection(naive_gumbel_noisy_max),
        ("lost_weights",),
    ),
    Flawed(
        "noisy max, exponential noise",
        "the noise has a largest value, so that outcomes far behind are never drawn",
        _selection(naive_exponential_noisy_max, "permute_and_flip"),
        ("lost_weights",),
    ),
    Flawed(
        "permute-and-flip, not permuted",
        "outcomes are flipped in their own order",
        _twin("law", "permute_and_flip"),
    ),
    Flawed(
        "randomized response",
        "the probability of the truth is rounded",
        {(type_, "randomized_response"): _exact(_response) for type_ in ("law", "pair")},
    ),
    Flawed("ε as the probability", "the truth is told with probability ε", _twin("law", "randomized_response")),
    Flawed(
        "remainders of random words",
        "some integers come too often",
        _by_bits(Remainders),
        ("lattice_bias",),
    ),
    Flawed(
        "coins of doubles, on bits",
        "the probability of a coin is rounded to the nearest double",
        {**_by_bits(DoubleCoins), **_twin("law", "bernoulli")},
    ),
    Flawed(
        "coins of one uniform double",
        "a coin is a number of 53 bits that is at most the rounded probability",
        _by_bits(FiftyThreeBits),
    ),
    Flawed(
        "one attempt",
        "a rejected round is an error",
        {key: one for key, one in _by_bits(OneAttempt).items() if key[0] in ("law", "tape", "trace")},
    ),
    Flawed("noise in int32", "noise is cut off at 32 bits", _by_bits(after=_int32, only=INTEGER_NOISE)),
    Flawed(
        "integer noise by a logarithm",
        "0 comes twice, and noise of one uniform number ends somewhere",
        {
            **{("law", name): _drawn(_logarithm) for name in ("two_sided_geometric", "discrete_laplace")},
            **_twin("pair", "discrete_laplace_on_integers"),
        },
    ),
    Flawed(
        "geometric variates in loops",
        "the work tells the noise; the ratio is rounded",
        {
            **{("law", name): _drawn(_loops) for name in ("two_sided_geometric", "discrete_laplace")},
            ("pair", "discrete_laplace_on_integers"): _drawn(_loops),
            ("special", "two_sided_geometric_on_a_range"): _drawn(_loops),
        },
        ("work",),
    ),
    Flawed("one seed for all", "every output has the same noise", _by_bits(fresh=seeded_once), ("repeated_noise",)),
    Flawed("seeds of 16 bits", "the noise is one of 65,536", _by_bits(fresh=seeded_by_a_clock), ("generator_seed",)),
    Flawed(
        "a Mersenne Twister", "outputs tell the state of the generator", _by_bits(fresh=twisted), ("generator_state",)
    ),
    Flawed(
        "Laplace noise of numpy",
        "low bits of an output tell the answer; an integer answer is rounded to a double",
        dict.fromkeys(NOISE, _drawn(_float_noise)),
        ("low_bit_laplace", "precision", "integer_cast"),
    ),
    Flawed(
        "Laplace noise, seeded by a clock",
        "the noise is one of 65,536 doubles",
        dict.fromkeys(NOISE, _drawn(_short_noise)),
        ("generator_seed", "low_bit_laplace"),
    ),
    Flawed("Gaussian noise in doubles", "low bits of an output tell the answer", NO_VECTORS, ("low_bit_gaussian",)),
    Flawed("sum of ages in int16", "the sum wraps around", NO_VECTORS, ("sum_sensitivity",)),
    Flawed("propose-test-release", "records are not clipped", NO_VECTORS, ("missing_clip",)),
    Flawed("sample and aggregate", "the place of a record decides on its chunk", NO_VECTORS, ("position_chunks",)),
    Flawed("sum, first to last", "partial sums are rounded", _summation(_ordered("forward")), ("sum_sensitivity",)),
    Flawed("sum by halves", "partial sums are rounded", _summation(_ordered("pairwise")), ("sum_sensitivity",)),
    Flawed("sum by Kahan", "the sum is rounded", _summation(_ordered("compensated")), ("sum_sensitivity",)),
    Flawed("sum of numpy", "partial sums are rounded", _summation(numpy_sum), ("sum_sensitivity",)),
    Flawed(
        "sum, correctly rounded",
        "the sum is rounded once, to a grid that the sensitivity does not fit",
        _summation(correctly_rounded_sum),
        ("sum_sensitivity",),
    ),
    Flawed(
        "sum with np.clip",
        "clipping lets NaN through",
        {("special", "bounded_sum"): _drawn(_clipped_sum)},
        ("special_values",),
    ),
    Flawed(
        "sum that refuses",
        "a record outside its bounds is an error",
        _twin("special", "bounded_sum"),
        ("special_values",),
    ),
    Flawed(
        "mean of the records",
        "it divides by the number of records",
        _twin("special", "bounded_mean"),
        ("failing_size", "special_values"),
    ),
    Flawed(
        "count that refuses −0",
        "−0 and signals of the processor are errors",
        _twin("special", "discrete_laplace_on_a_grid"),
        ("special_values",),
    ),
    Flawed(
        "answers as int64",
        "an answer of more than 64 bits is an error",
        _twin("special", "two_sided_geometric_on_a_range"),
        ("special_values",),
    ),
    Flawed(
        "mean, noise for this database",
        "noise is scaled to the local sensitivity",
        _twin("pair", "mean_with_local_sensitivity"),
        ("local_sensitivity",),
    ),
    Flawed(
        "noisy sum over noisy count",
        "each spends the whole budget",
        dict.fromkeys(MEANS, _drawn(_sum_over_count)),
        ("double_budget",),
    ),
    Flawed(
        "threshold for continuous noise",
        "the probability at the threshold is forgotten",
        {**_twin("pair", "partition_selection"), **_formulas(*THRESHOLDS)},
    ),
    Flawed("classical σ", "it holds for ε < 1 only", _formulas("gaussian_sigma")),
    Flawed("budgets added in doubles", "their sum is rounded", _formulas("budget_total")),
    Flawed("other formulas in doubles", "they are rounded to nearest, or cancel", _formulas(*OTHER_FORMULAS)),
    Flawed(
        "division of two doubles",
        "numerator and denominator are rounded first (examples/vectors/consumer.js)",
        {("rounding", "binary64"): _nearest(_by_division)},
    ),
    Flawed(
        "rounding by way of doubles",
        "numbers are rounded twice",
        {("rounding", name): _nearest(_twice) for name in ("binary32", "bfloat16", "binary16")},
    ),
    Flawed(
        "terms added one by one",
        "partial sums are rounded",
        {("rounding", "sum_of_binary64"): _nearest(_one_by_one_added)},
        ("sum_sensitivity",),
    ),
    Flawed(
        "rounding to nearest always",
        "the mode is ignored",
        {("rounding", name): _always_nearest for name in ("binary64", "binary32", "bfloat16", "binary16")},
    ),
)
"""One row of the table each."""
