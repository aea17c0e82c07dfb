"""Plain runs of the zoo's samplers, as in production: no prover has a part in them."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from fractions import Fraction
from typing import Any

from attacklab.random_bits import RandomBits, SeededBits, TapedBits
from tests.attacklab.laws.zoo.case import Case, Frequent, HandLaw, Possible, Sampler, Seen

ERROR = 1e-10
"""The chance that a simulation says of a case what is not so."""


def source(case: Case) -> SeededBits:
    """The bits of a case's releases, one source for all."""
    return SeededBits(zlib.crc32(case.name.encode()))


def breaks_claim(case: Case) -> bool:
    """Whether plain runs show the breach that a false case states."""
    match case.breach:
        case Frequent() as breach:
            first, second = (_frequency(case, breach, secret) for secret in (case.pair.first, case.pair.second))
            margin = _margin(breach.trials, 2)
            return second - margin > math.exp(case.epsilon) * (first + margin) + case.delta
        case Possible() as breach:
            bits = source(case)
            sampler = case.make()
            for _ in range(breach.release - 1):
                sampler(case.pair.second, bits)
            impossible = (case.make()(case.pair.first, bits) for _ in range(1000))
            is_given = breach.event(sampler(case.pair.second, _taped(breach.tape, bits)))
            return is_given and not any(map(breach.event, impossible))
        case Seen() as breach:
            seen = [any(map(breach.event, _releases(case, breach, secret))) for secret in (0, 1)]
            return seen == [False, True]
    raise AssertionError(f"{case.name} is not false")


def _frequency(case: Case, breach: Frequent, secret: Any) -> float:
    bits = source(case)

    def trial() -> Any:
        sampler = case.make()
        for _ in range(breach.release - 1):
            sampler(secret, bits)
        return sampler(secret, bits)

    return sum(breach.event(breach.around(trial)) for _ in range(breach.trials)) / breach.trials


def _releases(case: Case, breach: Seen, secret: Any) -> list[Any]:
    bits = source(case)
    kept: list[Sampler] = [case.make() for _ in range(breach.within if breach.anew else 1)]
    return [kept[number % len(kept)](secret, bits) for number in range(breach.within)]


class _Continued(TapedBits):
    """A tape, and after its end another source."""

    def __init__(self, value: int, length: int, rest: RandomBits) -> None:
        super().__init__(value, length)
        self._rest = rest

    def take(self, count: int) -> int:
        return super().take(count) if count <= self.left else self._rest.take(count)


def _taped(tape: tuple[int, int], rest: RandomBits) -> RandomBits:
    return _Continued(*tape, rest)


def _margin(trials: int, frequencies: int) -> float:
    """How far any of so many frequencies may be from its probability, but for a chance of `ERROR` (Hoeffding)."""
    return math.sqrt(math.log(2 * frequencies / ERROR) / (2 * trials))


def typed(output: Any) -> tuple[type, Any]:
    """The output with its type, by which 1, True and 1.0 are told apart."""
    return type(output), output


def follows(case: Case, law: HandLaw, secret: Any, trials: int = 2000) -> bool:
    """Whether plain runs of a true case agree with the law worked out by hand."""
    bits, sampler = source(case), case.make()
    counts = Counter(typed(sampler(secret, bits)) for _ in range(trials))
    expected = {typed(outcome): mass for outcome, mass in law.items()}
    missing = 1 - sum(expected.values())
    others = sum(count for output, count in counts.items() if output not in expected)
    margin = _margin(trials, len(expected) + 1)
    return others / trials <= missing + margin and all(
        abs(counts[outcome] / trials - mass) <= margin for outcome, mass in expected.items()
    )


def keeps_claim(case: Case) -> bool:
    """Whether the laws worked out by hand keep the claim in both directions."""
    assert case.laws is not None
    factor = Fraction(math.exp(case.epsilon)) * (1 - Fraction(1, 1 << 50))
    return all(
        sum(max(0, mass - factor * other.get(outcome, 0)) for outcome, mass in law.items()) <= case.delta
        for law, other in (case.laws, case.laws[::-1])
    )
