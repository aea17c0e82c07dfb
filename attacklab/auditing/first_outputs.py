"""The first outputs of an audit: whether the function that it was given releases anything at all, and does not fail.

A function that forgets `return` gives None each time, and one that returns a constant keeps every claim; neither is
what anybody meant to test. A sound mechanism may give one output nearly always, because a threshold is rarely passed or
a key rarely kept. So several pairs are looked at, and where all outputs of all of them are the same, many more.
"""

from __future__ import annotations

import itertools
import re
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attacklab.align.pairs import pairs_of
from attacklab.attacks.features import NotUnderstood, hashes
from attacklab.auditing.drawing import own_seconds
from attacklab.model.errors import LabFault, Refused, TargetError
from attacklab.model.findings import Finding, Verdict, described_pair
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target

NAME = "first_outputs"
"""The name that a finding has in place of an attack's name."""

PAIRS, OUTPUTS, MOST_OUTPUTS = 100, 64, 1 << 14
"""Pairs looked at, outputs of each input, and outputs of the first pair if all outputs so far are the same."""

INSTALLED = re.compile(
    r"[/\\](site|dist)-packages[/\\]|[/\\]lib[/\\]python3|" + re.escape(str(Path(__file__).parents[1]))
)
"""Matches paths of code that is not the target's: installed packages, Python's own library and this package."""

VARY = "If it is, give a pair on which its outputs vary"

SECONDS = 5.0
"""Seconds after which no further outputs are drawn."""


def without_variety(target: Target, seed: int) -> Finding | None:
    """Return an ERROR if all calls raise, or all outputs of all pairs are None or one and the same value; else None.

    Args:
        target: the target to audit.
        seed: the seed of the outputs.
    """
    started, pairs = own_seconds(), list(itertools.islice(pairs_of(target), PAIRS))
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(len(NAME),)))
    kinds: set[tuple[int, bool]] = set()
    raised: Refused | None = None
    drawn = 0
    for input_, count in _asked(pairs):
        if (raised or drawn >= OUTPUTS) and own_seconds() - started > SECONDS:
            if raised:
                return None
            break
        try:
            outputs = target.outputs(input_, 1 if raised else count, rng)
            kinds |= {(code, outputs[0] is None) for code in hashes(outputs).tolist()}
        except Refused as error:
            raised = error
        except (TargetError, LabFault, NotUnderstood, RecursionError):
            return None  # the attacks say what it raises
        if len(kinds) + bool(raised) > 1:
            return None
        drawn += count
    if not pairs:
        return None
    if raised:
        reason = f"{raised}{_place(raised)}, on every input that was tried"
    else:
        is_none = any(nothing for _, nothing in kinds)
        what, advice = ("returned None", "It may lack a return") if is_none else ("gave the same output", VARY)
        told = f"{target.name} {what} {count:,} times of {count:,} on both inputs"
        reason = f"{told}: is this the function you mean? {advice}"
    pair, spent = described_pair(pairs[0]), own_seconds() - started
    return Finding.on(target, NAME, Verdict.ERROR, reason, pair=pair, seed=seed, seconds=spent)


def _asked(pairs: Sequence[NeighbouringPair]) -> Iterator[tuple[Any, int]]:
    """Yield inputs, each with a number of outputs to look at: few for every pair, then many for the first pair."""
    for pair, most in [*((pair, OUTPUTS) for pair in pairs), *((pair, MOST_OUTPUTS) for pair in pairs[:1])]:
        count = 2  # two outputs are enough for most targets
        while count <= most:
            yield from ((pair.first, count), (pair.second, count))
            count *= 2


def _place(error: Refused) -> str:
    """Return the line of the target's own code that raised, as text; empty if there is none."""
    frames = [] if error.__cause__ is None else traceback.extract_tb(error.__cause__.__traceback__)
    own = [frame for frame in frames if not INSTALLED.search(frame.filename)]
    return f" at {Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
