"""The features of outputs: every number in them, and what can be said of an output besides its numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.features.leaves import (
    MOST_NAMES,
    TEXT,
    WORDING,
    Reads,
    in_bytes,
    in_rows,
    in_sets,
    in_text,
    lengths,
    names_of,
    order_of_keys,
    presence,
    remainders,
    signs_of_zeros,
    type_codes,
)
from attacklab.attacks.features.paths import Named, Position, Step, Values, as_numbers, followed, recalled
from attacklab.attacks.features.values import (
    DEEPEST,
    EXACT,
    MISSING,
    Parts,
    is_foreign,
    kind_name,
    not_understood,
    opened,
)
from attacklab.attacks.features.variety import most_telling
from attacklab.model.plain_text import quoted
from attacklab.model.targets import Outputs

MOST = 64  # how many features of one output are looked at
DIFFERENCES = 8  # how many differences of two numbers next to each other are features


@dataclass(frozen=True, slots=True)
class Feature:
    """One number for each output.

    Attributes:
        description: the number in words.
        of: takes outputs and returns the number for each, shape (n,): in the format in which it came, or as doubles
            with NaN for outputs that have no such number. It is pure, and raises only for a value not understood.
    """

    description: str
    of: Callable[[Outputs], NDArray[Any]]

    @property
    def is_text(self) -> bool:
        """Whether its numbers stand for texts, so that neither their order nor their bits mean anything."""
        return self.description.startswith((TEXT, WORDING))


def numbers(outputs: Outputs, of_first: NDArray[np.bool_] | None = None) -> tuple[Feature, ...]:
    """Return every number in the outputs: columns, positions, values under keys, numbers printed in text.

    Args:
        outputs: one a trial along the first axis.
        of_first: which outputs come from the first input of a pair. At most `MOST` numbers are returned: if there are
            more, the ones that differ most between the two inputs or, without `of_first`, that vary most.

    Raises:
        NotUnderstood: an output holds an object that can only be compared by identity.
    """
    return _kept([feature for feature, is_number in _found(outputs, of_first) if is_number], outputs, of_first)


def features(outputs: Outputs) -> tuple[Feature, ...]:
    """Return the numbers in the outputs, then other features: type, length, keys, order and differences of numbers.

    Args:
        outputs: as for `numbers`.

    Raises:
        NotUnderstood: an output holds an object that can only be compared by identity.
    """
    return tuple(itertools.chain(*taken_apart(outputs)))


def taken_apart(
    outputs: Outputs, of_first: NDArray[np.bool_] | None = None
) -> tuple[tuple[Feature, ...], tuple[Feature, ...]]:
    """Return the numbers in the outputs and, separately, all other features; arguments and errors as for `numbers`."""
    listed = list(_found(outputs, of_first))
    plain = _kept([feature for feature, is_number in listed if is_number], outputs, of_first)
    pairs = [_difference(*pair) for pair in itertools.pairwise(plain[: DIFFERENCES + 1])]
    others = [feature for feature, is_number in listed if not is_number]
    return plain, _kept([*others, *pairs], outputs, of_first)


def _kept(candidates: list[Feature], outputs: Outputs, of_first: NDArray[np.bool_] | None) -> tuple[Feature, ...]:
    if len(candidates) <= MOST:
        return tuple(candidates)
    places = most_telling([feature.of for feature in candidates], outputs, of_first, MOST)
    return tuple(candidates[place] for place in places)


def _difference(first: Feature, second: Feature) -> Feature:
    def subtracted(outputs: Outputs) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore", over="ignore"):
            return first.of(outputs).astype(np.float64) - second.of(outputs).astype(np.float64)

    return Feature(f"{first.description} minus {second.description}", subtracted)


Found = Iterator[tuple[Feature, bool]]


def _found(outputs: Outputs, of_first: NDArray[np.bool_] | None) -> Found:
    return _Walk(of_first, outputs).at((), "the output", 0)


def _at(outputs: Outputs, *, steps: tuple[Step, ...], read: Callable[[Values], NDArray[Any]]) -> NDArray[Any]:
    return recalled(outputs, (steps, read), lambda: read(followed(outputs, steps)))


def _types_at(outputs: Outputs, *, steps: tuple[Step, ...], names: tuple[str, ...]) -> NDArray[Any]:
    """Return `type_codes` of the values at the end of a path, as they are before `as_table` gives them one type."""
    came = steps[-1](followed(outputs, steps[:-1])) if steps else outputs
    return type_codes(came, names=names)


@dataclass(frozen=True, slots=True)
class _Walk:
    """A walk through all parts of outputs. It yields each feature with a bool: is it a number in the outputs?"""

    of_first: NDArray[np.bool_] | None  # which outputs come from the first input; None if that is not known
    outputs: Outputs

    def at(self, steps: tuple[Step, ...], words: str, depth: int) -> Found:
        """Yield the features of the values at the end of a path; `words` describes these values."""
        values = followed(self.outputs, steps)
        if isinstance(values, np.ndarray) and (values.dtype.kind in "biuf" or is_foreign(values.dtype)):
            if values.ndim == 1:
                yield from self._number(steps, words)
            else:
                yield from self._in_sequences(values, steps, words, depth)
            return
        known = list(map(opened, values))
        if depth > DEEPEST and (present := [value for value in known if value is not MISSING]):
            raise not_understood(present[0])
        kinds = sorted(_kinds_of(known))
        if len(kinds) > 1:
            yield Feature(f"the type of {words}", partial(_types_at, steps=steps, names=tuple(kinds))), False
        yield from self._of_kinds(known, steps, words, depth)

    def _feature(self, words: str, steps: tuple[Step, ...], read: Callable[[Values], NDArray[Any]]) -> Feature:
        return Feature(words, partial(_at, steps=steps, read=read))

    def _number(self, steps: tuple[Step, ...], words: str) -> Found:
        """Yield the number at the end of a path, and the sign of zeros if zeros of both signs occur."""
        number = self._feature(words, steps, as_numbers)
        yield number, True
        values = number.of(self.outputs)
        if len(np.unique(np.signbit(values[values == 0]))) > 1:
            yield self._feature(f"the sign of zeros in {words}", steps, signs_of_zeros), False

    def _of_kinds(self, known: list[Any], steps: tuple[Step, ...], words: str, depth: int) -> Found:
        held = set(map(type, known))
        readers: tuple[tuple[tuple[type, ...], Callable[..., Found]], ...] = (
            ((int, float, np.floating, *EXACT), self._in_numbers),
            ((str,), lambda *_: self._read_off(in_text(known), steps, words)),
            ((bytes,), lambda *_: self._read_off(in_bytes(known), steps, f"of {words}")),
            ((list, tuple, np.ndarray), self._in_sequences),
            ((dict, Parts), self._in_named),
            ((frozenset,), self._in_sets),
        )
        for types, found in readers:
            if any(issubclass(kind, types) for kind in held):
                yield from found(known, steps, words, depth)

    def _in_numbers(self, known: list[Any], steps: tuple[Step, ...], words: str, _depth: int) -> Found:
        yield from self._number(steps, words)
        yield from self._read_off(remainders(known), steps, f"of {words}")

    def _read_off(self, reads: Reads, steps: tuple[Step, ...], words: str) -> Found:
        """Yield (feature, is_number) for each reader, a pair (words, function), of the values at the end of a path."""
        for name, read in reads:
            yield self._feature(f"{name} {words}", steps, read), name.startswith("number")

    def _in_sets(self, known: list[Any], steps: tuple[Step, ...], words: str, _depth: int) -> Found:
        yield self._feature(f"the size of {words}", steps, lengths), False
        yield from self._read_off(in_sets(known, self.of_first), steps, f"in {words}")

    def _deeper(self, step: Step, steps: tuple[Step, ...], words: str, depth: int) -> Found:
        return self.at((*steps, step), step.words(words), depth + 1)

    def _in_sequences(self, values: Values, steps: tuple[Step, ...], words: str, depth: int) -> Found:
        if isinstance(values, np.ndarray):
            longest = values.shape[1]
        else:
            longest = max(len(value) for value in values if isinstance(value, list | tuple | np.ndarray))
            yield self._feature(f"the length of {words}", steps, lengths), False
        places: Sequence[int] = range(longest)
        if longest > MOST:
            reads = [partial(_number_at, step=Position(place)) for place in places]
            places = most_telling(reads, values, self.of_first, MOST)
        for place in places:
            yield from self._deeper(Position(place), steps, words, depth)
        if longest > 1:
            yield from self._read_off(in_rows(values), steps, f"of {words}")

    def _in_named(self, known: list[Any], steps: tuple[Step, ...], words: str, depth: int) -> Found:
        for of_parts in (False, True):
            names = names_of(known, of_parts=of_parts)
            if len(names) > MOST_NAMES:
                reads = [partial(presence, name=name, of_parts=of_parts) for name in names]
                numbers_ = [partial(_number_at, step=Named(name, of_parts)) for name in names]
                telling = most_telling([*reads, *numbers_], known, self.of_first, MOST_NAMES)
                names = [names[place] for place in sorted({place % len(names) for place in telling})]
            for name in names:
                yield from self._deeper(Named(name, of_parts), steps, words, depth)
                present = presence(known, name=name, of_parts=of_parts)
                if not present.all():
                    read: Callable[[Values], NDArray[Any]] = partial(presence, name=name, of_parts=of_parts)
                    yield self._feature(f"the presence of {quoted(name)} in {words}", steps, read), False
        if any(isinstance(value, dict) for value in known):
            yield self._feature(f"the size of {words}", steps, lengths), False
            yield from self._read_off(order_of_keys(known), steps, f"in {words}")


def _kinds_of(known: list[Any]) -> set[str]:
    """Return the names of the types of opened values, as `kind_name` gives them; `MISSING` is left out."""
    kinds = {kind for kind in set(map(type, known)) - {type(MISSING)} if not issubclass(kind, np.ndarray | Parts)}
    names = {kind_name(value) for value in known if type(value) not in kinds and value is not MISSING}
    return names | {"float64" if kind is float else kind.__name__ for kind in kinds}


def _number_at(values: Values, *, step: Step) -> NDArray[Any]:
    return as_numbers(step(values))
