"""A law is confirmed in a fresh process, with another hash seed, before a claim is judged by it.

Plain runs made there are compared with the law (`sampling_check`). Then the runs that were played here are played there
again, in another order, at random places in memory, and with random bytes in what `numpy.empty` gives: addresses, and
memory that nobody has written to, are often the same in every run of one process.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.laws import sampling_check
from attacklab.laws.errors import NeverEnds, SamplerFailed
from attacklab.laws.law import Law
from attacklab.laws.replay import Replays, Script
from attacklab.laws.sampling_check import Runs, compare, plain_runs
from attacklab.processes.fresh import NoAnswer, TookTooLong, run_in_fresh_process

_LONGEST_RUN = 10.0
"""How much longer than the time for plain runs the last of them, and the replay after them, may take."""


def require_agreement(
    law: Law,
    sampler: Callable[..., Any],
    *arguments: Any,
    runs: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    with_bits: bool = False,
) -> int:
    """Run a sampler in another process, and compare its outcomes with its law.

    Args:
        law: the law of `sampler(*arguments, bits)`.
        sampler: draws from the source of bits that is its last argument.
        *arguments: what precedes that.
        runs: how many plain runs are made; `sampling_check.RUNS` if not given.
        seconds: after so long no further one is begun; `sampling_check.SECONDS` if not given.
        seed: the seed of the source of bits.
        with_bits: whether the law is that of pairs of an outcome and the bits taken for it.

    Returns:
        How many plain runs were made.

    Raises:
        NotDeterministic, LooksAtDraws: the sampler gives another outcome there on the same bits.
        Contradicted: a true law would give such counts with probability at most `sampling_check.FALSE_ALARM`.
        SamplerFailed: a run raised, or ended its process.
        NeverEnds: a run took more than 10 s, or nearly that.
        CannotBeSent: the sampler or its arguments cannot be sent to another process.
    """
    runs = sampling_check.RUNS if runs is None else runs
    seconds = sampling_check.SECONDS if seconds is None else seconds
    try:
        observed = run_in_fresh_process(
            _played, sampler, arguments, law.played, runs, seconds, seed, with_bits, seconds=seconds + _LONGEST_RUN
        )
    except TookTooLong as error:
        message = f"a plain run of the sampler did not end within {_LONGEST_RUN:g} s; make every run end"
        raise NeverEnds(message) from error
    except NoAnswer as error:
        raise SamplerFailed(f"a plain run of the sampler ended its process ({error.how}); let it return") from error
    compare(law, observed)
    return len(observed.numbers)


def _played(
    sampler: Callable[..., Any],
    arguments: tuple[Any, ...],
    played: tuple[tuple[Script, Any], ...],
    runs: int,
    seconds: float,
    seed: int,
    with_bits: bool,
) -> Runs:
    observed = plain_runs(sampler, arguments, runs, seconds, seed, with_bits=with_bits)
    fill_empty_arrays()
    Replays().check_scripts("the sampler", _somewhere, (sampler, *arguments), played)
    return observed


class _Unnamed:
    """Takes as much room as most objects."""


def _somewhere(sampler: Callable[..., Any], *arguments: Any) -> Any:
    """Run a sampler among a random number of other objects, so that its own lie elsewhere than in the run before."""
    others = [(object(), _Unnamed()) for _ in range(random.randrange(8))]
    try:
        return sampler(*arguments)
    finally:
        del others


def fill_empty_arrays() -> None:
    """Make random what arrays of no content hold. It cannot be undone, so it is for a process that ends soon."""
    vars(np).update(empty=_with_random_bytes(np.empty), empty_like=_with_random_bytes(np.empty_like))


def _with_random_bytes(empty: Callable[..., NDArray[Any]]) -> Callable[..., NDArray[Any]]:
    @wraps(empty)
    def filled(*arguments: Any, **options: Any) -> NDArray[Any]:
        array = empty(*arguments, **options)
        if not array.dtype.hasobject:
            array[...] = np.frombuffer(random.randbytes(array.nbytes), dtype=array.dtype).reshape(array.shape)
        return array

    return filled
