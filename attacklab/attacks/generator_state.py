"""Generator state: noise from a generator that is not cryptographic can be predicted, and so removed.

numpy's legacy generator, `np.random.*` and `RandomState`, is the Mersenne Twister MT19937, whose outputs are linear
functions of its state over GF(2). An answer whose true value is known gives away its noise; the noise gives away its
uniform U up to some last bits; and U gives away the leading 27 and 26 bits of two outputs. 624 such answers in a row
nearly always determine the state, and with it all the noise to come.

The adversary of differential privacy knows every record but one, so in a histogram it knows every count but one. That
is the pair: empty counts, and one person in the last of them. The released vector is ε-DP as a whole, because one
person is in one count only. The adversary also knows ε and the sampler (numpy's Laplace). It predicts the noise of the
last count and bets that the count is 1. A target that does not turn a vector of counts into a vector of the same length
has no scenario.

A negative result does not rule out any other generator or sampler, nor this generator if its draws come in another
order or others draw from it in between. The samplers of C libraries and of other ports of the Mersenne Twister use its
bits differently.

Source: Garfinkel and Leclerc 2020, 'Randomness Concerns When Deploying Differential Privacy'. The linear algebra is in
`attacklab.attacks.mersenne_twister`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attacklab.attacks.base import Event, OfKinds, Probe, Scenario
from attacklab.attacks.mersenne_twister import WORDS, StateNotFound, recover_state
from attacklab.model.domains import Queries
from attacklab.model.errors import TargetError
from attacklab.model.floats import Doubles, half_ulp
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind, Outputs, Target

UNIFORM_BITS, FIRST_BITS, SECOND_BITS = 53, 27, 26
"""A uniform of 53 bits is made of the leading 27 and 26 bits of two outputs."""

TRIALS_A_RATIO = 64  # a generator is predicted always or never, so it takes no more trials than these, times e^ε
LARGEST_EPSILON = 50.0  # beyond that, no number of trials that anybody draws refutes a claim
KNOWN_ANSWERS = 720  # how many answers determine the state: 624, and some more because some answers tell few bits


@dataclass(frozen=True)
class GeneratorState(OfKinds, kinds={Kind.DATASET}):
    """The attack on a noisy histogram: the input is a vector of counts, the output the same counts with Laplace noise.

    Attributes:
        known: the least number of counts that the adversary knows besides the one that it attacks.
    """

    known: int = KNOWN_ANSWERS
    name: str = "generator_state"
    flaw: str = "known noise determines the generator's state, and the state determines all later noise"

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Yield the pair of counts 0, …, 0, 1 and counts all 0; nothing if the target does not release counts."""
        known = self.known
        if target.domain is not None and isinstance(target.domain.shape, Queries):
            known = max(known, target.domain.shape.size - 1)
        without = np.zeros(known + 1)
        try:
            released = probe(without, 1)
        except TargetError:
            return
        if released.shape != (1, known + 1):
            return
        person = without.copy()
        person[-1] = 1
        event = Event(
            f"the last count, minus the noise predicted from the {known} other counts, is 1",
            partial(_is_predicted, counts=person, scale=1 / target.claim.nominal.epsilon),
        )
        trials = math.ceil(TRIALS_A_RATIO * math.exp(min(target.claim.nominal.epsilon, LARGEST_EPSILON)))
        yield Scenario(NeighbouringPair(person, without, None), (event,), trials=trials)


def recover_mt19937(answers: ArrayLike, truths: ArrayLike, *, scale: float) -> np.random.RandomState:
    """Recover one of numpy's legacy generators from Laplace noise that it made.

    Args:
        answers: consecutive answers, shape (m,), each `truth + RandomState.laplace(0, scale)`. 624 to 720 are enough if
            truths are 0. About 1000 are needed if truths are 10^3 times the scale, and 1300 if they are 10^6 times the
            scale, because rounding to larger numbers loses bits.
        truths: the true answers, shape (m,) or one number for all.
        scale: the scale λ of the noise, in the unit of the answers.

    Returns:
        The generator, in its state after the last answer.

    Raises:
        StateNotFound: the answers are too few to determine the state, or did not come from a generator of this kind.
    """
    released = np.asarray(answers, dtype=np.float64)
    true = np.broadcast_to(np.asarray(truths, dtype=np.float64), released.shape)
    generator = recover_state(*known_outputs(released, true, scale=scale))
    replayed = true[WORDS // 2 :] + generator.laplace(0.0, scale, len(released) - WORDS // 2)
    if not np.array_equal(replayed, released[WORDS // 2 :]):
        raise StateNotFound("no MT19937 state gives these answers: the one that fits their leading bits does not")
    return generator


def known_outputs(answers: Doubles, truths: Doubles, *, scale: float) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Find the bits of the Mersenne Twister's outputs that answers reveal through their noise.

    numpy computes the noise as λ·log(2U) if U < ½ and as −λ·log((2.0 − U) − U) otherwise. Inverting that gives U up to
    an error; the leading bits on which all numbers within the error agree are known.

    Args:
        answers: shape (m,).
        truths: the true answers, shape (m,).
        scale: λ.

    Returns:
        The outputs, two for each answer, and masks of their known bits, shape (2m,) each.
    """
    noise = answers - truths
    depth = np.abs(noise) / scale
    tail = np.exp(-depth) / 2
    centre = np.ldexp(np.where(noise < 0, tail, 1 - tail), UNIFORM_BITS)
    # Roundings: of the answer, unless its truth is 0; of the noise, logarithm and quotient; of the exponential.
    relative = (half_ulp(answers) * (truths != 0) + half_ulp(noise)) / scale + 2.0**-UNIFORM_BITS * (4 * depth + 4)
    error = np.ldexp(tail * relative, UNIFORM_BITS) + 1
    last = float((1 << UNIFORM_BITS) - 1)
    least, most = (
        np.clip(end, 0, last).astype(np.int64) for end in (np.floor(centre - error), np.ceil(centre + error))
    )
    _, disagreeing = np.frexp((least ^ most).astype(np.float64))
    masks = np.int64((1 << UNIFORM_BITS) - 1) >> disagreeing << disagreeing
    return _two_words(least), _two_words(masks)


def _two_words(uniforms: NDArray[np.int64]) -> NDArray[np.uint32]:
    first = uniforms >> SECOND_BITS << (32 - FIRST_BITS)
    second = (uniforms & ((1 << SECOND_BITS) - 1)) << (32 - SECOND_BITS)
    return np.stack([first, second], axis=1).ravel().astype(np.uint32)


def _is_predicted(outputs: Outputs, *, counts: Doubles, scale: float) -> NDArray[np.bool_]:
    """Return which vectors end in `counts[-1]` plus the noise predicted from the first vector's other entries."""
    known = len(counts) - 1
    try:
        generator = recover_mt19937(outputs[0, :known], counts[:known], scale=scale)
    except StateNotFound:
        return np.zeros(len(outputs), dtype=bool)
    following = generator.laplace(0.0, scale, 1 + (len(outputs) - 1) * len(counts))
    return np.asarray(outputs[:, -1] == counts[-1] + following[:: len(counts)])
