"""Which of the operators' mutants keep law or claim all the same, and why: no checker need refuse these.

"law: …" says that every target has the same law at its parameters, "claim: …" that the law changes and no claim fails.
Everything else must be refused. `written` says the same of its own mutants.
"""

from __future__ import annotations

from collections.abc import Mapping

_FAIR = "law: the complement of a fair bit is fair"
_PARAMETERS = "law: the targets' public parameters never lead there"
_AFTERWARDS = "claim: it is postprocessing of the noisy sum and the noisy count"

KEPT: Mapping[str, str] = {
    "0545186955": "law: more is rejected, and what is kept is as uniform",  # coins:_drawn_below
    "12c8d54fb4": "law: the range is twice as long, and what lies beyond the total is rejected",  # _bisected
    "054d7f0795": "law: it says what is lost, and no selection asks it",  # FixedWork.largest_ratio
    "164abf8018": "law: levels may be lower than need be, and the filter's error covers it",  # levels:_factor
    "028ec44f60": "law: fewer sums are kept, and the others found when they are asked for",  # law:_kept_sums
    "045585d2a6": "law: no δ that is claimed is near 1",  # privacy:_delta
    "05cd003ec6": "law: only the lower bound is wrong, which says when to stop",  # privacy:_delta
    "055232dd97": "law: no target takes its σ from there",  # privacy:classical_sigma
    "011a90274a": "law: Newton's method takes more steps, and what it finds is checked",  # trade_off:_quantile
    "084d2d410c": _FAIR,  # laplace/exact:_signed
    "054f29b29f": "law: the noise is symmetric",  # laplace/exact:exact_discrete_laplace
    "039be98d0f": "law: no target runs it",  # laplace/exact_fast:discrete_laplace_by_inversion
    "0e66d27231": "claim: utilities are clamped to a narrower public range",  # exact_on_grid: farthest
    "2116a5b712": "claim: the answer is clamped to a narrower public range",  # exact_on_grid: lowest
    "06502d0f48": "law: an enclosure is narrowed a bit later",  # exact_randomized_response:decide_logistic
    "0d090b8908": _PARAMETERS,  # exact_randomized_response:enclose_logistic, at an ε above 128
    "04c1c56702": _FAIR,  # exact_rounded:rounded_laplace
    "06e21dc7cf": "claim: the scale is a hair greater",  # exact_snapping: _LOSS_PER_RATIO
    "0a5c29ce40": _FAIR,  # exact_snapping:Snapping.release
    "16361bb4b0": "law: the constants come out the same",  # constants: _PRECISION
    "0165639cd2": "claim: the threshold is higher",  # constants:tail_threshold
    "1cffab1759": _PARAMETERS,  # domain: GREATEST_WIDTH
    "0b32353351": _PARAMETERS,  # domain:Domain.middle, of an odd width
    "15fbeb3419": "claim: the mean is 1 or 2, and so moves by less than the sensitivity",  # domain:nearest_integer
    "01d19db8ac": "law: a mean of zeros of either sign is at the same position",  # sample_aggregate:_answer
    "1bedb10428": "law: ε is 1",  # SumOverCount._count_scale
    "4b54b146c7": _AFTERWARDS,  # SumOverCount.many
    "45266d1fed": _AFTERWARDS,  # SumOverCount.one
    "01c0a381f7": "claim: numbers so long are rounded down to a power of two still finer than any grid",  # _FINEST
    "0349db23ec": "law: the integers are read exactly in either way",  # private_numbers:_are_doubles
    "052a2749b8": "claim: numbers so long count as NaN by convention, here from a bit less on",  # _within_reach
    "03767aaf9a": "claim: the count is rounded to a coarser grid, and its noise is greater",  # summation/exact: COUNTS
    "3b6a7554d1": "law: the lower bounds are 0, and both sensitivities the same",  # relations:sum_sensitivity
    "0807e034c5": "law: it says when the tails are asked for, and not what they are",  # inversion:_same_guess
    "008b854501": "claim: the distance is 0 at most and still moves by at most 1",  # ptr: distance
    "09a41e5333": "claim: people are numbered otherwise, and as much by their values alone",  # anonymous:numbered
    "140a62feb5": "claim: it is postprocessing of the noisy sum",  # summation/exact:exact_narrow_sum
    "324a52bdd6": "law: the lower bound is 1",  # summation/exact_fast:exact_narrow_sum_fast
    "021a2c7205": "claim: the answers say the opposite of what they said",  # interactive/exact:_answer
    "1c33ac15cd": "claim: no answer is given",  # interactive/exact:exact_query_session
    "29d3ab0426": "claim: a unit of the budget is never spent",  # interactive/exact:exact_query_session
    "0127da982d": "law: every sample of a size is as likely, whatever the order of the records",  # exact_sampled_count
    "10ed9e3cc0": "claim: it raises on samples of the same places, whatever the records are",  # exact_sampled_count
    "25e3c5d05a": "claim: it raises on every dataset",  # subsampling/exact:exact_shuffled_response
}
"""By the key of a mutant, what it keeps."""

_SMALL = (
    "discrete_laplace_on_grid",
    "histogram",
    "noisy_sums",
    "propose_test_release",
    "sample_and_aggregate",
    "smooth_mean",
    "sum_over_count",
)
"""Theorems on discrete Laplace noise, whose coins have small denominators and exponents of at most 1."""

_LAPLACE = (*_SMALL, "laplace_noisy_max")
"""All theorems on discrete Laplace noise."""

_ROUNDED = ("noisy_sums", "propose_test_release", "sample_and_aggregate", "smooth_mean", "sum_over_count")
"""Theorems whose mechanisms round each number to a double."""

_WHOLE = ("discrete_laplace_on_grid", "histogram", "noisy_sums")
"""Theorems whose grids have steps that divide the sensitivity."""

KEPT_IN: Mapping[str, tuple[tuple[str, ...], str]] = {
    "b5e95a1d18": (_SMALL, "law: no bound is above 2^40"),  # coins:_drawn_below
    "23e880872e": (_LAPLACE, "law: no exponent is above 1"),  # coins:bernoulli_exp
    "2166aac646": (_LAPLACE, "law: no exponent is above 1"),  # coins:bernoulli_exp
    "2b08694a4e": (_ROUNDED, "law: each number is rounded to the nearest double in either way"),  # _EXACT_INTEGERS
    "086411c141": (_WHOLE, "law: the ε of a count or a sum is 1"),  # laplace/exact:discrete_scale
    "613f1089ab": (_WHOLE, "law: the sensitivity is a whole number of steps"),  # Grid.rounded_sensitivity
    "071a792765": (("discrete_gaussian_each",), "law: the step is 1"),  # Grid.split
    "2728efe066": (_ROUNDED, "law: a chunk has 8192 records, however little they weigh"),  # integer_sums
    "0e927cf322": (("exponential_base2",), "law: the target draws by rejection"),  # weighted_sampling:_bisected
    "263b9df70b": (("exponential_base2",), "law: the target draws by rejection"),  # weighted_sampling:_bisected
    "af2968ecf4": (("exponential_base_e",), "law: words are what the given source makes of them"),  # randomness
    "aff57b8a94": (("exponential_base_e",), "law: words are what the given source makes of them"),  # randomness
}
"""By the key of a mutant, the theorems whose mechanisms keep their law at their parameters, and why."""
