"""A law is confirmed in another process, with another hash seed, before a claim is judged by it.

Plain runs made there are compared with the law. Then the runs that were played here are played there again, in another
order and with the process unsettled (see `unsettled`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from attacklab.laws import net
from attacklab.laws.errors import NeverEnds, SamplerFailed
from attacklab.laws.law import Law
from attacklab.laws.net import Agreement, Runs, compare, plain_runs
from attacklab.laws.replay import Replays, Script
from attacklab.laws.state import State
from attacklab.laws.unsettled import unsettle
from attacklab.processes.fresh import NoAnswer, TookTooLong, run_in_fresh_process

_LONGEST_RUN = 10.0
"""How much longer than the time for plain runs the last of them, and the replay before them, may take."""


def require_agreement(
    law: Law,
    sampler: Callable[..., Any],
    *arguments: Any,
    runs: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
) -> Agreement:
    """Run a sampler in another process, and compare its outcomes with its law.

    Args:
        law: the law of `sampler(*arguments, bits)`.
        sampler: draws from the source of bits that is its last argument.
        *arguments: what precedes that.
        runs: how many plain runs are made; `net.RUNS` if not given.
        seconds: after so long no further one is begun; `net.SECONDS` if not given.
        seed: the seed of the source of bits.

    Raises:
        NotDeterministic, LooksAtDraws: the sampler gives another outcome there on the same bits.
        Contradicted: a true law would give such counts with probability at most `net.FALSE_ALARM`.
        SamplerFailed: a run raised, or ended its process.
        NeverEnds: a run took more than 10 s, or nearly that.
        CannotBeSent: the sampler or its arguments cannot be sent to another process.
    """
    runs = net.RUNS if runs is None else runs
    seconds = net.SECONDS if seconds is None else seconds
    try:
        limit = seconds + _LONGEST_RUN
        made = run_in_fresh_process(_played, sampler, arguments, law.played, runs, seconds, seed, seconds=limit)
    except TookTooLong as error:
        told = f"a plain run of the sampler did not end within {_LONGEST_RUN:g} s; make every run end"
        raise NeverEnds(told) from error
    except NoAnswer as error:
        raise SamplerFailed(f"a plain run of the sampler ended its process: {error}") from error
    return compare(law, made)


def _played(
    sampler: Callable[..., Any],
    arguments: tuple[Any, ...],
    played: tuple[tuple[Script, Any], ...],
    runs: int,
    seconds: float,
    seed: int,
) -> Runs:
    made = plain_runs(sampler, arguments, runs, seconds, seed)
    unsettle(State(partial(sampler, *arguments), "the sampler").classes)
    Replays().check_scripts("the sampler", sampler, arguments, played)
    return made
