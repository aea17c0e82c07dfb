"""What the flags of the cases mean."""

from __future__ import annotations

from collections.abc import Mapping

from attacklab.vectors import Note

MIRONOV = "https://doi.org/10.1145/2382196.2382264"
CASACUBERTA = "https://doi.org/10.1145/3548606.3560708"
HANEY = "https://doi.org/10.1109/SP46214.2022.9833672"
CKS = "https://arxiv.org/abs/2004.00010"
ILVENTO = "https://arxiv.org/abs/1912.04222"
BALLE_WANG = "https://arxiv.org/abs/1805.06530"
OPENDP_2638 = "https://github.com/opendp/opendp/issues/2638"
NIST = "https://doi.org/10.6028/NIST.SP.800-226"
IEEE = "https://doi.org/10.1109/IEEESTD.2019.8766229"

NOTES: Mapping[str, Note] = {
    "Basic": Note(
        "BASIC",
        "An ordinary case. An implementation that fails it draws from another law than it says.",
        "The claim was proved for another law, so nothing is known of what is released.",
        (NIST,),
    ),
    "BiasedIntegers": Note(
        "BIASED_SAMPLER",
        "Scales at which a sampler that divides big integers wrongly, or takes a remainder of random words, favours "
        "some integers over others.",
        "Neighbouring answers shift the favoured integers, and counting them tells the answers apart beyond the claim.",
        (OPENDP_2638, CKS),
    ),
    "TinyProbability": Note(
        "LOST_PROBABILITY",
        "An outcome whose probability is above 0 but far below 2^−53: a weight that underflows, or is lost in a sum, "
        "makes it impossible.",
        "If a neighbour's outcome is impossible for the other database, one output proves which database it was.",
        (ILVENTO,),
    ),
    "LargeExponent": Note(
        "LOST_PROBABILITY",
        "Exponents so large that e^x overflows binary64 unless the largest utility is subtracted first.",
        "A failure or a NaN for one database and not for its neighbour tells them apart.",
        (ILVENTO,),
    ),
    "EqualWeights": Note(
        "BIASED_SAMPLER",
        "Outcomes of equal weight, in number or place such that a binary search, a table or a cumulative sum prefers "
        "some of them.",
        "An order of outcomes that depends on the data shows in the output.",
        (ILVENTO,),
    ),
    "FineRatio": Note(
        "BIASED_SAMPLER",
        "A probability whose denominator is no power of two, or has many digits: it must not be rounded to a double.",
        "An excess of 2^−54 breaks pure DP, and shows in sums of many answers.",
        (CKS,),
    ),
    "LongTail": Note(
        "FLOATING_POINT_NOISE",
        "Scales at which noise reaches far beyond 2^32: it must not wrap or be cut off.",
        "Noise that ends somewhere makes an output beyond that end a proof of which answer was noised.",
        (MIRONOV,),
    ),
    "LongRun": Note(
        "BIASED_SAMPLER",
        "A run longer than the shortest: a round is rejected and begun again, or more bits are needed to decide.",
        "A sampler that reuses the bits of a rejected round, or gives up after some rounds, draws from another law.",
        (CKS,),
    ),
    "Tie": Note(
        "ROUNDING",
        "A number half-way between two floats, or next to such a number.",
        "A conversion that rounds twice, or by a double in between, moves outputs of a grid by a step.",
        (IEEE,),
    ),
    "Subnormal": Note(
        "ROUNDING",
        "A result below the least normal number, where flushing to zero and conversions by logarithms fail.",
        "A weight or a probability becomes 0, and an outcome impossible for one of two neighbours.",
        (IEEE,),
    ),
    "Overflow": Note(
        "ROUNDING",
        "A number about the largest of the format.",
        "A failure or an infinity for one of two neighbours tells them apart.",
        (IEEE,),
    ),
    "ExactSum": Note(
        "ROUNDING",
        "Terms whose sum, rounded after each addition, is not the exact sum rounded once.",
        "Sums of neighbouring datasets move further than the sensitivity that noise is scaled to.",
        (CASACUBERTA,),
    ),
    "SumMovesFar": Note(
        "SENSITIVITY",
        "Rounding moves the sums of two neighbouring datasets at least twice as far apart as the sensitivity.",
        "Noise that is scaled to the sensitivity hides only half of the difference or less: ε is at least doubled.",
        (CASACUBERTA,),
    ),
    "SumMovesABit": Note(
        "SENSITIVITY",
        "Rounding moves the sums of two neighbouring datasets a little further apart than the sensitivity.",
        "The claim is false by a little; it shows that the sensitivity was derived for real numbers.",
        (CASACUBERTA,),
    ),
    "UnsafeRounding": Note(
        "CALIBRATION",
        "Ordinary arguments. A formula that is right for real numbers may round to the unsafe side, or hold only for a "
        "part of them, as the classical σ does for ε < 1.",
        "The noise is smaller than the claim needs.",
        (BALLE_WANG,),
    ),
    "ExtremeBudget": Note(
        "CALIBRATION",
        "Very small or very large arguments, where a formula underflows, overflows or cancels.",
        "The noise is far smaller than the claim needs, or there is none.",
        (BALLE_WANG,),
    ),
    "NotANumber": Note(
        "INVALID_INPUT",
        "NaN, which comparisons and clipping pass through.",
        "A failure, or NaN as output, for one of two neighbours tells them apart.",
        (CASACUBERTA,),
    ),
    "Infinite": Note(
        "INVALID_INPUT",
        "Infinities and numbers next to the end of a format, whose differences and sums overflow.",
        "A failure, a NaN or a wrapped number for one of two neighbours tells them apart.",
        (CASACUBERTA,),
    ),
    "NegativeZero": Note(
        "INVALID_INPUT",
        "−0.0, and numbers that are rounded to it: equal to 0.0, but printed and serialised otherwise.",
        "An output of −0.0 that only one of two neighbours has tells them apart.",
        (MIRONOV, IEEE),
    ),
    "SubnormalInput": Note(
        "INVALID_INPUT",
        "Numbers below the least normal one, which some processes flush to zero.",
        "Divisions by them overflow, and comparisons with 0 depend on the process.",
        (IEEE,),
    ),
    "IntegerExtreme": Note(
        "INVALID_INPUT",
        "Integers at and beyond the ends of 16, 32, 53 and 64 bits.",
        "An answer that wraps around lands at the other end of the range; two neighbours are as far apart as can be.",
        (CASACUBERTA,),
    ),
    "OutOfBounds": Note(
        "INVALID_INPUT",
        "Records a little outside their bounds.",
        "A record that is not clipped moves the sum by more than the sensitivity; one that is refused is told.",
        (CASACUBERTA,),
    ),
    "EmptyData": Note(
        "INVALID_INPUT",
        "No records, a neighbour of one record under add-remove.",
        "A mean that divides by 0, or a sum of nothing that fails, tells that the database is empty.",
        (CASACUBERTA,),
    ),
    "LostInSum": Note(
        "LOST_PROBABILITY",
        "A weight that is added to a sum so large that the sum stays what it was.",
        "The outcome becomes impossible for one of two neighbours.",
        (ILVENTO,),
    ),
    "BoundedNoise": Note(
        "FLOATING_POINT_NOISE",
        "Noise made of one uniform number of 53 bits ends at 53·ln 2 times its scale.",
        "An output beyond that end is possible for one of two neighbours only: δ is small, but no ε holds.",
        (MIRONOV,),
    ),
    "LocalSensitivity": Note(
        "SENSITIVITY",
        "Noise scaled to what one record moves in this database, not in any.",
        "The width of the noise tells the size or the spread of the data.",
        ("https://cs-people.bu.edu/ads22/pubs/NRS07/NRS07-full-draft-v1.pdf",),
    ),
    "MassAtThreshold": Note(
        "CALIBRATION",
        "Integer noise reaches a threshold exactly with a probability above 0, which a threshold for continuous noise "
        "leaves out.",
        "The key of a single person is released with more than δ.",
        (CKS,),
    ),
}
