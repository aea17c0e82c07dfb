"""How a demonstration is told: large where there is a terminal, paced by a key; in plain lines where there is none."""

from __future__ import annotations

import os
import re
import select
import shutil
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib import resources
from typing import Any

import numpy as np
from rich.cells import cell_len

from attacklab.auditing.referee import DEFAULT_ALPHA as ALPHA
from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.model.findings import Estimate
from attacklab.model.targets import Target
from experiments.demo.shows import SHOWS, Answers, Bet, Show, answered, best_bet


def _read(name: str) -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(resources.files(__package__ or "experiments.demo").joinpath(name).read_text(encoding="utf-8"))


TEXTS = _read("texts.toml")
EVENTS = _read("events.toml")
LANGUAGES = tuple(TEXTS)

STEPS = (1, 1, 1, 3, 14)
"""How many answers each key shows; what is left of `TRIALS` is only counted."""
TRIALS = 1_000
FEWEST = 20
"""Before so many answers no advantage is told: it would be chance."""
PIECES = re.compile(r"(?:[“（]*[⺀-￯]|[^\s⺀-￯]+)[，。：；！？、”）]*\s*")
"""Where a line of prose may be broken: after a word, and after a Chinese character, but before no closing mark."""
ESCAPE = b"\x1b"
KEYS = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[^\[O])"
    rb"|[\x00-\x1a\x1c-\xbf\xf8-\xff]|[\xc0-\xdf].|[\xe0-\xef]..|[\xf0-\xf7]...",
    re.DOTALL,
)
"""What one press of a key sends: page down, which clickers press, is four bytes."""
ESCAPE_SECONDS = 0.1
"""Within which the rest of an escape sequence follows."""
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
            if self._goes_on():
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
        self._tell("broken" if advantage(answers, TRIALS).lower > bet.ceiling else "kept")
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
        if shown < FEWEST:
            self._tell("few", right=right, shown=shown)
            return
        seen = advantage(answers, shown)
        self._tell("score", right=right, shown=shown, **asdict(seen), confidence=1 - ALPHA, ceiling=bet.ceiling)

    def _tell(self, key: str, **places: Any) -> None:
        text = self._texts[key].format(**places)
        lines = [text] if self._wait is None or key == "row" else broken(text, shutil.get_terminal_size().columns)
        for line in lines:
            self._say(line)


def advantage(answers: Answers, shown: int) -> Estimate:
    """How much better than a coin the first so many were named, 1 if all were and 0 if half, with exact bounds."""
    right = int(answers.right[:shown].sum())
    return Estimate(*(2 * float(share) - 1 for share in (right / shown, *clopper_pearson(right, shown, ALPHA))))


def event_in(language: str, description: str) -> str:
    """An event in another language than the attack's own; as the attack has it where nothing is known of it."""
    for pattern, words in EVENTS.get(language, {}).items():
        if match := re.fullmatch(pattern, description):
            return match.expand(words)
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
    return ["  ".join(DIGITS[digit][line] for digit in text) for line in range(5)]


def read_key() -> bool:
    """Wait for a key on the terminal; returns False for q, Ctrl-C and the end of input."""
    if sys.platform == "win32":
        import msvcrt

        key = msvcrt.getwch()
        if key in "\x00\xe0":  # the second half of a function key
            msvcrt.getwch()
        return key not in "qQ\x03"
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)  # not TCSAFLUSH, which would drop a key that came early
        return _key(descriptor) not in (b"q", b"Q", b"")
    except KeyboardInterrupt:
        return False
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _key(descriptor: int) -> bytes:
    """All bytes that one key sends, and none of the next key's: a character in UTF-8, or an escape sequence."""
    key = os.read(descriptor, 1)
    while key and not KEYS.fullmatch(key):
        if key.startswith(ESCAPE) and not select.select([descriptor], [], [], ESCAPE_SECONDS)[0]:
            break  # the escape key by itself
        byte = os.read(descriptor, 1)
        if not byte:
            break
        key += byte
    return key


def _value(value: Any) -> str:
    """An answer with every bit of it, and as people read it; of several answers the first, and their mean size."""
    if np.ndim(value):
        return f"{float(value[0]):>12.6g}, …  mean |y| = {np.abs(value.astype(float)).mean():>8.6g}"
    if isinstance(value, float | np.floating):
        return f"{float(value).hex():>24}  {float(value):>12.6g}"
    return f"{value!s:>6}"


def described(input_: Any) -> str:
    """An input in one line: a long one by its values and how often it has them."""
    values = np.asarray(input_)
    if values.ndim == 0:
        return f"{values.item():g}"
    if values.size <= LISTED:
        return f"[{', '.join(f'{value:g}' for value in values.ravel().tolist())}]"
    counts = Counter(values.ravel().tolist())
    shown = {value: f"{value:g}" for value in counts}
    if len(set(shown.values())) < len(counts):
        shown = {value: float(value).hex() for value in counts}
    return ", ".join(f"{count:,} × {shown[value]}" for value, count in counts.most_common())
