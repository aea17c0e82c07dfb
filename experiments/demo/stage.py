"""How a demonstration is told: large where there is a terminal, paced by a key; in plain lines where there is none."""

from __future__ import annotations

import math
import re
import shutil
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np
from rich.cells import cell_len

from attacklab.targets import Target
from experiments.demo.shows import SHOWS, Answers, Bet, Show, answered, best_bet


def _read(name: str) -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(resources.files(__package__ or "experiments.demo").joinpath(name).read_text(encoding="utf-8"))


TEXTS = _read("texts.toml")
EVENTS = _read("events.toml")
LANGUAGES = tuple(TEXTS)

STEPS = (1, 1, 1, 3, 14)
"""How many answers each key shows; what is left of `TRIALS` is only counted."""
TRIALS = 1_000
SURE = 5.0
"""A score so many standard deviations above what the claim allows is not chance: one in 3 million."""
PIECES = re.compile(r"(?:[“（]*[⺀-￯]|[^\s⺀-￯]+)[，。：；！？、”）]*\s*")
"""Where a line of prose may be broken: after a word, and after a Chinese character, but before no closing mark."""
LISTED = 6
"""A list of so many values is shown as it is."""

DIGITS = {
    "0": ("███", "█ █", "█ █", "█ █", "███"),
    "1": (" █ ", "██ ", " █ ", " █ ", "███"),
    "2": ("███", "  █", "███", "█  ", "███"),
    "3": ("███", "  █", "███", "  █", "███"),
    "4": ("█ █", "█ █", "███", "  █", "  █"),
    "5": ("███", "█  ", "███", "  █", "███"),
    "6": ("███", "█  ", "███", "█ █", "███"),
    "7": ("███", "  █", "  █", "  █", "  █"),
    "8": ("███", "█ █", "███", "█ █", "███"),
    "9": ("███", "█ █", "███", "  █", "███"),
    ".": (" ", " ", " ", " ", "█"),
    "-": ("   ", "   ", "███", "   ", "   "),
    " ": ("  ", "  ", "  ", "  ", "  "),
    "/": ("  █", "  █", " █ ", "█  ", "█  "),
}

Say = Callable[[str], None]


def play(
    names: Sequence[str],
    *,
    language: str = "en",
    seed: int = 0,
    say: Say = print,
    wait: Callable[[], bool] | None = None,
) -> None:
    """Show attacks, each first on a naive mechanism and then on its exact twin.

    Args:
        names: those of `SHOWS`.
        language: one of `LANGUAGES`.
        seed: what all randomness is derived from.
        say: prints a line.
        wait: waits for a key and returns whether to go on; None where there is no terminal, so that nothing waits,
            nothing is large and no line is broken.
    """
    for number, name in enumerate(names):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(list(SHOWS).index(name),)))
        if number:
            say("")
        if not _Telling(language, say, wait).show(name, SHOWS[name], rng):
            return


class _Telling:
    """One demonstration on its way."""

    def __init__(self, language: str, say: Say, wait: Callable[[], bool] | None) -> None:
        self._language = language
        self._texts = TEXTS[language]
        self._say = say
        self._wait = wait

    def show(self, name: str, show: Show, rng: np.random.Generator) -> bool:
        """Tell all of it; returns whether it was heard to the end."""
        naive, exact = show.naive(show.epsilon), show.exact(show.epsilon)
        self._tell("title", name=name)
        self._tell("naive", target=naive.name)
        on_exact = False
        if self._half(show, naive, rng):
            self._tell(name)
            self._say("")
            self._tell("exact", target=exact.name)
            on_exact = self._half(show, exact, rng)
            self._tell("read", attack=show.attack.name)
        return on_exact

    def _half(self, show: Show, target: Target, rng: np.random.Generator) -> bool:
        bet = best_bet(show.attack, target, rng)
        answers = answered(bet, target, TRIALS, rng)
        first, second = bet.databases
        self._tell("claim", epsilon=show.epsilon, answers=bet.scenario.answers, ceiling=bet.ceiling)
        self._tell("pair", first=described(first), second=described(second))
        event = event_in(self._language, bet.event.description)
        self._tell("bet", number=bet.number(True), event=event)
        shown = 0
        for step in STEPS:
            if not self._goes_on():
                return False
            for place in range(shown, shown + step):
                self._row(bet, answers, place)
            shown += step
            self._score(answers, shown, bet)
        if not self._goes_on():
            return False
        self._score(answers, TRIALS, bet)
        excess, chance = advantage(answers, TRIALS) - bet.ceiling, 1 / math.sqrt(TRIALS)
        if excess <= 0:
            self._tell("kept")
        elif excess > SURE * chance:
            self._tell("broken")
        else:
            self._tell("chance", deviations=excess / chance)
        return True

    def _goes_on(self) -> bool:
        if self._wait is None:
            return True
        self._tell("key")
        return self._wait()

    def _row(self, bet: Bet, answers: Answers, place: int) -> None:
        self._tell(
            "row",
            value=_value(answers.values[place]),
            said=bet.number(bool(answers.said_first[place])),
            was=bet.number(bool(answers.from_first[place])),
            mark=self._texts["right" if answers.right[place] else "wrong"],
        )

    def _score(self, answers: Answers, shown: int, bet: Bet) -> None:
        right = int(answers.right[:shown].sum())
        if self._wait is not None:
            for line in large(f"{right}/{shown}"):
                self._say(line)
        self._tell("score", right=right, shown=shown, advantage=advantage(answers, shown), ceiling=bet.ceiling)

    def _tell(self, key: str, **places: Any) -> None:
        told = self._texts[key].format(**places)
        lines = [told] if self._wait is None or key == "row" else broken(told, shutil.get_terminal_size().columns)
        for line in lines:
            self._say(line)


def advantage(answers: Answers, shown: int) -> float:
    """How much better than a coin the first so many were named: 1 if all were, 0 if half."""
    return 2 * float(answers.right[:shown].mean()) - 1


def event_in(language: str, description: str) -> str:
    """An event in another language than the attack's own; as the attack has it where nothing is known of it."""
    for pattern, words in EVENTS.get(language, {}).items():
        found = re.fullmatch(pattern, description)
        if found:
            return found.expand(words)
    return description


def broken(text: str, columns: int) -> list[str]:
    """Prose in lines that a terminal so wide can show."""
    lines = [""]
    for piece in PIECES.findall(text):
        if lines[-1] and cell_len(lines[-1] + piece.rstrip()) > columns:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def large(text: str) -> list[str]:
    """Digits five lines high."""
    return ["  ".join(DIGITS[one][line] for one in text) for line in range(5)]


def read_key() -> bool:
    """Wait for a key on the terminal; returns False for q, Ctrl-C and the end of input."""
    if sys.platform == "win32":
        import msvcrt

        return msvcrt.getwch() not in "qQ\x03"
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)  # not TCSAFLUSH, which would drop a key that came early
        return sys.stdin.read(1) not in ("q", "Q", "")
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _value(value: Any) -> str:
    """An answer with every bit of it, and as people read it; of several answers the first."""
    if np.ndim(value):
        return f"{_value(value[0])} …"
    if isinstance(value, float | np.floating):
        return f"{float(value).hex():>24}  {float(value):>12.6g}"
    return f"{value!s:>6}"


def described(given: Any) -> str:
    """An input in one line: a long one by its values and how often it has them."""
    values = np.asarray(given)
    if values.ndim == 0:
        return f"{values.item():g}"
    if values.size <= LISTED:
        return f"[{', '.join(f'{one:g}' for one in values.ravel().tolist())}]"
    counts = Counter(values.ravel().tolist())
    shown = {one: f"{one:g}" for one in counts}
    if len(set(shown.values())) < len(counts):
        shown = {one: float(one).hex() for one in counts}
    return ", ".join(f"{count:,} × {shown[one]}" for one, count in counts.most_common())
