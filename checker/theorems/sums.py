"""Theorems on sums and means of bounded records, whose sum and number are released with discrete Laplace noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused
from checker.kinds import noises, record_map
from checker.kinds.claims import pure_epsilon, require_neighbours
from checker.kinds.grids import steps_apart
from checker.kinds.lending import lent, used
from checker.kinds.opaque import Opaque
from checker.kinds.record_map import COUNTS, require_record_map
from checker.kinds.released import ROWS, Noise, Run, runs
from checker.theorems.laplace import discrete_laplace_on_grid

RELATIONS = ("add-remove", "substitute", "add-remove or substitute")
PATHS = {"reference": "exact_discrete_laplace", "fast": "exact_discrete_laplace_fast"}
"""The noise mechanism that each path hands private numbers to."""


def noisy_sums(certificate: Certificate) -> Conclusion:
    """Show that a function of a noisy sum of bounded records, and of their noisy number, keeps ε for all databases.

    Each record becomes an integer of a public range on its own, so a record moves the sum by a public number of steps
    and the number by one. Both go through the discrete Laplace mechanism, whose theorem says what a move of so many
    steps costs; the costs add up, and what is made of both afterwards looks at them alone.

    Functions: `reference(records, bits, **parameters)`, `fast(records, trials, bits, **parameters)`. Parameters:
    epsilon, bounds and others.
    """
    epsilon = pure_epsilon(certificate)
    neighbours = require_neighbours(certificate, *RELATIONS)
    bounds = certificate.arguments()["bounds"]
    step = Fraction(2) ** bounds.grid.exponent
    record = require_record_map(bounds, step)
    moves = {"total": record.move(neighbours) * step, "count": Fraction(int(neighbours != "substitute"))}
    most, checked = Fraction(0), {"records": record.tried, "ways": 0}
    called: list[tuple[Noise, dict[str, Any]]] = []
    for role, sampler in PATHS.items():
        for run in _released(certificate, role, sampler, neighbours):
            for noise in run.noises:
                alike = [functions for other, functions in called if other.parameters == noise.parameters]
                if not alike:
                    alike.append({})
                    called.append((noise, alike[0]))
                alike[0][role] = used(certificate.function(role), sampler)
            most = max(most, sum((_loss(noise, moves[noise.answer]) for noise in run.noises), Fraction(0)))
            checked["ways"] += 1
    if most > epsilon:
        raise Refused(f"one record costs {most}, more than {epsilon}")
    for noise, functions in called:
        for what, count in _require_mechanism(certificate, noise, functions).items():
            checked[what] = checked.get(what, 0) + count
    return Conclusion(
        f"{most}-DP for every pair of databases of any size ({neighbours}), by both paths",
        (*noises.LEMMAS, *record_map.LEMMAS, "rounding-half-up"),
        checked,
    )


class _Bounds:
    """The bounds of a certificate, which add up nothing: the total stays private, and the number of records if it is.

    Args:
        real: the bounds.
        records: the records, of which nothing is known.
        total: what stands for their sum.
        count: what stands for their number.
    """

    def __init__(self, real: Any, records: object, total: Opaque, count: Any) -> None:
        self._real, self._records, self._found = real, records, (total, count)

    def total_and_count(self, records: Any) -> tuple[Opaque, Any]:
        """Return what stands for the sum of the records and their number."""
        if records is not self._records:
            raise Refused("something other than the records is added up")
        return self._found

    def total(self, records: Any) -> Opaque:
        """Return what stands for the sum of the records."""
        return self.total_and_count(records)[0]

    def __getattr__(self, name: str) -> Any:
        if name not in ("lower", "upper", "grid", "sensitivity"):
            raise Refused(f"the bounds are asked for {name}")
        return getattr(self._real, name)


def _released(certificate: Certificate, role: str, sampler: str, neighbours: str) -> Iterator[Run]:
    """Run one path on private numbers, in all ways: with a private number of records, or with some public ones."""
    function, parameters = certificate.function(role), certificate.arguments()
    trials = [ROWS] if role == "fast" else []
    if neighbours == "substitute":
        counts: list[Any] = [count for count in COUNTS if count]
    else:
        counts = [Opaque("count")]

    for count in counts:
        total, records = Opaque("total"), object()
        watched = parameters | {"bounds": _Bounds(parameters["bounds"], records, total, count)}
        private = {"total": total} | ({"count": count} if isinstance(count, Opaque) else {})

        def call(run: Run, records: object = records, watched: dict[str, Any] = watched) -> Any:
            def noisy(answer: Any, *rest: Any, epsilon: Any, sensitivity: Any = 1, grid: Any) -> Any:
                *rows, bits = rest
                if rows != trials:
                    raise Refused(f"noise is drawn for {rows} trials")
                asked = {"epsilon": Fraction(epsilon), "sensitivity": Fraction(sensitivity), "grid": grid}
                return run.release(sampler, answer, bits, *rows, **asked)

            with lent(function, **{sampler: noisy}):
                return function(records, *trials, run.bits, **watched)

        for run, _ in runs(call, private):
            yield run


def _require_mechanism(certificate: Certificate, noise: Noise, functions: Mapping[str, Any]) -> Mapping[str, int]:
    """Apply the theorem of the discrete Laplace mechanism to those that were called, by the path that called them."""
    epsilon, sensitivity, grid = (noise.parameters[name] for name in ("epsilon", "sensitivity", "grid"))
    if set(functions) != set(PATHS):
        raise Refused(f"only the path {'|'.join(functions)} draws noise with {noise.parameters}")
    called = replace(
        certificate,
        functions={role: f"{function.__module__}:{function.__qualname__}" for role, function in functions.items()},
        parameters={
            "epsilon": {"rational": str(epsilon)},
            "sensitivity": {"rational": str(sensitivity)},
            "grid": {"of": f"{type(grid).__module__}:{type(grid).__qualname__}", "exponent": grid.exponent},
        },
        neighbours="answers at most the sensitivity apart",
        claim={"kind": "pure", "epsilon": str(epsilon)},
    )
    if any(called.function(role) is not function for role, function in functions.items()):
        raise Refused(f"{dict(called.functions)} are not what their names say")
    return discrete_laplace_on_grid(called).checked


def _scale(noise: Noise) -> Fraction:
    """Return the scale that the theorem of the discrete Laplace mechanism shows, in steps."""
    step = Fraction(2) ** noise.parameters["grid"].exponent
    return steps_apart(noise.parameters["sensitivity"], step) / Fraction(noise.parameters["epsilon"])


def _loss(noise: Noise, move: Fraction) -> Fraction:
    """Return what a move of the answer costs."""
    return steps_apart(move, Fraction(2) ** noise.parameters["grid"].exponent) / _scale(noise)
