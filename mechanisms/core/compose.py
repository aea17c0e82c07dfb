"""Composition: several mechanisms on the same data, public maps of their outputs, and adaptive sessions.

Sources: Dwork and Roth 2014, proposition 2.1 (post-processing) and theorem 3.16 (composition); Rogers, Roth, Ullman and
Vadhan 2016, 'Privacy Odometers and Filters', section 3 (budgets that are spent adaptively).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from mechanisms.core.claims import NOTHING, ApproximateDP, Claim, together
from mechanisms.core.distances import Distances
from mechanisms.core.numbers import convert, positive
from mechanisms.core.records import Answer
from mechanisms.core.scores import Utilities
from mechanisms.core.snapped import Snapped
from mechanisms.core.term import Mechanism, OneByOne, Prepared, Relation, made_anew
from mechanisms.randomness import RandomBits


@dataclass(frozen=True)
class Both(Mechanism):
    """Several mechanisms on the same data, each with randomness of its own: their losses add up."""

    parts: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        relations = {part.relation for part in self.parts} - {None}
        if not self.parts or len(relations) > 1:
            raise ValueError(f"parts must be mechanisms with the same neighbours, not of {sorted(map(str, relations))}")
        if len(sensitivities := frozenset[Fraction]().union(*map(sensitivities_of, self.parts))) > 1:
            raise ValueError(
                f"parts must be about answers of one sensitivity, not of {sorted(map(str, sensitivities))}"
            )
        self.claim  # noqa: B018 # there is a rule

    @property
    def relation(self) -> Relation | None:
        """The relation of the parts."""
        return next((part.relation for part in self.parts if part.relation), None)

    @property
    def claim(self) -> Claim:
        """The composition of the parts' claims."""
        return together(*(part.claim for part in self.parts))

    def prepared(self, data: Any) -> InTurn:
        """Return an object that draws outputs for this data; see `Mechanism.prepared`."""
        return InTurn(tuple(part.prepared(data) for part in self.parts))


@dataclass(frozen=True)
class InTurn:
    """Prepared mechanisms whose outputs are released together, as a tuple."""

    parts: tuple[Prepared, ...]

    def one(self, bits: RandomBits) -> tuple[Any, ...]:
        """Draw one output of each part, as a tuple."""
        return tuple(part.one(bits) for part in self.parts)

    def many(self, trials: int, bits: RandomBits) -> tuple[Any, ...]:
        """Draw several outputs of each part: a tuple with what `many` of each part returns."""
        return tuple(part.many(trials, bits) for part in self.parts)


@dataclass(frozen=True)
class Mapped(Mechanism):
    """A public function of a mechanism's output: post-processing, which costs no privacy.

    The function gets the output and nothing else, and keeps no state. Its operations must work on numbers, and
    elementwise on arrays of numbers with the same results.

    Args:
        mechanism: the mechanism whose output is mapped.
        function: the map from an output to the released value.
    """

    mechanism: Mechanism
    function: Callable[[Any], Any]

    @property
    def relation(self) -> Relation | None:
        """The relation of the mechanism."""
        return self.mechanism.relation

    @property
    def claim(self) -> Claim:
        """The claim of the mechanism."""
        return self.mechanism.claim

    def prepared(self, data: Any) -> PreparedMap:
        """Return an object that draws outputs for this data; see `Mechanism.prepared`."""
        return PreparedMap(self.mechanism.prepared(data), self.function)


@dataclass(frozen=True)
class PreparedMap:
    """A prepared mechanism and a map of its outputs."""

    inner: Prepared
    function: Callable[[Any], Any]

    def one(self, bits: RandomBits) -> Any:
        """Draw one output."""
        output = self._mapped(self.inner.one(bits))
        return output.item() if isinstance(output, np.generic) else output

    def many(self, trials: int, bits: RandomBits) -> Any:
        """Draw several independent outputs."""
        released = self.inner.many(trials, bits)
        if isinstance(released, list):
            return [self._mapped(output) for output in released]
        if isinstance(released, tuple) and any(isinstance(part, list) for part in released):
            return [self._mapped(output) for output in zip(*released, strict=True)]
        return self._mapped(released)

    def _mapped(self, released: Any) -> Any:
        """Apply the map with numpy's floating-point errors and warnings off, whatever the caller has set."""
        with np.errstate(all="ignore"):
            return self.function(released)


@dataclass(frozen=True)
class Size(Mechanism):
    """The exact number of records. Neighbours replace a record, so it is the same for both and costs no privacy."""

    relation: ClassVar[Relation] = "substitute"

    @property
    def claim(self) -> Claim:
        """No privacy loss."""
        return NOTHING

    def prepared(self, data: Any) -> Public:
        """Return an object that always gives the number of records; see `Mechanism.prepared`."""
        return Public(len(data))


@dataclass(frozen=True)
class Public:
    """A value that is the same for all neighbours."""

    value: int

    def one(self, bits: RandomBits) -> int:  # noqa: ARG002
        """Return the value."""
        return self.value

    def many(self, trials: int, bits: RandomBits) -> int:  # noqa: ARG002
        """Return the value once, for all trials."""
        return self.value


@dataclass(frozen=True)
class Session(Mechanism):
    """Questions that may each depend on all earlier answers, within a budget of ε.

    A question is a mechanism of pure DP, made of this package's constructors and maps alone, so its claim follows from
    their rules. It is asked only if its ε and the ε of all earlier questions add up to at most the budget; that depends
    on released values alone. For two neighbours, the ratio of the probabilities of a transcript is the product of its
    answers' ratios. So it is at most e^budget.

    Args:
        ask: `ask(answers, left)` returns the next mechanism, given the tuple of answers so far and what is left of the
            budget; None ends the session. It must be a function of these alone.
        budget: the ε that all questions may cost together, above 0.
        neighbours: the relation of all questions.
    """

    ask: Callable[[Sequence[Any], Fraction], Mechanism | None]
    budget: Fraction
    neighbours: Relation

    def __post_init__(self) -> None:
        convert(self, positive, "budget")
        if self.neighbours in ("answers", "utilities"):
            raise ValueError(
                "a session is about records or a bit: how far answers move is not the same for all questions"
            )

    @property
    def relation(self) -> Relation:
        """The relation of all questions."""
        return self.neighbours

    @property
    def claim(self) -> Claim:
        """Pure DP with the budget as ε."""
        return ApproximateDP(self.budget)

    def prepared(self, data: Any) -> OneByOne:
        """Return an object that draws outputs: each is the tuple of all answers of a whole session on this data."""
        return OneByOne(lambda bits: self._transcript(data, bits))

    def _transcript(self, data: Any, bits: RandomBits) -> tuple[Any, ...]:
        """Ask until `ask` returns None, and return all answers."""
        answers: tuple[Any, ...] = ()
        left = self.budget
        while (asked := self.ask(answers, left)) is not None:
            question: Mechanism = made_anew(asked)
            cost = question.claim
            if question.relation not in (self.neighbours, None):
                raise ValueError(f"a question about neighbours by {question.relation!r} in a session about others")
            if not isinstance(cost, ApproximateDP) or not cost.within(ApproximateDP(left)):
                raise ValueError(f"a question promises {cost} and {left} of the budget is left; ask a cheaper one")
            left -= cost.epsilon
            answers = (*answers, question.release(data, bits))
        return answers


def sensitivities_of(term: Any) -> frozenset[Fraction]:
    """Return the different sensitivities that a term, or a tuple of terms, declares in its parts."""
    parts = term if isinstance(term, tuple) else ()
    if is_dataclass(term) and not isinstance(term, type):
        parts = tuple(getattr(term, field.name) for field in fields(term))
    own = frozenset([term.sensitivity]) if isinstance(term, Answer | Snapped | Utilities | Distances) else frozenset()
    return own.union(*map(sensitivities_of, parts))
