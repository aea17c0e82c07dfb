"""Language-neutral test vectors: what each file holds is computed here, and written by `attacklab vectors write`."""

from experiments.vectors.calibrations import calibrations
from experiments.vectors.laws import laws
from experiments.vectors.pairs import pairs
from experiments.vectors.sums import sums
from experiments.vectors.tapes import tapes

FILES = {"calibration": calibrations, "law": laws, "pair": pairs, "sum": sums, "tape": tapes}
"""What writes the file of each type."""
