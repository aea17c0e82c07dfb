"""The demonstration: attacks beat the ceiling on naive mechanisms and not on exact twins, in both languages."""

import re

import pytest

from experiments.demo import SHOWS, TEXTS, play

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("name", SHOWS)
def test_the_claim_falls_on_the_naive_mechanism_and_stands_on_the_exact_one(name: str, language: str) -> None:
    """Seeded. With a fair seed the exact twin is called broken at most once in 2 million demonstrations."""
    said: list[str] = []
    play([name], language=language, say=said.append)
    lines, texts = "\n".join(said).splitlines(), TEXTS[language]
    broken, kept = lines.index(texts["broken"]), lines.index(texts["kept"])
    assert broken < kept
    assert lines[broken + 1] == texts[name]
    assert f"attacklab list {SHOWS[name].attack.name}" in " ".join(lines)
    right = [line.endswith(texts["right"]) for line in lines if "→" in line]
    scores = [re.findall(r"\d+", line)[:2] for line in lines if re.match(r"\d+ (of|次中猜)", line)]
    wanted = [str(sum(right[:20])), "20"]
    assert (wanted if language == "en" else wanted[::-1]) in scores
    if language == "zh":
        before, between, _ = re.split(r"\{.*?\}", texts["bet"])
        for line in (line for line in lines if line.startswith(before)):
            event = line.removeprefix(before).partition(between)[0].partition("采样器")[0]
            assert not re.search(r"[A-Za-z]{3}", event)


def test_both_languages_say_the_same_things() -> None:
    first, second = ({key: sorted(re.findall("{.*?[:}]", text)) for key, text in of.items()} for of in TEXTS.values())
    assert first == second


def test_it_stops_where_a_key_says_so() -> None:
    lines: list[str] = []
    play(["low_bits", "sums"], say=lines.append, wait=lambda: TEXTS["en"]["broken"] not in " ".join(lines))
    assert "twin" not in " ".join(lines)
    assert "attacklab list low_bit_laplace" in lines[-1]
