"""Mechanisms in two parts: what depends on the records, in exact integers, and the release, by noise alone.

The first part runs on symbols for the sum and the number of records, so that what it makes of them is shown for all
databases; the second on private numbers that only noise may take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

from checker.core.certificate import Certificate, Refused
from checker.kinds.lending import lent
from checker.kinds.opaque import Opaque
from checker.kinds.released import ROWS, Released, Run, runs
from checker.kinds.symbols import Cases, Symbol, for_all, require_equal

Model = Callable[[Cases, Any, Any], dict[str, Any]]
"""What a preparation makes of the sum and the number of records in a case, by the name of the field."""


class WatchedDomain:
    """A domain that adds up nothing: for the records it returns what stands for their sum and number.

    Args:
        real: the domain.
        records: the records, of which nothing is known.
        found: what stands for their sum and their number.
    """

    def __init__(self, real: Any, records: object, found: tuple[Any, Any]) -> None:
        self._real, self._records, self._found = real, records, found

    def total_and_count(self, records: Any) -> tuple[Any, Any]:
        """Return what stands for the sum and the number of the records."""
        if records is not self._records:
            raise Refused("something other than the records is added up")
        return self._found

    def __getattr__(self, name: str) -> Any:
        if name not in ("width", "grid", "middle", "privacy_loss"):
            raise Refused(f"the domain is asked for {name}")
        return getattr(self._real, name)


class _PublicDomain:
    """A domain as the release sees it, which turns released positions into values."""

    def __init__(self, real: Any) -> None:
        self._real, self.width = real, real.width
        self.values = real.values

    def value(self, position: Any) -> Any:
        """Return the value at a released position."""
        if type(position) is Released:
            return position + 0
        if type(position) is not int:
            raise Refused(f"the value at {position!r} is asked for")
        return self._real.value(position)


def prepared(certificate: Certificate, model: Model, **stand_ins: Callable[..., Any]) -> Any:
    """Check what the function `prepare` of a certificate makes of the records, for every sum and number of them.

    Args:
        certificate: its parameters are those of `prepare`, the domain among them.
        model: the private fields, as they should be.
        **stand_ins: `stand_in(cases, *arguments)` for names of the function's module.

    Returns:
        What was prepared, its private fields being symbols.

    Raises:
        Refused: a field is something else, or one that should be public depends on the records.
    """
    prepare, parameters = certificate.function("prepare"), certificate.arguments()
    found: list[Any] = []
    public: list[dict[str, Any]] = []

    def check(cases: Cases) -> None:
        records, sums = object(), (cases.unknown("total"), cases.unknown("count"))
        watched = WatchedDomain(parameters["domain"], records, sums)
        lend = {name: lambda *given, stand=stand: stand(cases, *given) for name, stand in stand_ins.items()}
        with lent(prepare, **lend):
            one = prepare(records, **parameters | {"domain": watched})
        if one.domain is not watched:
            raise Refused("what is prepared has a domain of its own")
        expected = model(cases, *sums)
        for name, value in expected.items():
            require_equal(getattr(one, name), value, name)
        others = {field.name: getattr(one, field.name) for field in fields(one)}
        others = {name: value for name, value in others.items() if name not in expected and name != "domain"}
        if not all(type(value) in (int, float, Fraction, str) for value in others.values()):
            raise Refused(f"what is prepared holds {others}")
        found.append(one)
        public.append(others)

    for_all(check)
    if any(one != public[0] for one in public):
        raise Refused("what is prepared depends on the records in a field that is not private")
    return replace(found[0], domain=parameters["domain"])


def released(one: Any, *private: str) -> Iterator[tuple[str, Run]]:
    """Release from what was prepared, its private fields opaque, once and many times, in all ways.

    Yields:
        The path, "one" or "many", and what it released.

    Raises:
        Refused: a private field is looked at, or returned.
    """
    opaque = {name: Opaque(name) for name in private}
    unknown = [field.name for field in fields(one) if isinstance(getattr(one, field.name), Symbol)]
    if set(unknown) - set(private):
        raise Refused(f"{unknown} depend on the records")
    watched = replace(one, domain=_PublicDomain(one.domain), **opaque)

    def once(run: Run) -> Any:
        def noisy_integer(answer: Any, scale: Any, bits: Any) -> Any:
            return run.release("noisy_integer", answer, bits, scale=scale)

        with lent(type(one).one, noisy_integer=noisy_integer):
            return watched.one(run.bits)

    def many_times(run: Run) -> Any:
        def noisy_integers(answer: Any, scale: Any, trials: Any, bits: Any) -> Any:
            return run.release("noisy_integers", answer, bits, trials, scale=scale)

        with lent(type(one).many, noisy_integers=noisy_integers):
            found = watched.many(ROWS, run.bits)
        if found.rows != ROWS:
            raise Refused(f"of {ROWS} trials those are returned that passed a test")
        return found

    for path, call in (("one", once), ("many", many_times)):
        for run, _ in runs(call, opaque):
            yield path, run
