"""Generator state: noise from a generator that was not made for secrets can be predicted, and so removed.

numpy's legacy generator, `np.random.*` and `RandomState`, is the Mersenne Twister MT19937, whose outputs are linear
functions of its state over GF(2). An answer whose truth is known tells its noise, the noise its uniform U up to some
last bits, and U the leading 27 and 26 bits of two outputs. 624 such answers in a row nearly always determine the state,
and with it all the noise to come. The adversary of differential privacy knows every record but one, so in a histogram
it knows every count but one: that is the scenario. The released vector is ε-DP as a whole, since one person is in one
count only.

The adversary knows ε and the sampler (numpy's Laplace). A negative result shows only that the noise is not a draw of
this generator, in this order, undisturbed by others; nothing is said of any other generator, and the samplers of C
libraries and of the Mersenne Twister's other ports take their bits differently. Targets that do not turn a vector of
counts into one as long get no scenario.

Source: Garfinkel and Leclerc 2020, 'Randomness Concerns When Deploying Differential Privacy'; the linear algebra is in
`attacklab.attacks.samplers.mersenne_twister`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.attacks.samplers.mersenne_twister import WORDS, StateNotFound, recover_state
from attacklab.errors import TargetError
from attacklab.floats import Doubles, half_ulp
from attacklab.neighbours import NeighbouringPair
from attacklab.targets import Kind, Outputs, Target

UNIFORM_BITS, FIRST_BITS, SECOND_BITS = 53, 27, 26
"""A uniform of 53 bits is made of the leading 27 and 26 bits of two outputs."""

KNOWN_ANSWERS = 720
"""What determines the state: 624, and some more for those answers that happen to tell few bits."""


@dataclass(frozen=True)
class GeneratorState:
    """The attack on a noisy histogram; the target's input is a vector of counts, its output each with Laplace noise.

    Attributes:
        known: how many counts the adversary knows, beside the one that it is after.
    """

    known: int = KNOWN_ANSWERS
    name: str = "generator_state"
    flaw: str = "the generator's state follows from known noise, and the noise to come from the state"

    def applies_to(self, target: Target) -> bool:
        """Targets that take a dataset."""
        return target.kind is Kind.DATASET

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Empty counts, and one person in the last of them, if it is counts that the target takes and gives."""
        without = np.zeros(self.known + 1)
        try:
            released = probe(without, 1)
        except TargetError:
            return
        if released.shape != (1, self.known + 1):
            return
        person = without.copy()
        person[-1] = 1
        event = Event(
            f"the last count, less the noise predicted from {self.known} others, is 1",
            partial(_is_predicted, counts=person, scale=1 / target.claim.epsilon),
        )
        yield Scenario(NeighbouringPair(person, without, None), (event,))


def recover_mt19937(answers: ArrayLike, truths: ArrayLike, *, scale: float) -> np.random.RandomState:
    """Recover a legacy generator of numpy's from Laplace noise that it made.

    Args:
        answers: consecutive answers, shape (m,), each `truth + RandomState.laplace(0, scale)`. 624 to 720 are enough
            where truths are 0; some 1000 and 1300 where they are 10^3 and 10^6 times the scale and take bits with them.
        truths: what they are answers to, shape (m,) or one number for all.
        scale: of the noise, in the unit of the answers.

    Returns:
        The generator as it stands after the last of the answers.

    Raises:
        StateNotFound: the answers are too few to tell the state, or no generator of this kind gave them.
    """
    released = np.asarray(answers, dtype=np.float64)
    true = np.broadcast_to(np.asarray(truths, dtype=np.float64), released.shape)
    generator = recover_state(*known_outputs(released, true, scale=scale))
    replayed = true[WORDS // 2 :] + generator.laplace(0.0, scale, len(released) - WORDS // 2)
    if not np.array_equal(replayed, released[WORDS // 2 :]):
        raise StateNotFound("the state that fits the leading bits does not give the answers")
    return generator


def known_outputs(answers: Doubles, truths: Doubles, *, scale: float) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """What answers tell of the outputs of a Mersenne Twister that made their noise.

    numpy computes the noise λ·log(2U) for U < ½ and −λ·log((2.0 − U) − U) else. Inverting that gives U up to an error,
    and all leading bits are known that no number within the error disagrees on.

    Args:
        answers: shape (m,).
        truths: shape (m,).
        scale: λ.

    Returns:
        The outputs, two an answer, and masks of the bits of them that are known, shape (2m,) each.
    """
    noise = answers - truths
    depth = np.abs(noise) / scale
    tail = np.exp(-depth) / 2
    centre = np.ldexp(np.where(noise < 0, tail, 1 - tail), UNIFORM_BITS)
    # Roundings: of the answer, if there was something to add; of noise, logarithm and quotient; of the exponential.
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
    """Recover the state from the first vector's known counts, and follow the generator through all the vectors."""
    known = len(counts) - 1
    try:
        generator = recover_mt19937(outputs[0, :known], counts[:known], scale=scale)
    except StateNotFound:
        return np.zeros(len(outputs), dtype=bool)
    following = generator.laplace(0.0, scale, 1 + (len(outputs) - 1) * len(counts))
    return np.asarray(outputs[:, -1] == counts[-1] + following[:: len(counts)])
