"""`attacklab demo`: an attack for the lecture hall, first on a naive mechanism, then on its exact twin."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks import SUM_SENSITIVITY, LocalSensitivity, LowBitLaplace, TruncatedAddition, ZeroRounding
from attacklab.attacks.base import Attack, Event, Scenario
from attacklab.auditing.referee import DEFAULT_ALPHA as ALPHA
from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.model.floats import BFLOAT16
from attacklab.model.targets import Outputs, Target
from experiments import targets

LOOKS = 1_000  # outputs of either input choose the bet; the ones that are shown are drawn afterwards
STEPS = (1, 1, 1, 3, 14)  # so many answers each key shows; what is left of `TRIALS` is only counted
TRIALS = 1_000
FEWEST = 20  # of fewer answers no advantage is told: it would be chance

TEXTS, EVENTS = (
    tomllib.loads(resources.files("experiments.demo").joinpath(name).read_text("utf-8"))
    for name in ("texts.toml", "events.toml")
)


class Show(NamedTuple):
    """An attack, the makers of a target with the flaw and of one without, and the ε that both claim."""

    attack: Attack
    naive: Callable[[float], Target]
    exact: Callable[[float], Target]
    epsilon: float


_LOCAL = LocalSensitivity(sizes=(1,), answers=(64,))
_SELECTION = targets.exact_exponential
SHOWS = {
    "low_bits": Show(LowBitLaplace(), targets.naive_laplace_numpy, targets.exact_rounded_laplace, 0.1),
    "zero_rounding": Show(ZeroRounding(), targets.naive_exponential, _SELECTION, 0.5),
    "truncated_addition": Show(
        TruncatedAddition(formats=(BFLOAT16,)), targets.naive_exponential_bfloat16, _SELECTION, 0.5
    ),
    "local_sensitivity": Show(_LOCAL, targets.naive_local_sensitivity_mean, targets.exact_sum_over_count, 0.01),
    "sums": Show(SUM_SENSITIVITY, targets.naive_bounded_sum_numpy, targets.exact_bounded_sum, 0.5),
}


def play(names: Sequence[str], *, language: str = "en", seed: int = 0, say: Any = print, wait: Any = None) -> None:
    """Show attacks by their names in `SHOWS`; `wait` waits for a key and returns whether to go on."""
    texts = TEXTS[language]

    def goes_on(text: str) -> bool:
        say(text)
        return wait is None or bool(say(texts["key"]) or wait())

    for name in names:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(list(SHOWS).index(name),)))
        show = SHOWS[name]
        naive, exact = show.naive(show.epsilon), show.exact(show.epsilon)
        say(texts["title"].format(name=name) + "\n" + texts["naive"].format(target=naive.name))
        is_heard = all(map(goes_on, _half(show, naive, language, rng)))
        if is_heard:
            say(texts[name] + "\n\n" + texts["exact"].format(target=exact.name))
            is_heard = all(map(goes_on, _half(show, exact, language, rng)))
        say(texts["read"].format(attack=show.attack.name) + "\n")
        if not is_heard:
            return


def _half(show: Show, target: Target, language: str, rng: np.random.Generator) -> Iterator[str]:
    """Yield the texts about one target, one for each key that is pressed."""
    texts = TEXTS[language]
    scenario, event, ceiling = best_bet(show.attack, target, rng)
    first, second = _drawn(target, scenario, TRIALS, rng)
    from_first = rng.random(TRIALS) < 0.5  # a coin for each answer
    values = np.where(from_first.reshape(-1, *[1] * (first.ndim - 1)), first, second)
    said_first = event.contains(values)
    right, seen, shown = said_first == from_first, event.description, 0
    for pattern, words in EVENTS.get(language, {}).items():
        seen = re.sub(f"^{pattern}$", words, seen)
    claimed = texts["claim"].format(epsilon=show.epsilon, answers=scenario.answers, ceiling=ceiling)
    pair = texts["pair"].format(first=_described(scenario.pair.first), second=_described(scenario.pair.second))
    yield "\n".join([claimed, pair, texts["bet"].format(number=1, event=seen)])
    for step in STEPS:
        lines = []
        for place in range(shown, shown + step):
            said, was = (1 if is_first[place] else 2 for is_first in (said_first, from_first))
            mark = texts["right" if right[place] else "wrong"]
            lines.append(texts["row"].format(value=_value(values[place]), said=said, was=was, mark=mark))
        shown += step
        yield "\n".join([*lines, _score(texts, right[:shown], ceiling)[0]])
    told, lower = _score(texts, right, ceiling)
    yield f"{told}\n{texts['broken' if lower > ceiling else 'kept']}"


def _score(texts: dict[str, str], right: NDArray[np.bool_], ceiling: float) -> tuple[str, float]:
    """Return a text about the score, 2·(share of right guesses) − 1, and the score's lower bound."""
    counts = {"right": int(right.sum()), "shown": len(right)}
    shares = (counts["right"] / len(right), *clopper_pearson(counts["right"], len(right), ALPHA))
    seen = dict(zip(("estimate", "lower", "upper"), (2 * float(share) - 1 for share in shares), strict=True))
    told = texts["few" if len(right) < FEWEST else "score"]
    return told.format(**counts, **seen, confidence=1 - ALPHA, ceiling=ceiling), seen["lower"]


def best_bet(attack: Attack, target: Target, rng: np.random.Generator) -> tuple[Scenario, Event, float]:
    """Return the scenario and the event whose advantage most exceeds the claim's ceiling, and the ceiling.

    The event is one of the attack's own. If each of these has all outputs or none, it is a threshold.
    """
    bets = []
    for scenario in attack.scenarios(target, lambda input_, trials: target.outputs(input_, trials, rng)):
        first, second = _drawn(target, scenario, LOOKS, rng)
        ceiling = target.claim.composed(scenario.answers).ceiling
        for is_own, events in ((True, scenario.events), (False, _thresholds(scenario, first, second))):
            for event in events:
                named, wrongly = float(event.contains(first).mean()), float(event.contains(second).mean())
                if 0 < named + wrongly < 2:
                    bets.append((is_own, named - wrongly - ceiling, scenario, event, ceiling))
    return max(bets, key=lambda bet: bet[:2])[2:]


def _thresholds(scenario: Scenario, first: Outputs, second: Outputs) -> Iterator[Event]:
    """Yield events that an answer, or the mean size of several, is above or not above a decile of those seen."""
    answer = "the answer" if scenario.answers == 1 else f"the mean |y| of {scenario.answers} answers"
    for decile in np.quantile(np.concatenate([_size(first), _size(second)]), np.linspace(0.1, 0.9, 9)):
        at = float(f"{decile:.4g}")
        yield Event(f"{answer} exceeds {at:g}", partial(_is_above, at=at, is_wanted=True))
        yield Event(f"{answer} does not exceed {at:g}", partial(_is_above, at=at, is_wanted=False))


def _is_above(outputs: Outputs, *, at: float, is_wanted: bool) -> NDArray[np.bool_]:
    return np.asarray((_size(outputs) > at) == is_wanted)


def _size(outputs: Outputs) -> NDArray[np.float64]:
    return np.asarray(np.abs(outputs).mean(axis=1) if outputs.ndim > 1 else outputs, dtype=np.float64)


def _drawn(target: Target, scenario: Scenario, trials: int, rng: np.random.Generator) -> list[Outputs]:
    """Return outputs of each input; if the adversary sees several answers at once, each row has that many."""
    inputs, count = (scenario.pair.first, scenario.pair.second), scenario.answers
    sides = (target.outputs(input_, trials * count, rng) for input_ in inputs)
    return [side if count == 1 else side.reshape(trials, count) for side in sides]


def _value(value: Any) -> str:
    """Return an answer as text, in hexadecimal and in decimal; for several answers, the first and their mean size."""
    if np.ndim(value):
        return f"{float(value[0]):>12.6g}, …  mean |y| = {np.abs(value.astype(float)).mean():>8.6g}"
    is_float = isinstance(value, float | np.floating)
    return f"{float(value).hex():>24}  {float(value):>12.6g}" if is_float else f"{value!s:>6}"


def _described(input_: Any) -> str:
    """Return an input in one line; a long one as its different values with their counts."""
    values = np.asarray(input_)
    if values.size <= 6:
        return str(values.tolist())
    return ", ".join(f"{count:,} × {value}" for value, count in Counter(values.ravel().tolist()).most_common())
