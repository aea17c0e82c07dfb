"""Language-neutral test vectors: what each file holds is computed here, and written by `attacklab vectors write`."""

from collections.abc import Callable, Mapping

from attacklab.vectors import VectorFile
from experiments.vectors.laws import laws
from experiments.vectors.tapes import tapes
from experiments.vectors.traces import traces

FILES: Mapping[str, Callable[[], VectorFile]] = {"law": laws, "tape": tapes, "trace": traces}
"""What writes the file of each type."""
