"""Precision: addition rounds to the grid of its larger operand, so low bits of y tell f(D) however large the noise.

The target computes y = fl(f(D) + n) for some floating-point number n. With p significant bits and 2^e ≤ |f(D)| <
2^(e+1), y is always a multiple of 2^(e−p). If |n| ≥ 2^(e−1), both operands are multiples of it, hence their rounded sum
is. Otherwise |y| ≥ 2^(e−1), and all numbers of that size are. So in binary64, f(D) = 1 gives only multiples of 2^−53,
while f(D) = 0 gives any number. The event used here is larger: every y for which no n at all satisfies fl(f(D) + n) =
y. For example, a negative y close to 0 needs n < −1 and is then a multiple of 2^−52.

There are up to three pairs. The first is the answers 0 and Δ, where the advantage is large unless Δ is small against
the noise. The second works however large the noise is: a power of two 2^k and the next number below it. If n lies in
(−2^(k+1), −2^k), it is a multiple of 2^(k−p+1), so a y in (−2^k, 0) is an even multiple of 2^(k−p) from the one answer
and an odd multiple from the other. If 2^k is the median of |n|, that happens with probability 1/8 for Laplace and 0.16
for Gaussian noise. The adversary takes the power of two nearest to an estimate of the median.

The adversary knows the two answers and the outputs' format (it looks at some of them), but nothing of the sampler or
its scale. It bets that y can be reached from one answer and not from the other.

Noise on a grid that is added to an answer off the grid keeps the answer's place between two grid points. If the
outputs for one answer show a grid, the third pair has another answer a golden section of Δ away, and the bet is that y
lies a whole number of steps from the one answer and not from the other.

In a sum, the adversary picks one or two records; in other datasets the true answers are guessed (see `noisy_numbers`),
for every number in the outputs. If the noise comes in a narrower format than the sum, in binary32 say, the event is
every y that is not the answer plus a number of that format.

A negative result does not rule out a leak if y is computed in any other way than as one floating-point sum of the
answer and a number of the outputs' format or a narrower one. Nor does it rule out a leak if the numbers left out are
too rare to be seen: with noise of scale 1, the answers 1000 and 1001 leave out next to nothing that comes from the
other. In datasets it does not rule out an answer that is not among the guesses.

Source: Haney, Desfontaines, Hartman, Shrestha and Hay 2022, 'Precision-based attacks and interval refining: how to
break, then fix, differential privacy on finite computers'. They test for multiples of one power of two, which is part
of the event here. The second pair is ours.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Answers, OfKinds, Probe, Scenario, ends, origin, pair_of_answers, pairs_with_answers
from attacklab.attacks.failures import answered
from attacklab.attacks.low_bits import scenarios, scenarios_on_lattices
from attacklab.attacks.noisy_numbers import View, noisy_numbers
from attacklab.attacks.released_formats import Released, inferred
from attacklab.attacks.samplers import Assumed, Bools, Model
from attacklab.model.errors import OutsideDomain, TargetError
from attacklab.model.floats import BFLOAT16, BINARY16, BINARY32, Doubles, Floats, Format
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Outputs, Target

PROBED = 256  # how many outputs the median size of the noise is estimated from

GOLDEN = (math.sqrt(5) - 1) / 2
"""How far apart the answers of the third pair are, in sensitivities: hardly ever a whole number of steps of a grid."""

NARROW = (BINARY32, BINARY16, BFLOAT16)  # formats in which noise may come if the sum is in a wider one

Known: TypeAlias = tuple[NeighbouringPair, Answers | None]


@dataclass(frozen=True)
class Precision(OfKinds, kinds=set(Kind) - {Kind.SELECTION}):
    """The attack on sums that some answers cannot give, whatever the noise.

    Attributes:
        answers: the two true answers for additive noise; by default, the pairs of the module's docstring are tried.
    """

    answers: tuple[float, float] | None = None
    name: str = "precision"
    flaw: str = "some floats cannot be the sum of a true answer and any noise"
    whole_outputs: ClassVar[bool] = True

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Yield scenarios on the module's pairs, or on `answers`, with bets that y can come from one answer only."""
        for pairs in self._pairs(target, probe):
            with contextlib.suppress(OutsideDomain):
                yield from scenarios(target.claim, noisy_numbers(target, probe, pairs), _models)
        if self.answers is None and target.kind is not Kind.DATASET:
            with contextlib.suppress(OutsideDomain, TargetError):  # it may refuse an answer off the grid
                yield from scenarios_on_lattices(target.claim, noisy_numbers(target, probe, _off_grid(target)))

    def _pairs(self, target: Target, probe: Probe) -> Iterator[Iterable[Known]]:
        if self.answers is not None or target.kind is not Kind.NOISE:
            yield pairs_with_answers(target, self.answers)
            return
        outputs = answered(probe, origin(target), PROBED)
        released = inferred(outputs)
        yield pairs_with_answers(target, (0.0, released.form.at_most(target.sensitivity)))
        yield _of_neighbouring_floats(target, outputs, released)


def reachable(
    outputs: Floats, answer: float, released: Format, *, noise: Format | None = None, half_widths: Doubles | float = 0.0
) -> NDArray[np.bool_]:
    """Return which outputs are the floating-point sum of an answer and some number of a format.

    The real numbers that round to y form an interval around y. Move that interval by the answer: if it contains a
    floating-point number n, it also contains the floating-point number next above or next below y − answer, whichever
    is on the same side as n. The rounded y − answer is one of these two.

    Args:
        outputs: any shape.
        answer: the true answer; it is rounded to the outputs' format.
        released: the outputs' format.
        noise: the noise's format, the outputs' by default.
        half_widths: how far each output may lie from the sum, if it was rounded or moved afterwards.

    Returns:
        A bool for each output; exact.
    """
    form = noise or released
    with np.errstate(all="ignore"):
        operand = released.rounded(np.array(answer))
        nearest = form.rounded(released.rounded(outputs - operand))
        widths = np.broadcast_to(half_widths, outputs.shape) if np.any(half_widths) else None

        def gives(numbers: Floats, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
            sums = released.rounded(operand + numbers)
            equal = np.equal(sums, outputs[rows])  # an infinity is as far from itself as NaN is
            return equal if widths is None else equal | (np.abs(sums - outputs[rows]) <= widths[rows])

        produced = np.zeros(outputs.shape, dtype=bool)
        for moved in (np.asarray, form.next_above, form.next_below):
            rest = ~produced
            produced[rest] = gives(moved(nearest[rest]), rest)
    return produced


def _any_number(
    outputs: Floats, half_widths: Doubles, answer: float, assumed: Assumed, *, noise: Format | None
) -> Bools:
    return reachable(outputs, answer, assumed.form, noise=noise, half_widths=half_widths)


MODELS = {
    form: Model(f"addition of any {f'{form.name} ' if form else ''}number", partial(_any_number, noise=form))
    for form in (None, *NARROW)
}


def _models(view: View) -> tuple[Model, ...]:
    bits = view.released.form.significand_bits
    return tuple(model for form, model in MODELS.items() if form is None or form.significand_bits < bits)


def _of_neighbouring_floats(target: Target, outputs: Outputs, released: Released) -> Iterator[Known]:
    """Yield the power of two nearest to the median |output|, paired with the next number below, if Δ allows it."""
    median = float(np.median(np.abs(released.numbers(outputs).astype(np.float64))))
    if outputs.dtype.kind == "i" or not 0 < median < math.inf:
        return
    power = released.form.rounded(np.array([2.0 ** round(math.log2(median))]))
    first, second = float(power[0]), float(released.form.next_below(power)[0])
    if first - second <= target.sensitivity:
        pair, *answers = pair_of_answers(target, first, second)
        yield pair, (answers[0], answers[1])


def _off_grid(target: Target) -> Iterator[Known]:
    """Yield a pair of answers, `GOLDEN` times Δ or the range apart, so that no coarse grid holds both."""
    if target.kind is Kind.NOISE:
        base = float(origin(target))
        yield from pairs_with_answers(target, (base, base + GOLDEN * target.sensitivity))
    elif target.relation is not Relation.ADD_REMOVE:
        base, far = ends(target)
        moved = base + GOLDEN * (far - base)
        yield NeighbouringPair.records(np.array([base]), np.array([moved]), Relation.SUBSTITUTE), (base, moved)
