"""A run and its draws: what records, repeats, shifts and exhausts them.

A run is a function of its input and its draws. `watching` replaces all generators by watched ones (`numpys`,
`pythons`, `torchs`, `everywhere`). `run` then runs a release on one input. Its draws are fresh, or the draws of an
earlier run, with some of them changed. A `Tape` (`tape`, `uniform`) is a source of random bits for one possible run of
a sampler; `attacklab.laws` makes one tape after another until it has covered all possible runs.
"""

from attacklab.draws.laws import Law
from attacklab.draws.places import Site
from attacklab.draws.record import Draw, Draws, Raised, Run, run
from attacklab.draws.watching import watching

__all__ = ["Draw", "Draws", "Law", "Raised", "Run", "Site", "run", "watching"]
