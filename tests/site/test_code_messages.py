"""What code cells say is found and translated, and the translated cells are the same programs."""

from __future__ import annotations

import importlib
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from tests.site.lessons import FOLDER, LESSONS

LOCALE = FOLDER.parent / "locale" / "zh_CN" / "LC_MESSAGES" / "docs"


@pytest.fixture
def code_messages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER.parent / "_extensions"))
    return importlib.import_module("code_messages")


def page(*cells: str, options: str = "") -> str:
    fenced = [f"```{{code-cell}} ipython3\n{options}{textwrap.dedent(cell).strip()}\n```\n" for cell in cells]
    return "# A lesson\n\n" + "\nProse, with `print('no cell')`.\n\n".join(fenced)


def test_comments_docstrings_printed_words_labels_and_strings_with_spaces_are_messages(
    code_messages: ModuleType,
) -> None:
    found = code_messages.messages(
        page(
            '''
            def law(n):
                """The law of a coin."""
                return n  # one toss
            ''',
            """
            bars = {"naive: no noise": 1, "key": 2}
            print("SOLVED" if bars["key"] == "key" else "OPEN", f"about {bars['key']:.2f} people ")
            axes.set(xlabel="prior", ylabel='lead', xscale="log")
            axes.legend(loc="upper left", title="laws")
            axes.set_title("posterior")
            """,
        )
    )

    assert found == [
        *("one toss", "The law of a coin."),
        *("naive: no noise", "SOLVED", "OPEN", "about {bars['key']:.2f} people"),
        *("prior", "lead", "laws", "posterior"),
    ]


def test_what_is_said_of_a_picture_is_a_message_that_stays_in_the_cell(code_messages: ModuleType) -> None:
    source = page("plot(bars)", options="---\nmystnb:\n  image:\n    alt: One bar, above the ceiling.\n---\n")

    assert code_messages.messages(source) == ["One bar, above the ceiling."]
    assert code_messages.translated(source, {"One bar, above the ceiling.": "一个条形，高于上限。"}) == source


def test_what_is_hidden_or_has_no_word_is_not_a_message(code_messages: ModuleType) -> None:
    silent = 'x = 1  # 0.50, 1.00, …, 5.00\nprint("$D$", f"{len(names)} / {x:.1f}", "↑ 1")'

    assert code_messages.messages(page(silent)) == []
    assert code_messages.messages(page('print("no reader sees it")', options=":tags: [remove-cell]\n\n")) == []


def test_equal_strings_are_replaced_together_so_that_keys_still_fit(code_messages: ModuleType) -> None:
    shown = page('bars = {"naive: no noise": 0.5}\nprint("bound")')
    hidden = page(
        'assert bars["naive: no noise"] == 0.5  # bound\nbound = "bounds"', options=":tags: [remove-cell]\n\n"
    )

    result = code_messages.translated(shown + hidden, {"naive: no noise": "朴素：没有噪声", "bound": "上界"})

    assert result.count('"朴素：没有噪声"') == 2
    assert 'print("上界")' in result
    assert '# 上界\nbound = "bounds"' in result
    space: dict[str, object] = {}
    for cell in code_messages.CELL.finditer(result):
        exec(cell["source"], space)  # noqa: S102 - the cells above


def test_prose_options_and_the_places_of_an_f_string_stay(code_messages: ModuleType) -> None:
    source = page("""print(f"{2 + 1} of {'all the people'!r:>20}")""", options=":tags: [challenge]\n\n")

    result = code_messages.translated(
        source, {"{2 + 1} of {'all the people'!r:>20}": "{'all the people'!r:>20} 中的 {2 + 1} 个", "A lesson": "一课"}
    )

    assert result == source.replace("{2 + 1} of {'all the people'!r:>20}", "{'all the people'!r:>20} 中的 {2 + 1} 个")


@pytest.mark.parametrize(
    "translation",
    [
        "{k} 个人",
        "{k} 个人 {n:.2f}",
        "{k} 个人 {n:.1f} {k}",
        '{k} 个"人" {n:.1f}',
        "{k} 个人\n{n:.1f}",
        "{k} 个人 {n:.1f",
    ],
    ids=["place missing", "other format", "place too many", "quotes", "new line", "open brace"],
)
def test_a_translation_that_changes_the_program_is_refused(code_messages: ModuleType, translation: str) -> None:
    with pytest.raises(ValueError, match="changes the program"):
        code_messages.translated(page('print(f"{k} people {n:.1f}")'), {"{k} people {n:.1f}": translation})


def test_a_comment_cannot_become_code(code_messages: ModuleType) -> None:
    with pytest.raises(ValueError, match="changes the program"):
        code_messages.translated(page("x = 1  # change this"), {"change this": "改\nx = 2"})


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name[:2])
def test_the_cells_of_every_lesson_are_whole_in_chinese_and_the_same_programs(
    code_messages: ModuleType, lesson: Path
) -> None:
    pofile = pytest.importorskip("babel.messages.pofile", reason="needs the packages that `make docs` installs")
    with (LOCALE / "lessons" / f"{lesson.stem}.po").open("rb") as file:
        catalog = {entry.id: entry.string for entry in pofile.read_po(file)}
    text = lesson.read_text("utf-8")
    messages = code_messages.messages(text)

    assert len(messages) > 5
    translated = code_messages.translated(text, {message: catalog[message] for message in messages})
    cells = "".join(cell["source"] for cell in code_messages.CELL.finditer(translated))
    assert not [message for message in messages if " " in message and f'"{message}"' in cells]
