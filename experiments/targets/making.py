"""Targets made from mechanisms: naive ones as they are, exact ones with a release to run and a sampler to prove."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import RandomBits, SeededBits
from attacklab.model.targets import Target
from mechanisms.core.certificate import certificate
from mechanisms.core.grid import Grid
from mechanisms.core.term import Mechanism

GRID = Grid(-2)
"""The public grid of exact additive mechanisms; its step is a quarter."""

BIT = NeighbouringPair(True, False, None)
"""The pair of targets whose input is one bit."""

Parameters = ParamSpec("Parameters")


def named(make: Callable[Parameters, Target]) -> Callable[Parameters, Target]:
    """Decorate a maker: its targets get its name, and the target of a term also gets a certificate."""

    @wraps(make)
    def make_named(*arguments: Parameters.args, **options: Parameters.kwargs) -> Target:
        target = replace(make(*arguments, **options), name=make.__name__)
        term = getattr(target.release, "term", None)
        if term is None:
            return target
        return target.certified(partial(certificate, target.name, term))

    return make_named


def selection(mechanism: Callable[..., Any], epsilon: float) -> Target:
    """Return the target of a selection mechanism that takes ε as a parameter."""
    return Target.selection(partial(mechanism, epsilon=epsilon), epsilon=epsilon)


def noise(mechanism: Callable[..., Any], epsilon: float) -> Target:
    """Return the target of an additive mechanism that takes ε as a parameter."""
    return Target.noise(partial(mechanism, epsilon=epsilon), epsilon=epsilon)


def of_term(make: Callable[..., Target], term: Mechanism, **claim: Any) -> Target:
    """Return the target of a term; the term is what is run, proved and certified.

    Args:
        make: `Target.noise` or another constructor.
        term: the exact mechanism.
        **claim: further arguments of the constructor.
    """
    return make(OfTerm(term), **claim).exact(partial(_released, term))


def _released(term: Mechanism, data: Any, bits: RandomBits) -> Any:
    """Release one output, a vector as a tuple, because an exact law needs hashable outputs."""
    output = term.release(data, bits)
    return tuple(output.tolist()) if isinstance(output, np.ndarray) else output


@dataclass(frozen=True)
class OfTerm:
    """A release that runs a term, with random bits from the generator that it is given.

    Attributes:
        term: the exact mechanism.
    """

    term: Mechanism

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> NDArray[Any] | list[Any]:
        """Draw outputs."""
        released: NDArray[Any] | list[Any] = self.term.many(input_, trials, SeededBits(rng))
        return released


def exact_by_reference(make: Callable[..., Target], sampler: Callable[..., Any], **claim: Any) -> Target:
    """Return the target of an exact mechanism that is both run and proved by `sampler(input, bits)`, draw by draw."""
    return make(OneByOne(sampler), **claim).exact(sampler)


def exactly(mechanism: Callable[..., Any], **parameters: Any) -> Exactly:
    """Return a release that runs a fast exact mechanism, with random bits from the generator that it is given."""
    return Exactly(mechanism, parameters)


@dataclass(frozen=True)
class Exactly:
    """A release that runs a fast exact mechanism.

    Attributes:
        mechanism: a function, called as `mechanism(input, trials, bits, **parameters)`.
        parameters: the keyword arguments of the mechanism.
    """

    mechanism: Callable[..., Any]
    parameters: Mapping[str, Any]

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> NDArray[Any] | list[Any]:
        """Draw outputs."""
        released: NDArray[Any] | list[Any] = self.mechanism(input_, trials, SeededBits(rng), **self.parameters)
        return released


@dataclass(frozen=True)
class OneByOne:
    """A release that runs a sampler once for each output.

    Attributes:
        sampler: a function, called as `sampler(input, bits)`.
    """

    sampler: Callable[..., Any]

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> NDArray[Any] | list[Any]:
        """Draw outputs: an array, or a list if outputs are tuples, as their lengths may vary."""
        bits = SeededBits(rng)
        outputs = [self.sampler(input_, bits) for _ in range(trials)]
        return outputs if outputs and isinstance(outputs[0], tuple) else np.array(outputs)
