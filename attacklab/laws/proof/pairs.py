"""Deciding a claim on a neighbouring pair by the exact output laws of the implementation.

Both laws come from running the target's sampler on every sequence of random bits. Where they close, everything said is
exact. Where they do not (an output that can be any integer, say), at most 2^−62 of the mass is left open: what is
refuted is the claim itself, and what is proved may be the claim with `SLACK` added to δ only, as the reason then says.
For a claim of another kind than (ε, δ) it means `SLACK` added to each δ of its privacy profile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from attacklab.laws import Limits
from attacklab.laws.deadline import Deadline
from attacklab.laws.proof.inputs import inputs_of, neighbours_among
from attacklab.laws.proof.search import LIMITS, Places, Search, sampler_of
from attacklab.laws.proof.words import finding_of
from attacklab.model.errors import OutsideDomain, TargetError, UsageError
from attacklab.model.findings import Finding, Reach, Scope, Verdict, described_pair
from attacklab.model.floats import default_errors
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Target

SECONDS = 60.0
"""The default timeout of a command or a test, over all its pairs, in seconds."""


@default_errors
def prove(
    target: Target,
    pair: NeighbouringPair | None = None,
    *,
    inputs: Sequence[Any] | None = None,
    limits: Limits = LIMITS,
    seconds: float = math.inf,
    progress: Callable[[str], None] | None = None,
    spec: str | None = None,
) -> Finding:
    """Decide a target's claim on one pair, or on every pair of neighbours among some inputs.

    Answers and utilities are neighbours if they are at most the sensitivity apart. Datasets are neighbours by the
    relation of the claim or, if it has none, by any relation that such inputs have. If a dataset target has no shape
    and its inputs are single values, each is one person's record, and all are neighbours.

    Args:
        target: one that has a sampler.
        pair: the two inputs.
        inputs: instead of a pair, the inputs of a finite domain (see `attacklab.model.domains.finite`); equal ones
            count once.
        limits: when to stop enumerating a law.
        seconds: the time limit for everything; see `attacklab.laws.deadline` for what that can end.
        progress: called at the start and now and then with a line that says how far the proof has come.
        spec: the arguments of `attacklab prove` that repeat this proof, for the command that replays the finding.

    Returns:
        PROVED, VIOLATED, or INCONCLUSIVE where the limits or the time left too much of a law open;
        for inputs also ERROR, where the sampler cannot be enumerated.

    Raises:
        UsageError: a pair and inputs were given, or neither; the target has no sampler, claims nothing of such a pair,
            or claims an ε above 2^20; an input is not in its domain, or no two inputs are neighbours.
        LawError: the sampler cannot be enumerated on a pair; the message says why.
    """
    if (pair is None) == (inputs is None):
        raise UsageError("prove takes a pair or inputs; give one of them")
    if pair is not None:
        _require_provable(target, pair)
        places: list[Places] = [(0, 1, pair.relation)]
        search = Search(target, [pair.first, pair.second], places, limits, seconds, progress, is_one_pair=True)
        return search.finding(Scope(), spec)
    sampler_of(target)
    listed = inputs_of(target, inputs or ())
    places = neighbours_among(target, listed)
    if not places:
        raise UsageError(f"no two of these {len(listed)} inputs are neighbours for {target.name}; give others")
    search = Search(target, listed, places, limits, seconds, progress)
    return search.finding(Scope(Reach.INPUTS, inputs=len(listed), pairs=len(places)), spec)


@default_errors
def prove_all(
    target: Target,
    pairs: Sequence[NeighbouringPair] | None = None,
    *,
    limits: Limits = LIMITS,
    seconds: float = SECONDS,
    progress: Callable[[str], None] | None = None,
    spec: str | None = None,
) -> list[Finding]:
    """Decide a target's claim on each of some pairs.

    Args:
        target: one that has a sampler.
        pairs: the pairs; by default those that the target declares, or `default_pair` if it declares none.
        limits: when to stop enumerating.
        seconds: how long all of it may take; each pair gets an even share of the time that is left.
        progress: as for `prove`.
        spec: as for `prove`.

    Returns:
        A finding for each pair; a sampler that cannot be enumerated is an ERROR, whose reason says why.

    Raises:
        ValueError: as for `prove`; before anything is proved.
    """
    chosen = tuple(pairs or target.pairs) or (default_pair(target),)
    for pair in chosen:
        _require_provable(target, pair)
    deadline, findings = Deadline(seconds), []
    for number, pair in enumerate(chosen):
        share = deadline.left / (len(chosen) - number)
        shown = progress and partial(_numbered, progress, number, len(chosen))
        try:
            finding = prove(target, pair, limits=limits, seconds=share, progress=shown, spec=spec)
        except TargetError as error:
            finding = finding_of(
                target, "pair", spec, pair=described_pair(pair), scope=Scope(), verdict=Verdict.ERROR, reason=str(error)
            )
        findings.append(finding)
    return findings


def _numbered(progress: Callable[[str], None], number: int, pairs: int, line: str) -> None:
    progress(f"pair {number + 1} of {pairs}, {line}" if pairs > 1 else line)


def _require_provable(target: Target, pair: NeighbouringPair) -> None:
    sampler_of(target)
    if not target.covers(pair):
        raise UsageError(
            f"{target.name} claims nothing about this pair: {target.why_not_covered(pair)}; give another pair"
        )


def default_pair(target: Target) -> NeighbouringPair:
    """Return the first pair that a target declares, or else a small one as far apart as its kind and domain allow.

    Raises:
        UsageError: no pair can be made up for it: a dataset can be anything, or its domain holds no such pair.
    """
    if target.pairs:
        return target.pairs[0]
    try:
        return target.adapted(_apart(target))
    except OutsideDomain as error:
        raise UsageError(f"{error}; give a pair") from error


def _apart(target: Target) -> NeighbouringPair:
    step = target.sensitivity
    if target.kind is Kind.NOISE:
        return NeighbouringPair.answers(0.0, step, sensitivity=step)
    if target.kind is Kind.SELECTION:
        return NeighbouringPair.utilities([step, 0.0, 0.0], [0.0, step, step], sensitivity=step)
    if target.bounds is not None:
        lower, upper = target.bounds
        if target.relation is Relation.SUBSTITUTE:
            return NeighbouringPair.records([lower], [upper], Relation.SUBSTITUTE)
        return NeighbouringPair.records([lower], [lower, upper], Relation.ADD_REMOVE)
    raise UsageError(f"there is no default pair for a {target.kind} target; give --inputs, or declare its pairs")
