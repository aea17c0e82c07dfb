"""What a replay adds to an audit: the code between the mechanisms, by one run on each of two neighbours.

Outputs need not be many for it, and it takes no part of α: what it refutes is certain (or, where it counts a value of
the output, so but for a probability of 10^−10), or a note on accounting. It runs after the sampling, so that whatever
its runs leave behind changes no sampled finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, Verdict
from attacklab.model.targets import Target
from attacklab.processes.targets import ProcessRelease

MOST_PAIRS = 40
"""How many pairs are tried beside the samples of an audit, and as many by a search: most targets take a second."""

SECONDS = 120.0
"""After how long no further pair is tried all the same, which the finding then says."""

SAYS_SOMETHING = (Verdict.VIOLATED, Verdict.NOT_DETECTED)


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
        found = replay(target, seed=seed, most_pairs=MOST_PAIRS, seconds=SECONDS)
    except UsageError:  # there is no pair to try
        return list(sampled)
    could_decide = any(finding.verdict in SAYS_SOMETHING for finding in sampled)
    if not could_decide:
        found = [finding for finding in found if finding.verdict is not Verdict.NOT_DETECTED]
    return [*(_among_attacks(replace(finding, replay=again)) for finding in found), *sampled]


def _among_attacks(finding: Finding) -> Finding:
    return finding if finding.verdict in SAYS_SOMETHING else replace(finding, verdict=Verdict.NOT_APPLICABLE)
