"""The theorem on histograms by threshold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused
from checker.core.tape import Dialogues
from checker.enclosures.elementary import exp
from checker.kinds.claims import Points, require_neighbours, shown, statistical_claim
from checker.kinds.laplace_words import FAST_LEMMAS, require_fast_noise
from checker.kinds.large_runs import MANY
from checker.kinds.lending import Recorder, Token, lent, used
from checker.kinds.noises import LIMIT, require_noisy_integer
from checker.kinds.symbols import Cases, for_all
from checker.kinds.tally import require_tally
from checker.kinds.word_runs import GivenWords
from checker.models import discrete_noise

KEYS = range(5)
"""The numbers of keys that unknown counts are tried with."""

ROWS = 2
BITS = 256


def thresholded_histogram(certificate: Certificate) -> Conclusion:
    """Show that noisy counts that reach a threshold keep ε and δ for every pair of databases one person apart.

    1. The tally is a function of how many people have each key. One person moves one count by 1, or brings a key.
    2. A key that is there is shown with clamp(count + N) if that is T or more; the N are independent, at a public
       scale. Where the count stays above 0, ε = 1/scale; where it goes from 0 to 1, the key is never shown on one side,
       and on the other with probability e^(−(T − 1)/scale)/(1 + e^(−1/scale)) (lemma `thresholded-counts`).

    Functions: `reference(keys, bits, **parameters)`, `fast(keys, trials, bits, **parameters)`. Parameters: epsilon,
    delta.
    """
    claim = statistical_claim(certificate)
    require_neighbours(certificate, "add-remove")
    parameters = certificate.arguments()
    rate, delta = Fraction(parameters["epsilon"]), Fraction(parameters["delta"])
    if rate <= 0 or not 0 < delta < Fraction(1, 2):
        raise Refused(f"ε must be above 0 and δ above 0 and below 1/2, not {rate} and {delta}")
    threshold = _least_threshold(rate, delta)
    reached = _reached(threshold, rate)[1]
    if not isinstance(claim, Points) or any(rate > epsilon or reached > most for epsilon, most in claim.points):
        raise Refused(f"the mechanism is ({shown(rate)}, {shown(reached)})-DP, which is less than {claim}")
    reference, fast = (partial(certificate.function(role), **parameters) for role in ("reference", "fast"))
    scale = 1 / rate
    for count in (*KEYS, MANY):
        _require_reference(reference, count, scale, threshold)
        _require_fast(fast, count, scale, threshold)
    noisy_integer, draw_many = used(reference.func, "noisy_integer"), used(fast.func, "discrete_laplace_many")
    if used(reference.func, "tally") is not used(fast.func, "tally"):
        raise Refused("the fast path counts people in another way")
    counted = require_tally(used(reference.func, "tally"))
    dialogues = Dialogues()
    dialogues.same(require_noisy_integer(noisy_integer), discrete_noise.discrete_laplace, scale)
    return Conclusion(
        f"({shown(rate)}, {shown(reached)})-DP for every pair of databases one person apart, "
        f"counts of {threshold} and more being shown",
        ("tally", "thresholded-counts", "keys", "discrete-laplace", *FAST_LEMMAS),
        {
            "runs": dialogues.runs,
            "runs cut off": dialogues.cut,
            "databases counted": counted,
            "draws compared": require_fast_noise(draw_many, scale),
            "plain databases": _require_plain(reference, fast, draw_many, scale, threshold),
        },
    )


def _reached(threshold: int, rate: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose P[1 + N ≥ T] for P[N = n] in proportion to e^(−rate·|n|) and T ≥ 2."""
    low, high = exp(-rate * (threshold - 1), BITS)
    below, above = exp(-rate, BITS)
    return low / (1 + above), high / (1 + below)


def _least_threshold(rate: Fraction, delta: Fraction) -> int:
    """Return the least T ≥ 2 that a count of 1 reaches with probability δ at most."""
    high = 2
    while _reached(high, rate)[1] > delta:
        high *= 2
        if high > LIMIT:
            raise Refused(f"the threshold for ε = {rate} and δ = {delta} is beyond 2^61")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _reached(middle, rate)[1] <= delta else (middle, high)
    if high > 2 and _reached(high - 1, rate)[0] <= delta:
        raise Refused(f"δ = {delta} is too near to what a threshold of {high - 1} gives")
    return high


Tally = tuple[tuple[Token, Any], ...]


def _with_each(count: int, threshold: int, check: Callable[[Tally, Sequence[Any], Sequence[Any]], None]) -> None:
    """Run a check with a tally of unknown keys and counts, and two rows of noisy counts, unknown if they are few."""

    def run(cases: Cases) -> None:
        def noisy(row: int, key: int) -> Any:
            return cases.unknown(f"noisy {row} {key}") if count < MANY else threshold + (7 * key + row) % 5 - 2

        tallied = tuple((Token(), cases.unknown(f"count {key}")) for key in range(count))
        first, second = ([noisy(row, key) for key in range(count)] for row in range(ROWS))
        check(tallied, first, second)

    for_all(run)


def _require_shown(found: Any, tallied: Tally, noisy: Sequence[Any], threshold: int) -> None:
    """Check that what is returned are the keys whose noisy counts reach the threshold, in order, with these counts."""
    expected = [(key, one) for (key, _), one in zip(tallied, noisy, strict=True) if one >= threshold]
    if type(found) is not tuple or len(found) != len(expected):
        raise Refused(f"of {len(tallied)} keys {found!r:.200} is shown, not {len(expected)}")
    for one, (key, count) in zip(found, expected, strict=True):
        if type(one) is not tuple or len(one) != 2 or one[0] is not key or one[1] is not count:
            raise Refused("a key is shown with something other than its own noisy count, or out of its order")


def _require_reference(reference: partial[Any], count: int, scale: Fraction, threshold: int) -> None:
    def check(tallied: Tally, noisy: Sequence[Any], _: Sequence[Any]) -> None:
        people, bits, replies = Token(), Token(), iter(noisy)
        asked: list[tuple[Any, ...]] = []

        def tally(given: Any) -> Tally:
            _require(given is people, "something other than the people is counted")
            return tallied

        def noisy_integer(*arguments: Any) -> Any:
            asked.append(arguments)
            _require(len(asked) <= count, f"noise is drawn more than {count} times for {count} keys")
            return next(replies)

        with lent(reference.func, tally=tally, noisy_integer=noisy_integer):
            found = reference(people, bits)
        _require(len(asked) == count, f"noise is drawn {len(asked)} times for {count} keys")
        for arguments, pair in zip(asked, tallied, strict=True):
            alike = len(arguments) == 3 and arguments[0] is pair[1] and arguments[1] == scale and arguments[2] is bits
            _require(alike, "noise is added to something other than a key's own count, or is of another scale")
        _require_shown(found, tallied, noisy, threshold)

    _with_each(count, threshold, check)


class _Noise:
    """An unknown vector of noise that can be cut into rows, to each of which the counts are added, and then be clamped.

    Args:
        shape: the rows that it has to be cut into.
        counts: what has to be added to each.
        rows: what is found in the end.
    """

    def __init__(self, shape: tuple[int, int], counts: Sequence[Any], rows: Sequence[Sequence[Any]]) -> None:
        self._shape, self._counts, self._rows = shape, counts, rows
        self._done = "drawn"

    def _step(self, before: str, after: str, *, rightly: bool) -> _Noise:
        if self._done != before or not rightly:
            raise Refused(f"noise that is {self._done} is not {after} as it should be")
        found = _Noise(self._shape, self._counts, self._rows)
        found._done = after
        return found

    def reshape(self, *shape: int) -> _Noise:
        """Cut it into rows."""
        return self._step("drawn", "cut into rows", rightly=shape == self._shape)

    def __add__(self, counts: Any) -> _Noise:
        own = type(counts) is list and len(counts) == len(self._counts)
        own = own and all(one is other for one, other in zip(counts, self._counts, strict=True))
        return self._step("cut into rows", "added", rightly=own)

    def clip(self, low: Any, high: Any) -> _Noise:
        """Bring it into ±2^61."""
        return self._step("added", "clamped", rightly=(low, high) == (-LIMIT, LIMIT))

    def tolist(self) -> list[list[Any]]:
        """Return the rows."""
        self._step("clamped", "listed", rightly=True)
        return [list(row) for row in self._rows]


def _require_fast(fast: partial[Any], count: int, scale: Fraction, threshold: int) -> None:
    def check(tallied: Tally, first: Sequence[Any], second: Sequence[Any]) -> None:
        people, bits, rows = Token(), Token(), (first, second)
        tally, drawing = Recorder(tallied), Recorder(_Noise((ROWS, count), [own for _, own in tallied], rows))
        with lent(fast.func, tally=tally, discrete_laplace_many=drawing):
            found = fast(people, ROWS, bits)
        _require(tally.call[0] is people, "something other than the people is counted")
        given, number, source = drawing.call
        _require(given == scale and number == ROWS * count and source is bits, f"noise is drawn by {drawing.call}")
        _require(type(found) is list and len(found) == ROWS, f"{found!r:.100} is released for {ROWS} trials")
        for one, row in zip(found, rows, strict=True):
            _require_shown(one, tallied, row, threshold)

    _with_each(count, threshold, check)


def _require(true: bool, otherwise: str) -> None:
    if not true:
        raise Refused(otherwise)


class _Drawn:
    """A source whose draws are given."""

    def __init__(self, draws: Sequence[int]) -> None:
        self._draws = iter(draws)

    def call(self, *_: Any) -> int:
        """Return the next draw."""
        return next(self._draws)


def _require_plain(reference: Any, fast: Any, draw_many: Any, scale: Fraction, threshold: int) -> int:
    """Check releases of plain databases, with draws about the threshold and with those that words make."""
    random, released = Random(20261124), 0
    sizes = [(), (1,), (2,), (1, 1), (threshold, 1, threshold + 3), tuple(range(1, 30)), (1,) * 500]
    for counts in sizes:
        keys = [f"key {place:03}" for place in range(len(counts))]
        people = [key for key, count in zip(keys, counts, strict=True) for _ in range(count)]
        random.shuffle(people)
        for near in (-1, 0, 1, 1 << 61, -(1 << 61)):
            draws = [threshold - count + near + random.choice((-1, 0, 0, 1)) for count in counts]
            noisy = [min(max(count + draw, -LIMIT), LIMIT) for count, draw in zip(counts, draws, strict=True)]
            _require_released(reference(people, _Drawn(draws)), keys, noisy, threshold)
        for trials in (0, 1, 3):
            words = [random.getrandbits(64) for _ in range(trials * len(counts))]
            noise = draw_many(scale, trials * len(counts), GivenWords(words, (0, 1))).tolist()
            found = fast(people, trials, GivenWords(words, (0, 1)))
            _require(type(found) is list and len(found) == trials, f"{trials} trials release {found!r:.100}")
            for trial, one in enumerate(found):
                own = noise[trial * len(counts) : (trial + 1) * len(counts)]
                noisy = [min(max(count + draw, -LIMIT), LIMIT) for count, draw in zip(counts, own, strict=True)]
                _require_released(one, keys, noisy, threshold)
        released += 8
    return released


def _require_released(found: Any, keys: Sequence[str], noisy: Sequence[int], threshold: int) -> None:
    expected = tuple((key, one) for key, one in zip(keys, noisy, strict=True) if one >= threshold)
    if type(found) is not tuple or found != expected or any(type(one[1]) is not int for one in found):
        raise Refused(f"the noisy counts {noisy!r:.100} are released as {found!r:.200}, not {expected!r:.200}")
