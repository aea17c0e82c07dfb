"""Specimens written without a look at the attacks, nor at those on which attacks are developed.

They measure how many flaws a default audit finds for which it was not written. So attacks must not be fitted to them,
and a specimen changes only if its label is wrong. If several have one flaw in one kind of output, only the first in its
file is kept, whether or not it is found. Two showed what an attack lacked, and are no longer unseen:
`integer_through_double` and `sign_of_zero`.
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
