"""Which bets on low bits are worth a fresh sample? Models are tried on a few outputs before any is judged.

Under a wrong model, either nothing can be reached from the answer that it came from, or the same share of both inputs'
outputs can be reached from one answer only. Neither can win. What is left is a handful of bets, chosen on outputs that
nothing is judged on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from attacklab.attacks.base import Event, Scenario
from attacklab.attacks.noisy_numbers import NoisyNumber, Side, View
from attacklab.attacks.released_formats import common_step
from attacklab.attacks.samplers import Assumed, Bools, Model
from attacklab.auditing.statistics.choosing import expected_evidence
from attacklab.model.claims import Claim, PrivacyClaim
from attacklab.model.findings import ON_LATTICE
from attacklab.model.floats import Doubles, Floats
from attacklab.model.targets import Outputs

GLANCED_AT = 128
"""How many rows a model is tried on at first: a bet that wins one time in 25 loses on all with probability 0.5 %."""

GUESSED_AT = 32  # how many rows tell whether a guess of the answer, the scale and the sampler can be right

COARSE = {1: 256.0, 2: 3.0}
"""The most half ulps by which rounding may move a number, for models of 1 and 2 answers. Beyond, all are reachable."""

ENOUGH = 0.01  # once a bet promises more evidence per trial, in nats, no further numbers are looked at
EXPECTED = 0.75  # a model is dropped if it reaches a smaller share of the outputs from their own answer
STANDARD_ERRORS = 3.0  # a bet is judged only if its hits exceed its false hits by this many standard errors

NEARLY = 0.95
"""A bet that promises less than this share of the best bet's evidence is left out, because chance might prefer it."""

LATTICE_TOLERANCE = 1e-3  # how far from a multiple of a step, in steps, a number may be rounded

MOST_NUMBERS = 10  # how many numbers are looked at
MOST_BETS = 3  # how many bets on a pair are judged
MOST_SCENARIOS = 2  # how many pairs are judged if their true answers were guessed


@dataclass(frozen=True, slots=True)
class Bet:
    """The bet that the model can produce a row from the backed side's answer, and not from the excluded side's."""

    view: View  # where the number is in outputs, and how it was rounded
    model: Model  # the sampler that is assumed
    backed: Side  # the answer and the noise that the bet is on
    excluded: Side  # the answer and the noise of the other input
    on_first: bool  # whether the bet is on the pair's first input

    def contains(self, outputs: Outputs) -> Bools:
        """Return a bool for each row of outputs: whether it wins the bet."""
        return self.wins(*self.view.look(outputs, self.model.answers))

    def wins(self, rows: Floats, widths: Doubles) -> Bools:
        """Return a bool for each row: whether it wins the bet. Rows and widths are as `View.look` returns them."""
        inside = reached(self.model, rows, widths, self.backed)
        rest = np.flatnonzero(inside)
        inside[rest] = ~reached(self.model, rows[rest], widths[rest], self.excluded)
        return inside

    @property
    def event(self) -> Event:
        """Return the bet as an event on outputs."""
        backed, excluded = self.backed.assumed.scale, self.excluded.assumed.scale
        other = f" at scale {excluded!r}" if self.excluded.answer == self.backed.answer else ""
        words = (
            f"reachable from {self.backed.answer!r} and not from {self.excluded.answer!r}{other} by "
            f"{self.model.description}, scale {backed!r}{self.view.description}"
        )
        return Event(words, self.contains, flaw=self.model.flaw)


Ranked: TypeAlias = tuple[float, NoisyNumber, Bet]  # (evidence expected per trial in nats, number, bet on it)


def reached(model: Model, rows: Floats, widths: Doubles, side: Side) -> Bools:
    """Return a bool for each row: whether the model can produce it from the side's answer."""
    return model.reachable(rows, widths, side.answer, side.assumed)


def scenarios(
    claim: Claim, numbers: Iterable[NoisyNumber], models_of: Callable[[View], Sequence[Model]]
) -> list[Scenario]:
    """Return the scenarios worth judging; if there are none but true answers are known, one scenario on them.

    If the noise lies on a lattice, and the lattice alone tells the answers apart nearly as well as any model does, the
    bets are on the lattice, because they need no assumption about how the noise was drawn.

    Args:
        claim: the claim of the target.
        numbers: the noisy numbers in the outputs of pairs.
        models_of: returns the sampler models to try on numbers seen through a view.
    """
    looked_at, ranked = _looked_at(claim, numbers, models_of)
    promising = [entry for entry in ranked if entry[0] > 0]
    best = promising[0][0] if promising else 0.0
    chosen = _on_lattices(claim.nominal, looked_at, best) or promising
    if chosen:
        return _grouped(chosen)
    with_answers = next((number for number in looked_at if number.answers_known), None)
    if with_answers is None:
        return []
    return _grouped([entry for entry in ranked if entry[1].answers_known][:1]) or [_blind(with_answers, models_of)]


def scenarios_on_lattices(claim: Claim, numbers: Iterable[NoisyNumber]) -> list[Scenario]:
    """Return scenarios with bets on the lattices that noise lies on, if they tell answers apart; see `scenarios`."""
    return _grouped(_on_lattices(claim.nominal, list(numbers), 0.0))


def _looked_at(
    claim: Claim, numbers: Iterable[NoisyNumber], models_of: Callable[[View], Sequence[Model]]
) -> tuple[list[NoisyNumber], list[Ranked]]:
    """Return the numbers that are looked at, and the bets on them, best first. `ENOUGH` evidence ends the search."""
    looked_at: list[NoisyNumber] = []
    ranked: list[Ranked] = []
    for number in itertools.islice(numbers, MOST_NUMBERS):
        if ranked and max(map(_worth, ranked)) > ENOUGH:
            break
        looked_at.append(number)
        ranked += _bets_on(claim, number, models_of(number.view))
    return looked_at, sorted(ranked, key=_worth, reverse=True)


def _bets_on(claim: Claim, number: NoisyNumber, models: Sequence[Model]) -> Iterator[Ranked]:
    """Yield the bets on a number by the models, of one or two answers, that can still win after its rounding."""
    coarseness = number.coarseness
    fine = [model for model in models if coarseness <= COARSE[model.answers]]
    for answers in sorted({model.answers for model in fine}):
        try:
            composed = claim.composed(answers).nominal
        except ValueError:  # nothing is claimed of so many answers
            continue
        yield from _ranked(composed, number, [model for model in fine if model.answers == answers], answers)


def _on_lattices(claim: PrivacyClaim, numbers: Sequence[NoisyNumber], best: float) -> list[Ranked]:
    """Return the bets on lattices whose evidence is at least `NEARLY` times `best`, the best first."""
    plain = [entry for number in numbers for entry in _ranked(claim, number, list(_lattices(number)), 1)]
    return sorted((entry for entry in plain if 0 < entry[0] >= NEARLY * best), key=_worth, reverse=True)


def _blind(number: NoisyNumber, models_of: Callable[[View], Sequence[Model]]) -> Scenario:
    """Return a scenario with a bet on each answer by the first model, for when no bet did well on the outputs seen."""
    model, first, second = models_of(number.view)[0], number.first[0], number.second[0]
    bets = (
        Bet(number.view, model, first, second, on_first=True),
        Bet(number.view, model, second, first, on_first=False),
    )
    return Scenario(number.pair, tuple(bet.event for bet in bets))


def _ranked(claim: PrivacyClaim, number: NoisyNumber, models: Sequence[Model], answers: int) -> list[Ranked]:
    """Return the bets of these models that won on the outputs seen, each with its expected evidence per trial."""
    return [(float(expected_evidence([claim], *rates)), number, bet) for rates, bet in _bets(number, models, answers)]


def _worth(ranked: Ranked) -> float:
    return ranked[0]


def _grouped(ranked: Sequence[Ranked]) -> list[Scenario]:
    """Return at most `MOST_SCENARIOS` scenarios, one for each pair and number of answers, the backed input first."""
    groups: dict[tuple[int, int], list[tuple[NoisyNumber, Bet]]] = {}
    best: dict[tuple[int, int], float] = {}
    for worth, number, bet in ranked:
        key = (id(number.pair), bet.model.answers)
        if worth >= NEARLY * best.setdefault(key, worth):
            groups.setdefault(key, []).append((number, bet))
    chosen = []
    for group in itertools.islice(groups.values(), MOST_SCENARIOS):
        number, bet = group[0]
        pair = number.pair if bet.on_first else number.pair.swapped()
        events = [candidate.event for _, candidate in group if candidate.on_first == bet.on_first]
        chosen.append(Scenario(pair, tuple(events[:MOST_BETS]), bet.model.answers))
    return chosen


def _lattices(number: NoisyNumber) -> Iterator[Model]:
    """Yield a model of the lattice that the noise lies on, if the outputs show one around a guessed true answer."""
    for sides, outputs in zip((number.first, number.second), number.probed, strict=True):
        rows = number.view.look(outputs)[0].astype(np.float64)
        for answer in dict.fromkeys(side.answer for side in sides):
            step = common_step(rows - answer)
            if step is not None:
                yield Model(f"noise on the multiples of {step!r}", partial(_on_lattice, step=step), flaw=ON_LATTICE)
                return


def _on_lattice(outputs: Floats, half_widths: Doubles, answer: float, assumed: Assumed, *, step: float) -> Bools:  # noqa: ARG001
    """Return which outputs lie a whole number of steps from an answer, up to rounding."""
    noise = outputs.astype(np.float64) - answer
    return np.asarray(np.abs(noise - np.rint(noise / step) * step) <= half_widths + LATTICE_TOLERANCE * step)


def _bets(number: NoisyNumber, models: Sequence[Model], answers: int) -> list[tuple[tuple[float, float], Bet]]:
    """Return ((backed rate, excluded rate), bet) for each bet that won clearly more often on its backed side."""
    samples = [_rows(number.view, outputs, answers) for outputs in number.probed]
    glances = [(rows[:GLANCED_AT], widths[:GLANCED_AT]) for rows, widths in samples]
    won = []
    for model in models:
        likely = [
            _likely(model, sides, seen[:GUESSED_AT], widths[:GUESSED_AT])
            for sides, (seen, widths) in zip((number.first, number.second), glances, strict=True)
        ]
        for pair in itertools.product(*likely):
            # Which side's bet it is, and the outputs in the order of its own and the other's.
            for side, (backed, excluded) in enumerate((pair, pair[::-1])):
                bet = Bet(number.view, model, backed, excluded, on_first=side == 0)
                if not _hits(bet, glances[side]):
                    continue
                rows = len(samples[side][0])
                hits, false_hits = (_hits(bet, samples[place]) for place in (side, 1 - side))
                if hits - false_hits > STANDARD_ERRORS * math.sqrt(hits + false_hits + 1):
                    won.append(((hits / rows, false_hits / rows), bet))
    return won


def _likely(model: Model, sides: Sequence[Side], rows: Floats, widths: Doubles) -> list[Side]:
    """Return at most two of an input's guesses: those from which the model reaches most rows; none if these are few."""
    shares = [(float(reached(model, rows, widths, side).mean()), side) for side in sides]
    most = max(share for share, _ in shares)
    return [side for share, side in shares if share >= max(most, EXPECTED)][:2]


def _hits(bet: Bet, sample: tuple[Floats, Doubles]) -> int:
    return int(bet.wins(*sample).sum())


def _rows(view: View, outputs: Outputs, answers: int) -> tuple[Floats, Doubles]:
    if answers == 1:
        return view.look(outputs)
    whole = len(outputs) // answers
    return view.look(outputs[: whole * answers].reshape(whole, answers, *outputs.shape[1:]), answers)
