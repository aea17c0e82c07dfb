"""Selection with fixed work has a dyadic law within its ε, and does the same work for all utilities and all bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from typing import Any

import gmpy2
import numpy as np
import pytest

from attacklab.attacks.work import Work
from attacklab.claims import PrivacyClaim
from attacklab.findings import Finding, Verdict
from attacklab.laws import advantage, enumerate_law
from attacklab.neighbours import NeighbouringPair
from attacklab.observed_work import with_bits_taken
from attacklab.random_bits import SeededBits, TapedBits
from attacklab.referee import audit
from attacklab.targets import Target
from mechanisms.exponential import exact_fixed_work
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.base2.weighted_sampling import sample_by_rejection
from mechanisms.exponential.exact_base2 import exact_exponential_base2
from mechanisms.exponential.exact_fixed_work import FixedWork, FixedWorkSelection, exact_exponential_fixed_work
from mechanisms.exponential.naive import naive_exponential

Levels = tuple[int, ...]
HALF, THREE_QUARTERS, SEVEN_EIGHTHS = BaseTwoEta(1, 1), BaseTwoEta(3, 2), BaseTwoEta(7, 3)
SMALL = [
    FixedWork(HALF, precision=2, spare=2),
    FixedWork(HALF, precision=1, spare=3),
    FixedWork(THREE_QUARTERS, precision=3, spare=3),
    FixedWork(SEVEN_EIGHTHS, steps=2, precision=3, spare=3),
]
WIDE = [FixedWork(work.eta, work.steps, 8, 30) for work in SMALL]
MOST = 4
"""Utilities are 0, 1, …, MOST levels."""


def vectors(outcomes: int) -> list[Levels]:
    return list(product(range(MOST + 1 if outcomes < 3 else MOST), repeat=outcomes))


def neighbours(given: Sequence[Levels], steps: int, *, monotone: bool) -> Iterator[tuple[Levels, Levels]]:
    for one, other in product(given, given):
        moved = [b - a for a, b in zip(one, other, strict=True)]
        if max(map(abs, moved)) <= steps and not (monotone and min(moved) < 0 < max(moved)):
            yield one, other


def selected(work: FixedWork, utilities: Levels, bits: Any) -> int:
    given = [Fraction(one, work.steps) for one in utilities]
    return exact_exponential_fixed_work(given, bits, work=work, utility_range=(0, MOST))


def tickets(selection: FixedWorkSelection, utilities: Levels) -> list[int]:
    """How many tickets each outcome has, by its thresholds."""
    deepest = len(selection.weights) - 1
    levels = [min(max(utilities) - one, deepest) for one in utilities]
    ends = [0, *selection.thresholds(levels), 1 << selection.bits]
    return [end - begin for begin, end in pairwise(ends)]


def worst(laws: dict[Levels, list[int]], steps: int, *, monotone: bool = False) -> Fraction:
    """The greatest ratio of the probabilities of an outcome over all pairs of neighbours."""
    return max(
        Fraction(p, q)
        for one, other in neighbours(list(laws), steps, monotone=monotone)
        for p, q in zip(laws[one], laws[other], strict=True)
    )


@pytest.mark.few(3)
@pytest.mark.parametrize("work", SMALL)
@pytest.mark.parametrize("outcomes", [1, 2, 3])
def test_on_every_string_of_bits_it_has_the_law_of_its_formula(work: FixedWork, outcomes: int) -> None:
    selection = FixedWorkSelection(work, work.steps * MOST, outcomes)
    h = work.precision + (outcomes - 1).bit_length()
    for utilities in vectors(outcomes) if outcomes < 3 else product(range(3), repeat=3):
        counts: Counter[int] = Counter()
        for tape in range(1 << selection.bits):
            bits = TapedBits(tape, selection.bits)
            counts[selected(work, utilities, bits)] += 1
            assert bits.left == 0
        weights = [selection.weights[min(max(utilities) - one, len(selection.weights) - 1)] for one in utilities]
        quotient = (1 << selection.bits + h) // sum(weights)
        firsts = [sum(weights[:outcome]) * quotient // (1 << h) for outcome in range(outcomes)]
        ends = [*firsts[1:], 1 << selection.bits]
        assert [counts[o] for o in range(outcomes)] == [end - first for first, end in zip(firsts, ends, strict=True)]


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("work", [*SMALL, *WIDE])
@pytest.mark.parametrize("outcomes", [1, 2, 3])
def test_no_pair_of_neighbours_loses_more_than_is_claimed(work: FixedWork, outcomes: int, monotone: bool) -> None:
    selection = FixedWorkSelection(work, work.steps * MOST, outcomes)
    laws = {utilities: tickets(selection, utilities) for utilities in vectors(outcomes)}
    claimed = work.largest_ratio(monotone=monotone)
    assert all(sum(law) == 1 << selection.bits and min(law) > 0 for law in laws.values())
    assert worst(laws, work.steps, monotone=monotone) <= claimed


def test_many_outcomes_of_few_levels_come_near_to_the_claim() -> None:
    """One outcome against 40 that move the other way: the ratio tends to R."""
    work = FixedWork(HALF, precision=8, spare=30)
    selection = FixedWorkSelection(work, MOST, 41)
    up, down = (tickets(selection, (1 + one, *[2 - one] * 40))[0] for one in (1, 0))
    assert Fraction(9, 10) * 4 < Fraction(up, down) <= work.largest_ratio()


class Nearest(FixedWorkSelection):
    """Rounds weights to nearest, so that some fall by more than the factor q."""

    @property
    def weights(self) -> tuple[int, ...]:
        q = Fraction(self.work.eta.x, 1 << self.work.eta.y)
        return tuple(max(1, round((1 << self.work.precision) * q**level)) for level in range(self.spread + 1))


class Down(FixedWorkSelection):
    """Rounds weights down, to 0 in the end."""

    @property
    def weights(self) -> tuple[int, ...]:
        q = Fraction(self.work.eta.x, 1 << self.work.eta.y)
        return tuple(int((1 << self.work.precision) * q**level) for level in range(self.spread + 1))


def test_weights_rounded_to_nearest_break_the_claim() -> None:
    work = FixedWork(SEVEN_EIGHTHS, precision=2, spare=30)
    laws = {one: tickets(Nearest(work, MOST, 3), one) for one in vectors(3)}
    assert worst(laws, work.steps) > work.largest_ratio()


def test_weights_rounded_down_leave_an_outcome_without_a_ticket() -> None:
    work = FixedWork(HALF, precision=2, spare=30)
    assert min(tickets(Down(work, MOST, 2), (MOST, 0))) == 0
    assert min(tickets(FixedWorkSelection(work, MOST, 2), (MOST, 0))) > 0


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), Fraction(1, 30), 0.1, 1, 8.5])
def test_parameters_for_an_epsilon_keep_within_it_and_waste_little(
    epsilon: float | Fraction, steps: int, monotone: bool
) -> None:
    work = FixedWork.from_epsilon(epsilon, steps=steps, monotone=monotone)
    with gmpy2.context(precision=400):
        lost = gmpy2.log(gmpy2.mpq(work.largest_ratio(monotone=monotone)))
        given = gmpy2.mpq(Fraction(epsilon))
        assert given * (1 - gmpy2.mpq(1, 1 << 28)) < lost < given


@pytest.mark.parametrize("epsilon", [0.01, 1, 4])
def test_the_law_is_close_to_that_of_the_exponential_mechanism(epsilon: float) -> None:
    """Probabilities are within one part in 10^6 of e^(−ε·gap/2), normalised, for gaps up to 40/ε."""
    work = FixedWork.from_epsilon(epsilon)
    utilities = tuple(int(gap / epsilon) for gap in (0, 40, 3, 17, 1, 1, 29))
    law = tickets(FixedWorkSelection(work, 8192, len(utilities)), utilities)
    ideal = np.exp(epsilon / 2 * (np.array(utilities) - max(utilities)))
    assert np.allclose(np.array(law) / sum(law), ideal / ideal.sum(), rtol=1e-6, atol=0)


class Sized(int):
    """An integer whose operations are written down, with how many bits their operands have."""

    done: list[tuple[str, int, int]] = []  # noqa: RUF012

    @staticmethod
    def operation(name: str) -> Callable[[Sized, int], Any]:
        def run(one: Sized, other: int) -> Any:
            result = getattr(int, name)(int(one), int(other))
            if result is NotImplemented:
                raise AssertionError(name)
            Sized.done.append((name, max(1, one.bit_length()), max(1, int(other).bit_length())))
            return Sized(result)

        return run


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "lshift", "rshift", "ge"):
    setattr(Sized, f"__{_name}__", Sized.operation(f"__{_name}__"))


@pytest.mark.parametrize("work", [*SMALL, FixedWork.from_epsilon(1)])
@pytest.mark.parametrize("outcomes", [1, 2, 3, 4])
def test_operations_and_their_operands_lengths_are_the_same_for_all_levels(work: FixedWork, outcomes: int) -> None:
    selection = FixedWorkSelection(work, 200, outcomes)
    padded = tuple(map(Sized, selection._padded_weights))
    vars(selection).update(_padded_weights=padded, _pad=Sized(selection._pad))
    selection.thresholds([0] * outcomes)  # other tables are made once
    last = len(selection.weights) - 1
    seen = set()
    for levels in product(sorted({0, min(1, last), last // 2, max(last - 1, 0), last}), repeat=outcomes):
        if 0 in levels:
            Sized.done = []
            selection.thresholds(levels)
            seen.add(tuple(Sized.done))
    (done,) = seen
    assert len(done) >= 4 * selection.bits


class Ticket(int):
    """Random bits whose comparisons are counted."""

    compared = 0


def counted(name: str) -> Callable[[Ticket, int], bool]:
    def compare(ticket: Ticket, other: int) -> bool:
        Ticket.compared += 1
        return bool(getattr(int, name)(ticket, other))

    return compare


for _name in ("lt", "le", "eq", "ne", "ge", "gt"):
    setattr(Ticket, f"__{_name}__", counted(f"__{_name}__"))


def bits_and_comparisons(selection: FixedWorkSelection, levels: Levels, ticket: int) -> tuple[int, int]:
    """How many bits a selection takes, and how many comparisons with them."""

    class Compared(TapedBits):
        def take(self, count: int) -> int:
            return Ticket(super().take(count))

    Ticket.compared, bits = 0, Compared(ticket, selection.bits)
    selection(levels, bits)
    return selection.bits - bits.left, Ticket.compared


class EarlyExit(FixedWorkSelection):
    """Stops at the first threshold that the ticket is below; its law is the same."""

    def __call__(self, levels: Sequence[int], bits: Any) -> int:
        ticket = bits.take(self.bits)
        for outcome, threshold in enumerate(self.thresholds(levels)):
            if ticket < threshold:
                return outcome
        return self.outcomes - 1


@pytest.mark.parametrize(("kind", "different"), [(FixedWorkSelection, False), (EarlyExit, True)])
def test_every_selection_takes_as_many_bits_and_comparisons(kind: type[FixedWorkSelection], different: bool) -> None:
    selection = kind(SMALL[2], MOST, 3)
    levels = [one for one in product(range(len(selection.weights)), repeat=3) if 0 in one]
    tried = [(one, ticket) for one in levels for ticket in (0, 80, 100, 150, 255)]
    assert (len({bits_and_comparisons(selection, *one) for one in tried}) > 1) is different


FIVE = ((0.0, 0.0, 0.0, 0.0, 0.0), (0.0, -1.0, -1.0, -1.0, -1.0))


@pytest.mark.parametrize("counted", ["bits", "calls"])
def test_who_sees_the_work_as_well_knows_no_more(counted: Any) -> None:
    run = partial(exact_exponential_fixed_work, work=FixedWork.from_epsilon(1), utility_range=(-2, 0))
    p, q = (enumerate_law(partial(run, utilities), counted=counted) for utilities in FIVE)
    assert p.closed
    assert q.closed
    assert len({work for _, work in [*p, *q]}) == 1
    seen, marginal = advantage(p, q), advantage(p.map(lambda pair: pair[0]), q.map(lambda pair: pair[0]))
    assert seen.lower == seen.upper == marginal.lower == marginal.upper > 0


@pytest.mark.parametrize(
    ("steps", "sensitivity", "ends", "at_once"),
    [
        (1, 1, (-7, 5), True),
        (4, 0.5, (-2.5, 1.125), True),
        (1, Fraction(1, 1 << 60), (0, Fraction(5, 1 << 60)), True),
        (3, 1, (-7, 5), False),
        (1, 4, (-8, 8), False),
        (2, 1, (-7.3, 5), False),
        (1, Fraction(1, 1 << 40), (0, 1 << 20), False),
    ],
)
def test_doubles_are_at_the_levels_of_the_rationals_that_they_are(
    steps: int, sensitivity: float | Fraction, ends: tuple[Any, Any], at_once: bool
) -> None:
    """At all edges of levels and next to them, beyond the range, and at special values."""
    work = FixedWork(SEVEN_EIGHTHS, steps=steps, precision=8, spare=4)
    low, high = map(Fraction, ends)
    edges = [float(high - Fraction(level) * Fraction(sensitivity) / steps) for level in range(60)]
    doubles = [near for edge in edges for near in (edge, np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf))]
    doubles += [np.inf, -np.inf, np.nan, 1e300, -1e300, 5e-324, -5e-324, -0.0, float(low), float(high)]
    asked: list[tuple[Any, ...]] = []

    class Asked(TapedBits):
        def call(self, sampler: Any, *arguments: Any) -> Any:  # noqa: ARG002
            asked.append(arguments)
            return 0

    finite = np.clip(np.nan_to_num(np.array(doubles), nan=-np.inf), -1e301, 1e301).tolist()
    clamped = [min(max(Fraction(one), low), high) for one in finite]
    for given in (np.array(doubles), [*clamped, Fraction(1, 3)]):
        exact_exponential_fixed_work(given, Asked(0, 0), work=work, utility_range=ends, sensitivity=sensitivity)
    assert (exact_fixed_work.whole_levels(steps, ends, sensitivity) is not None) is at_once
    levels = [steps * (high - one) // Fraction(sensitivity) for one in clamped]
    last = len(FixedWorkSelection(work, asked[0][1], 1).weights) - 1
    expected = [min(level - min(levels), last) for level in levels]
    assert list(asked[0][2]) == expected == list(asked[1][2][:-1])


EPSILON = 0.25
ALL_BEST = NeighbouringPair.utilities([1.0] * 9, [0.0] * 9, sensitivity=1.0)
"""9 weights of 1 are drawn in 9 of 16 rounds of so many bits; the sum of 9 weights of e^(−ε/2) is just below 8."""


def audited(sampler: Callable[..., int], trials: int) -> Finding:
    target = Target.selection(partial(naive_exponential, epsilon=EPSILON), epsilon=EPSILON).exact(sampler)
    (finding,) = audit(with_bits_taken(target), [Work(ALL_BEST)], trials=trials, seed=5)
    return finding


@pytest.mark.ci
def test_bits_of_rejection_refute_the_claim_and_fixed_work_does_not() -> None:
    """A false alarm has probability at most 1e-6, at this fixed seed; the lazy one's advantage is about 0.43."""
    eta = BaseTwoEta.from_epsilon(EPSILON, y=8)
    lazy = partial(exact_exponential_base2, eta=eta, utility_range=(0, 1), sampler=sample_by_rejection)
    fixed = partial(exact_exponential_fixed_work, work=FixedWork.from_epsilon(EPSILON), utility_range=(0, 1))
    assert PrivacyClaim(EPSILON).ceiling < 0.13
    caught, sound = audited(lazy, 1_000), audited(fixed, 1_000)
    assert caught.verdict is Verdict.VIOLATED
    assert caught.advantage is not None
    assert caught.advantage.estimate > 0.3
    assert sound.verdict is Verdict.NOT_DETECTED


def test_utilities_beyond_the_range_count_as_its_ends_and_nan_as_the_lower_one() -> None:
    work = FixedWork.from_epsilon(1)
    beyond = ([1e300, -np.inf, np.nan, 3.0], [5.0, -5.0, -5.0, 3.0])
    for seed in range(30):
        one, other = (
            [
                exact_exponential_fixed_work(given, bits, work=work, utility_range=(-5, 5))
                for bits in [SeededBits(np.random.default_rng(seed))]
                for _ in range(20)
            ]
            for given in beyond
        )
        assert one == other


def test_tables_that_would_be_too_long_and_parameters_out_of_range_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ValueError, match="spare must be at least 2, not 1"):
        FixedWork(HALF, spare=1)
    with pytest.raises(ValueError, match="steps must be at least 1, not 0"):
        FixedWork.from_epsilon(1, steps=0)
    with pytest.raises(TypeError, match="precision must be an integer"):
        FixedWork(HALF, precision=2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must name at least one outcome"):
        exact_exponential_fixed_work([], TapedBits(0, 0), work=SMALL[0], utility_range=(0, 1))
    monkeypatch.setattr(exact_fixed_work, "MOST_LEVELS", 4)
    assert len(FixedWorkSelection(FixedWork(HALF, precision=3), 3, 2).weights) == 4
    with pytest.raises(ValueError, match="more than 4 levels; narrow the range or raise epsilon"):
        _ = FixedWorkSelection(FixedWork(HALF, precision=30), 30, 2).weights
