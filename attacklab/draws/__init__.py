"""A run and its draws: what records, repeats, shifts and exhausts them.

A run is a function of its input and its draws. `watching` puts watched generators in the place of all others (`numpys`,
`pythons`, `torchs`, by `everywhere`). `run` then runs a release on one input: with fresh draws, or with those of an
earlier run, some of them changed. A `Tape` (`tape`, `uniform`) is a source of random bits for one of all runs that a
sampler can make: what exhausts draws (`attacklab.laws`) hands out one after another.
"""

from attacklab.draws.laws import Law
from attacklab.draws.places import Site
from attacklab.draws.record import Draw, Draws, Raised, Run, run
from attacklab.draws.watching import watching

__all__ = ["Draw", "Draws", "Law", "Raised", "Run", "Site", "run", "watching"]
