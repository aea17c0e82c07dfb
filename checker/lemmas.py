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
    "lazy-comparison": (
        "a uniform number that is compared with p bit by bit, each run stopping only where all numbers that begin with "
        "its bits lie on one side of p, is below p with probability p; that the loop goes on so beyond the bits that "
        "were looked at is by reading (mechanisms/laplace/README.md, 'Randomized response')"
    ),
    "loops": (
        "a sampler that asks and returns what the algorithm does, as far as runs were compared, does so beyond: its "
        "loops only count (by reading; the comparison says how many runs were cut off)"
    ),
    "mpfr-logarithm": (
        "MPFR's logarithm at 53 bits is the correctly rounded one for every argument (its documentation; tried at many "
        "numbers against an enclosure of our own)"
    ),
    "rounding-half-up": (
        "⌊x/g + ½⌋ is monotone and commutes with whole steps, so that numbers at most Δ apart are rounded at most "
        "⌈Δ/g⌉ steps apart; that `Grid.nearest` computes it for all numbers is by reading, and tried at its edges "
        "(mechanisms/grid.py)"
    ),
    "snapping": (
        "thresholds of Laplace noise that move by a factor of e^(±θ) at most, and the release as an expression in "
        "binary64, give the loss Δ/λ + ln(M₊/M₋) (mechanisms/laplace/README.md, 'Snapping')"
    ),
    "snapping-rounds": (
        "what follows the sum in binary64 rounds it to the nearest multiple of Λ, half upward, and clamps it, for "
        "every double (by reading; tried at each threshold and its neighbours)"
    ),
    "uniform-float": (
        "a uniform real number rounded down to 53 significant bits is below w with probability w, for every w of 53 "
        "bits; its dialogue is compared with a model's, and beyond the exponents tried its loop only counts (by "
        "reading; mechanisms/laplace/README.md, 'Snapping')"
    ),
}
"""The statement of each lemma, and the README that proves it."""
