"""The lemmas that certificates rest on, each with the place of its proof.

A lemma is what the checker does not compute: a theorem about the reals, or what a line of source does for all values
where the checker has tried many. A lemma of the second sort says so.
"""

from __future__ import annotations

LEMMAS: dict[str, str] = {
    "cells": (
        "what is shown of histograms of up to four cells and of 10,000 holds for any number: a cell's output is its "
        "own count with its own noise (by reading, mechanisms/laplace/exact_histogram.py, and numpy's sum of an array "
        "and a row)"
    ),
    "chunks": (
        "`draw_in_chunks` and `release_in_chunks` give every draw words of its own for all numbers of draws: their "
        "loops only cut them into chunks (by reading, mechanisms/chunks.py; tried about the ends of chunks)"
    ),
    "chunks-of-records": (
        "the chunks [s, s + c), cut off at n, for s in range(0, n, c) have each of n records in them once "
        "(mechanisms/summation/README.md)"
    ),
    "clamping": (
        "x ↦ min(max(x, −L), L)/g is monotone and moves numbers at most Δ apart to at most Δ/g; that `Grid.steps_to` "
        "computes it for all numbers whose denominators have at most 65,536 bits is by reading, and tried at its edges "
        "(others are rounded down to multiples of 2^−65535 before, which can move two of them 2^−65535 further apart) "
        "(mechanisms/grid.py)"
    ),
    "discrete-gaussian": (
        "Algorithm 3 of Canonne, Kamath and Steinke draws n with probability in proportion to e^(−n²/2σ²) "
        "(mechanisms/gaussian/README.md)"
    ),
    "composition": (
        "what is computed of released numbers and public ones costs nothing, and the losses of what is released in "
        "turn add up, though later parameters depend on earlier outcomes (mechanisms/summation/README.md)"
    ),
    "coupled-rounding": (
        "⌊s + V⌋ and ⌊t + V⌋ are at most 1 apart where s and t are, and in the order of s and t; a bound that holds "
        "for every V holds on average over V (mechanisms/exponential/README.md)"
    ),
    "discrete-laplace": (
        "Algorithm 2 of Canonne, Kamath and Steinke draws n with probability in proportion to e^(−|n|/scale) "
        "(mechanisms/laplace/README.md)"
    ),
    "far-thresholds": (
        "a trade-off curve of discrete Gaussian noise that is no steeper than μ-GDP's from a threshold on keeps μ-GDP "
        "there, and (½ + σμ/2 − κd/2)/(1 − κ), κ = d/σμ, is such a threshold (mechanisms/gaussian/README.md)"
    ),
    "every-scale": (
        "a sampler that draws its noise right at the least scale, at the largest and at some between does so at "
        "every rational scale between them: it takes the numerator and the denominator as integers like any others "
        "(by reading, mechanisms/local_sensitivity/README.md)"
    ),
    "floating-point-filter": (
        "where a computed value is farther from every integer than its error can be, its floor is that of the true "
        "value; the errors of +, −, × and ÷, of the tables and of what a series leaves out as the checker adds them up "
        "(mechanisms/laplace/README.md, 'The filter and its error')"
    ),
    "gaussian-dp": "normal noise moved by r standard deviations is r-GDP by definition (Dong, Roth and Su 2022)",
    "gaussian-renyi": (
        "D_α of normal and of discrete Gaussian noise moved by Δ is at most αΔ²/2σ² (mechanisms/gaussian/README.md)"
    ),
    "ieee-arrays": (
        "numpy's elementwise operations on arrays of doubles and of 64-bit integers are IEEE 754's, correctly rounded "
        "one by one, and those of two's complement, whichever loop runs (by trust in the installed numpy; every "
        "operation is tried at many lengths, alignments and strides)"
    ),
    "inversion": (
        "a sampler that returns k only where T(k + 1) < U < T(k) for one uniform U draws the law with the tails T, "
        "and what the first 64 bits of U decide all of them decide alike; that the loops of `invert` end, and go on as "
        "they began, is by reading (mechanisms/gaussian/README.md)"
    ),
    "laplace-by-inversion": (
        "with q = e^(−1/s), c = s·ln(2/(1 + q)) and a fair sign, ±⌊s·E + c⌋ is discrete Laplace noise of scale s, and "
        "no rational number plus c is an integer; what lies beyond ±2^62 is shown at an end whatever the answer is "
        "(mechanisms/laplace/README.md, 'Discrete Laplace')"
    ),
    "lazy-comparison": (
        "a uniform number that is compared with p bit by bit, each run stopping only where all numbers that begin with "
        "its bits lie on one side of p, is below p with probability p; that the loop goes on so beyond the bits that "
        "were looked at is by reading (mechanisms/laplace/README.md, 'Randomized response')"
    ),
    "largest-move": (
        "symmetric log-concave noise leaks most through an event [x, ∞) and at the largest move, which gives δ(ε) as "
        "the difference of two tails, and μ as that of two quantiles (mechanisms/gaussian/README.md)"
    ),
    "loops": (
        "a sampler that asks and returns what the algorithm does, as far as runs were compared, does so beyond: its "
        "loops only count (by reading; the comparison says how many runs were cut off)"
    ),
    "midpoint-thresholds": (
        "for σ > 32 and k + ½ ≤ 5σ, P[X ≥ k + 1] of discrete Gaussian noise lies between the normal tails at "
        "(k + ½ ± 3/5σ³)·(1 + 1/24σ²)/σ (mechanisms/gaussian/README.md; tried at a hundred thresholds)"
    ),
    "mixture": (
        "k ≥ 0 steps, and likewise −1 − k, of normal noise rounded with a shift of [−½, ½] have at least the "
        "probability φ((k + 2)/σ)/σ; the greater one of two uniform numbers below W is p with probability (2p + 1)/W²; "
        "where some words are given to steps by counting and all others draw what then remains of a law, the law is "
        "whole; that `Remainder.tail` encloses it for every threshold, shift and precision is by reading "
        "(mechanisms/gaussian/README.md, 'A mixture')"
    ),
    "mpfr": (
        "MPFR's logarithm and exponential lie on the side of the truth that was asked for (by trust in MPFR; tried at "
        "their edges and at many other places)"
    ),
    "numbered-people": (
        "if equal records are numbered from 0, a database less one record is the database less one person, but for "
        "the order (mechanisms/local_sensitivity/README.md)"
    ),
    "one-chunk": (
        "a person whose chunk is a function of the person's name moves the answer of one chunk, if an answer is a "
        "function of the sorted values; that the statistic is one, and that chunks are filled so for all databases "
        "is by reading, and tried (mechanisms/local_sensitivity/README.md)"
    ),
    "propose-test-release": (
        "a test whose distance is 0 where the mean can move by more than b costs the noise on the distance and on "
        "b, and the probability that it passes at distance 0 (mechanisms/local_sensitivity/README.md)"
    ),
    "readings": (
        "every number is read on its own, as the double nearest to its value (by reading; tried on all pairs of "
        "edges of all types, mechanisms/summation/README.md)"
    ),
    "records-one-by-one": (
        "numpy's +, −, ×, ÷, rint, fmin, fmax, clip, where and conversions compute each element of its operands "
        "alone, as IEEE 754 rounds; each is increasing, so a chain of them maps every record between what −∞, ∞ "
        "and NaN become (mechanisms/summation/README.md)"
    ),
    "rounded-ideal": (
        "⌊x/g + ½ ± s·E⌋, for a fair sign and E = −ln U, is a function of x + X for a real Laplace variable X of scale "
        "s·g, so that answers Δ apart lose at most Δ/(s·g); it is found with probability 1 "
        "(mechanisms/laplace/README.md, 'The rounded ideal mechanism')"
    ),
    "mpfr-logarithm": (
        "MPFR's logarithm at 53 bits is the correctly rounded one for every argument (its documentation; tried at many "
        "numbers against an enclosure of our own)"
    ),
    "rounded-mean": (
        "adding or removing one of n records in [0, W] moves their mean, rounded half up, by at most ⌈W/max(n, "
        "1)⌉, n being the larger number; the mean of nobody is the middle (mechanisms/local_sensitivity/README.md)"
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
    "tails-enclosed": (
        "the tails that noise is drawn from are enclosed for every threshold, shift and precision, by MPFR's directed "
        "rounding (by reading mechanisms/gaussian/law.py; tried at hundreds of thresholds and three precisions)"
    ),
    "smooth-bound": (
        "s(0) = J·L(0), s(n) = max(J·L(n), ⌈s(n − 1)·J/(J + 1)⌉) gives L ≤ S, S(n) ≤ S(n − 1) ≤ (1 + 1/J)·S(n) for "
        "every n (mechanisms/local_sensitivity/README.md)"
    ),
    "smooth-sensitivity": (
        "discrete Laplace noise of scale f·S(n) costs 1/f for the mean that moves and z/J for the scale that "
        "changes, but for a mass of 2·e^−z (mechanisms/local_sensitivity/README.md)"
    ),
    "trials": (
        "if each element is a function of noise of its own, each trial is a release by itself; noise that is drawn "
        "for those who passed a test, in order, is noise of their own too (mechanisms/local_sensitivity/README.md)"
    ),
    "bounded-range": (
        "a mechanism whose privacy losses on a pair lie in an interval of length η is η²/8-zCDP "
        "(mechanisms/noisy_max/README.md)"
    ),
    "clamping-utilities": (
        "the nearest number of an interval is a 1-Lipschitz and monotone map, so that clamped utilities are no further "
        "apart, and utilities that move the same way still do (mechanisms/exponential/README.md)"
    ),
    "distances": (
        "−|c − p| of an answer c clamped to an interval changes by at most what the answer does "
        "(mechanisms/laplace/README.md)"
    ),
    "fixed-work": (
        "with integer weights of levels that fall by the factor q at most and never to 0, levels counted from the best "
        "outcome, and more than p − 2 and fewer than p + 2 tickets for an outcome with p = 2^k·w/T ≥ 2^s, neighbours "
        "lose ln((R·2^s + 2)/(2^s − 2)), R = q^(−2·steps), or q^(−steps) if utilities move the same way "
        "(mechanisms/exponential/README.md)"
    ),
    "doubles-to-levels": (
        "numpy's fmin, fmax, ×, ceil and − take doubles one by one, as monotone maps, so that levels change at their "
        "edges alone (by reading, mechanisms/exponential/exact_fixed_work.py; tried at the edges)"
    ),
    "whole-levels": (
        "⌊steps·x⌋ is monotone and commutes with whole steps, so that numbers at most 1 apart go to levels at most "
        "`steps` apart (mechanisms/exponential/README.md)"
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
        "levels by `exponents_below`: shown for unknown numbers and for arrays of any length; that numpy's min, max, "
        "fmin, fmax, bincount and stable argsort do what they are called is by reading, and vectors of both kinds were "
        "compared in rationals (mechanisms/exponential/README.md)"
    ),
    "outcomes": (
        "what a selection does with one, two and three outcomes, whatever their utilities are, and with 10,000 known "
        "ones, it does with any number of them: outcomes are only gone through, by lists and minima of any length (by "
        "reading; the rounds of permute-and-flip and the total of weights in base 2 are shown for every number)"
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
        "the coin 2^k·e^−x compares a uniform number bit by bit with ends that are bounds for every rational x, k and "
        "precision; it is followed on all beginnings of 136 bits and along 448 bits of 2^k·e^−x, each of some of "
        "them flipped, and its loop goes on so beyond (by reading; mechanisms/exponential/README.md)"
    ),
    "weighted": (
        "a sampler that draws an index in proportion to the integer weights that were tried, by dialogue or by its "
        "exact law, does so for all integers: prefix sums and a uniform integer, or its bits "
        "(mechanisms/exponential/README.md)"
    ),
    "several": (
        "`SeveralAnswers` reads each answer by itself, for all lengths, shapes and types: `part` gives of an array of "
        "doubles what `Grid.split` computes elementwise, of other numbers what `at` says one by one (by reading, "
        "mechanisms/answers.py; tried on arrays and lists of every type)"
    ),
    "sparse-vector": (
        "AboveThreshold with noise of scale b on the threshold and of b′ on each answer loses d/b + 2cd/b′ where "
        "answers move by d at most and c of them are reported above, however many are not; c values with noise of "
        "scale b″ of their own cost cd/b″ more (mechanisms/sparse_vector/README.md)"
    ),
    "queries": (
        "what is shown of some more unknown answers than may be above, of all rows of up to eight and of thousands of "
        "known answers holds for any number: they are gone through one by one, or row by row by numpy's comparison, "
        "cumulative sum and nonzero (by reading, mechanisms/sparse_vector/exact.py and exact_fast.py)"
    ),
    "unbounded-noise": (
        "what lies beyond ±2^62 of discrete Laplace noise is geometric, so noise that was cut off there goes on from "
        "there with a geometric variate of its own; that all such noise does, and that numpy adds and compares "
        "integers of any size, is by reading, and tried (mechanisms/sparse_vector/README.md)"
    ),
    "words": (
        "what a word decides follows from whose it is, its place among that outcome's words and one comparison with a "
        "threshold (by reading); at both ends of every outcome's words, of each 2^−12 of all words, and at all places "
        "where a decision changes, it was compared; words in order of level, as many in a row taken for one as "
        "there is room for, and words in the order of the outcomes give one law (mechanisms/exponential/README.md)"
    ),
    "rows": (
        "what rows of an array select that were compared, among them more than a block of rows that differ, rows of "
        "any number select: each has words of its own, and so a law of its own, independent of the others' (by "
        "reading, mechanisms/exponential/exact_rows.py; proof in mechanisms/exponential/README.md)"
    ),
    "keys": (
        "what holds of up to four keys and of 10,000 holds of any number: a key is shown by its own noisy count alone, "
        "and keys are gone through in order (by reading, mechanisms/partition_selection/exact.py, and numpy's sum of "
        "an array and a row)"
    ),
    "tally": (
        "Python's `Counter` counts equal strings, and `sorted` puts pairs into the order of their first members where "
        "these differ (by reading), so that a tally is a function of how many people have each key "
        "(mechanisms/partition_selection/README.md)"
    ),
    "thresholded-counts": (
        "with independent discrete Laplace noise of scale s on each count above 0, shown if it is T ≥ 2 or more, one "
        "person more or fewer changes what is shown by a factor of at most e^(1/s) if the key has other people, and is "
        "seen with probability e^(−(T − 1)/s)/(1 + e^(−1/s)) if it has not; clamping to ±2^61, beyond T, costs nothing "
        "(mechanisms/partition_selection/README.md)"
    ),
    "rank-utilities": (
        "one of the records, each clamped, adds q − p, −p or nothing to (q − p)·#{x < c} − p·#{x > c}: so one more "
        "or fewer moves the modulus of that by max(p, q − p) at most (mechanisms/quantile/README.md)"
    ),
    "ranks": (
        "numpy's `sort` puts doubles that are not NaN into order, and `searchsorted` among them counts those below a "
        "number (left), or at most it (right); up to 2^42 records utilities stay within 64 bits (by reading; tried "
        "about the candidates) (mechanisms/quantile/README.md)"
    ),
}
"""The statement of each lemma, and the README that proves it."""
