"""What the flags of the cases mean."""

from __future__ import annotations

from collections.abc import Mapping

from attacklab.vectors import Note

MIRONOV = "https://doi.org/10.1145/2382196.2382264"
CASACUBERTA = "https://doi.org/10.1145/3548606.3560708"
HANEY = "https://doi.org/10.1109/SP46214.2022.9833672"
CKS = "https://arxiv.org/abs/2004.00010"
ILVENTO = "https://arxiv.org/abs/1912.04222"
JIN = "https://doi.org/10.1109/SP46214.2022.9833672"
BALLE_WANG = "https://arxiv.org/abs/1805.06530"
OPENDP_2638 = "https://github.com/opendp/opendp/issues/2638"
IEEE = "https://doi.org/10.1109/IEEESTD.2019.8766229"

NOTES: Mapping[str, Note] = {
    "Basic": Note(
        "BASIC",
        "An ordinary case. An implementation that fails it draws from another law than it says.",
        "The claim was proved for another law, so nothing is known of what is released.",
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
}
