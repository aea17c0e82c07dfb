"""What stands in the zoo: a sampler with its claim, whether the claim is true, and how that is known without a prover.

Inputs are the neighbouring answers 0 and 1 unless a case says otherwise. `flipped` is randomized response that lies
with probability 1/4, which needs ε = ln 3 = 1.0986…; the usual claim is ε = 1.1. A false sampler looks like that, and
breaks the claim by an event that is too likely on the second input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from attacklab.neighbours import NeighbouringPair
from attacklab.random_bits import RandomBits
from attacklab.targets import Target

Sampler: TypeAlias = Callable[[Any, Any], Any]
Event: TypeAlias = Callable[[Any], bool]
HandLaw: TypeAlias = Mapping[Any, Fraction]

SECRETS = NeighbouringPair.integers(0, 1, sensitivity=1)
QUARTER, THREE_QUARTERS = Fraction(1, 4), Fraction(3, 4)
RESPONSE: tuple[HandLaw, HandLaw] = ({0: THREE_QUARTERS, 1: QUARTER}, {0: QUARTER, 1: THREE_QUARTERS})
"""The laws of `flipped` on 0 and on 1."""


def directly(trial: Callable[[], Any]) -> Any:
    """Run a trial where the tests themselves run."""
    return trial()


@dataclass(frozen=True, kw_only=True)
class Frequent:
    """A breach that simulation shows: the event is far likelier on the second input than the claim allows.

    Args:
        event: the outputs.
        release: which release of a deployment it is that breaks the claim, the first being 1.
        trials: deployments on each input.
        around: runs one trial under the circumstances that break the claim.
    """

    event: Event
    release: int = 1
    trials: int = 500
    around: Callable[[Callable[[], Any]], Any] = directly


@dataclass(frozen=True, kw_only=True)
class Possible:
    """A breach of δ = 0 by an event that the first input cannot give (the docstring says why) and the second can.

    Args:
        event: the outputs.
        tape: bits on which the second input gives the event, as (value, length).
        release: which release of a deployment it is that draws from the tape.
    """

    event: Event
    tape: tuple[int, int]
    release: int = 1


@dataclass(frozen=True, kw_only=True)
class Seen:
    """As `Possible`, for an event that bits alone do not decide: it is seen within so many releases.

    Args:
        event: the outputs.
        within: releases; the chance that the event does not occur in them is below 1e-9.
        anew: each is the first release of a new deployment, and all deployments stay in memory; otherwise they are
            releases of one deployment.
    """

    event: Event
    within: int
    anew: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """A sampler of the zoo.

    Args:
        make: deploys the sampler afresh; its docstring says which code it mimics, and why the claim is true or false.
        name: the name of `make`, if not given.
        breach: how a false claim is broken.
        laws: the laws of a true one on the two inputs, worked out by hand; outcomes of small mass may be missing.
        pair: the two inputs.
        epsilon: the claimed ε.
        delta: the claimed δ.
        runs: the limit of a proof; less where runs are long and more of them would decide nothing.
    """

    make: Callable[[], Sampler]
    name: str = ""
    breach: Frequent | Possible | Seen | None = None
    laws: tuple[HandLaw, HandLaw] | None = None
    pair: NeighbouringPair = SECRETS
    epsilon: float = 1.1
    delta: float = 0.0
    runs: int = 3000

    def __post_init__(self) -> None:
        assert (self.breach is None) is not (self.laws is None)
        object.__setattr__(self, "name", self.name or self.make.__name__)

    @property
    def truth(self) -> bool:
        """Whether the claim is kept."""
        return self.breach is None

    @property
    def why(self) -> str:
        """Why the claim is true or false."""
        return self.make.__doc__ or ""

    def make_target(self) -> Target:
        """A new deployment, with its claim."""
        release = _never_released
        target = Target.noise(release, epsilon=self.epsilon, delta=self.delta, name=self.name)
        return target.exact(self.make())


def _never_released(_answer: Any, _trials: int, _rng: Any) -> Any:
    raise AssertionError("a proof needs the sampler alone")


def flipped(secret: int, bits: RandomBits) -> int:
    """Randomized response: the secret bit, or with probability 1/4 the other."""
    return secret ^ (bits.take(2) == 0)


def answered(secret: int, bits: RandomBits, *, honestly: bool) -> int:
    """Randomized response, or the secret itself."""
    return flipped(secret, bits) if honestly else secret


def is_rejected(bits: RandomBits) -> bool:
    """Whether a round is rejected, with probability 1/8."""
    return bits.take(3) == 7


ONE_REJECTION = (0b111_000, 6)
"""The tape on which `is_rejected` says True and then False."""

TWO_REJECTIONS = (0b111_111_000, 9)
"""The tape on which it says True twice and then False."""


def response(secret: int, bits: RandomBits, *, honestly: bool) -> Any:
    """Randomized response, or the secret with a mark."""
    return flipped(secret, bits) if honestly else raw(secret)


def is_one(output: Any) -> bool:
    """The event that the output tells the second input."""
    return bool(output == 1)


def is_raw_one(output: Any) -> bool:
    """The event that the output is the second input with a mark, which no run on the first input can give."""
    return bool(output == ("raw", 1))


def raw(secret: int) -> tuple[str, int]:
    """The secret with a mark."""
    return ("raw", int(secret))
