"""What a replay adds to an audit: the code between the mechanisms, by one run on each of two neighbours.

Outputs need not be many for it, and it takes no part of α: what it refutes is certain (or, where it counts a value of
the output, so but for a probability of 10^−10), or a note on accounting. It runs after the sampling, so that whatever
its runs leave behind changes no sampled finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, Severity, Verdict
from attacklab.model.targets import Release, Target
from attacklab.processes.targets import ProcessRelease

SECONDS = 10.0
"""After how long no further pair is tried beside the samples of an audit."""

SAYS_SOMETHING = (Verdict.VIOLATED, Verdict.NOT_DETECTED)

IN_PLACES = (".random(", ".uniform(", "of two draws(")
"""Draws that may be a place in an interval that was chosen by noise, or steps on a grid: what does not fit them all may
fit the one that was taken, so that such a loss is a note."""


def with_replay(target: Target, sampled: Sequence[Finding], *, seed: int, again: str) -> list[Finding]:
    """The findings of an audit, those of a replay before them.

    A replay tells nothing of the noise itself. So where the samples could have decided nothing, that it found nothing
    is left out; and where it cannot judge, it stands among the attacks that do not apply, with the reason.

    Args:
        target: what was audited.
        sampled: what the attacks found.
        seed: of the runs.
        again: the line that replays it.

    Returns:
        Those of the replay first.
    """
    from attacklab.replay import replay  # here, because it imports SciPy, which workers do not need

    if isinstance(target.release, ProcessRelease) or target.sampler is not None:
        return list(sampled)  # it draws where nothing is watched, or from bits alone: then it is to be proved
    try:
        found = replay(replace(target, release=partial(_drawn, target.release)), seed=seed, seconds=SECONDS)
    except UsageError:  # there is no pair to try
        return list(sampled)
    could_decide = any(finding.verdict in SAYS_SOMETHING for finding in sampled)
    if not could_decide:
        found = [finding for finding in found if finding.verdict is not Verdict.NOT_DETECTED]
    return [*(_among_attacks(replace(finding, replay=again)) for finding in found), *sampled]


def _drawn(release: Release, input_: Any, trials: int, rng: Any) -> Any:
    """Outputs that a release gives one after another are drawn while the noise is watched."""
    released = release(input_, trials, rng)
    return list(released) if isinstance(released, Iterator) else released


def _among_attacks(finding: Finding) -> Finding:
    if finding.verdict not in SAYS_SOMETHING:
        return replace(finding, verdict=Verdict.NOT_APPLICABLE)
    call = "" if finding.witness is None else finding.witness.call
    return replace(finding, severity=Severity.ACCOUNTING) if any(draw in call for draw in IN_PLACES) else finding
