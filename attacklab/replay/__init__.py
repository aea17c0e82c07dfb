"""Replays: the flaw in the code between the mechanisms, found in one run on each of two neighbours.

`program` has the public function; `session` and `traced` watch a run, `sources` lists what is watched, `examine`
compares two runs, `laws` and `paths` say what noise loses.
"""

from attacklab.replay.program import replay

__all__ = ["replay"]
