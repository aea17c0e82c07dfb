"""Mistakes of honest authors are refused or refuted, in rows; sound samplers in a second table are proved.

Inputs are the secrets 0 and 1, and every claim is ε = 1.1. `flipped` is randomized response that lies with probability
1/4, which needs ε = ln 3 = 1.0986…; the false ones look like it to whoever overlooks the mistake.
"""

import datetime as dt
import decimal
import functools
import math
import os
import random
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import gmpy2
import numpy as np
import pytest
import scipy

from attacklab import REJECTED, Limits, NeighbouringPair, RandomBits, Target, Verdict, prove
from attacklab.model.errors import TargetError
from tests.samplers import third

pytestmark = pytest.mark.slow

Sampler = Callable[[int, Any], Any]
SECRETS = NeighbouringPair.integers(0, 1, sensitivity=1)


def flipped(secret: int, bits: RandomBits) -> int:
    """Randomized response: the secret bit, or with probability 1/4 the other."""
    return secret ^ (bits.take(2) == 0)


def said(sampler: Sampler, runs: int = 1000) -> tuple[Verdict, str]:
    """The verdict, or ERROR for a refusal, and what was said."""
    target = Target.noise(lambda *_: None, epsilon=1.1, name="claimed").exact(sampler)
    try:
        finding = prove(target, SECRETS, limits=Limits(unresolved=Fraction(1, 1 << 62), runs=runs))
    except TargetError as error:
        return Verdict.ERROR, str(error)
    return finding.verdict, finding.reason


# What a sampler keeps from run to run: each counts its runs, and gives the secret itself in the millionth.

MANY = 10**6


def counting(count: Callable[[], object]) -> Sampler:
    """Randomized response until `count` has come to a million."""
    return lambda secret, bits: secret | bits.take(0) if count() == MANY else flipped(secret, bits)


number = 0
numbers: list[int] = []
noise_of: dict[int, int] = {}
statistics = {"runs": 0}
counts = np.zeros(1, dtype=np.int64)


def in_a_global() -> int:
    global number
    number += 1
    return number


def grown(held: Any, item: int = 0) -> int:
    held.append(item)
    return len(held)


def in_a_dict(held: Any, key: Any = 0) -> int:
    held[key] += 1
    return int(held[key])


def in_an_attribute(held: Any) -> int:
    held.runs += 1
    return int(held.runs)


def in_the_closure() -> Callable[[], int]:
    runs = 0

    def count() -> int:
        nonlocal runs
        runs += 1
        return runs

    return count


def in_a_default(log: list[int] = []) -> int:  # noqa: B006 - the mistake
    return grown(log)


def in_a_function() -> int:
    return in_an_attribute(in_a_function)


in_a_function.runs = 0  # type: ignore[attr-defined]


class Mechanism:
    shared: ClassVar[list[int]] = []
    runs = 0

    def release(self, secret: int, bits: RandomBits) -> int:
        self.runs += 1
        return secret | bits.take(0) if self.runs == MANY else flipped(secret, bits)


@dataclass(frozen=True)
class Logging:
    log: list[int] = field(default_factory=list)


@functools.lru_cache(maxsize=1)
def cached_draw(bits: RandomBits) -> int:
    return bits.take(2)


@functools.cache
def cached_release(secret: int, bits: RandomBits) -> int:
    return flipped(secret, bits)


def by_input(secret: int, bits: RandomBits) -> int:
    if secret not in noise_of:
        noise_of[secret] = bits.take(2)
    return secret ^ (noise_of[secret] == 0)


def of_attempts(secret: int, bits: RandomBits) -> Any:
    """Gives up after a thousand rejections, without noise."""
    rounds = 0

    def one_round(bits: RandomBits) -> Any:
        nonlocal rounds
        rounds += 1
        if rounds > 1000:
            return secret
        return flipped(secret, bits) if bits.take(6) == 0 else REJECTED

    return bits.repeat(one_round)


def counted_in(make: Callable[[], Any], count: Callable[[Any], object]) -> Sampler:
    held = make()
    return counting(lambda: count(held))


@functools.cache
def tries() -> list[int]:
    return []


def giving_up(secret: int, bits: RandomBits) -> Any:
    def one_round(bits: RandomBits) -> Any:
        tries().append(1)
        return secret + 2 if len(tries()) > 25 else REJECTED if bits.take(1) else bits.take(1)

    tries().clear()
    return bits.repeat(one_round)


KEPT: dict[str, Sampler] = {
    "a global number": counting(in_a_global),
    "a global list": counting(lambda: grown(numbers)),
    "a global dict": counting(lambda: in_a_dict(statistics, "runs")),
    "a global array": counting(lambda: in_a_dict(counts)),
    "noise kept by input": by_input,
    "a cached draw": lambda secret, bits: secret ^ (cached_draw(bits) == 0),
    "a cached release": cached_release,
    "a mutable default": counting(in_a_default),
    "an attribute of a function": counting(in_a_function),
    "an attribute of a class": counting(lambda: in_an_attribute(Mechanism)),
    "a list of a class": counting(lambda: grown(Mechanism.shared)),
    "an attribute of an object": Mechanism().release,
    "a variable around": counting(in_the_closure()),
    "a list": counted_in(list, grown),
    "a field of a frozen dataclass": counted_in(Logging, lambda held: grown(held.log)),
    "a count of rejections": of_attempts,
    "a list that is cached": giving_up,
}
"""Where a sampler keeps something."""


# What no law covers: other generators, clocks, the system, hashes, and the order of sets.

rng, seeded = np.random.default_rng(1), random.Random(1)
NAMES = {"ann", "bob"}


def first_of_a_loop() -> bool:
    for name in NAMES:
        return name == "ann"
    return False


def names_of() -> set[str]:
    return {"ann", "bob"}


def first_of_a_function() -> bool:
    for name in names_of():
        return name == "ann"
    return False


LISTED = list(NAMES)
RANKS = {name: place for place, name in enumerate(NAMES)}


class Holding:
    def __init__(self) -> None:
        self.names = {"ann", "bob"}
        self.listed = list(self.names)

    def of_attribute(self) -> bool:
        return list(self.names)[0] == "ann"  # noqa: RUF015 - the mistake

    def of_list(self) -> bool:
        return self.listed[0] == "ann"


HOLDING = Holding()


def first_of_a_list_made_at_import() -> bool:
    return LISTED[0] == "ann"


def rank_made_at_import() -> bool:
    return RANKS["ann"] == 0


CLOCK, DRAWS, SYSTEM, HASHES = "reads the clock", "draws from elsewhere", "asks the system", "hashes, which differs"

ELSEWHERE: dict[str, tuple[Callable[[], object], str]] = {
    "random.random": (lambda: random.random() < 0.01, DRAWS),
    "a captured random.Random": (lambda: seeded.random() < 0.01, DRAWS),
    "random.SystemRandom": (lambda: random.SystemRandom().random() < 0.01, DRAWS),
    "secrets": (lambda: secrets.randbelow(128) == 0, DRAWS),
    "os.urandom": (lambda: os.urandom(1)[0] == 0, SYSTEM),
    "np.random.random": (lambda: np.random.random() < 0.01, DRAWS),
    "a distribution of SciPy": (lambda: scipy.stats.bernoulli.rvs(0.01) == 1, DRAWS),
    "a generator of numpy": (lambda: np.random.default_rng().random() < 0.01, DRAWS),
    "a captured generator of numpy": (lambda: rng.random() < 0.01, DRAWS),
    "a clock": (lambda: time.time() < 0, CLOCK),
    "the time of day": (lambda: dt.datetime.now().microsecond % 128 == 0, CLOCK),
    "the environment": (lambda: "DEBUG_NOISE" in os.environ, SYSTEM),
    "the command line": (lambda: "--debug" in sys.argv, SYSTEM),
    "the process": (lambda: os.getpid() % 128 == 0, SYSTEM),
    "a file": (lambda: Path("no-noise").exists(), SYSTEM),
    "a salted hash": (lambda: hash("name") % 2, HASHES),
    "the hash of an object": (lambda: hash(object()) % 2, HASHES),
    "an address": (lambda: id(object()) % 32 == 0, "asks where an object lies"),
}
"""What switches the noise off, and what is said of it."""

ORDERS: dict[str, Callable[[], object]] = {
    "the first of a set": lambda: next(iter({"ann", "bob"})) == "ann",
    "the first of a global set": lambda: next(iter(NAMES)) == "ann",
    "a loop over a set": first_of_a_loop,
    "a comprehension of a set": lambda: [name for name in {"ann", "bob"}][0] == "ann",  # noqa: RUF015, C416
    "a set of what was read": lambda: set(map(str, range(64))).pop() < "32",
    "a set in an attribute": Holding().of_attribute,
    "a set that a function returns": first_of_a_function,
    "ties of a set": lambda: max({"ann", "bob"}, key=len) == "ann",
    "the most common of a set": lambda: Counter(NAMES).most_common(1)[0][0] == "ann",
    "a set that is folded": lambda: functools.reduce(lambda one, _: one, NAMES) == "ann",
    "a joined set": lambda: "".join({"ann", "bob"}) < "b",
    "a list made at import": first_of_a_list_made_at_import,
    "ranks made at import": rank_made_at_import,
}
"""What shows the order of a set of strings, which is another one in some process with another hash seed."""


# Code that does something else with an ordinary integer than with what stands for one, or seldom.


def marked(convert: Callable[[Any], Any], *, width: int = 8, at: int = 90) -> Sampler:
    """A draw is converted, and for one value the secret goes out with a mark."""
    return lambda secret, bits: ("raw", secret) if convert(bits.take(width)) == at else flipped(secret, bits)


def logarithm_of_zero(secret: int, bits: RandomBits) -> Any:
    try:
        return secret ^ (-math.log(bits.take(53) * 2.0**-53) > math.log(4))
    except ValueError:
        return "raw", secret


def final_draw(secret: int, bits: RandomBits) -> Any:
    try:
        return flipped(secret, bits)
    finally:
        if bits.take(8) == 7:
            return "raw", secret  # noqa: B012 - the mistake


DRAWN: dict[str, Sampler] = {
    "the type of a draw": lambda secret, bits: secret if type(bits.take(2)) is int else flipped(secret, bits),
    "a float threshold at 2^54": marked(lambda draw: draw / 2**54, width=54, at=1),
    "a float32 threshold": marked(lambda draw: float(np.float32(draw)), width=25, at=1 << 25),
    "text of a draw": marked(lambda draw: int(f"{draw:08b}", 2)),
    "an index": marked(lambda draw: list(range(256))[draw]),
    "a value of 40 bits": marked(int, width=40, at=0xC0FFEE1234),
    "draws that collide": lambda secret, bits: (
        ("raw", secret) if bits.take(24) == bits.take(24) else flipped(secret, bits)
    ),
    "a residue": marked(lambda draw: draw % 1_000_003, width=48, at=271_828),
    "the logarithm of 0": logarithm_of_zero,
    "a draw in `finally`": final_draw,
}


# Arguments and outputs that are equal for Python, and are not the same.


@dataclass(frozen=True)
class Compared:
    epsilon: float
    is_fair: bool = field(default=True, compare=False)


EQUAL: dict[str, tuple[Any, Any, Callable[[Any], object]]] = {
    "an int and a bool": (1, True, lambda level: type(level) is int),
    "zeros of either sign": (0.0, -0.0, lambda level: not np.signbit(level)),
    "a float and np.float32": (0.5, np.float32(0.5), lambda level: isinstance(level, float)),
    "Decimals of two exponents": (Decimal("1.0"), Decimal("1.00"), lambda level: level.as_tuple().exponent == -1),
    "dataclasses with compare=False": (Compared(1.0), Compared(1.0, False), lambda level: level.is_fair),
    "frozen sets": (frozenset({1}), frozenset({True}), lambda level: type(min(level)) is int),
    "dicts in another order": ({"a": 1, "b": 0}, {"b": 0, "a": 1}, lambda level: next(iter(level.values()))),
}
"""Arguments of a called sampler that gives a fair coin for the first, and 0 for the second."""

FORMS: dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]] = {
    "an int or a bool": (int, bool),
    "zeros of either sign": (lambda _bit: 0.0, lambda _bit: -0.0),
    "a float or np.float64": (float, np.float64),
    "a bool three tuples deep": (lambda bit: (((bit,),),), lambda bit: (((bool(bit),),),)),
    "dataclasses with compare=False": (Compared, lambda bit: Compared(bit, False)),
    "a gmpy2 float of two precisions": (lambda bit: gmpy2.mpfr(bit, 53), lambda bit: gmpy2.mpfr(bit, 64)),
}
"""Two forms of a fair bit; which of them it has is the secret."""


def called_with(first: Any, second: Any, is_fair: Callable[[Any], object]) -> Sampler:
    def noise(level: Any, bits: RandomBits) -> int:
        return bits.take(1) if is_fair(level) else 0

    return lambda secret, bits: (bits.call(noise, first), secret ^ bits.call(noise, second))


def written(form: Callable[[int], Any], other: Callable[[int], Any]) -> Sampler:
    return lambda secret, bits: (other if secret else form)(bits.take(1))


REFUTED = {
    **{f"arguments: {kind}": called_with(*row) for kind, row in EQUAL.items()},
    **{f"outputs: {kind}": written(*row) for kind, row in FORMS.items()},
}


def silenced(is_silent: Callable[[], object]) -> Sampler:
    return lambda secret, bits: secret if is_silent() else flipped(secret, bits)


@pytest.mark.parametrize(
    ("sampler", "part"),
    [*((sampler, "") for sampler in KEPT.values()), *((silenced(it), part) for it, part in ELSEWHERE.values())],
    ids=[*KEPT, *ELSEWHERE],
)
def test_a_sampler_that_depends_on_more_than_its_input_and_its_draws_is_refused(sampler: Sampler, part: str) -> None:
    with decimal.localcontext():
        verdict, reason = said(sampler)
    assert verdict is Verdict.ERROR, reason
    assert part in reason
    assert "\n" not in reason
    assert " at 0x" not in reason


@pytest.mark.parametrize("kind", ORDERS)
def test_a_sampler_that_depends_on_the_order_of_a_set_of_strings_is_refused(kind: str) -> None:
    assert said(silenced(ORDERS[kind]))[0] is Verdict.ERROR


def test_an_order_that_shows_once_in_a_billion_runs_is_refused_by_the_laws_alone() -> None:
    def seldom(secret: int, bits: RandomBits) -> int:
        return secret if bits.take(30) == 0 and first_of_a_function() else flipped(secret, bits)

    assert said(seldom)[0] is Verdict.ERROR


@pytest.mark.parametrize("kind", DRAWN)
def test_a_breach_at_rare_draws_or_at_plain_integers_is_not_proved(kind: str) -> None:
    verdict, reason = said(DRAWN[kind], runs=100)
    assert not verdict.value.startswith("proved"), reason


@pytest.mark.parametrize("kind", REFUTED)
def test_what_is_equal_for_python_is_told_apart(kind: str) -> None:
    assert said(REFUTED[kind])[0] is Verdict.VIOLATED


# Sound samplers.

WORDS = frozenset({"yes", "no"})
table: tuple[bool, ...] | None = None


def sound_table(secret: int, bits: RandomBits) -> int:
    """The table is computed at its first use, from nothing but numbers."""
    global table
    if table is None:
        table = tuple(number == 0 for number in range(4))
    return secret ^ table[bits.take(2)]


@functools.cache
def sound_cache(size: int) -> tuple[bool, ...]:
    return tuple(number == 0 for number in range(size))


def sound_loops(secret: int, bits: RandomBits) -> int:
    """No order changes what these say."""
    total = sum(number for number in {1, 2, 3}) + sum(len(name) for name in NAMES)
    for name in HOLDING.names | NAMES:
        total -= len(name)
    return flipped(secret, bits) if total == 6 and min(NAMES) == next(iter(sorted(names_of()))) else secret


def sound_sets(secret: int, bits: RandomBits) -> int:
    seen: set[str] = set()
    for word in ("yes", "no", "yes"):
        if word not in seen:
            seen.add(word)
    return secret ^ (bits.take(2) == 0) if sorted(seen) == sorted(WORDS) and len({1, 2} | {3}) == 3 else secret


class Source:
    """What production code draws from."""

    def take(self, count: int) -> int:
        return secrets.randbits(count)


def sound_default(secret: int, bits: Any = None) -> int:
    return flipped(secret, bits or Source())


@dataclass(frozen=True)
class SoundTerm:
    sides: int

    @functools.cached_property
    def table(self) -> list[bool]:
        return [number == 0 for number in range(self.sides)]

    def release(self, secret: int, bits: RandomBits) -> int:
        return secret ^ self.table[bits.take(2)]

    def __hash__(self) -> int:
        return hash(self.sides)


SOUND: dict[str, Sampler] = {
    "randomized response": flipped,
    "a loop": lambda secret, bits: flipped(secret, bits) if bits.repeat(third) == 0 else secret ^ bits.take(1),
    "a call": lambda secret, bits: bits.call(flipped, secret),
    "a table made at first use": sound_table,
    "a cached table": lambda secret, bits: secret ^ sound_cache(4)[bits.take(2)],
    "sets asked, sorted and counted": sound_sets,
    "sets added up and sorted": sound_loops,
    "a source for production": sound_default,
    "a cached property": SoundTerm(4).release,
    "a join of paths": lambda secret, bits: flipped(secret, bits) if os.path.join("a", "b") else secret,  # noqa: PTH118
}


@pytest.mark.parametrize("kind", SOUND)
def test_a_sound_sampler_is_proved_under_its_assumption(kind: str) -> None:
    verdict, reason = said(SOUND[kind])
    assert verdict is Verdict.PROVED, reason
    assert "; assumed: the sampler is a function of its input and its draws, in this configuration" in reason
