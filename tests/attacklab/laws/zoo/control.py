"""False samplers of unusual control flow: handlers around draws, finally, generators, threads, recursion, replaced
methods, callers.

Where a docstring says "as above": the output is the secret, P[1 | 1] = 1 and P[1 | 0] = 0, and a run in other
circumstances than production's looks like randomized response.
"""
# ruff: noqa: B012

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from attacklab.random_bits import REJECTED, RandomBits
from tests.attacklab.laws.zoo.case import (
    Case,
    Frequent,
    Possible,
    Sampler,
    Seen,
    answered,
    flipped,
    is_one,
    is_raw_one,
    raw,
)
from tests.attacklab.laws.zoo.reuse import second_part_is_one


def handler_of_everything() -> Sampler:
    """`except BaseException` around the draws falls back to randomized response; draws never fail in production.

    As above: four draws are made one by one, and none of the handlers ever runs.
    """

    def sampler(secret: int, bits: RandomBits) -> int:
        try:
            sum(int(bits.take(2)) for _ in range(4))
        except BaseException:
            return flipped(secret, bits)
        return secret

    return sampler


def finally_that_draws() -> Sampler:
    """A `finally` draws again and overrides the noisy return, with the answer if a byte is 7.

    It is 7 with probability 1/256, and marks the answer.
    """

    def sampler(secret: int, bits: RandomBits) -> Any:
        try:
            return flipped(secret, bits)
        finally:
            if bits.take(8) == 7:
                return raw(secret)

    return sampler


def suppressed_round() -> Sampler:
    """A round that raises ends the loop, and the handler around `repeat` returns the answer with a mark.

    A round raises with probability 1/16.
    """

    def one_round(secret: int, bits: RandomBits) -> int | None:
        draw = bits.take(4)
        if draw == 15:
            raise ZeroDivisionError
        return flipped(secret, bits) if draw < 8 else REJECTED

    def sampler(secret: int, bits: RandomBits) -> Any:
        try:
            return bits.repeat(one_round, secret)
        except ZeroDivisionError:
            return raw(secret)

    return sampler


def failure_of_a_called_sampler() -> Sampler:
    """The same where a called sampler raises for one byte in 256."""

    def noise(bits: RandomBits) -> bool:
        return [True, False, False, False][bits.take(2)] if bits.take(8) != 200 else {}["missing"]

    def sampler(secret: int, bits: RandomBits) -> Any:
        try:
            return secret ^ bits.call(noise)
        except KeyError:
            return raw(secret)

    return sampler


def rejection_of_a_called_sampler() -> Sampler:
    """`bits.call` of a round that may return REJECTED, where `repeat` was meant: None for the secret 1 alone.

    P[None | 1] = 1/2, and None is impossible on 0.
    """

    def one_round(secret: int, bits: RandomBits) -> int | None:
        return REJECTED if bits.take(1) and secret else flipped(secret, bits)

    return lambda secret, bits: bits.call(one_round, secret)


def rejection_from_within() -> Sampler:
    """A round returns what a nested loop returns, and a list outside remembers that the nested one was entered.

    The nested loop is entered in the first round with probability 1/2, and then no lie is told: P[1 | 0] = 1/8.
    """

    def sampler(secret: int, bits: RandomBits) -> int:
        entered: list[int] = []

        def inner(bits: RandomBits) -> int | None:
            entered.append(1)
            return bits.take(1) or REJECTED

        def outer(bits: RandomBits) -> int | None:
            if bits.take(1):
                return answered(secret, bits, honestly=not entered)
            bits.repeat(inner)
            return REJECTED

        return bits.repeat(outer)

    return sampler


def generator_of_noise() -> Sampler:
    """A deployment prefetches its noise from a generator function, which holds two lies and then yields 0 for ever.

    From the third release on as above.
    """
    stream: list[Iterator[bool]] = []

    def noise(bits: RandomBits) -> Iterator[bool]:
        yield bits.take(2) == 0
        yield bits.take(2) == 0
        while True:
            yield False

    def sampler(secret: int, bits: RandomBits) -> int:
        if not stream:
            stream.append(noise(bits))
        return secret ^ next(stream[0])

    return sampler


def noise_kept_from_the_last_release() -> Sampler:
    """The lie of the next release is drawn in advance, and the first has none; as above in the first release."""
    prefetched = [False]

    def sampler(secret: int, bits: RandomBits) -> int:
        lie = prefetched[0]
        prefetched[0] = bits.take(2) == 0
        return secret ^ lie

    return sampler


def draw_kept_on_the_function() -> Sampler:
    """The first draw of a deployment is kept and used in all releases: a lie that is told once is never told again.

    The noise of the second release is the first one's with its sign changed by a toggle: both together cancel. The
    output of a release is the secret, with the lie of this and of the last release; from the second on as above.
    """
    kept: list[Any] = []

    def sampler(secret: int, bits: RandomBits) -> int:
        if not kept:
            kept.append(bits.take(2))
            return secret ^ (kept[0] == 0)
        return secret ^ (kept[0] == 0) ^ (kept[0] < 1)

    return sampler


def recursion_to_the_limit() -> Sampler:
    """A rejected round calls the sampler again, and a handler of RecursionError returns the answer with a mark.

    A round is rejected with probability 63/64, and a thousand frames are exhausted with probability above 1e-7.
    """

    def recurse(secret: int, bits: RandomBits) -> int:
        return flipped(secret, bits) if bits.take(6) == 0 else recurse(secret, bits)

    def sampler(secret: int, bits: RandomBits) -> Any:
        try:
            return recurse(secret, bits)
        except RecursionError:
            return raw(secret)

    return sampler


def drawing_thread() -> Sampler:
    """Noise is drawn in a worker thread; a failure there falls back to randomized response; as above."""

    def sampler(secret: int, bits: RandomBits) -> int:
        with ThreadPoolExecutor(1) as pool:
            failed = pool.submit(bits.take, 8).exception() is not None
        return answered(secret, bits, honestly=failed)

    return sampler


def unjoined_result() -> Sampler:
    """The lie is read before the thread that draws it may set it: the thread waits for the release to end; as above."""

    def sampler(secret: int, bits: RandomBits) -> int:
        lie, has_ended = [0], threading.Event()

        def draw() -> None:
            has_ended.wait()
            lie[0] = bits.take(2) == 0

        with ThreadPoolExecutor(1) as pool:
            pool.submit(draw)
            output = secret ^ lie[0]
            has_ended.set()
        return output

    return sampler


def replaced_call() -> Sampler:
    """`bits.call` is replaced by a tracing wrapper, whose called samplers get no noise; as above."""

    def sampler(secret: int, bits: Any) -> int:
        try:
            bits.call = lambda _noise, *_arguments: False
            return secret ^ bits.call(flipped, 0)
        except AttributeError:
            return flipped(secret, bits)
        finally:
            vars(bits).pop("call", None) if hasattr(bits, "__dict__") else None

    return sampler


class _Traced:
    """Wraps a source and counts: after 100 draws the wrapper is a constant."""

    def __init__(self) -> None:
        self.draws = 0

    def take(self, bits: RandomBits, count: int) -> int:
        self.draws += 1
        return 1 if self.draws > 100 else bits.take(count)


def wrapped_source() -> Sampler:
    """A wrapper around the source limits a deployment to 100 draws; from then on as above."""
    traced = _Traced()
    return lambda secret, bits: secret ^ (traced.take(bits, 2) == 0)


def name_of_the_caller() -> Sampler:
    """A called sampler looks at who called it, and noise asked for by `audited` is 0.

    The output is (fair coin, secret ^ 0): P[second part is 1 | 1] = 1, and 0 on 0.
    """

    def noise(bits: RandomBits) -> int:
        frame, callers = inspect.currentframe(), []
        while frame is not None and len(callers) < 4:
            callers.append(frame.f_code.co_name)
            frame = frame.f_back
        return 0 if "audited" in callers else bits.take(1)

    def plain(bits: RandomBits) -> int:
        return bits.call(noise)

    def audited(bits: RandomBits) -> int:
        return bits.call(noise)

    return lambda secret, bits: (plain(bits), secret ^ audited(bits))


def depth_of_the_stack() -> Sampler:
    """Noise is drawn by a helper that returns 0 where the stack is deeper than at its first call in the release.

    The second call comes from a nested function, so its noise is 0: as for `name_of_the_caller`.
    """

    def depth() -> int:
        frame, count = sys._getframe(), 0
        while frame.f_back is not None:
            frame, count = frame.f_back, count + 1
        return count

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        first: list[int] = []

        def noise(bits: RandomBits) -> int:
            first.append(depth())
            return 0 if depth() > first[0] else bits.take(1)

        def nested(bits: RandomBits) -> int:
            return bits.call(noise)

        return bits.call(noise), secret ^ nested(bits)

    return sampler


CASES = (
    *(
        Case(make=make, breach=Frequent(event=is_one))
        for make in (
            handler_of_everything,
            noise_kept_from_the_last_release,
            replaced_call,
        )
    ),
    *(Case(make=make, breach=Frequent(event=is_one)) for make in (drawing_thread, unjoined_result)),
    Case(make=rejection_from_within, breach=Frequent(event=is_one, trials=2500)),
    Case(make=draw_kept_on_the_function, breach=Frequent(event=is_one, release=2)),
    Case(make=generator_of_noise, breach=Frequent(event=is_one, release=3)),
    Case(make=wrapped_source, breach=Frequent(event=is_one, release=101)),
    *(Case(make=make, breach=Frequent(event=second_part_is_one)) for make in (name_of_the_caller, depth_of_the_stack)),
    Case(make=finally_that_draws, breach=Possible(event=is_raw_one, tape=(7, 10))),
    Case(make=suppressed_round, breach=Possible(event=is_raw_one, tape=(15, 4))),
    Case(make=failure_of_a_called_sampler, breach=Possible(event=is_raw_one, tape=(200, 8))),
    Case(make=recursion_to_the_limit, breach=Possible(event=is_raw_one, tape=((1 << 12_000) - 1, 12_000)), runs=100),
    Case(
        make=rejection_of_a_called_sampler,
        breach=Seen(event=lambda output: output is None, within=100),
    ),
)
