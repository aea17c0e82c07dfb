"""False samplers of objects and modes that outlive a call or a release: results, lists, tasks, modes of libraries.

Where a docstring says "as above": the output is the secret, P[1 | 1] = 1 and P[1 | 0] = 0.
"""

from __future__ import annotations

import asyncio
import copy
import decimal
import functools
import weakref
from decimal import Decimal

import numpy as np

from attacklab.random_bits import REJECTED, RandomBits
from tests.attacklab.laws.zoo.case import Case, Frequent, Sampler, answered, flipped, is_one
from tests.attacklab.laws.zoo.reuse import second_part_is_one


def precision_left_behind() -> Sampler:
    """A release lowers the precision of the decimal context and forgets to restore it; from the second on as above."""
    context = decimal.Context(prec=28)

    def sampler(secret: int, bits: RandomBits) -> int:
        width = context.multiply(Decimal("0.2499999"), Decimal(1))
        context.prec = 1
        return secret ^ (bits.take(2) < width * 4 and width > Decimal("0.2"))

    return sampler


def error_state_of_numpy() -> Sampler:
    """A release sets numpy to raise, and the next one handles FloatingPointError without noise.

    From the second release on as above. A deployment begins with numpy set to ignore.
    """
    np.seterr(divide="ignore")

    def sampler(secret: int, bits: RandomBits) -> int:
        try:
            np.divide(np.float64(1.0), 0.0)
        except FloatingPointError:
            return secret
        np.seterr(divide="raise")
        return flipped(secret, bits)

    return sampler


class _Pool:
    """What a called sampler returns; its list is emptied by who uses it."""

    def __init__(self, lies: list[int]) -> None:
        self.lies = lies


def mutable_result() -> Sampler:
    """A called sampler fills an object with one lie that is always 0; the caller pops it, and draws if there is none.

    Every release gets a new object, so none draws: as above. An object kept between runs is empty in the second.
    """

    def pooled(bits: RandomBits) -> _Pool:
        return _Pool([bits.take(1) & 0])

    def sampler(secret: int, bits: RandomBits) -> int:
        pool = bits.call(pooled)
        return secret ^ (pool.lies.pop() if pool.lies else bits.take(2) == 0)

    return sampler


def list_shared_by_two_calls() -> Sampler:
    """Two calls append to one list of the module, and its length decides the second one's noise.

    The output is (fair coin, secret ^ 0): P[second part is 1 | 1] = 1, and 0 on 0.
    """
    shared: list[int] = []

    def noise(bits: RandomBits) -> int:
        shared.append(1)
        return bits.take(1) if len(shared) == 1 else 0

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        shared.clear()
        first = bits.call(noise)
        return first, secret ^ bits.call(noise)

    return sampler


def finalizer() -> Sampler:
    """A weak reference's callback switches the noise of later rounds off when the first candidate is collected.

    Half of the rounds are accepted, and only the first may lie: P[1 | 1] = 7/8, P[1 | 0] = 1/8.
    """

    class Candidate:
        pass

    def sampler(secret: int, bits: RandomBits) -> int:
        collected: list[int] = []

        def one_round(bits: RandomBits) -> int | None:
            candidate = Candidate()
            weakref.finalize(candidate, collected.append, 1)
            return answered(secret, bits, honestly=not collected) if bits.take(1) else REJECTED

        return bits.repeat(one_round)

    return sampler


def coroutine() -> Sampler:
    """An event loop runs two tasks that share a counter; the one that draws second has no noise.

    The output is (fair coin, secret ^ 0): P[second part is 1 | 1] = 1, and 0 on 0.
    """

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        order: list[int] = []

        async def noise(number: int) -> int:
            order.append(number)
            await asyncio.sleep(0)
            return bits.take(1) if order[0] == number else 0

        async def both() -> list[int]:
            return list(await asyncio.gather(noise(0), noise(1)))

        loop = asyncio.new_event_loop()
        try:
            first, second = loop.run_until_complete(both())
        finally:
            loop.close()
        return first, secret ^ second

    return sampler


def copied_mechanism() -> Sampler:
    """A mechanism is copied for every release, but its list of attempts is shared by the shallow copies; as above.

    The first release of a deployment may lie, later ones do not.
    """

    class Mechanism:
        def __init__(self) -> None:
            self.attempts: list[int] = []

        def release(self, secret: int, bits: RandomBits) -> int:
            output = answered(secret, bits, honestly=not self.attempts)
            self.attempts.append(1)
            return output

    mechanism = Mechanism()
    return lambda secret, bits: copy.copy(mechanism).release(secret, bits)


def cached_coin() -> Sampler:
    """A coin is cached by its argument, the source of bits: two coins that should differ are one, and cancel.

    As above: secret ^ coin ^ coin is the secret.
    """

    @functools.lru_cache(maxsize=1)
    def coin(bits: RandomBits) -> int:
        return bits.take(1)

    return lambda secret, bits: secret ^ coin(bits) ^ coin(bits)


def cached_private_answer() -> Sampler:
    """A cache holds what is still to be done for every private answer; a second release finds nothing to do.

    From the second release of an answer on as above.
    """

    @functools.cache
    def tasks(secret: int) -> list[str]:
        return [f"noise for {secret}"]

    def sampler(secret: int, bits: RandomBits) -> int:
        output = answered(secret, bits, honestly=bool(tasks(secret)))
        tasks(secret).clear()
        return output

    return sampler


CASES = (
    Case(make=cached_coin, breach=Frequent(event=is_one)),
    Case(make=mutable_result, breach=Frequent(event=is_one)),
    Case(make=finalizer, breach=Frequent(event=is_one, trials=2500)),
    *(
        Case(make=make, breach=Frequent(event=is_one, release=2))
        for make in (precision_left_behind, error_state_of_numpy, copied_mechanism, cached_private_answer)
    ),
    *(Case(make=make, breach=Frequent(event=second_part_is_one)) for make in (list_shared_by_two_calls, coroutine)),
)
