"""Runs on private numbers that may be handed to noise and to nothing else: which noise they got, and what came of it.

A private number is opaque. What a noise mechanism returns for it is `Released`: whatever is computed of that and of
public numbers is post-processing, and every comparison with it goes both ways. So the run lists, in all of its ways,
which private number was released at which scale; the losses of one way add up (adaptive composition).

Many trials at once are `ReleasedRows`: element i is a function of what was released for trial i alone, as only
elementwise operations are known. A second noise may be drawn for the trials that passed a test, and written back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Cut, Way, explore
from checker.kinds.opaque import Opaque
from checker.kinds.trace import kind_of

DEPTH = 14
"""How many comparisons with released numbers there may be in a run."""

ROWS = 3
"""How many trials are asked for at once."""

ELEMENTWISE = {
    "add", "subtract", "multiply", "divide", "floor_divide", "negative", "absolute", "rint", "floor", "ceil", "maximum",
    "minimum", "fmax", "fmin", "less", "less_equal", "greater", "greater_equal", "isnan",
}  # fmt: skip
"""The functions of numpy that compute each element of its own operands alone."""


@dataclass(frozen=True, eq=False)
class Noise:
    """One private number handed to noise.

    Args:
        answer: the name of the number.
        sampler: the name of the noise mechanism.
        parameters: what it was called with.
        rows: for which trials; None for a single draw.
    """

    answer: str
    sampler: str
    parameters: dict[str, Any]
    rows: Any


class Run:
    """What one way through a run released.

    Attributes:
        noises: the private numbers handed to noise, in order.
        facts: comparisons of single numbers as they were released: which noise, the comparison, with what, the outcome.
    """

    def __init__(self, way: Way, private: dict[str, Opaque]) -> None:
        self.way, self._private = way, private
        self.noises: list[Noise] = []
        self.facts: list[tuple[int, str, Any, bool]] = []
        self.bits = object()

    def is_private(self, name: str, value: Any) -> bool:
        """Whether a value is the private number of a name."""
        return value is self._private.get(name)

    def release(self, sampler: str, answer: Any, bits: Any, rows: Any = None, **parameters: Any) -> Any:
        """Note that a private number is handed to noise; return what comes of it. A public number costs nothing."""
        names = [name for name, value in self._private.items() if value is answer]
        if type(answer) is int and bits is self.bits:
            return Released(self) if rows is None else ReleasedRows(rows)
        if not names or bits is not self.bits:
            raise Refused(f"{sampler} is not called with a private number and the random bits, but with {answer!r}")
        self.noises.append(Noise(names[0], sampler, parameters, rows))
        number = len(self.noises) - 1
        return Released(self, number) if rows is None else ReleasedRows(rows, ("noise", number))


def runs(call: Callable[[Run], Any], private: dict[str, Opaque]) -> Iterator[tuple[Run, Any]]:
    """Run a mechanism in all ways, and yield what each released and returned.

    Raises:
        Refused: it looks at a private number, or hands one on otherwise.
    """

    def run(way: Way) -> tuple[Run, Any]:
        one = Run(way, private)
        return one, call(one)

    for _, result in explore(run, DEPTH):
        if result is Cut:
            raise Refused(f"there are more than {DEPTH} comparisons in a run")
        one, outcome = result
        if not (outcome is None or type(outcome) in (int, float, Released, ReleasedRows)):
            raise Refused(f"what is returned is {outcome!r}, not made of released numbers alone")
        yield one, outcome


def _public(value: Any) -> bool:
    return type(value) in (int, float, bool, Fraction)


class Released:
    """A number made of released and public numbers.

    Args:
        run: the run it belongs to.
        noise: which noise it is itself; None if something was computed of it.
    """

    __hash__ = None  # type: ignore[assignment] # a look-up would be a comparison

    def __init__(self, run: Run, noise: int | None = None) -> None:
        self._run, self._noise = run, noise

    def _computed(self, *others: Any) -> Any:
        if all(_public(one) or type(one) is Released for one in others):
            return Released(self._run)
        return NotImplemented

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = _computed
    __truediv__ = __rtruediv__ = __neg__ = __abs__ = _computed

    def _compared(self, comparison: str, other: Any) -> Any:
        if not _public(other) and type(other) is not Released:
            return NotImplemented
        outcome = self._run.way.choose(2) == 1
        if self._noise is not None and type(other) is int:
            self._run.facts.append((self._noise, comparison, other, outcome))
        return outcome

    def __lt__(self, other: Any) -> Any:
        return self._compared("<", other)

    def __le__(self, other: Any) -> Any:
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> Any:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> Any:
        return self._compared(">=", other)

    def __eq__(self, other: object) -> Any:
        return self._compared("==", other)

    def __bool__(self) -> bool:
        return self._run.way.choose(2) == 1


class ReleasedRows:
    """One number for each of some trials, made of what was released for that trial and of public numbers.

    Args:
        rows: for which trials: their number, or the test that they passed.
        made: how, if that matters: ("noise", number), or (comparison, number of the noise, with what).
    """

    __hash__ = None  # type: ignore[assignment] # a look-up would be a comparison

    def __init__(self, rows: Any, made: tuple[Any, ...] = ()) -> None:
        self.rows, self.made = rows, made

    def _elementwise(self, *others: Any) -> ReleasedRows:
        for one in others:
            if not (type(one) is ReleasedRows and one.rows is self.rows) and not _public(one):
                raise Refused(f"{one!r} meets what was released for {self.rows!r}")
        return ReleasedRows(self.rows)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if method != "__call__" or options or ufunc.__name__ not in ELEMENTWISE:
            raise Refused(f"numpy's {ufunc.__name__} is called as {method} with {sorted(options)}")
        found = self._elementwise(*inputs)
        return found if out is None else self._written(out[0])

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        name, others = function.__name__, set(options)
        if name == "clip" and others <= {"out"}:
            self._elementwise(*arguments)
            return self._written(options["out"]) if options else ReleasedRows(self.rows)
        if name == "count_nonzero" and not others and arguments == (self,) and self.made:
            return Passed(self)
        if name == "full_like" and arguments == (self, None) and others == {"dtype"}:
            return ReleasedRows(self.rows)
        raise Refused(f"numpy's {name} is not known to compute each trial on its own")

    def _written(self, target: Any) -> ReleasedRows:
        if type(target) is not ReleasedRows or target.rows is not self.rows:
            raise Refused("what was released is written to an array of something else")
        target.made = ()
        return target

    def _tested(self, comparison: str, other: Any) -> ReleasedRows:
        found = self._elementwise(other)
        if self.made[:1] == ("noise",) and type(other) is int:
            found.made = (comparison, self.made[1], other)
        return found

    def __lt__(self, other: Any) -> ReleasedRows:
        return self._tested("<", other)

    def __le__(self, other: Any) -> ReleasedRows:
        return self._tested("<=", other)

    def __gt__(self, other: Any) -> ReleasedRows:
        return self._tested(">", other)

    def __ge__(self, other: Any) -> ReleasedRows:
        return self._tested(">=", other)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = _elementwise
    __truediv__ = __rtruediv__ = __neg__ = __abs__ = _elementwise

    def _in_place(self, other: Any) -> ReleasedRows:
        self._elementwise(other)
        self.made = ()
        return self

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = _in_place

    def __setitem__(self, key: Any, value: Any) -> None:
        passed = type(key) is ReleasedRows and key.rows is self.rows and type(value) is ReleasedRows
        if not passed or type(value.rows) is not Passed or value.rows.test is not key:
            raise Refused("trials are written to that did not pass the test that the values were drawn for")
        self.made = ()

    def astype(self, dtype: Any) -> ReleasedRows:
        """Convert each element."""
        kind_of(dtype)
        return ReleasedRows(self.rows)

    def tolist(self) -> ReleasedRows:
        """Return the elements."""
        return self

    def _refuse(self, *arguments: Any) -> Any:  # noqa: ARG002
        raise Refused("a value or a part of what was released for many trials is looked at")

    __bool__ = __len__ = __int__ = __index__ = __float__ = __contains__ = __getitem__ = __iter__ = __eq__ = _refuse
    __array__ = __invert__ = __and__ = __or__ = __xor__ = _refuse


@dataclass(frozen=True, eq=False)
class Passed:
    """How many trials passed a test, which is also who they are.

    Args:
        test: the outcome of the test for each trial.
    """

    test: ReleasedRows


def at_least(facts: list[tuple[int, str, Any, bool]], noise: int) -> int | None:
    """Return the largest T for which facts show that a noisy number is at least T; None if they show nothing."""
    shown = [
        value + (comparison in (">", "<="))
        for number, comparison, value, outcome in facts
        if number == noise and (comparison in (">", ">=")) == outcome and comparison != "=="
    ]
    return max(shown, default=None)
