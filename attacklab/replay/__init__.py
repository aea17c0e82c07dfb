"""Replays: the flaw in the code between the mechanisms, found in one run on each of two neighbours.

A run is recorded (`session`): every draw from a watched source (`sources`, `hooks`), and where noise goes from there
(`traced`, `tensors`). It is replayed on the neighbour with the same outcomes, and the two runs are compared
(`compare`). What differs is judged against the claim (`judge`, with `laws`, and `choices` and `paths` for what noise
decides), and the lines that it comes from are told (`origins`, with `trail` and `scales`). `program` has the public
function.
"""

from attacklab.replay.program import replay

__all__ = ["replay"]
