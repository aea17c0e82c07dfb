"""Laws are confirmed in fresh processes, each with another hash seed, before a claim is judged by them.

Every law is found there once more, and must be the same: so what depends on the order of a set of strings, on an
address or on what an earlier run left is refused, however it is written. Plain runs made in the first of these
processes are compared with the laws (`sampling_check`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from attacklab.draws.errors import NeverEnds, NotDeterministic, SamplerFailed
from attacklab.laws.law import Law
from attacklab.laws.sampling_check import Runs, compare, plain_runs
from attacklab.processes.fresh import HASH_SEEDS, run_in_fresh_processes
from attacklab.processes.programs import NoAnswer, TooLate

_LONGEST_RUN = 10.0
"""How long the last plain run may go on after the time for plain runs is up, in seconds."""

_SLOWER = 4 * len(HASH_SEEDS)
"""A law may take this many times as long in fresh processes, which all run at once, as it took here."""


def require_agreement(
    laws: Sequence[Law],
    sampler: Callable[..., Any],
    inputs: Sequence[Any],
    find: Callable[[Callable[..., Any]], Law],
    *,
    found_in: float,
    runs: int,
    seconds: float,
) -> list[int]:
    """Find laws anew in other processes, and compare them with plain runs there.

    `laws` holds the law of `sampler(input, bits)` for each input; `find` finds it from the sampler with bound input.
    Finding the laws took `found_in` seconds in this process. The plain runs of one input take at most `seconds`.

    Returns:
        The number of plain runs of each input.

    Raises:
        LawError: another process finds a different law or none; or plain runs contradict a law, fail or do not end.
        CannotBeSent: the sampler or its arguments cannot be sent to another process.
    """
    longest = len(inputs) * seconds + _LONGEST_RUN + _SLOWER * found_in
    here = [law.digest() for law in laws]
    calls = [(_observed, (sampler, inputs, find, 0 if number else runs, seconds)) for number in range(len(HASH_SEEDS))]
    try:
        (observed, *_), digests = zip(*run_in_fresh_processes(calls, seconds=longest), strict=True)
    except TooLate as error:
        message = f"a plain run of the sampler did not end within {_LONGEST_RUN:g} s; make every run end"
        raise NeverEnds(message) from error
    except NoAnswer as error:
        raise SamplerFailed(f"a plain run of the sampler ended its process ({error}); let it return") from error
    if any(there != here for there in digests):
        raise NotDeterministic(
            "the sampler has a different law in another process; let it depend on nothing but its arguments and its "
            "bits: sort sets, and use no address, hash, file or setting of the process"
        )
    for law, made in zip(laws, observed, strict=True):
        compare(law, made)
    return [len(made.numbers) for made in observed]


def _observed(
    sampler: Callable[..., Any],
    inputs: Sequence[Any],
    find: Callable[[Callable[..., Any]], Law],
    runs: int,
    seconds: float,
) -> tuple[list[Runs], list[str]]:
    """Return plain runs of each input, if any are asked for, and the digest of each input's law."""
    observed = [plain_runs(sampler, (input_,), runs, seconds, seed=0) for input_ in inputs] if runs else []
    return observed, [find(partial(sampler, input_)).digest() for input_ in inputs]
