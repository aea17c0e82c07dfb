"""The demonstration: attacks beat the ceiling on naive mechanisms and not on exact twins, in both languages."""

from __future__ import annotations

import os
import re
import select
import string
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

from experiments.demo import LANGUAGES, SHOWS, play
from experiments.demo.shows import answered, best_bet
from experiments.demo.stage import DIGITS, TEXTS, TRIALS, advantage, broken, described, large

ROOT = Path(__file__).parents[2]
MAIN = [sys.executable, "-m", "attacklab", "demo"]


def told(*names: str, language: str = "en", seed: int = 0) -> list[str]:
    lines: list[str] = []
    play(names, language=language, seed=seed, say=lines.append)
    return lines


@pytest.mark.parametrize("name", SHOWS)
def test_the_claim_falls_on_the_naive_mechanism_and_stands_on_the_exact_one(name: str) -> None:
    """Seeded. With a fair seed the exact twin stays below the line for 'broken' but once in 3 million."""
    lines = told(name)
    broken, kept = lines.index(TEXTS["en"]["broken"]), lines.index(TEXTS["en"]["kept"])
    assert broken < kept
    assert lines[broken + 1] == TEXTS["en"][name]
    assert f"attacklab explain {SHOWS[name].attack.name}" in lines[-1]


@pytest.mark.parametrize("name", SHOWS)
def test_the_score_is_counted(name: str) -> None:
    show, rng = SHOWS[name], np.random.default_rng(1)
    target = show.naive(show.epsilon)
    bet = best_bet(show.attack, target, rng)
    answers = answered(bet, target, TRIALS, rng)
    assert advantage(answers, TRIALS) == 2 * np.mean(answers.said_first == answers.from_first) - 1 > bet.ceiling
    assert 0.4 < answers.from_first.mean() < 0.6
    assert len(answers.values) == TRIALS


@pytest.mark.parametrize("name", SHOWS)
def test_both_halves_number_the_databases_alike(name: str) -> None:
    pairs = [re.findall(r"Database 1 is (.*); database 2 is (.*)\.", line) for line in told(name)]
    naive, exact = [found for (found,) in filter(None, pairs)]
    assert exact != naive[::-1]


@pytest.mark.parametrize(
    ("name", "speaks_for", "own"),
    [("low_bits", r"reachable from (\S+) and not", "{:g}"), ("local_sensitivity", r"n seems to be (\d+)", "[0]")],
)
def test_the_database_that_is_said_is_the_one_that_the_event_speaks_for(name: str, speaks_for: str, own: str) -> None:
    bets = 0
    databases: tuple[str, ...] = ()
    for line in told(name):
        databases = next(iter(re.findall(r"Database 1 is (.*); database 2 is (.*)\.", line)), databases)
        for number in re.findall(r"The attack says 'database (\d)'", line):
            (value,) = re.findall(speaks_for, line)
            assert databases[int(number) - 1] == own.format(float(value))
            bets += 1
    assert bets == 2


def test_a_row_says_the_number_of_the_database_that_its_answer_came_from() -> None:
    """An answer of a naive sum above 2048 can come from the larger database only."""
    show, rng = SHOWS["sums"], np.random.default_rng(1)
    target = show.naive(show.epsilon)
    bet = best_bet(show.attack, target, rng)
    smaller, larger = bet.databases
    assert np.sum(smaller) < np.sum(larger)
    answers = answered(bet, target, 100, rng)
    mean = {
        number: np.mean(answers.values[[bet.number(bool(first)) == number for first in answers.from_first]])
        for number in (1, 2)
    }
    assert mean[1] < mean[2]


def test_each_row_has_every_bit_of_the_answer_and_the_rows_give_the_score() -> None:
    lines = told("low_bits")
    rows = [line for line in lines if "→" in line][:20]
    assert all(re.search(r"-?0x1\.[0-9a-f]{13}p[+-]\d+", row) for row in rows)
    right = sum(row.endswith("right") for row in rows)
    assert f"{right} of 20 right" in "\n".join(lines)


def test_the_same_seed_tells_the_same_and_another_one_another() -> None:
    assert told("zero_rounding") == told("zero_rounding")
    assert told("zero_rounding") != told("zero_rounding", seed=1)
    assert told("sums", "zero_rounding")[-3:] == told("zero_rounding")[-3:]


def test_both_languages_say_the_same_things() -> None:
    places = {
        language: {key: sorted(part[1] or "" for part in string.Formatter().parse(text)) for key, text in texts.items()}
        for language, texts in TEXTS.items()
    }
    assert places["en"] == places["zh"]
    assert set(TEXTS["en"]) >= set(SHOWS)
    chinese = "\n".join(told("zero_rounding", language="zh"))
    assert TEXTS["zh"]["broken"] in chinese
    assert not set(told("zero_rounding")) & set(chinese.splitlines()) - {""}
    assert LANGUAGES == ("en", "zh")


@pytest.mark.parametrize("name", SHOWS)
def test_events_are_told_in_chinese_too(name: str) -> None:
    """Each rule that is said, but for the name of a sampler."""
    before, between, after = re.split(r"\{.*?\}", TEXTS["zh"]["bet"])
    rules = [line for line in told(name, language="zh") if line.startswith(before) and line.endswith(after)]
    assert len(rules) == 2
    for rule in rules:
        event = rule.removeprefix(before).partition(between)[0]
        assert re.search(r"[\u4e00-\u9fff]", event), event
        assert not re.search(r"[A-Za-z]{3}", event.partition("采样器")[0]), event


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", SHOWS)
def test_on_a_narrow_terminal_nothing_is_cut(name: str, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is wider than 80 columns, and what one key shows fits on 24 lines; prose is all there."""
    monkeypatch.setenv("COLUMNS", "80")
    lines: list[str] = []
    play([name], language=language, say=lines.append, wait=lambda: True)
    assert max(map(cell_len, lines)) <= 80
    shown = "\n".join(lines).split(TEXTS[language]["key"])
    assert max(text.count("\n") for text in shown) < 24
    for told_plainly in told(name, language=language):
        assert "".join(told_plainly.split()) in "".join("".join(lines).split())


def test_prose_is_broken_between_words_and_before_no_closing_mark() -> None:
    assert broken("one two three", 8) == ["one two", "three"]
    assert broken("先看朴素实现，再看精确实现。", 12) == ["先看朴素实", "现，再看精确", "实现。"]
    assert broken("指数机制 naive_exponential。", 18) == ["指数机制", "naive_exponential。"]
    assert broken("", 8) == [""]


def test_digits_are_five_lines_of_one_width() -> None:
    assert set(DIGITS) >= set("0123456789/")
    assert all(len(rows) == 5 and len({len(row) for row in rows}) == 1 for rows in DIGITS.values())
    assert len(large("17/20")) == 5


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (1.0, "1"),
        ([0.0], "[0]"),
        (np.r_[np.ones(9), 2.0], "9 × 1, 1 × 2"),
        (np.r_[np.ones(9), 1 + 2.0**-40], "9 × 0x1"),
    ],
)
def test_inputs_are_shown_in_a_line_that_tells_them_apart(given: object, text: str) -> None:
    assert described(given).startswith(text)


# The command


@pytest.mark.ci
def test_without_a_terminal_it_prints_plain_lines_and_waits_for_nothing() -> None:
    done = subprocess.run(  # noqa: S603 - our own
        [*MAIN, "zero_rounding"], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60
    )
    assert done.stdout.decode().splitlines() == told("zero_rounding")
    assert b"\x1b" not in done.stdout


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["zero_roundin"], "did you mean 'zero_rounding'?"),
        (["zero_rounding", "--language", "fr"], "there is no language 'fr'"),
    ],
)
def test_what_is_not_there_is_told_in_a_line(arguments: list[str], message: str) -> None:
    done = subprocess.run([*MAIN, *arguments], cwd=ROOT, capture_output=True, check=False, timeout=60)  # noqa: S603 - ours
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()


def test_it_is_shown_where_a_lab_is(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603 - our own
        MAIN, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert b"run it from a checkout of the lab" in done.stderr


@pytest.mark.few(1)
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals there")
@pytest.mark.parametrize(("keys", "is_heard"), [("       " * 2, True), ("  q", False)])
def test_on_a_terminal_a_key_paces_it_and_digits_are_large(keys: str, is_heard: bool) -> None:
    ours, theirs = os.openpty()
    with subprocess.Popen(  # noqa: S603 - our own
        [*MAIN, "zero_rounding"], cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        seen, left, asked = "", list(keys), 0
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if not select.select([ours], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(ours, 4096)
            except OSError:  # Linux says so when the other end is closed
                break
            seen += data.decode()
            if seen.count(TEXTS["en"]["key"]) > asked and left:
                asked += 1
                os.write(ours, left.pop(0).encode())
        else:
            process.kill()
        os.close(ours)
    assert process.returncode == 0
    assert "█" in seen
    assert (TEXTS["en"]["kept"] in seen) == is_heard
