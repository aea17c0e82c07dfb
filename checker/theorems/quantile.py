"""The theorem on quantiles by the exponential mechanism over public candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused
from checker.kinds.claims import pure_epsilon, require_neighbours, shown
from checker.kinds.lending import Token, lent, used
from checker.kinds.ranks import expected_utilities, require_rank_utilities
from checker.theorems.exponential import exponential_base_e
from checker.theorems.selection import APART

VALUE = 12345.5
"""What stands for a candidate's value."""

PLAIN: tuple[Sequence[Any], ...] = ((), (1.0,), (3, 7.5, 7.5, float("nan")), (-float("inf"), 50, 2.0**70), (60,) * 9)


def quantile_by_rank(certificate: Certificate) -> Conclusion:
    """Show that a candidate selected by its distance in rank from a quantile keeps ε, for all databases.

    1. The utility of a candidate c is −|(q − p)·#{x < c} − p·#{x > c}| for the quantile p/q: one record moves it by
       max(p, q − p) at most (lemma `rank-utilities`).
    2. What is returned is the value of the outcome of the exponential mechanism for that sensitivity, and of nothing
       else; both paths, with the theorem `exponential_base_e` for the functions that select.

    Functions: `reference(records, bits, **parameters)`, `fast(records, trials, bits, **parameters)`. Parameters:
    epsilon, quantile, candidates.
    """
    pure_epsilon(certificate)
    require_neighbours(certificate, "add-remove")
    parameters = certificate.arguments()
    alpha = Fraction(parameters["quantile"])
    if not 0 <= alpha <= 1:
        raise Refused(f"the quantile must lie in [0, 1], not {alpha}")
    weights = (alpha.denominator - alpha.numerator, alpha.numerator)
    reference, fast = (certificate.function(role) for role in ("reference", "fast"))
    selecting = {"reference": "exact_exponential", "fast": "exact_exponential_fast"}
    _require_selects(reference, selecting["reference"], parameters, max(weights), ())
    _require_selects(fast, selecting["fast"], parameters, max(weights), (Token(),))
    _require_candidates(parameters["candidates"])
    utilities = used(reference, "rank_utilities")
    if utilities is not used(fast, "rank_utilities"):
        raise Refused("the fast path has other utilities")
    tried = require_rank_utilities(utilities, parameters["quantile"], weights, parameters["candidates"])
    tried += _require_plain(reference, selecting["reference"], parameters, weights, one_by_one=True)
    tried += _require_plain(fast, selecting["fast"], parameters, weights, one_by_one=False)
    functions = {role: used(own, selecting[role]) for role, own in (("reference", reference), ("fast", fast))}
    inner = replace(
        certificate,
        functions={role: f"{one.__module__}:{one.__qualname__}" for role, one in functions.items()},
        parameters={"epsilon": certificate.parameters["epsilon"], "sensitivity": max(weights)},
        neighbours=APART,
    )
    if any(inner.function(role) is not one for role, one in functions.items()):
        raise Refused("what selects is not what its name says")
    selected = exponential_base_e(inner)
    return Conclusion(
        f"{shown(Fraction(parameters['epsilon']))}-DP for every pair of databases one record apart, "
        f"the quantile being {alpha}",
        ("rank-utilities", "ranks", *selected.lemmas),
        {**selected.checked, "databases": tried},
    )


def _require_candidates(candidates: Any) -> None:
    """Check that the candidates are the points of the grid from the least to the greatest, as doubles."""
    step = Fraction(2) ** candidates.grid.exponent
    first, last = (Fraction(end) / step for end in (candidates.lower, candidates.upper))
    found = candidates.values()
    _require(found.dtype.name == "float64" and first.denominator == 1 < last - first + 1, f"candidates are {found!r}")
    expected = [float((first + place) * step) for place in range(int(last - first) + 1)]
    _require(found.tolist() == expected, f"the candidates are {found!r:.200}, not {expected!r:.200}")


class _Values:
    """The values of the candidates, of which those of the outcome can be taken."""

    def __init__(self, outcome: Token) -> None:
        self._outcome = outcome

    def __getitem__(self, key: Any) -> _Value:
        if key is not self._outcome:
            raise Refused("the value of something other than the outcome is taken")
        return _Value()


class _Value:
    """The values of the outcome."""

    def __float__(self) -> float:
        return VALUE


class _Candidates:
    """The public candidates, of which the values can be asked for."""

    def __init__(self, outcome: Token) -> None:
        self._outcome = outcome

    def values(self) -> _Values:
        """Return the values."""
        return _Values(self._outcome)


def _require_selects(
    function: Callable[..., Any], selects: str, parameters: dict[str, Any], sensitivity: int, trials: tuple[Token, ...]
) -> None:
    """Check that a path returns the values of what is selected by the utilities, at ε and the sensitivity."""
    records, utilities, outcome, bits = Token(), Token(), Token(), Token()
    candidates = _Candidates(outcome)
    asked: list[Any] = []

    def ranked(*given: Any) -> Token:
        own = len(given) == 3 and given[0] is records and given[1] == alpha and given[2] is candidates
        _require(own, "utilities are those of something other than the records")
        return utilities

    def selected(given: Any, *others: Any, **public: Any) -> Token:
        asked.append(public)
        own = given is utilities and len(others) == len(trials) + 1
        own = own and all(one is other for one, other in zip(others, (*trials, bits), strict=True))
        _require(own, "something other than the utilities selects")
        return outcome

    alpha = parameters["quantile"]
    with lent(function, rank_utilities=ranked, **{selects: selected}):
        found = function(records, *trials, bits, **{**parameters, "candidates": candidates})
    _require(asked == [{"epsilon": parameters["epsilon"], "sensitivity": sensitivity}], f"it selects with {asked}")
    as_it_is = type(found) is _Value if trials else type(found) is float and found == VALUE
    _require(as_it_is, f"{found!r} is returned, not the value of the outcome")


def _require_plain(
    function: Callable[..., Any],
    selects: str,
    parameters: dict[str, Any],
    weights: tuple[int, int],
    *,
    one_by_one: bool,
) -> int:
    """Check on plain databases that the mechanism selects by their utilities and returns the candidate selected."""
    places = [Fraction(one) for one in parameters["candidates"].values().tolist()]
    release = partial(function, **parameters)
    for records in PLAIN:
        expected = expected_utilities(records, weights, places)
        for outcome in (0, 1, len(places) - 1):

            def selected(given: Any, *_: Any, expected: list[int] = expected, outcome: int = outcome, **__: Any) -> Any:
                _require(given.tolist() == expected, f"{given!r:.200} selects, not {expected!r:.200}")
                return outcome if one_by_one else [outcome, 0]

            with lent(function, **{selects: selected}):
                found = release(list(records), Token()) if one_by_one else release(list(records), 2, Token())
            right = [float(places[outcome]), float(places[0])]
            got = [found] if one_by_one else found.tolist()
            _require(got == right[: len(got)] and type(got[0]) is float, f"{found!r} is returned for {right}")
    return 3 * len(PLAIN)


def _require(true: bool, otherwise: str) -> None:
    if not true:
        raise Refused(otherwise)
