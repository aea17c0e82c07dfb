"""One rule a constructor: how far neighbours' values are apart, and what is lost by releasing.

A rule reads the fields of its constructor and returns what it concludes. A *query* gives integers; its `moves` are the
distances that neighbours' values can have in each of the coordinates that move, in whole steps. A *release* has
losses, which `claims.keep` compares with what is promised. Every rule states its theorem. What the constructor's lines
do with the data is its reading, in `mechanisms/core`.

The theorems on one record are those of records that are read one by one: clamped to [lower, upper] and rounded to whole
steps, ⌊x/step + ½⌋, which is monotone and commutes with whole steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

from checker import claims, laws
from checker.claims import ApproximateDP, BoundedRange, Losses, Shift
from checker.forms import Fields, Refused
from checker.intervals import ONE, exp, ln, of

RECORDS = {
    "add-remove": "records, one added or removed",
    "substitute": "records, one replaced",
    "add-remove or substitute": "records, one added, removed or replaced",
}
LIMIT = 1 << 53
"""Steps of a grid to either side of 0."""

MOST_SPREAD = 1 << 46
"""Steps that noise spreads at most; beyond 2^62, where arrays of noise end, there is less than 2^−90000 of it."""

MOST_STEPS = 1 << 12
"""Of levels, or bits of tickets."""

MOST_PEOPLE = 64
"""Answers of which the law of a shuffle is found."""

Conclusion = TypeVar("Conclusion")


@dataclass(frozen=True)
class Neighbours:
    """Which inputs are neighbours."""

    relation: str
    words: str
    distance: Fraction | None = None


@dataclass(frozen=True)
class Query:
    """What is known of a query that gives integers."""

    neighbours: Neighbours
    moves: tuple[int, ...]


@dataclass(frozen=True)
class Scores:
    """What is known of a query that gives each outcome a utility."""

    neighbours: Neighbours
    sensitivity: Fraction
    lower: Fraction
    upper: Fraction
    monotone: bool


@dataclass(frozen=True)
class Release:
    """What is known of a mechanism."""

    neighbours: Neighbours | None
    losses: Losses
    tabled: frozenset[laws.Law] = field(default=frozenset())


def query(value: Any) -> Query:
    """Apply the rule of a query."""
    return _applied(value, QUERIES, "a query")


def release(value: Any) -> Release:
    """Apply the rule of a mechanism."""
    return _applied(value, MECHANISMS, "a mechanism")


def scores(value: Any) -> Scores:
    """Apply the rule of a query that gives utilities."""
    return _applied(value, SCORES, "utilities")


def _applied(value: Any, rules: dict[str, Callable[[Fields], Conclusion]], what: str) -> Conclusion:
    fields = Fields(value, what)
    name = fields.take("is", str)
    if name not in rules:
        raise Refused(f"there is no rule for {what} {name!r}")
    fields.what = name
    conclusion = derived(name, lambda: rules[name](fields))
    fields.done()
    return conclusion


def derived(name: str, derive: Callable[[], Conclusion]) -> Conclusion:
    """Return what a rule derives."""
    try:
        return derive()
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        raise Refused(f"the rule of {name} derives nothing: {type(error).__name__}: {str(error)[:99]}") from error


def _records(fields: Fields) -> Neighbours:
    relation = fields.one_of("relation", *RECORDS)
    return Neighbours(relation, RECORDS[relation])


def _answers(sensitivity: Fraction) -> Neighbours:
    return Neighbours("answers", f"answers at most {claims.shown_below(sensitivity)} apart", sensitivity)


def answer(fields: Fields) -> Query:
    """Rounding half up moves numbers at most Δ apart to at most ⌈Δ/step⌉ steps apart.

    a ≤ b ≤ a + d·step gives R(a) ≤ R(b) ≤ R(a) + d; clamping moves no two numbers further apart.
    """
    sensitivity, step = fields.positive("sensitivity"), fields.step()
    return Query(_answers(sensitivity), (-(-sensitivity // step),))


def counts(fields: Fields) -> Query:
    """One record moves one count by 1; whole numbers are rounded to themselves."""
    del fields
    return Query(Neighbours("answers", "lists of counts, one of which differs by 1"), (1,))


def total(fields: Fields) -> Query:
    """A sum of integers in [l, u] moves by max(|l|, |u|) at most with one record more, by u − l with another one.

    Counted from a lower bound that is a double, a record has from 0 to u − l steps, as subtraction is monotone.
    """
    lower, upper, step = fields.rational("lower"), fields.rational("upper"), fields.step()
    neighbours = _records(fields)
    low, high = lower / step, upper / step
    if fields.take("above_lower", bool):
        if not (_is_double(lower) and _is_double(upper)):
            raise Refused("the bounds of a total above its lower bound must be doubles")
        low, high = Fraction(0), high - low
    if not low < high or low.denominator != 1 or high.denominator != 1 or max(-low, high) > LIMIT:
        raise Refused("the bounds of a total must be points of its grid, lower before upper")
    moves = {"add-remove": int(max(abs(low), abs(high))), "substitute": int(high - low)}
    return Query(neighbours, (max(move for relation, move in moves.items() if relation in neighbours.relation),))


def _is_double(number: Fraction) -> bool:
    return abs(number) < Fraction(2) ** 1024 and Fraction(float(number)) == number


def count(fields: Fields) -> Query:
    """The number of records moves by 1 with one more, and not at all with another one."""
    neighbours = _records(fields)
    return Query(neighbours, (0 if neighbours.relation == "substitute" else 1,))


def count_from(fields: Fields) -> Query:
    """How many records a test of one record counts moves by 1."""
    fields.rational("bound")
    return Query(_records(fields), (1,))


def column(fields: Fields) -> Query:
    """A function of one record at a time turns neighbours into neighbours, whatever it computes.

    Source: McSherry 2009, 'Privacy Integrated Queries', section 4.2 (the transformation Select has stability 1).
    """
    _public_function(fields, "number")
    inner = fields.take("query", dict)
    if inner.get("is") not in ("Total", "CountFrom"):
        raise Refused("the numbers of a column are added up or counted: Total or CountFrom")
    return query(inner)


def histogram(fields: Fields) -> Query:
    """A record is in one cell at most: one more moves one count by 1, another one two counts."""
    cells, neighbours = fields.take("cells", list), _records(fields)
    if {type(cell) for cell in cells} not in ({str}, {int}) or len(set(map(repr, cells))) < len(cells):
        raise Refused("the cells of a histogram must be different strings, or different integers")
    return Query(neighbours, (1,) if neighbours.relation == "add-remove" else (1, 1))


def utilities(fields: Fields) -> Scores:
    """Clamping to a range moves no two utilities further apart, and keeps their order."""
    sensitivity = fields.positive("sensitivity")
    lower, upper = fields.rational("lower"), fields.rational("upper")
    monotone: bool = fields.take("monotone", bool)
    if not lower <= upper or max(-lower, upper) > Fraction(2) ** 1022:
        raise Refused("the range of utilities must end above its start and lie within ±2^1022")
    words = (
        f"utilities, each at most {claims.shown_below(sensitivity)} apart{', all in one direction' if monotone else ''}"
    )
    return Scores(Neighbours("utilities", words, sensitivity), sensitivity, lower, upper, monotone)


def rank_scores(fields: Fields) -> Scores:
    """A record adds q − p, −p or 0 to (q − p)·#{x < c} − p·#{x > c}, whose modulus it moves by max(p, q − p) at most.

    Source: Smith 2011, section 3.
    """
    quantile, step = fields.rational("quantile"), fields.step()
    first, last = fields.rational("first") / step, fields.rational("last") / step
    if not 0 <= quantile <= 1 or quantile.denominator > 1 << 20:
        raise Refused("a quantile must lie in [0, 1], with a denominator of at most 2^20")
    on_grid = first.denominator == last.denominator == 1 and max(-first, last) <= LIMIT
    if not on_grid or not 1 <= last - first < 1 << 24:
        raise Refused("candidates must be from 2 to 2^24 points of the grid")
    p, q = quantile.numerator, quantile.denominator
    neighbours = Neighbours("add-remove", RECORDS["add-remove"])
    return Scores(neighbours, Fraction(max(p, q - p)), Fraction(-(2**1022)), Fraction(0), monotone=False)


def distances(fields: Fields) -> Scores:
    """−|answer − c| moves by no more than the answer, and not in one direction for all c (the triangle inequality).

    Clamping the answer between the first and the last c moves no two further apart.
    """
    sensitivity, step = fields.positive("sensitivity"), fields.step()
    first, last = fields.rational("first"), fields.rational("last")
    on_grid = (first / step).denominator == (last / step).denominator == 1 and max(-first, last) <= LIMIT * step
    points = int((last - first) / step) + 1
    if not on_grid or not 1 < points <= 1 << 20:
        raise Refused("points must be from 2 to 2^20 of the grid")
    return Scores(_answers(sensitivity), sensitivity, first - last, Fraction(0), monotone=False)


def chunk_total(fields: Fields) -> Query:
    """A person is in one chunk, and so moves one answer, by the steps between the bounds at most.

    If equal records without names are numbered from 0, a database less one record is the database less one person.

    Source: Nissim, Raskhodnikova and Smith 2007, section 4.
    """
    _public_function(fields, "statistic")
    fields.at_least("chunks", 1)
    key = Fields(fields.take("key"), "key")
    key.take("bytes", str)
    key.done()
    neighbours = Neighbours("add-remove", RECORDS["add-remove"])
    if fields.take("named", bool):
        neighbours = Neighbours("people", "people with all their records, one added or removed")
    return Query(neighbours, (_width(fields, lower_is_on_grid=False),))


def mean(fields: Fields) -> Query:
    """The mean of records between two bounds, W steps apart, moves by W at most, and by ⌈W/n⌉ for n of them.

    So A_k = ⌈W/(n − k)⌉ bounds the local sensitivity at distance k, and A_k(x) ≤ A_{k+1}(x′) for neighbours.
    """
    return Query(Neighbours("add-remove", RECORDS["add-remove"]), (_width(fields, lower_is_on_grid=True),))


def median(fields: Fields) -> Query:
    """The median of records between two bounds, W steps apart, moves by W at most, and where records crowd by less.

    A_k is the widest span of k + 1 gaps between ordered records, the bounds beyond them, with the median in it. One
    record more, fewer or elsewhere opens such a span by a gap at most (Nissim, Raskhodnikova and Smith 2007).
    """
    neighbours = Neighbours("add-remove or substitute", RECORDS["add-remove or substitute"])
    return Query(neighbours, (_width(fields, lower_is_on_grid=True),))


def _width(fields: Fields, *, lower_is_on_grid: bool) -> int:
    """Return the whole number of steps between two bounds."""
    lower, upper, step = fields.rational("lower"), fields.rational("upper"), fields.step()
    low, width = lower / step, (upper - lower) / step
    on_grid = low.denominator == 1 and max(abs(low), abs(low + width)) <= LIMIT
    if width.denominator != 1 or not 0 < width <= LIMIT or (lower_is_on_grid and not on_grid):
        raise Refused(f"the bounds of {fields.what} must be whole steps apart, lower before upper")
    return int(width)


def _noise(value: Any) -> laws.LaplaceLaw | laws.GaussianLaw:
    """Read the law of noise that is drawn by a table."""
    law = laws.law(value)
    if law.spread > MOST_SPREAD:
        raise Refused("noise may spread 2^46 steps at most; take a coarser grid")
    return law


def _cost(law: laws.LaplaceLaw | laws.GaussianLaw, moves: tuple[int, ...]) -> Losses:
    """What noise of a law loses, drawn anew for each coordinate: the losses of the coordinates that move add up."""
    if isinstance(law, laws.LaplaceLaw):
        return (ApproximateDP(sum((law.loss(steps) for steps in moves), Fraction(0))),)
    return tuple(Shift(law, steps) for steps in moves)


def noisy(fields: Fields) -> Release:
    """Integer noise on integers: what is released is the law, shifted by the value, and then a public map.

    Clamping to the grid and scaling to doubles do not look at the data.
    Sources: Dwork and Roth 2014, theorem 3.6; Canonne, Kamath and Steinke 2020, theorems 4 and 7.
    """
    asked, law = query(fields.take("query")), _noise(fields.take("law"))
    return Release(asked.neighbours, _cost(law, asked.moves), frozenset({law}))


def both(fields: Fields) -> Release:
    """Losses of several releases from the same data add up (Dwork and Roth 2014, theorem 3.16)."""
    parts = fields.each("parts", release)
    neighbours = {part.neighbours for part in parts} - {None}
    if len(neighbours) > 1:
        raise Refused(f"parts speak of different neighbours: {'; '.join(sorted(n.words for n in neighbours if n))}")
    return Release(
        next(iter(neighbours), None),
        tuple(loss for part in parts for loss in part.losses),
        frozenset().union(*(part.tabled for part in parts)),
    )


def mapped(fields: Fields) -> Release:
    """A function of what was released, and of nothing else, loses nothing (Dwork and Roth 2014, proposition 2.1)."""
    _public_function(fields, "function")
    return release(fields.take("mechanism"))


def size(fields: Fields) -> Release:
    """Neighbours of which one replaces a record are equally many."""
    del fields
    return Release(Neighbours("substitute", RECORDS["substitute"]), ())


def restated(fields: Fields) -> Release:
    """A promise that the losses keep."""
    inner, promised = release(fields.take("mechanism")), claims.claim(fields.take("promised"))
    if not claims.keep(inner.losses, promised):
        raise Refused(f"what is released is not seen to keep {promised}")
    return Release(inner.neighbours, (promised,), inner.tabled)


def session(fields: Fields) -> Release:
    """Questions of pure DP that are asked only while their ε add up to the budget at most lose no more than it.

    What each costs is found when it is asked, by the code's own rules; one that is not made of the core alone is not
    asked. Source: Rogers, Roth, Ullman and Vadhan 2016, section 3.
    """
    _public_function(fields, "ask")
    relation = fields.one_of("neighbours", *RECORDS, BIT.relation)
    neighbours = BIT if relation == BIT.relation else Neighbours(relation, RECORDS[relation])
    return Release(neighbours, (ApproximateDP(fields.positive("budget")),))


def above_threshold(fields: Fields) -> Release:
    """The sparse vector loses a shift of d on the threshold and one of 2d for each of c answers above.

    Raising the threshold's noise by d keeps below whatever was below, however many answers that are; each answer above
    then needs at most 2d more. A value released with noise of its own costs a shift of d (Lyu, Su and Li 2017,
    theorems 2 and 4). These laws lose as much by c shifts as by one that is c times as far.
    """
    answers = fields.take("answer", dict)
    asked = query(answers)
    if answers["is"] != "Answer":
        raise Refused("a sparse vector looks at queries' answers")
    (d,), each = asked.moves, asked.neighbours
    if (fields.rational("threshold") / Fields(answers, "Answer").step()).denominator > 1:
        raise Refused("the threshold of a sparse vector must be a point of the answers' grid")
    positives = fields.at_least("positives", 1)
    shifts = [(_noise(fields.take("threshold_law")), d), (_noise(fields.take("answer_law")), 2 * d * positives)]
    values = fields.take("value_law")
    if values is not None:
        shifts.append((_noise(values), d * positives))
    if not all(isinstance(law, laws.LaplaceLaw) for law, _ in shifts):
        raise Refused("the laws of a sparse vector must be of pure DP")
    losses = tuple(loss for law, steps in shifts for loss in _cost(law, (steps,)))
    neighbours = Neighbours("answers", f"lists of {each.words} each", each.distance)
    return Release(neighbours, losses, frozenset(law for law, _ in shifts))


def keys_above(fields: Fields) -> Release:
    """Keys with noisy counts of at least T ≥ 2 lose a shift of 1, or name a key of one person with δ = P[1 + N ≥ T].

    Each person has one key. One that others have as well loses what its count does; one that nobody else has is named
    on one side only (Korolova, Kenthapadi, Mishra and Ntoulas 2009; Desfontaines, Voss, Gipson and Mandayam 2022).
    """
    law, threshold = _noise(fields.take("law")), fields.at_least("threshold", 2)
    named = ApproximateDP(Fraction(0), law.tail(threshold - 1).upper)
    neighbours = Neighbours("add-remove", "keys of people who have one key each, one person added or removed")
    return Release(neighbours, (*_cost(law, (1,)), named), frozenset({law}))


def select(fields: Fields) -> Release:
    """Probabilities in proportion to e^(ε·u/2Δu), or e^(ε·u/Δu) for monotone utilities, have ε-bounded range.

    An outcome's weight and the sum of all weights change by factors e^(±ε/2), or both by factors between 1 and e^(±ε)
    (McSherry and Talwar 2007, theorem 6; Durfee and Rogers 2019).
    """
    asked, epsilon = scores(fields.take("query")), fields.positive("epsilon")
    fields.take("concentrated", bool)
    rate = epsilon / asked.sensitivity / (1 if asked.monotone else 2)
    if not Fraction(1, 2**900) <= rate <= 2**900:
        raise Refused("epsilon/sensitivity must lie between 2^-899 and 2^900")
    return Release(asked.neighbours, (BoundedRange(epsilon),))


def permute_and_flip(fields: Fields) -> Release:
    """Coins of e^(−ε·(max u − u)/2Δu), or without the 2 for monotone utilities, in random order until one is up.

    Source: McKenna and Sheldon 2020, theorem 1; half the exponent's loss is of the outcome's own utility.
    """
    asked, epsilon = scores(fields.take("query")), fields.positive("epsilon")
    return Release(asked.neighbours, (ApproximateDP(epsilon),))


def noisy_max(fields: Fields) -> Release:
    """Noise of scale 2/ε, or 1/ε for monotone utilities, on utilities in units of Δu that are rounded at random.

    Given the others' noisy utilities, an outcome wins from some noise on; between neighbours that moves by 2 at most,
    or by 1, and P[N ≥ k + 1] ≥ e^(−1/scale)·P[N ≥ k] (Dwork and Roth 2014, claim 3.9).
    """
    asked, epsilon = scores(fields.take("query")), fields.positive("epsilon")
    law = laws.DiscreteLaplace((1 if asked.monotone else 2) / epsilon)
    if law.spread > MOST_SPREAD:
        raise Refused("epsilon must be at least 2^-45")
    return Release(asked.neighbours, (ApproximateDP(epsilon),), frozenset({law}))


def select_base2(fields: Fields) -> Release:
    """Weights of ratio^s, s in units of Δu and rounded at random: one unit changes a weight and their sum by 1/ratio.

    Given the same rounding, neighbours' s are at most 1 apart, on one side if monotone (Ilvento 2020, section 3).
    """
    asked, ratio = scores(fields.take("query")), _dyadic(fields)
    return Release(asked.neighbours, (ApproximateDP(_ln_above(1 / ratio) * (1 if asked.monotone else 2)),))


def select_fixed_work(fields: Fields) -> Release:
    """Integer weights of levels, W(l) ≥ W(l + 1) ≥ ratio·W(l), and tickets within 2 of each outcome's share p ≥ M.

    Levels count from the best outcome and move by 2·steps at most between neighbours, or by `steps` if monotone, so
    that shares change by R = ratio^(−2·steps) or ratio^−steps: a probability by (R·M + 2)/(M − 2), M = 2^spare.
    """
    asked, ratio = scores(fields.take("query")), _dyadic(fields)
    steps, spare = fields.at_least("steps", 1), fields.at_least("spare", 2)
    fields.at_least("precision", 1)
    if steps > MOST_STEPS or spare > MOST_STEPS:
        raise Refused(f"steps and spare may be {MOST_STEPS} at most")
    share, change = 1 << spare, 1 / ratio ** (steps if asked.monotone else 2 * steps)
    return Release(asked.neighbours, (ApproximateDP(_ln_above((change * share + 2) / (share - 2))),))


def _dyadic(fields: Fields) -> Fraction:
    ratio = fields.positive("ratio")
    if ratio >= 1 or ratio.denominator.bit_count() > 1:
        raise Refused(f"ratio of {fields.what} must be below 1, and its denominator a power of two")
    return ratio


def _ln_above(number: Fraction) -> Fraction:
    return ln(of(number)).upper


def kernel(fields: Fields) -> Release:
    """A row of integers for each step gives each outcome its probability, in units of 2^−W.

    Answers are rounded and brought to the steps of the rows, so that neighbours' rows are no further apart than their
    answers in steps. Pure DP is the greatest ratio, and δ at ε the greatest Σ max(p − e^ε·q, 0), of any two such rows
    (Dwork and Roth 2014, definition 2.4, for finitely many outcomes).
    """
    inner = fields.take("query", dict)
    asked = query(inner)
    lower, rows = fields.take("lower", int), fields.each("rows", _row)
    at = fields.take("epsilon")
    epsilon = None if at is None else Fields({"epsilon": at}, fields.what).positive("epsilon")
    (outcomes, total), *others = {(len(row), sum(row)) for row in rows}
    if inner["is"] != "Answer" or others:
        raise Refused("a kernel looks at an answer, and all its rows have one length and one sum")
    if total not in {1 << bits for bits in range(1, 63)} or not -LIMIT <= lower <= LIMIT + 1 - max(len(rows), outcomes):
        raise Refused("a kernel's rows must add up to a power of two, 2 to 2^62, and lie on the grid")
    far = asked.moves[0]
    pairs = [(p, q) for at, p in enumerate(rows) for q in rows[max(0, at - far) : at + far + 1]]
    if epsilon is not None:
        return Release(asked.neighbours, (ApproximateDP(epsilon, _delta_of_laws(pairs, epsilon) / total),))
    return Release(asked.neighbours, (ApproximateDP(_epsilon_of_rows(pairs)),))


def _delta_of_laws(pairs: list[tuple[list[Any], list[Any]]], epsilon: Fraction) -> Fraction:
    """Bound the greatest Σ max(p − e^ε·q, 0) of some pairs of laws."""
    factor = exp(of(epsilon)).low
    excess = max(sum(max(a * ONE - factor * b, 0) for a, b in zip(p, q, strict=True)) for p, q in pairs)
    return Fraction(excess) / ONE


def _epsilon_of_rows(pairs: list[tuple[list[int], list[int]]]) -> Fraction:
    cells = {cell for p, q in pairs for cell in zip(p, q, strict=True)}
    if any(a and not b for a, b in cells):
        raise Refused("an outcome of a kernel is possible for one of two neighbours alone")
    greatest = max(Fraction(a, b) for a, b in cells if b)
    return _ln_above(greatest) if greatest > 1 else Fraction(0)


def _row(value: Any) -> list[int]:
    if type(value) is not list or not value or any(type(words) is not int or words < 0 for words in value):
        raise Refused("a row of a kernel must be a list of integers of at least 0")
    return value


def snapped(fields: Fields) -> Release:
    """An answer with ideal Laplace noise of scale Δ/ε, before and after which public maps bring numbers to a range.

    Clamping moves no two answers further apart; rounding and clamping what has noise loses nothing. Sources: Dwork and
    Roth 2014, theorem 3.6 and proposition 2.1; Mironov 2012, section 5.2.
    """
    sensitivity, epsilon = fields.positive("sensitivity"), fields.positive("epsilon")
    fields.positive("bound")
    return Release(_answers(sensitivity), (ApproximateDP(epsilon),))


def response(fields: Fields) -> Release:
    """A bit told truly with probability e^ε/(1 + e^ε) (Warner 1965)."""
    return Release(BIT, (ApproximateDP(fields.positive("epsilon")),))


def rational_response(fields: Fields) -> Release:
    """A bit turned round with probability p: the ratio of the two is (1 − p)/p."""
    flip = _flip(fields)
    return Release(BIT, (ApproximateDP(_ln_above((1 - flip) / flip)),))


def shuffled_response(fields: Fields) -> Release:
    """Shuffled answers tell how many yeses there are; δ(ε) is found from the laws of that number, for all inputs.

    Source: Cheu, Smith, Ullman, Zeber and Zhilyaev 2019, 'Distributed Differential Privacy via Shuffling'.
    """
    flip, people, epsilon = _flip(fields), fields.at_least("people", 1), fields.positive("epsilon")
    if people > MOST_PEOPLE:
        raise Refused(f"the law of a shuffle is found for {MOST_PEOPLE} people at most")
    pairs = []
    for others in range(people):
        rates = [1 - flip] * others + [flip] * (people - 1 - others)
        yes, no = _count_law([1 - flip, *rates]), _count_law([flip, *rates])
        pairs += [(yes, no), (no, yes)]
    delta = _delta_of_laws(pairs, epsilon)
    return Release(Neighbours("substitute", RECORDS["substitute"]), (ApproximateDP(epsilon, delta),))


def _count_law(rates: list[Fraction]) -> list[Fraction]:
    """Return the probabilities of 0, 1, … yeses among independent answers."""
    law = [Fraction(1)]
    for rate in rates:
        law = [p * (1 - rate) + q * rate for p, q in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    return law


def _flip(fields: Fields) -> Fraction:
    flip = fields.positive("flip")
    if flip > Fraction(1, 2):
        raise Refused(f"flip of {fields.what} must be at most 1/2")
    return flip


def poisson_sample(fields: Fields) -> Release:
    """Each record in the sample with probability q: ε becomes ln(1 + q·(e^ε − 1)) (Balle et al. 2018, theorem 8)."""
    rate = fields.positive("rate")
    if rate > 1:
        raise Refused("rate of a sample must be at most 1")
    return _amplified(fields, "add-remove", rate)


def fixed_sample(fields: Fields) -> Release:
    """A sample of m of n records without replacement: the same with q = m/n (Balle et al. 2018, theorem 9)."""
    size, records = fields.at_least("size", 1), fields.at_least("records", 1)
    if size > records:
        raise Refused("size of a sample must be at most the number of records")
    return _amplified(fields, "substitute", Fraction(size, records))


def _amplified(fields: Fields, relation: str, share: Fraction) -> Release:
    inner = release(fields.take("mechanism"))
    epsilon = claims.pure(inner.losses)
    if inner.neighbours is None or inner.neighbours.relation != relation or epsilon is None:
        raise Refused(f"what sees a sample must be of pure DP for {relation} neighbours")
    amplified = _ln_above(1 + share * (exp(of(epsilon)).upper - 1))
    return Release(inner.neighbours, (ApproximateDP(amplified),), inner.tabled)


def smooth(fields: Fields) -> Release:
    """Discrete Laplace noise of scale 2S/ε, S ≥ A_0 of neighbours within 1 + 1/J of one another: (ε, 2·e^(−Jε/2)).

    The shift costs ε/2, being at most S on either side; the change of scale costs 1/J ≤ ε/2, or |y|/t/J, which is more
    than ε/2 for noise |y| beyond t·Jε/2 alone. The scale is private: each draw is by inversion, without a table.
    Source: Nissim, Raskhodnikova and Smith 2007, section 2, here for integers.
    """
    asked, epsilon = _local(fields), fields.positive("epsilon")
    smoothing = fields.at_least("smoothing", 1)
    widest = laws.DiscreteLaplace(2 * asked.moves[0] / epsilon)
    if smoothing * epsilon < 2 or widest.spread > MOST_SPREAD:
        raise Refused("smoothing must be at least 2/epsilon, and noise may spread 2^46 steps at most")
    delta = exp(of(-smoothing * epsilon / 2)).upper * 2
    return Release(asked.neighbours, (ApproximateDP(epsilon, delta),))


def tested(fields: Fields) -> Release:
    """A value with noise for a proposed bound b, if the distance to where it moves by more, plus noise, is T or more.

    The distance moves by 1. Where the value moves by more than b it is 0 on both sides, and passes with δ = P[Y ≥ T]
    (Dwork and Lei 2009).
    """
    asked, bound, threshold = _local(fields), fields.at_least("bound", 1), fields.at_least("threshold", 1)
    if bound >= asked.moves[0]:
        raise Refused("the proposed bound must be less than the query's stability")
    law, test = _noise(fields.take("law")), _noise(fields.take("test"))
    passed = ApproximateDP(Fraction(0), test.tail(threshold).upper)
    return Release(asked.neighbours, (*_cost(test, (1,)), *_cost(law, (bound,)), passed), frozenset({law, test}))


def _local(fields: Fields) -> Query:
    """Take a query that bounds its local sensitivity at each distance."""
    inner = fields.take("query", dict)
    if inner.get("is") not in LOCAL:
        raise Refused(f"{fields.what} needs a query that bounds its local sensitivity: {' or '.join(sorted(LOCAL))}")
    return query(inner)


def _public_function(fields: Fields, name: str) -> None:
    """Read a map of the core, by its fields, or a function or an object of somebody else, by its name and its file."""
    value = fields.take(name, dict)
    function = Fields(value, f"{name} of {fields.what}")
    kind = "is" if "is" in value else "function"
    text: str = function.take(kind, str)
    if kind == "is" and name == "function" and text in MAPS:
        for public in MAPS[text]:
            _public_number(function, public)
        function.done()
        return
    digest = function.take("sha256", str, type(None))
    if kind == "function":
        function.done()
    elif nested := [
        field for field, item in value.items() if isinstance(item, dict) and {"is", "function"} & set(item)
    ]:
        raise Refused(f"{text} has parts of its own, {', '.join(nested)}, which nobody has read")
    if not NAME.fullmatch(text) or (digest is not None and not DIGEST.fullmatch(digest)):
        raise Refused(f"{name} of {fields.what} is {text!r}, which nobody can read; give it a name in a module")


def _public_number(fields: Fields, name: str) -> None:
    if name == "grid":
        fields.step()
    elif type(value := fields.take(name, int, dict)) is dict:
        number = Fields(value, f"{name} of {fields.what}")
        text: str = number.take("float", str)
        number.done()
        if float.fromhex(text).hex() != text:
            raise Refused(f"{name} of {fields.what} must be a number")


def functions(term: Any, role: str = "") -> Iterator[tuple[str, str | None, str]]:
    """Give the name of each function of somebody else in a term, its file's hash, and what it may depend on."""
    if isinstance(term, list):
        for item in term:
            yield from functions(item, role)
    if isinstance(term, dict):
        if "sha256" in term:
            yield str(term.get("function", term.get("is"))), term["sha256"], role
        for field_name, item in term.items():
            yield from functions(item, ROLES.get(field_name, role))


NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*:[A-Za-z_]\w*(\.\w+)*", re.ASCII)
DIGEST = re.compile(r"[0-9a-f]{64}")

MAPS = {
    "Quotient": ("lower", "upper", "origin"),
    "WithOrigins": ("lower",),
    "Share": ("parts", "origin"),
    "PointAt": ("first", "grid"),
}
"""The public maps of the core, with their fields."""

ROLES = {
    "function": "what was released",
    "ask": "what was released",
    "number": "one record",
    "statistic": "the values of one chunk",
}
"""What a function in a field of this name may depend on."""

BIT = Neighbours("bit", "bits")


def _by_constructor(*rules: Callable[[Fields], Conclusion]) -> dict[str, Callable[[Fields], Conclusion]]:
    """Name each rule as its constructor is called."""
    return {"".join(word.title() for word in rule.__name__.split("_")): rule for rule in rules}


SCORES = _by_constructor(utilities, rank_scores, distances)

LOCAL = {"Mean", "Median"}
"""Queries that bound their local sensitivity at each distance."""

QUERIES = _by_constructor(answer, counts, total, count, count_from, column, histogram, chunk_total, mean, median)

MECHANISMS = _by_constructor(
    noisy,
    both,
    mapped,
    size,
    restated,
    session,
    above_threshold,
    keys_above,
    select,
    permute_and_flip,
    noisy_max,
    select_base2,
    select_fixed_work,
    kernel,
    snapped,
    response,
    rational_response,
    shuffled_response,
    poisson_sample,
    fixed_sample,
    smooth,
    tested,
)
