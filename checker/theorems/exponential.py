"""Theorems on the exponential mechanism in base e and in base 2, for any number of outcomes and all utilities."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib import import_module
from itertools import product
from random import Random
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused, rational
from checker.core.tape import law
from checker.kinds.claims import pure_epsilon
from checker.kinds.elementwise import require_numpy
from checker.kinds.large_runs import MANY, require_same_on_many, require_some_words
from checker.kinds.lending import used
from checker.kinds.levelled import require_levelled
from checker.kinds.levels import Levels, levels, require_levels
from checker.kinds.polynomials import UNIT, distance_from_half_power, polynomial
from checker.kinds.private_vectors import require_reading
from checker.kinds.rows_of_words import Row, require_one_by_one, require_row_filter, require_rows
from checker.kinds.scaled_coin import require_coin
from checker.kinds.trace import Traced, require_same, require_unwritten
from checker.kinds.unknowns import UnknownDialogues, unknown
from checker.kinds.words_of_proposals import Words, require_beginning, require_words
from checker.models import exponential
from checker.models.selection import Scale
from checker.theorems.selection import WIDEST, moves_of, scale_of

SMALL_CODES = [counts for size in (1, 2, 3, 4) for counts in product(range(3), repeat=size) if counts[-1] and counts[0]]
"""How many members each level has: all of a small scope, whose first and last levels have some."""

FEWER = 100
"""The most of which all rounds are compared, and words are tried."""

MORE = 40_000
"""Words are tried of so many outcomes, which the fast path goes through in chunks."""

TABLE_BITS = 32
"""The bits of a uniform number that tables compare."""

DEEP_CODES = [(1, *[0] * 60, 1), (2, *[0] * 59, 3), (5, *[1] * 40), (1, *[0] * 20, 7, *[0] * 20, 9), (64,), (65, 0, 1)]


LEMMAS = (
    "rejection-from-levels",
    "scaled-coin",
    "levels",
    "words",
    "ieee-arrays",
    "mpfr",
    "reading",
    "clamping-utilities",
    "outcomes",
    "loops",
)


def exponential_base_e(certificate: Certificate) -> Conclusion:
    """Show that P[o] ∝ e^(−x_o), x_o = r·(max u − u_o), for all utilities, and what that loses.

    1. Utilities become exact distances from the best, and levels with 2^−level ≥ e^−x: shown for all doubles.
    2. A round proposes o in proportion to 2^−level and keeps it with probability 2^level·e^−x: compared with the
       checker's own round on unknown utilities; codewords by exact laws, the last coin by enclosures on all bits.
    3. The fast path decides by words: its approximation's error is bounded for every fraction, and it selects what the
       checker's own reading of the words says at all their edges.
    4. Where there is a function for rows of utilities: it makes levels, weights and decisions of the same parts, and
       every row selects what its own words say.

    Functions: `reference(utilities, bits, **parameters)`, `fast(utilities, trials, bits, **parameters)`, and, if
    arrays are part of the claim, `rows(utilities, bits, **parameters)`, each row of which is a release. Parameters:
    epsilon, and as the mechanism has them sensitivity, monotone, utility_range. The claim is pure or zcdp.
    """
    parameters = certificate.arguments()
    moves, scale = moves_of(certificate), scale_of(parameters)
    rate = Fraction(parameters["epsilon"]) / (moves * scale.sensitivity)
    statement = _settled(certificate, moves * rate * scale.sensitivity)
    reference, fast = (certificate.function(role) for role in ("reference", "fast"))
    given = {"sensitivity": 1, "monotone": False, "utility_range": tuple(map(float, WIDEST))} | parameters
    of = _part(reference, "LevelledUtilities").of
    if _part(fast, "LevelledUtilities").of != of:
        raise Refused("the fast path finds its levels in another way")
    known = levels(of, scale, rate, given)
    vectors = list(_vectors(scale, rate))
    ways = require_levelled(of, scale, known, given)
    tried = require_levels(of, scale, known, vectors, given)
    dialogues, coins = _rounds(partial(reference, **parameters), scale, known, vectors)
    if _part(fast, "bernoulli_scaled_exp") not in coins:
        raise Refused("the fast path goes on with another coin")
    decided = sum(map(require_coin, coins)) + require_beginning(_part(fast, "BeginningWith"))
    codes = _require_codes(_part(reference, "propose"))
    error = _require_filter(fast, known)
    words, lemmas, each = 0, LEMMAS if certificate.claim["kind"] == "pure" else ("bounded-range", *LEMMAS), ""
    if "rows" in certificate.functions:
        words += _require_rows(certificate.function("rows"), fast, of, parameters, partial(_row, scale, known, error))
        lemmas, each = (*lemmas, "rows"), ", for each row"
    large = _large(scale, rate)
    tried += require_levels(of, scale, known, [large], given)
    many = _require_many(partial(reference, **parameters), _part(reference, "propose"), scale, known, large)
    for longer in (large, _large(scale, rate, MORE)):
        words += require_some_words(partial(fast, **parameters), longer, _words(longer, scale, known), error)
    for vector in (one for one in vectors if len(one) <= FEWER):
        words += require_words(partial(fast, **parameters), vector, _words(vector, scale, known), error)
    return Conclusion(
        f"{statement} for any number of outcomes and every pair of {certificate.neighbours}{each}",
        lemmas,
        {
            "runs": dialogues.runs,
            "runs cut off": dialogues.cut,
            "vectors read": require_reading(),
            "ways of a vector": ways,
            "vectors with levels": tried,
            "codes": codes,
            "runs of the last coin": decided,
            "words": words,
            "operations": require_numpy(),
            "large": many,
        },
    )


def _settled(certificate: Certificate, lost: Fraction) -> str:
    """Compare the claim with the loss: e^(−x_o) and their sum change by a factor e^(lost/2) each, or only one of them.

    The losses lie in an interval of length `lost`, so that it is lost²/8-zCDP as well (lemma `bounded-range`).
    """
    claim = certificate.claim
    if set(claim) == {"kind", "rho"} and claim["kind"] == "zcdp":
        if lost**2 / 8 > rational(claim["rho"], "rho"):
            raise Refused(f"the mechanism is {lost**2 / 8}-zCDP, which is more than {claim['rho']}")
        return f"{lost**2 / 8}-zCDP"
    if lost > pure_epsilon(certificate):
        raise Refused(f"the mechanism loses {lost}, more than {claim['epsilon']}")
    return f"{lost}-DP"


def _part(function: Callable[..., Any], name: str) -> Any:
    """Return what a function's module calls by a name."""
    return getattr(sys.modules[function.__module__], name)


def _vectors(scale: Scale, rate: Fraction) -> Iterator[Sequence[Any]]:
    """Yield vectors of utilities: ties, one outcome, many, deep levels, neighbours of powers of 2, the range's ends."""
    unit, middle = 1 / rate, (scale.low + scale.high) / 2
    wide = scale.high - scale.low
    base = float(middle)
    steps: list[list[Any]] = [
        [0],
        [0, 0, 0],
        [0, -1],
        [0, -5, -5, -1],
        [0, -40, -Fraction(7, 10), -13],
        [0, -50, -1000],
    ]
    steps += [[-Fraction(i * i, 7) for i in range(40)], [-Fraction(i % 5, 2) for i in range(70)]]
    for shape in steps:
        yield [base + float(max(one * unit, -wide / 4)) for one in shape]
    doubles = [float(math.ldexp(0.693147180559945, power) * float(unit)) for power in (-40, -1, 0, 1, 3)]
    yield [base, *(base - one for one in doubles), *(math.nextafter(base - one, math.inf) for one in doubles)]
    yield [middle, middle - unit / 3, middle - min(unit * Fraction(10, 3), wide / 4), Fraction(base)]
    yield [math.inf, -math.inf, math.nan, base]
    yield [Fraction(1, 3), -math.inf, math.nan, base]
    yield [Fraction(1, 3), math.inf, base]
    yield [2**53 + 1, 2**53, 2**53 + 3]
    yield [base, *[base - float(min(1000 * unit, wide / 4))] * 79]


def _rounds(
    reference: Callable[..., Any], scale: Scale, known: Levels, vectors: Sequence[Any]
) -> tuple[UnknownDialogues, list[Any]]:
    """Compare the reference with the checker's own: on vectors, and its round on unknown utilities."""
    watched = (exponential.kept, exponential.scaled_exp)
    dialogues = UnknownDialogues(depth=60, arguments=200, apart=(exponential.scaled_exp,), watched=watched)

    def expected(vector: Sequence[Any], bits: Any) -> Any:
        return bits.repeat(exponential.kept, *_round_of(vector, scale, known))

    for vector in vectors:
        if len(vector) > FEWER:
            dialogues.same_by_chance(reference, expected, vector, ways=1)
        else:
            dialogues.same(reference, expected, vector)
    rounds = {by for by, _ in dialogues.asked[id(exponential.kept)]}
    for sampler in rounds:
        for members in (((0,),), ((1, 0),), ((0,), (), (1,)), ((2, 0), (1,)), ((1,), (0, 3), (2,))):
            outcomes = 1 + max(map(max, filter(None, members)))
            utilities = tuple(unknown(f"u{index}") for index in range(outcomes))
            dialogues.same(sampler, exponential.kept, members, known.rate, unknown("best"), utilities)
    return dialogues, sorted({by for by, _ in dialogues.asked[id(exponential.scaled_exp)]}, key=repr)


def _large(scale: Scale, rate: Fraction, outcomes: int = MANY) -> list[float]:
    """Return many utilities about the middle of the range, half of them equally far below the best."""
    middle, quarter = (scale.low + scale.high) / 2, (scale.high - scale.low) / 4
    units = [Fraction(7 * i % 101, 3) if i % 2 else Fraction(3) for i in range(outcomes)]
    return [float(middle - min(one / rate, quarter)) for one in units]


def _require_many(
    reference: Callable[..., Any], propose: Callable[..., Any], scale: Scale, known: Levels, vector: Sequence[float]
) -> int:
    """Compare the reference, its round and its proposals with the checker's own on many outcomes."""
    asked: list[tuple[Any, tuple[Any, ...]]] = []

    arguments = _round_of(vector, scale, known)

    def expected(_: Sequence[Any], bits: Any) -> Any:
        return bits.repeat(exponential.kept, *arguments)

    class Asked:
        def repeat(self, sampler: Any, *arguments: Any) -> int:
            asked.append((sampler, arguments))
            return 0

    requests = require_same_on_many(reference, expected, vector)
    reference(vector, Asked())
    ((kept, _),) = asked
    counts = tuple(map(len, arguments[0]))
    code = exponential.code(counts)
    asked.clear()
    propose(counts, Asked())
    ((codeword, _),) = asked
    for seed in range(1000):
        requests += require_same_on_many(kept, exponential.kept, *arguments, seed=seed)
    for seed in range(200):
        requests += require_same_on_many(codeword, exponential.codeword, counts, *code, seed=seed)
    return requests + require_same_on_many(propose, exponential.propose, counts)


def _round_of(vector: Sequence[Any], scale: Scale, known: Levels) -> tuple[Any, ...]:
    """Return what a round is given: the outcomes of each level, the rate, the best utility and all of them."""
    members: list[list[int]] = []
    for outcome, level in enumerate(_words(vector, scale, known).levels):
        members += [[] for _ in range(level + 1 - len(members))]
        members[level].append(outcome)
    own = tuple(map(exponential.Exact, _clamped(vector, scale)))
    return tuple(map(tuple, members)), known.rate, max(own), own


def _clamped(vector: Sequence[Any], scale: Scale) -> list[Fraction]:
    special = [one if isinstance(one, float) and not math.isfinite(one) else Fraction(one) for one in vector]
    return [Fraction(scale.clamped(one)) for one in special]


def _words(vector: Sequence[Any], scale: Scale, known: Levels) -> Words:
    own = _clamped(vector, scale)
    best, depth = max(own), 63 - len(own).bit_length()
    found = [int(min(known.factor * float(best - one), float(depth))) for one in own]
    return Words(found, [known.rate * (best - one) for one in own])


def _require_codes(propose: Callable[..., Any]) -> int:
    """Check that members are proposed in proportion to 2^−level, by the exact law of one round."""
    dialogues = UnknownDialogues(depth=70, arguments=10**6)
    for counts in [*SMALL_CODES, *DEEP_CODES]:
        dialogues.same(propose, exponential.propose, tuple(counts))
        total, shortest = exponential.code(counts)
        masses, left = law(exponential.codeword, (counts, total, shortest), depth=70)
        members = {(level, rank) for level, count in enumerate(counts) for rank in range(count)}
        expected = {("tuple", (level, rank)): Fraction(1, 1 << (level + shortest)) for level, rank in members}
        masses.pop(("NoneType", None), None)
        if masses != expected or left:
            raise Refused(f"the checker's own code of {counts} does not propose as it should")
    return len(SMALL_CODES) + len(DEEP_CODES)


def _require_filter(fast: Callable[..., Any], known: Levels) -> Fraction:
    """Bound the approximation's error, and show that what the filter decides is so: for every fraction f in [0, 1).

    The probability p lies in [2^−f·least, 2^−f]; with |q − 2^−f| ≤ B computed, the reference's coin is not asked where
    (offset + 1)/2^s ≤ (q − E)(1 + u)^3, or offset/2^s ≥ q + E − 4u, so E ≥ B + (1 − least) + 5u is enough. Tables
    compare the first 32 bits of offset/2^s: those below ⌊(q − E)·2^32⌋ are accepted, those from there on by more than
    2E·2^32 + 2 are rejected.

    Returns:
        E.
    """
    fraction = Traced.unknown("fraction", "float64")
    below = _part(fast, "accepted_below")(fraction)
    error, beginning = _part(fast, "FILTER_ERROR"), _part(fast, "_BEGINNING")
    probability = _part(fast, "half_power")(fraction)
    own = ((probability - error) * 2.0**beginning).astype("uint64")
    require_same(below, own, "the threshold of an entry")
    require_unwritten(fraction, "a fraction")
    distance = distance_from_half_power(polynomial(probability.step, "fraction"))
    if distance + (1 - known.least) + 5 * UNIT > Fraction(error):
        raise Refused(f"an approximation may be off by {float(distance):.3g}, more than its filter's {error:.3g}")
    if beginning != TABLE_BITS or int(_part(fast, "_UNDECIDED")) < 2 * Fraction(error) * 2**beginning + 2:
        raise Refused("tables reject what their filter leaves undecided")
    return Fraction(error)


SHARED_WITH_LEVELS = (
    "LevelledUtilities",
    "exponents_below",
    "weights_at",
    "within_range",
    "public_parameters",
    "depth_for",
    "exact_numbers",
)
SHARED_WITH_FAST = ("bernoulli_scaled_exp", "BeginningWith", "half_power", "FILTER_ERROR")
"""What a function for rows has in common with those that were checked."""


def _row(scale: Scale, known: Levels, error: Fraction, utilities: Sequence[Any]) -> Row:
    return Row(utilities, replace(_words(utilities, scale, known), by_level=False), error)


def _require_rows(
    select: Callable[..., Any],
    fast: Callable[..., Any],
    of: Callable[..., Any],
    parameters: dict[str, Any],
    row: Callable[[Sequence[Any]], Row],
) -> int:
    """Check that each row of an array selects what its own words say, and that rows of other numbers go one by one."""
    for names, others in ((SHARED_WITH_LEVELS, of.__globals__), (SHARED_WITH_FAST, fast.__globals__)):
        if different := [name for name in names if used(select, name) is not others.get(name)]:
            raise Refused(f"rows have {different} of their own")
    if used(select, "exact_exponential_fast") is not fast:
        raise Refused("rows one by one are selected from by something other than the fast path")
    require_row_filter(used(select, "decided"), used(select, "half_power"), used(select, "FILTER_ERROR"))
    at_once, at_least, long, few = (used(select, name) for name in ("_AT_ONCE", "_WORDS_AT_LEAST", "_LONG", "_FEW"))
    selecting = partial(select, **parameters)
    tried = 0
    for seed, given in enumerate(_arrays(Fraction(parameters["epsilon"]), parameters)):
        rows = given.tolist() if hasattr(given, "tolist") else given
        known: dict[tuple[str, ...], Row] = {}
        own = [known.setdefault(tuple(map(repr, one)), row(one)) for one in rows]
        tried += require_rows(selecting, given, own, max(1, at_once // len(rows[0])), at_least, 100 * seed)
    arrays = import_module("numpy")
    every = {"sensitivity": 1, "monotone": False, "utility_range": tuple(map(float, WIDEST))} | parameters
    for shape in ((few, long), (few - 1, 3)):
        given = arrays.arange(1.0 * shape[0] * shape[1]).reshape(shape)
        tried += require_one_by_one(select, "exact_exponential_fast", given, [*given], every)
    return tried


def _arrays(epsilon: Fraction, parameters: dict[str, Any]) -> Iterator[Any]:
    """Yield arrays of utilities: rows that differ, of all sorts of doubles, more than a block of them, and lists."""
    arrays, random = import_module("numpy"), Random(20261122)
    low, high = parameters.get("utility_range", (-(2.0**100), 2.0**100))
    unit = float(Fraction(parameters.get("sensitivity", 1)) / epsilon)
    middle = (low + high) / 2

    def near(steps: float) -> float:
        return float(max(low, middle - abs(steps) * unit))

    few = [[near(random.choice((0, 0, 1.4, 5.0, 13.7, 81, 400))) for _ in range(5)] for _ in range(40)]
    yield arrays.array([few[place % 40] for place in range(600)])
    yield arrays.array([[near(0)]] * 300)
    yield arrays.array([[near(0), near(81), near(400)]] * 200)
    yield arrays.asfortranarray(arrays.array([few[place % 7][:3] for place in range(100)]))
    special = [math.inf, -math.inf, math.nan, near(0), near(3.0)]
    yield arrays.array([special, special[::-1], [math.nan] * 5, [math.inf] * 5, [-math.inf] * 5] * 20)
    yield [special[:3], few[0][:3], tuple(few[1][:3]), arrays.array(few[2][:3])] * 20
    yield arrays.array([[3, 1, 2], [0, 0, 9]] * 50)
    yield arrays.array([[0.0, -1.5], [2.25, 0.5]] * 50, dtype="float32")
    fractions = [[Fraction(1, 3), Fraction(2)], [Fraction(5), Fraction(1, 7)]] * 20
    yield fractions
    yield arrays.array(fractions, dtype=object)
    yield arrays.array([[2**53 + 1, 2**53 - 2], [1, 2]] * 20)
    yield [[Fraction(1, 3), 2.0, math.nan], [near(0), near(2), -math.inf]] * 20
    wide = [near(60 * random.random()) for _ in range(800)]
    yield arrays.array([wide, wide[::-1], wide[400:] + wide[:400]] * 60)
