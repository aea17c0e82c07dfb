"""The pictures and the grading of lessons, in each language."""

from __future__ import annotations

import string
import warnings
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib import font_manager
from matplotlib.colors import to_hex

from attacklab.laws import Decision
from attacklab.model.findings import Verdict
from experiments.common import lessons
from experiments.common.lessons import EXACT, IDEAL, LANGUAGES, NAIVE, TEXTS, advantages, graded, speak, two_laws

needs_font = pytest.mark.skipif(
    not any(Path(path).name.startswith("NotoSansCJK") for path in font_manager.findSystemFonts()),
    reason="needs the font Noto Sans CJK (apt-get install fonts-noto-cjk)",
)


@pytest.fixture(autouse=True)
def english_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(lessons, "_spoken", dict(TEXTS["en"]))
    with mpl.rc_context({"backend": "agg"}), warnings.catch_warnings():
        yield
        plt.close("all")


def colours() -> list[str]:
    return [to_hex(bar.get_facecolor()) for bar in plt.gca().patches]


def test_every_language_has_the_same_texts_with_the_same_places() -> None:
    places = [
        {key: [part[1] for part in string.Formatter().parse(text) if part[1]] for key, text in TEXTS[language].items()}
        for language in LANGUAGES
    ]

    assert LANGUAGES == ("en", "zh")
    assert places[0] == places[1]
    assert all(text.strip() for texts in TEXTS.values() for text in texts.values())
    assert {*Verdict, *(decision.value for decision in Decision)} <= set(TEXTS["en"])


def test_the_first_word_of_a_name_decides_the_colour_in_every_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plt, "show", lambda: None)

    advantages({"naive: no noise": 0.5, "exact twin": 0.2, "ideal mechanism": 0.1}, 0.4)
    assert colours() == [NAIVE, EXACT, IDEAL]
    advantages({"朴素：没有噪声": 0.5, "精确实现": 0.2, "理想机制": 0.1}, 0.4)
    assert colours() == [NAIVE, EXACT, IDEAL]


@needs_font
def test_pictures_and_grading_speak_chinese_with_every_character_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plt, "show", lambda: None)
    speak("zh")

    advantages({"朴素：数据集 $D'$ 上，规模为 2.5 的噪声（δ = ½）": 0.5}, 0.4)
    plt.gcf().canvas.draw()
    assert plt.gca().get_xlabel() == "区分优势"
    assert "上限 0.4" in [text.get_text() for text in plt.gca().texts]
    axes = two_laws([0.5, 0.5], [0.25, 0.75], ["结果 0", "结果 1"])
    plt.gcf().canvas.draw()
    assert axes.get_ylabel() == "概率"
    assert not graded([])
    assert capsys.readouterr().out == "尚未解决\n"


@needs_font
def test_a_character_that_the_font_lacks_is_an_error() -> None:
    speak("zh")
    plt.figure().text(0.5, 0.5, "\U0001f9ea\ue123")

    with pytest.raises(UserWarning, match=r"Glyph .* missing"):
        plt.gcf().canvas.draw()


def test_a_machine_without_chinese_fonts_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["DejaVu Sans"])

    with pytest.raises(RuntimeError, match="apt-get install fonts-noto-cjk"):
        speak("zh")


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="'fr'; choose one of en, zh"):
        speak("fr")
