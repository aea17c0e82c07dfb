"""Language-neutral test vectors: what each file holds is computed here, and written by `attacklab vectors write`."""

from collections.abc import Callable, Mapping

from attacklab.vectors import VectorFile
from experiments.vectors.calibrations import calibrations
from experiments.vectors.laws import laws
from experiments.vectors.pairs import pairs
from experiments.vectors.roundings import roundings
from experiments.vectors.runs import tapes, traces
from experiments.vectors.specials import specials
from experiments.vectors.sums import sums

FILES: Mapping[str, Callable[[], VectorFile]] = {
    "calibration": calibrations,
    "law": laws,
    "pair": pairs,
    "rounding": roundings,
    "special": specials,
    "sum": sums,
    "tape": tapes,
    "trace": traces,
}
"""What writes the file of each type."""
