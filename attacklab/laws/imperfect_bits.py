"""What two inputs lose if the random bits are only nearly fair, and chosen against the mechanism.

A source is within γ of fair if each bit is 1 with a probability in [1/2 − γ, 1/2 + γ], given all bits before it (a
Santha–Vazirani source). It knows the mechanism and nothing of the data: the law of the bits is the same for both
inputs. So what is lost is the most, over all such sources, that the two laws of outputs are apart, and a source is
judged by the sets of bit sequences, the same for both inputs, on which each output is given.

For one event, the best source is found backwards: after each sequence of bits that have come, it makes the next bit
that likelier by γ from which more is to be had. That is exact, since what is gained is linear in each probability. An
integer that is drawn at once comes most significant bit first.

Sources: Santha and Vazirani 1986, 'Generating quasi-random sequences from semi-random sources'; Dodis, López-Alt,
Mironov and Vadhan 2012, 'Differential Privacy with Imperfect Randomness', definitions 1 and 4.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from gmpy2 import mpq

from attacklab.laws.enclosures import PRECISION, exp_bounds
from attacklab.laws.enumeration import Limits, run_once
from attacklab.laws.errors import LawError
from attacklab.laws.law import Bounds, Law
from attacklab.laws.outcomes import tag
from attacklab.laws.tape import Drawn, Frontier, Leaf, Path, PutAside, Span, Tape
from attacklab.model.errors import UsageError

Box: TypeAlias = tuple[tuple[int, int, int], ...]
"""The bit sequences of one run: integers of so many bits one after another, each in [low, high)."""

Chain: TypeAlias = tuple[int, ...]
"""What is left of a box: its next integer, and the number of the chain of those after it; empty at the end."""

Chains: TypeAlias = tuple[tuple[Chain, int], ...]
"""What is left of the boxes of two sets, each with 0 or 1 for its set."""

MOST_RUNS = 1 << 14
"""More runs than that are not looked at one by one, nor more values of an integer."""

MOST_DRAWS = 512
"""A run that draws more often is taken to be endless."""

MOST_SUBSETS = 1 << 10
"""So many events are tried one by one where an output may or may not belong to the worst one."""


class EndlessBits(LawError):
    """The sampler may draw any number of bits."""


@dataclass(frozen=True, slots=True)
class BitTree:
    """On which sequences of bits a sampler gives each output; each sequence leads to one.

    Attributes:
        boxes: by an outcome's tag, the boxes of all runs that end in it.
        outcomes: the outcomes by their tags.
    """

    boxes: dict[Hashable, tuple[Box, ...]]
    outcomes: dict[Hashable, Any]

    @property
    def most_bits(self) -> int:
        """How many bits the longest run takes."""
        return max(sum(width for width, _, _ in box) for boxes in self.boxes.values() for box in boxes)

    def law(self) -> Law:
        """The law of the output if bits are fair."""
        return Law((self.outcomes[key], sum(map(_fair, boxes), mpq(0))) for key, boxes in self.boxes.items())


class Worst(NamedTuple):
    """The most that the laws of two inputs are apart.

    Attributes:
        ratio: the largest P[o]/Q[o] of an outcome o, over all sources, a rational number; infinite if o is impossible
            for one input.
        outcome: o.
        reverse: whether P is the law of the second input.
    """

    ratio: Any
    outcome: Any
    reverse: bool


def bit_tree(sampler: Callable[..., Any], *arguments: Any, limits: Limits) -> BitTree:
    """Find on which sequences of bits `sampler(*arguments, bits)` gives each output.

    Args:
        sampler: as for `enumerate_law`, which checks what is not checked here: that it is a function of these.
        arguments: what it is called with.
        limits: `runs`, `draws` and `tapes` are the most that are tried, up to `MOST_RUNS` runs and `MOST_DRAWS` draws.

    Raises:
        EndlessBits: not all sequences were seen within the limits, or an output is one of too many integers.
        LawError: what a run of the sampler raises; see `enumerate_law`.
    """
    boxes: dict[Hashable, list[Box]] = defaultdict(list)
    outcomes: dict[Hashable, Any] = {}
    frontier: Frontier[Path] = Frontier(limits.tapes)
    path: Path = None
    for _ in range(min(limits.runs, MOST_RUNS)):
        tape = Tape(path, frontier, lambda *_: None, min(limits.draws, MOST_DRAWS), counts=False)
        ended, value, returned = run_once(sampler, arguments, tape)
        if ended is not PutAside:
            for outcome, box in _boxes(tape.leaf(returned), value):
                outcomes.setdefault(tag(outcome), outcome)
                boxes[tag(outcome)].append(box)
        if not len(frontier):
            break
        path = frontier.pop()
    tree = BitTree({key: tuple(found) for key, found in boxes.items()}, outcomes)
    if tree.law().closed:
        return tree
    raise EndlessBits(
        f"the sampler may draw any number of bits, or ends in more than {min(limits.runs, MOST_RUNS):,} ways, and the "
        "worst source of bits is found for finitely many; let it take a public number of bits"
    )


def _boxes(leaf: Leaf, value: Any) -> Iterator[tuple[Any, Box]]:
    """What a run gives, with the sequences that it stands for; each of several integers, where it is one of these."""
    drawn = [(event.width, event.low, event.high) for event in leaf.events if isinstance(event, Drawn)]
    if not isinstance(value, Span):
        yield value, _box(drawn)
    elif value.high - value.low <= MOST_RUNS:
        assert leaf.returned is not None  # noqa: S101 - the outcome is an integer that was drawn
        for number in range(value.low, value.high):
            drawn[leaf.returned] = (drawn[leaf.returned][0], number, number + 1)
            yield number, _box(drawn)


def _box(drawn: Sequence[tuple[int, int, int]]) -> Box:
    return tuple(event for event in drawn if event[0])


def worst_ratio(first: BitTree, second: BitTree, within: Any) -> Worst:
    """The largest ratio of an outcome's probabilities: e^ε for the smallest ε of pure DP, over all sources.

    The ratio of an event is at most that of one of its outcomes, for each source.

    Args:
        first: of one of two neighbouring inputs.
        second: of the other.
        within: γ, rational or a float (taken as the exact rational that it is), in [0, 1/2).

    Raises:
        UsageError: γ is out of range.
    """
    share = _share(within)
    worst = Worst(mpq(1), None, False)
    for reverse, (p, q) in enumerate(((first, second), (second, first))):
        for key, boxes in p.boxes.items():
            if key not in q.boxes:
                return Worst(float("inf"), p.outcomes[key], bool(reverse))
            ratio = _largest_ratio(boxes, q.boxes[key], share, worst.ratio)
            if ratio > worst.ratio:
                worst = Worst(ratio, p.outcomes[key], bool(reverse))
    return worst


def worst_delta(first: BitTree, second: BitTree, epsilon: Any, within: Any, *, precision: int = PRECISION) -> Bounds:
    """Bounds on the smallest δ for which both directions are (ε, δ)-close, over all sources and events.

    They are equal, but for the enclosure of e^ε, unless of more than ten outcomes it is open whether they belong to the
    worst event.

    Args:
        first: of one of two neighbouring inputs.
        second: of the other.
        epsilon: ε, rational or a float, in [0, 2^20].
        within: γ, as for `worst_ratio`.
        precision: the bits of precision to which e^ε is enclosed.

    Raises:
        UsageError: γ is out of range.
    """
    share = _share(within)
    least, most = exp_bounds(epsilon, precision)
    both = [(first, second), (second, first)]
    return Bounds(
        max(_largest_excess(p, q, most, share).lower for p, q in both),
        min(max(_largest_excess(p, q, least, share).upper for p, q in both), mpq(1)),
    )


def _largest_ratio(first: Sequence[Box], second: Sequence[Box], share: Any, beyond: Any) -> Any:
    """The largest ratio of the probabilities of two sets of sequences, if it is more than `beyond`.

    Each step takes the source that is best for the ratio so far, and then the ratio that this source reaches, until no
    source reaches more (Dinkelbach 1967, 'On Nonlinear Fractional Programming').
    """
    ratio = beyond
    while True:
        p, q = _best(first, second, ratio, share)
        if p <= ratio * q:
            return ratio
        ratio = p / q


def _largest_excess(p: BitTree, q: BitTree, factor: Any, share: Any) -> Bounds:
    """Bounds on the largest P[E] − factor·Q[E] over sources and events E.

    An outcome whose excess can be above 0 may belong to the worst event, and one whose excess is never below 0 may
    always do. Of the others each subset is tried, if they are few.
    """
    sure: list[Hashable] = []
    unsure: list[tuple[Any, Hashable]] = []
    for key, boxes in p.boxes.items():
        others = q.boxes.get(key, ())
        excess = _excess(_best(boxes, others, factor, share), factor)
        if excess > 0:
            lowest = -_excess(_best(others, boxes, 1 / factor, share), 1 / factor) * factor
            if lowest >= 0:
                sure.append(key)
            else:
                unsure.append((excess, key))
    unsure.sort(key=lambda pair: -pair[0])
    tried = unsure[: MOST_SUBSETS.bit_length() - 1]
    largest = mpq(0)
    for chosen in itertools.product((False, True), repeat=len(tried)):
        event = [*sure, *(key for is_in, (_, key) in zip(chosen, tried, strict=True) if is_in)]
        largest = max(largest, _excess(_best(_of_event(p, event), _of_event(q, event), factor, share), factor))
    return Bounds(largest, largest + sum((excess for excess, _ in unsure[len(tried) :]), mpq(0)))


def _of_event(tree: BitTree, event: Iterable[Hashable]) -> list[Box]:
    return [box for key in event for box in tree.boxes.get(key, ())]


def _excess(probabilities: tuple[Any, Any], factor: Any) -> Any:
    return probabilities[0] - factor * probabilities[1]


def _best(first: Sequence[Box], second: Sequence[Box], factor: Any, share: Any) -> tuple[Any, Any]:
    """The probabilities of two sets of sequences under the source for which P − factor·Q is largest."""
    return _Search(factor, share).best(first, second)


class _Node:
    """Boxes whose next integer is about to be drawn, cut where its value leaves different ones.

    Args:
        chains: what is left of the boxes.
        numbered: the chains by their numbers.

    Attributes:
        chains: as above.
        ended: the sets of the boxes that end here.
        starts: the least integer of each part, and one more than the largest of all.
        parts: what is left of the boxes in each part.
        unvisited: those of the parts that were not looked at yet.
    """

    def __init__(self, chains: Chains, numbered: Sequence[Chain]) -> None:
        self.chains = chains
        self.ended = [side for chain, side in chains if not chain]
        going = [(chain, side) for chain, side in chains if chain]
        width = min((chain[0] for chain, _ in going), default=0)
        cuts = {0, 1 << width}
        for (bits, low, high, _), _ in going:
            rest = bits - width
            cuts |= {low >> rest, -(-low >> rest), high >> rest, -(-high >> rest)}
        self.starts = sorted(cut for cut in cuts if cut <= 1 << width)
        self.parts = [tuple(_after(going, start, width, numbered)) for start in self.starts[:-1]] if going else []
        self.unvisited = iter(self.parts)


class _Search:
    """The search for the best source, backwards from the last bit.

    Args:
        factor: what is gained is P − factor·Q.
        share: the largest probability of a bit's value, 1/2 + γ.
    """

    def __init__(self, factor: Any, share: Any) -> None:
        self._factor, self._share = factor, share
        self._known: dict[Chains, tuple[Any, Any]] = {}
        self._numbered: list[Chain] = []
        self._numbers: dict[Chain, int] = {}

    def best(self, first: Sequence[Box], second: Sequence[Box]) -> tuple[Any, Any]:
        """The probabilities of the boxes of the first set and of the second."""
        whole = tuple((self._chain(box), side) for side, boxes in enumerate((first, second)) for box in boxes)
        pending = [_Node(whole, self._numbered)]
        while pending:
            node = pending[-1]
            part = next((part for part in node.unvisited if part not in self._known), None)
            if part is not None:
                pending.append(_Node(part, self._numbered))
                continue
            self._known[pending.pop().chains] = self._reached(node)
        return self._known[whole]

    def _chain(self, box: Box) -> Chain:
        chain: Chain = ()
        for event in reversed(box):
            number = self._numbers.setdefault(chain, len(self._numbered))
            if number == len(self._numbered):
                self._numbered.append(chain)
            chain = (*event, number)
        return chain

    def _reached(self, node: _Node) -> tuple[Any, Any]:
        p, q = mpq(node.ended.count(0)), mpq(node.ended.count(1))
        if node.parts:
            values = [self._known[part] for part in node.parts]
            later_p, later_q = self._combined(0, node.starts[-1], node.starts, values)
            p, q = p + later_p, q + later_q
        return p, q

    def _combined(self, low: int, high: int, starts: list[int], values: list[tuple[Any, Any]]) -> tuple[Any, Any]:
        """What is reached from all integers in [low, high), a node of the tree of bits."""
        piece = bisect_right(starts, low) - 1
        if starts[piece + 1] >= high:
            return values[piece]
        middle = (low + high) // 2
        halves = [self._combined(*ends, starts, values) for ends in ((low, middle), (middle, high))]
        less, more = sorted(halves, key=lambda pair: _excess(pair, self._factor))
        return tuple(self._share * a + (1 - self._share) * b for a, b in zip(more, less, strict=True))


def _after(
    chains: Iterable[tuple[Chain, int]], start: int, width: int, numbered: Sequence[Chain]
) -> Iterator[tuple[Chain, int]]:
    """What is left once the next `width` bits have come and are the integer `start`."""
    for (bits, low, high, later), side in chains:
        rest = bits - width
        low, high = max(low - (start << rest), 0), min(high - (start << rest), 1 << rest)
        if low < high:
            yield (rest, low, high, later) if rest else numbered[later], side


def _fair(box: Box) -> Any:
    probability = mpq(1)
    for width, low, high in box:
        probability *= mpq(high - low, 1 << width)
    return probability


def _share(within: Any) -> Any:
    share = Fraction(1, 2) + Fraction(within)
    if not Fraction(1, 2) <= share < 1:
        raise UsageError(f"bits may be from 0 to less than 1/2 away from fair, not {float(within)!r}")
    return mpq(share)
