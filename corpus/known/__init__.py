"""The specimens on which attacks may be developed."""

from corpus.common.specimen import Specimen
from corpus.known import compositions, noise, outputs, public_reports, statistics

KNOWN: tuple[Specimen, ...] = (
    *outputs.SPECIMENS,
    *noise.SPECIMENS,
    *statistics.SPECIMENS,
    *public_reports.SPECIMENS,
    *compositions.SPECIMENS,
)
