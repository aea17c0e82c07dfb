"""Specimens written without a look at the attacks, nor at those on which attacks are developed.

They measure what a default audit finds of flaws that it was not written for. So attacks must not be fitted to them,
and a specimen changes only if its label is wrong. Of several with one flaw in one kind of output, the first in its file
stands here for all, whoever is found. Two showed what an attack lacked, and are known since: `integer_through_double`
and `sign_of_zero`.
"""

from corpus.common.specimen import Specimen
from corpus.held_out import compositions, noise, outputs, selections, statistics

HELD_OUT: tuple[Specimen, ...] = (
    *outputs.SPECIMENS,
    *noise.SPECIMENS,
    *statistics.SPECIMENS,
    *selections.SPECIMENS,
    *compositions.SPECIMENS,
)
