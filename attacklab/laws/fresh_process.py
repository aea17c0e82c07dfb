"""A law is confirmed in a fresh process, with another hash seed, before a claim is judged by it.

Plain runs made there are compared with the law (`sampling_check`). Then the runs that were played here are played there
again, in another order, and with the process unsettled. Nothing promises an order of the elements of a set, an address
of an object, or what lies in memory that nobody has written to, yet these are often the same in every run of one
process. In an unsettled one they are not: sets made by name give their elements in a random order, objects without a
`__repr__` of their own show a random address, and `numpy.empty` holds random bytes.
"""

from __future__ import annotations

import builtins
import random
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.laws import sampling_check
from attacklab.laws.errors import NeverEnds, SamplerFailed
from attacklab.laws.law import Law
from attacklab.laws.replay import Replays, Script
from attacklab.laws.sampling_check import Runs, compare, plain_runs
from attacklab.laws.snapshot import Snapshot, call_parts
from attacklab.laws.watched_names import WatchedNames
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
) -> int:
    """Run a sampler in another process, and compare its outcomes with its law.

    Args:
        law: the law of `sampler(*arguments, bits)`.
        sampler: draws from the source of bits that is its last argument.
        *arguments: what precedes that.
        runs: how many plain runs are made; `sampling_check.RUNS` if not given.
        seconds: after so long no further one is begun; `sampling_check.SECONDS` if not given.
        seed: the seed of the source of bits.

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
            _played, sampler, arguments, law.played, runs, seconds, seed, seconds=seconds + _LONGEST_RUN
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
) -> Runs:
    observed = plain_runs(sampler, arguments, runs, seconds, seed)
    names = WatchedNames()
    names.add(Snapshot(call_parts(sampler, arguments, "the sampler")))
    unsettle(names.classes)
    Replays().check_scripts("the sampler", sampler, arguments, played)
    return observed


class _Shuffled(set[Any]):
    def __iter__(self) -> Iterator[Any]:
        return _in_random_order(super().__iter__())

    def pop(self) -> Any:
        element = next(iter(self))
        self.remove(element)
        return element


class _FrozenShuffled(frozenset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return _in_random_order(super().__iter__())


def _in_random_order(elements: Iterable[Any]) -> Iterator[Any]:
    listed = list(elements)
    random.shuffle(listed)
    return iter(listed)


def _with_a_random_address(self: object) -> str:
    kind = type(self)
    return f"<{kind.__module__}.{kind.__qualname__} object at 0x{16 * random.getrandbits(40):012x}>"


def _with_random_bytes(empty: Callable[..., NDArray[Any]]) -> Callable[..., NDArray[Any]]:
    @wraps(empty)
    def filled(*arguments: Any, **options: Any) -> NDArray[Any]:
        array = empty(*arguments, **options)
        if not array.dtype.hasobject:
            array[...] = np.frombuffer(random.randbytes(array.nbytes), dtype=array.dtype).reshape(array.shape)
        return array

    return filled


def unsettle(classes: Iterable[type]) -> None:
    """Make random the order of sets, the addresses that objects of these classes show, and arrays of no content.

    It cannot be undone, so it is for a process that ends soon.
    """
    vars(builtins).update(set=_Shuffled, frozenset=_FrozenShuffled)
    vars(np).update(empty=_with_random_bytes(np.empty), empty_like=_with_random_bytes(np.empty_like))
    for kind in classes:
        if getattr(kind, "__repr__", None) is object.__repr__:
            setattr(kind, "__repr__", _with_a_random_address)  # noqa: B010 (the type has a method there)
