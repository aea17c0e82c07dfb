"""Theorems on the exponential mechanism in base 2, and on Laplace noise on a finite grid, which is one of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused
from checker.core.tape import Recorder, Way, explore, law, same
from checker.enclosures import elementary as enclosures
from checker.kinds.claims import pure_epsilon, require_neighbours
from checker.kinds.halves import require_total
from checker.kinds.large_runs import MANY, many_utilities, require_same_on_many
from checker.kinds.lending import used
from checker.kinds.private_vectors import require_reading, unknown_vectors
from checker.kinds.unknowns import NOW, Facts, Interval, UnknownDialogues, instead, unknown
from checker.models import exponential, selection
from checker.theorems.selection import APART, TOGETHER, doubles, exact_ones, many, reading_unknowns, scale_of

DEPTH = 400
LEMMAS = ("integer-weights", "coupled-rounding", "weighted", "reading", "clamping-utilities", "outcomes", "loops")


class AnySampler:
    """Stands for the sampler that a mechanism hands on, and keeps those that it met, one for each code."""

    def __init__(self) -> None:
        self.met: list[Any] = []

    def same(self, other: object) -> bool:
        """Note the other one."""
        if other is self:
            return True
        if not any(_code(one) is _code(other) for one in self.met):
            self.met.append(other)
        return callable(other)


def _code(function: Any) -> Any:
    return getattr(function, "__code__", function)


def exponential_base2(certificate: Certificate) -> Conclusion:
    """Show that P[o] ∝ 2^(−η·level) for shortfalls rounded at random to levels, and that the loss is 2·ln 2·η at most.

    For every V of the rounding, levels of neighbours are at most 1 apart, and a level changes a weight by 2^−η exactly:
    so P ≤ 2^(2η)·P′ for each V, or 2^η if utilities move the same way, and on average over V.

    Functions: `reference(utilities, bits, **parameters)`, which takes the role "sampler" as a parameter of that name;
    and, if it is there, `fast(utilities, trials, bits, **parameters)`. Parameters: eta, utility_range, sensitivity.
    """
    parameters = certificate.arguments()
    moves = 1 if require_neighbours(certificate, APART, TOGETHER) == TOGETHER else 2
    lost = _loss(certificate, parameters["eta"], moves)
    samplers, counts = [certificate.function("sampler")], dict[str, int]()
    reference = partial(certificate.function("reference"), **parameters, sampler=samplers[0])
    selectors = _require_selection(reference, parameters, 0, counts)
    if "fast" in certificate.functions:
        fast = partial(certificate.function("fast"), **parameters, sampler=samplers[0])
        for trials in (1, 2, 3, 40):
            selectors += _require_selection(
                lambda utilities, bits, trials=trials: fast(utilities, trials, bits).tolist(),
                parameters,
                trials,
                counts,
            )
    _require_selectors(selectors, parameters, counts)
    return Conclusion(
        f"{lost}-DP for any number of outcomes and every pair of {certificate.neighbours}",
        LEMMAS,
        counts | {"vectors read": require_reading()},
    )


def _loss(certificate: Certificate, eta: Any, moves: int) -> Fraction:
    """Return the claimed ε, once it is shown that ln(1/decay) for each move is at most that."""
    claimed = pure_epsilon(certificate)
    numbers = (eta.x, eta.y, eta.z)
    if not all(type(one) is int and one > 0 for one in numbers) or not eta.x < 2**eta.y:
        raise Refused(f"2^−η is ({eta.x}/2^{eta.y})^{eta.z}")
    most = moves * eta.z * enclosures.ln(Fraction(2**eta.y, eta.x), 128)[1]
    if most > claimed:
        raise Refused(f"the mechanism may lose {float(most):.12g}, more than {claimed}")
    return claimed


def _require_selection(
    mechanism: Callable[..., Any], parameters: dict[str, Any], trials: int, counts: dict[str, int]
) -> list[tuple[Any, Any]]:
    """Check that utilities, whatever they are, are rounded at random to levels, by which outcomes are selected.

    Returns:
        Who selects by level, each with the sampler that it is given.
    """
    scale, stand_in, listed = scale_of(parameters), AnySampler(), trials > 0

    def model(utilities: Sequence[Any], bits: Any) -> Any:
        found = []
        for _ in range(max(trials, 1)):
            levels = tuple(selection.rounded(one, bits) for one in scale.shortfalls(utilities))
            found.append(bits.call(exponential.selected, parameters["eta"], scale.spread, levels, stand_in))
        return found if listed else found[0]

    dialogues = UnknownDialogues(depth=DEPTH, apart=(exponential.selected,), watched=(exponential.selected,))
    within = Interval(scale.low, scale.high)
    with reading_unknowns():
        for utilities in unknown_vectors((1, 2), unknown) if not listed else []:
            dialogues.same(mechanism, model, utilities)
        sizes = {0: (3,), 1: (1, 2), 2: (1, 2)}.get(trials, ())
        for size in sizes:
            dialogues.same(mechanism, model, tuple(unknown(f"v{index} in {within}", within) for index in range(size)))
        for utilities in many(scale):
            ways = 12 if len(utilities) * max(trials, 1) < 100 else 1
            dialogues.same_by_chance(mechanism, model, utilities, ways=ways)
        if trials < 2:
            counts["large"] = counts.get("large", 0) + require_same_on_many(mechanism, model, many_utilities(scale))
    for utilities in doubles(scale) if trials < 2 else ():
        dialogues.same_by_chance(mechanism, lambda given, bits: model(exact_ones(given), bits), utilities, ways=6)
    counts["runs"] = counts.get("runs", 0) + dialogues.runs
    counts["runs cut off"] = counts.get("runs cut off", 0) + dialogues.cut
    by: list[Any] = []
    for one, _ in dialogues.asked[id(exponential.selected)]:
        by += [] if any(one is other for other in by) else [one]
    return [(one, sampler) for one in by for sampler in stand_in.met]


def _require_selectors(
    selectors: Sequence[tuple[Any, Any]], parameters: dict[str, Any], counts: dict[str, int]
) -> None:
    """Check who selects by level: weights against rationals, samplers by their laws on these weights and on others."""
    eta, spread = parameters["eta"], scale_of(parameters).spread
    profiles = [(last, one) for last in range(4) for size in (1, 2, 3) for one in product(range(last + 1), repeat=size)]
    profiles += [(5, (5,)), (5, (0, 5, 3, 3, 5, 0, 0)), (9, (8, 1, 4, 4))]
    ends = [(0, spread), (spread,), (spread // 2, spread, 1, 0, 1), (0, 0)]
    profiles += [(spread, one) for one in ends if max(one) <= spread]
    large = [(320, tuple(range(most + 1))) for most in (64, 320)]
    large += [(512, tuple(7 * index % 499 for index in range(MANY))), (1, tuple(int(i % 8 > 0) for i in range(MANY)))]
    tried: list[Any] = []
    weighted = (exponential.weighted,)
    drawn = UnknownDialogues(depth=DEPTH, arguments=10**6)
    for index, (selector, sampler) in enumerate(selectors):
        if any(selector is one and _code(sampler) is _code(other) for one, other in selectors[:index]):
            continue
        known = any(selector is one for one, _ in selectors[:index])
        dialogues = UnknownDialogues(depth=DEPTH, arguments=10**6, apart=weighted, watched=weighted)
        for most, levels in profiles[30:40] if known else profiles:
            dialogues.same(selector, exponential.selected, eta, most, levels, sampler)
        for most, levels in large:
            counts["large"] += require_same_on_many(selector, exponential.selected, eta, most, levels, sampler)
        counts["runs"] += dialogues.runs
        counts["large"] += require_total(used(selector, "LevelWeights"), eta)
        if any(_code(one) is _code(sampler) for one in tried):
            continue
        tried.append(sampler)
        samplers = {id(one): one for one, _ in dialogues.asked[id(exponential.weighted)]}
        if [*samplers] != [id(sampler)]:
            raise Refused("outcomes are selected by another sampler than the one that was given")
        lists = [one for one in product(range(3), repeat=3) if any(one)] + [
            (5,),
            (0, 1),
            (2, 0, 0, 3, 1),
            (1, 255),
            (256, 1),
        ]
        listed = [_Listed(one) for one in lists]
        eighth = Fraction(eta.x, 2**eta.y)
        listed += [_Listed(tuple(exponential.Weights(eighth, 2, [(0, 1), (2, 3)]).listed))]
        for weights in [*listed, *listed[-3:]]:
            counts["laws of weights"] = counts.get("laws of weights", 0) + 1
            _require_law(drawn, sampler, weights)
        _require_law(drawn, sampler, _Listed(tuple(1 + 7 * index % 13 for index in range(100))))


class _Listed:
    """Weights as a sampler takes them."""

    def __init__(self, listed: tuple[int, ...]) -> None:
        self.listed, self.total = listed, sum(listed)

    def __iter__(self) -> Any:
        return iter(self.listed)

    def same(self, other: Any) -> bool:
        """Whether other weights are the same."""
        return list(other) == list(self.listed) and other.total == self.total


def _require_law(dialogues: UnknownDialogues, sampler: Callable[..., Any], weights: _Listed) -> None:
    """Check a sampler: it draws an integer below the total by rejection, or its round has the law of the weights."""
    if _asked(sampler, weights)[0] == "call":
        dialogues.same(sampler, exponential.by_rejection, weights)
        return
    masses, left = law(_round_of(sampler, weights), (), depth=4 * weights.total.bit_length() + 8)
    masses.pop(("NoneType", None), None)
    chances = {index: mass for (kind, index), mass in masses.items() if kind == "int"}
    total = sum(chances.values(), Fraction(0))
    expected = {index: Fraction(one, weights.total) for index, one in enumerate(weights.listed) if one}
    if len(chances) != len(masses) or left or {index: mass / total for index, mass in chances.items()} != expected:
        raise Refused(f"weights {weights.listed} are drawn by as {chances}")


class _Stopped(Exception):
    """A sampler asked its first question."""


def _asked(sampler: Callable[..., Any], weights: _Listed) -> tuple[str, Any, tuple[Any, ...]]:
    """Return the first request of a sampler."""

    class Source:
        def call(self, *request: Any) -> Any:
            raise _Stopped("call", *request)

        def repeat(self, *request: Any) -> Any:
            raise _Stopped("repeat", *request)

    try:
        sampler(weights, Source())
    except _Stopped as asked:
        verb, by, *arguments = asked.args
        return verb, by, tuple(arguments)
    raise Refused("a sampler of weights asks nothing")


def _round_of(sampler: Callable[..., Any], weights: _Listed) -> Callable[..., Any]:
    """Return the round that a sampler repeats, once it is shown that it returns what the round does."""
    verb, by, arguments = _asked(sampler, weights)

    class Source:
        def repeat(self, one: Any, *given: Any) -> Any:
            if one is not by or given != arguments:
                raise Refused("a sampler repeats one round and then another")
            return marked

    marked = object()
    if verb != "repeat" or sampler(weights, Source()) is not marked:
        raise Refused("a sampler does more than to repeat a round")
    return lambda bits: by(*arguments, bits)


def laplace_on_finite_grid(certificate: Certificate) -> Conclusion:
    """Show that Laplace noise on a finite grid keeps ε for every pair of answers.

    It selects a point p of the grid by the utility −|c − p|, c the answer clamped to the grid: shown for all answers.
    Answers at most Δ apart have utilities at most Δ apart, and `exponential_base2` does the rest.

    Functions: `reference(answer, bits, **parameters)`, `selection`, the mechanism in base 2 that it calls. Parameters:
    eta, lower, spacing, points, sensitivity.
    """
    parameters = certificate.arguments()
    if certificate.neighbours != "answers at most the sensitivity apart":
        raise Refused(f"neighbours are {certificate.neighbours!r}")
    eta, points = parameters["eta"], parameters["points"]
    lost = _loss(certificate, eta, 2)
    lower, spacing = Fraction(parameters["lower"]), Fraction(parameters["spacing"])
    grid = [lower + index * spacing for index in range(points)]
    of = {
        "eta": eta,
        "utility_range": (grid[0] - grid[-1], 0),
        "sensitivity": Fraction(parameters.get("sensitivity", 1)),
    }
    counts: dict[str, int] = {}
    reference, chosen = certificate.function("reference"), certificate.function("selection")
    module = reference.__module__.partition(".")[2]
    scale = selection.Scale(grid[0], grid[-1], Fraction(1))
    place: list[Any] = []

    def select(utilities: Any, bits: Any, **given: Any) -> int:
        centre = scale.clamped(place[0])
        if not same(list(utilities), [-abs(centre - point) for point in grid]) or not _equal(given, of):
            raise Refused(f"outcomes of {place[0]!r} are selected by {utilities!r:.200}, {given}")
        index: int = bits.take(2) * (points - 1) // 3
        return index

    def read(name: str, answer: Any) -> Any:  # noqa: ARG001
        if answer is not place[0]:
            raise Refused(f"{answer!r} is read instead of the answer")
        return answer

    with instead(module, chosen.__name__, select), instead(module, "exact_number", read):
        for answer in (unknown("answer"), math.inf, -math.inf, math.nan):
            place[:] = [answer]

            def run(way: Way, answer: Any = answer) -> Any:
                NOW[0] = Facts(way)
                recorder = Recorder(way)
                released = reference(answer, recorder, **parameters)
                return released, recorder.said

            for _, (released, said) in explore(run, DEPTH):
                if len(said) != 1 or released != grid[said[0][1] * (points - 1) // 3]:
                    raise Refused(f"{released} is released")
                counts["ways of an answer"] = counts.get("ways of an answer", 0) + 1
    _require_selectors(_require_selection(partial(chosen, **of), of, 0, counts), of, counts)
    return Conclusion(
        f"{lost}-DP for every pair of {certificate.neighbours}",
        ("distances", *LEMMAS),
        counts | {"vectors read": require_reading()},
    )


def _equal(given: dict[str, Any], expected: dict[str, Any]) -> bool:
    known = {"sensitivity": 1} | given
    ends = tuple(map(Fraction, known.get("utility_range", ())))
    return (
        set(known) == set(expected)
        and known["eta"] == expected["eta"]
        and ends == tuple(expected["utility_range"])
        and Fraction(known["sensitivity"]) == expected["sensitivity"]
    )
