"""The lemmas that certificates rest on, each with the place of its proof.

A lemma is what the checker does not compute: a theorem about the reals, or what a line of source does for all values
where the checker has tried many. A lemma of the second sort says so.
"""

from __future__ import annotations

LEMMAS: dict[str, str] = {
    "coupled-rounding": (
        "⌊s + V⌋ and ⌊t + V⌋ are at most 1 apart where s and t are, and in the order of s and t; a bound that holds "
        "for every V holds on average over V (mechanisms/exponential/README.md)"
    ),
    "discrete-laplace": (
        "Algorithm 2 of Canonne, Kamath and Steinke draws n with probability in proportion to e^(−|n|/scale) "
        "(mechanisms/laplace/README.md)"
    ),
    "loops": (
        "a sampler that asks and returns what the algorithm does, as far as runs were compared, does so beyond: its "
        "loops only count (by reading; the comparison says how many runs were cut off)"
    ),
    "rounding-half-up": (
        "⌊x/g + ½⌋ is monotone and commutes with whole steps, so that numbers at most Δ apart are rounded at most "
        "⌈Δ/g⌉ steps apart; that `Grid.nearest` computes it for all numbers is by reading, and tried at its edges "
        "(mechanisms/grid.py)"
    ),
    "bounded-range": (
        "a mechanism whose privacy losses on a pair lie in an interval of length η is η²/8-zCDP "
        "(mechanisms/noisy_max/README.md)"
    ),
    "clamping": (
        "the nearest number of an interval is a 1-Lipschitz and monotone map, so that clamped utilities are no further "
        "apart, and utilities that move the same way still do (mechanisms/exponential/README.md)"
    ),
    "distances": (
        "−|c − p| of an answer c clamped to an interval changes by at most what the answer does "
        "(mechanisms/laplace/README.md)"
    ),
    "integer-weights": (
        "`LevelWeights` are the integers 2^q·2^(−η·level) for all levels up to the spread, as they are for those that "
        "were compared in rationals; one level changes a weight by 2^−η exactly, and so the law by 2^(2η) at most, or "
        "by 2^η if all levels move the same way (mechanisms/exponential/README.md)"
    ),
    "laplace-noisy-max": (
        "rounding at random by the same V leaves integers at most 1 apart; with noise of scale b and ties broken by an "
        "order drawn in advance, an outcome that wins at noise r wins on a neighbour at r + 2 (r + 1 if utilities move "
        "the same way), and P[N ≥ r + 1] ≥ e^(−1/b)·P[N ≥ r] (mechanisms/noisy_max/README.md)"
    ),
    "levels": (
        "utilities, clamped, become doubles nearest to their exact distances from the best one, and these become "
        "levels by `levels_at`; one by one, by elementwise operations of numpy or one at a time (by reading; vectors "
        "of both kinds were compared in rationals) (mechanisms/exponential/README.md)"
    ),
    "outcomes": (
        "what a selection does with one, two and three outcomes, whatever their utilities are, it does with any "
        "number of them: outcomes are only gone through, by lists and minima of any length (by reading)"
    ),
    "permute-and-flip": (
        "with gaps of a best outcome divided by b, permute-and-flip reports the largest of utilities with exponential "
        "noise of scale b, and loses 2/b, or 1/b if utilities move the same way (mechanisms/noisy_max/README.md)"
    ),
    "rejection-from-levels": (
        "proposals in proportion to 2^−k, kept with probability 2^k·e^−x ≤ 1 and repeated until one is kept, have "
        "probabilities in proportion to e^−x, and these lose r·Δu from the outcome's own and as much from their sum, "
        "or one of the two if utilities move the same way (mechanisms/exponential/README.md)"
    ),
    "reading": (
        "`exact_numbers` reads a vector of numbers one by one, each as the number that it is; tried on numbers of all "
        "types and sizes, alone and in pairs (mechanisms/private_numbers.py)"
    ),
    "scaled-coin": (
        "the coin 2^k·e^−x decides by MPFR's directed rounding for every rational x as it does for those tried, on all "
        "beginnings of 136 bits, against rational enclosures (mechanisms/exponential/README.md)"
    ),
    "weighted": (
        "a sampler that draws an index in proportion to the integer weights that were tried, by dialogue or by its "
        "exact law, does so for all integers: prefix sums and a uniform integer, or its bits "
        "(mechanisms/exponential/README.md)"
    ),
    "words": (
        "what a word decides follows from its position among the codewords and from two comparisons with that "
        "position's thresholds (by reading); at both ends of every outcome's words, of each 2^−12 of all words, and at "
        "all places where a decision changes, it was compared (mechanisms/exponential/README.md)"
    ),
}
"""The statement of each lemma, and the README that proves it."""
