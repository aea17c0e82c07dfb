"""The lemmas that certificates rest on, each with the place of its proof.

A lemma is what the checker does not compute: a theorem about the reals, or what a line of source does for all values
where the checker has tried many. A lemma of the second sort says so.
"""

from __future__ import annotations

LEMMAS: dict[str, str] = {
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
    "clamping": (
        "the nearest number of an interval is a 1-Lipschitz and monotone map, so that clamped utilities are no further "
        "apart, and utilities that move the same way still do (mechanisms/exponential/README.md)"
    ),
    "laplace-noisy-max": (
        "rounding at random by the same V leaves integers at most 1 apart; with noise of scale b and ties broken by an "
        "order drawn in advance, an outcome that wins at noise r wins on a neighbour at r + 2 (r + 1 if utilities move "
        "the same way), and P[N ≥ r + 1] ≥ e^(−1/b)·P[N ≥ r] (mechanisms/noisy_max/README.md)"
    ),
    "outcomes": (
        "what a selection does with one, two and three outcomes, whatever their utilities are, it does with any "
        "number of them: outcomes are only gone through, by lists and minima of any length (by reading)"
    ),
    "permute-and-flip": (
        "with gaps of a best outcome divided by b, permute-and-flip reports the largest of utilities with exponential "
        "noise of scale b, and loses 2/b, or 1/b if utilities move the same way (mechanisms/noisy_max/README.md)"
    ),
    "reading": (
        "`exact_numbers` reads a vector of numbers one by one, each as the number that it is; tried on numbers of all "
        "types and sizes, alone and in pairs (mechanisms/private_numbers.py)"
    ),
}
"""The statement of each lemma, and the README that proves it."""
