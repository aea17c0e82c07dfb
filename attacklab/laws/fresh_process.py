"""A law is confirmed in a fresh process, with another hash seed, before a claim is judged by it.

Plain runs made there are compared with the law (`sampling_check`), and the law is found there once more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from attacklab.draws.errors import NeverEnds, NotDeterministic, SamplerFailed
from attacklab.laws import sampling_check
from attacklab.laws.law import Law
from attacklab.laws.sampling_check import Runs, compare, plain_runs
from attacklab.processes.fresh import NoAnswer, TookTooLong, run_in_fresh_process

_LONGEST_RUN = 10.0
"""How much longer than the time for plain runs the last of them may take, in seconds."""

_SLOWER = 4
"""How many times as long as here the law may take there."""


def require_agreement(
    law: Law,
    sampler: Callable[..., Any],
    *arguments: Any,
    find: Callable[[Callable[..., Any]], Law] | None = None,
    found_in: float = 0.0,
    runs: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
) -> int:
    """Run a sampler in another process, compare its outcomes with its law, and find that anew.

    Args:
        law: the law of `sampler(*arguments, bits)`.
        sampler: draws from the source of bits that is its last argument.
        *arguments: what precedes that.
        find: finds the law of a sampler without arguments; None leaves that out.
        found_in: how many seconds that took here.
        runs: how many plain runs are made; `sampling_check.RUNS` if not given.
        seconds: after so long no further one is begun; `sampling_check.SECONDS` if not given.
        seed: the seed of the source of bits.

    Returns:
        How many plain runs were made.

    Raises:
        NotDeterministic: the law is another there.
        LawError: no law is found there.
        Contradicted: a true law would give such counts with probability at most `sampling_check.FALSE_ALARM`.
        SamplerFailed: a run raised, or ended its process.
        NeverEnds: a run took more than 10 s, or nearly that.
        CannotBeSent: the sampler or its arguments cannot be sent to another process.
    """
    runs = sampling_check.RUNS if runs is None else runs
    seconds = sampling_check.SECONDS if seconds is None else seconds
    longest = seconds + _LONGEST_RUN + _SLOWER * found_in
    try:
        observed, digest = run_in_fresh_process(
            _observed, sampler, arguments, find, runs, seconds, seed, seconds=longest
        )
    except TookTooLong as error:
        message = f"a plain run of the sampler did not end within {_LONGEST_RUN:g} s; make every run end"
        raise NeverEnds(message) from error
    except NoAnswer as error:
        raise SamplerFailed(f"a plain run of the sampler ended its process ({error.how}); let it return") from error
    compare(law, observed)
    if find is not None and digest != law.digest():
        raise NotDeterministic(
            "the sampler has another law in another process; let it depend on nothing but its arguments and its bits: "
            "no address, no hash, no file, no setting of the process"
        )
    return len(observed.numbers)


def _observed(
    sampler: Callable[..., Any],
    arguments: tuple[Any, ...],
    find: Callable[[Callable[..., Any]], Law] | None,
    runs: int,
    seconds: float,
    seed: int,
) -> tuple[Runs, str]:
    observed = plain_runs(sampler, arguments, runs, seconds, seed)
    return observed, find(partial(sampler, *arguments)).digest() if find else ""
