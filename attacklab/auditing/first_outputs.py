"""The first outputs of an audit: whether the function that it was given releases anything at all, and does not fail.

A function that forgets `return` gives None each time, and one that returns a constant keeps every claim; neither is
what anybody meant to test. A sound mechanism may give one output nearly always, because a threshold is rarely passed or
a key rarely kept. So several pairs are looked at, and where all outputs of all of them are the same, many more.
"""

from __future__ import annotations

import itertools
import re
import traceback
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from attacklab.align.pairs import pairs_of
from attacklab.attacks.features import NotUnderstood, hashes
from attacklab.auditing.drawing import own_seconds
from attacklab.auditing.repairs import finding_of
from attacklab.model.errors import LabFault, Refused, TargetError
from attacklab.model.findings import Finding, Verdict, described_pair
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target

NAME = "first_outputs"
"""What stands where an attack's name would."""

PAIRS, OUTPUTS, MOST_OUTPUTS = 100, 64, 1 << 14
"""How many pairs are looked at, and outputs of either input; and of the first pair if all of them are the same."""

INSTALLED = re.compile(
    r"[/\\](site|dist)-packages[/\\]|[/\\]lib[/\\]python3|" + re.escape(str(Path(__file__).parents[1]))
)
"""Files whose lines are not those of a target, this package among them."""

VARY = "If it is, give a pair on which its outputs vary"

SECONDS = 5.0
"""After how long no more are drawn."""


def without_variety(target: Target, seed: int) -> Finding | None:
    """An error if all outputs are None or one value on both inputs of every pair, or all calls raise; None otherwise.

    Args:
        target: what is to be audited.
        seed: what the outputs are drawn from.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(len(NAME),)))
    started, looked = own_seconds(), list(itertools.islice(pairs_of(target), PAIRS))
    kinds: set[tuple[int, bool]] = set()
    drawn = 0
    for pair, most in [*((pair, OUTPUTS) for pair in looked), *((pair, MOST_OUTPUTS) for pair in looked[:1])]:
        done, count = 0, 2  # two outputs are enough for most targets
        while done < most and (drawn < OUTPUTS or own_seconds() - started < SECONDS):
            for input_ in (pair.first, pair.second):
                try:
                    outputs = target.outputs(input_, count, rng)
                    kinds |= {(code, outputs[0] is None) for code in hashes(outputs).tolist()}
                except Refused as error:
                    return None if kinds else _always_failing(target, looked, rng, error, seed)
                except (TargetError, LabFault, NotUnderstood, RecursionError):
                    return None  # the attacks say what it raises
            if len(kinds) > 1:
                return None
            done, drawn, count = done + count, max(drawn, done + count), done + count
    if not kinds:
        return None
    ((_, nothing),) = kinds
    what, advice = ("returned None", "It may lack a return") if nothing else ("gave the same output", VARY)
    times = f"{drawn:,} times of {drawn:,} on both inputs"
    reason = f"{target.name} {what} {times}: is this the function you mean? {advice}"
    return _error(target, reason, looked[0], seed, started)


def _always_failing(
    target: Target, pairs: Sequence[NeighbouringPair], rng: np.random.Generator, error: Refused, seed: int
) -> Finding | None:
    """An error with the line that raised, if one call on each input of all pairs raises; None otherwise."""
    started = own_seconds()
    for input_ in itertools.chain.from_iterable((pair.first, pair.second) for pair in pairs):
        if own_seconds() - started > SECONDS:
            return None
        try:
            target.outputs(input_, 1, rng)
        except Refused:
            continue
        except (TargetError, LabFault, RecursionError):
            pass
        return None
    cause = error.__cause__
    frames = [] if cause is None else traceback.extract_tb(cause.__traceback__)
    own = [frame for frame in frames if not INSTALLED.search(frame.filename)]
    place = f" at {Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
    return _error(target, f"{error}{place}, on every input that was tried", pairs[0], seed, started)


def _error(target: Target, reason: str, pair: NeighbouringPair, seed: int, started: float) -> Finding:
    spent = own_seconds() - started
    return finding_of(target, NAME, Verdict.ERROR, reason, pair=described_pair(pair), seed=seed, seconds=spent)
