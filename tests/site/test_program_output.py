"""Pages explain in their language what programs print; a build fails on a sentence that nobody explained."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from tests.site.test_translated import ROOT, built, translate

pytestmark = pytest.mark.filterwarnings("ignore")  # of Sphinx and docutils

CONF = """
extensions = ["myst_parser", "translated", "program_output"]
root_doc = "index"
exclude_patterns = ["_build"]
locale_dirs = ["locale"]
translated_pages = ["index"]
"""
PRINTED = "$ audit it all at once\nThe claim is refuted by\n  betting; odds of 9 to 1\n\n    what was typed in here\n"
CATALOGUE = {"The claim is refuted by {bet}": "声明已被 {bet} 推翻", "odds of {odds} to 1": "几率为 {odds} 比 1"}


@pytest.fixture(autouse=True)
def output(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    return importlib.import_module("program_output")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site of one page, which shows what a program prints."""
    (tmp_path / "conf.py").write_text(CONF, "utf-8")
    (tmp_path / "index.md").write_text(f"# A site\n\n```console\n{PRINTED.split('    ')[0]}```\n", "utf-8")
    translate(tmp_path, "index", {"A site": "一个网站"})
    return tmp_path


def catalogue(site: Path, sentences: dict[str, str], labels: dict[str, str] | None = None) -> None:
    """Write the catalogue of a site."""
    entries = "".join(f'\nmsgid "{sentence}"\nmsgstr "{meaning}"\n' for sentence, meaning in sentences.items())
    for label, meaning in (labels or {}).items():
        entries += f'\nmsgctxt "figure"\nmsgid "{label}"\nmsgstr "{meaning}"\n'
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
    (site / "locale" / "zh_CN" / "program_output.po").write_text(header + entries, "utf-8")


def lines(output: ModuleType, text: str, *sentences: str) -> list[str]:
    """What a text says where each pattern means itself, in brackets."""
    return list(output.read(text, [output.Pattern(sentence, f"<{sentence}>") for sentence in sentences]).lines)


def test_a_sentence_over_several_lines_is_read_whole_and_its_parts_share_a_line(output: ModuleType) -> None:
    patterns = [output.Pattern(*pair) for pair in CATALOGUE.items()]
    reading = output.read(PRINTED, patterns)

    assert reading.lines == ["声明已被 betting 推翻；几率为 9 比 1"]
    assert reading.used == set(patterns)
    assert reading.unknown == ["what was typed in here"]


def test_of_two_patterns_the_one_with_more_words_of_its_own_is_taken(output: ModuleType) -> None:
    found = lines(output, "proved with slack; 5 and 6 runs", "{runs} runs", "{first} and {second} runs", "proved")
    assert found == ["<proved>", "<5 and 6 runs>"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("δ ≤ 4.16e-19; so", "4.16e-19"),
        ("δ ≤ 0.928, so", "0.928"),
        ("δ ≤ 1 − 1e-06\nnext", "1"),
        ("δ ≤ ...\nnext", "..."),
        ("δ ≤ two\nlines", "two"),
    ],
)
def test_a_name_at_the_end_stands_for_a_whole_word(output: ModuleType, text: str, found: str) -> None:
    assert lines(output, text, "δ ≤ {delta}") == [f"<δ ≤ {found}>"]


def test_a_name_at_the_beginning_stays_on_its_line_and_no_line_is_repeated(output: ModuleType) -> None:
    assert lines(output, "proved\n    1-DP for all\n    1-DP for all", "{epsilon}-DP for all") == ["<1-DP for all>"]


def test_commands_and_quoted_code_are_no_sentences_and_prose_is(output: ModuleType) -> None:
    text = "$ audit it all at once\n所在的行：return [noise for day in counts]\nfalse in all of its parts"
    assert output.read(text, []).unknown == ["false in all of its parts"]


def test_a_translation_with_other_names_is_refused(output: ModuleType) -> None:
    with pytest.raises(ValueError, match="not the same names"):
        output.Pattern("at least {bound}", "至少 {other}")


def test_the_meaning_stands_under_what_is_printed_and_only_where_the_page_is_translated(site: Path) -> None:
    catalogue(site, CATALOGUE)

    assert built(site, "html") == (0, [])
    page = (site / "_build" / "html" / "index.html").read_text("utf-8")
    assert page.index("odds of 9") < page.index("译文") < page.index("声明已被 betting 推翻；几率为 9 比 1")
    assert built(site, "html", "en") == (0, [])
    assert "meaning" not in (site / "_build" / "html" / "index.html").read_text("utf-8")


def test_a_sentence_without_a_pattern_and_a_pattern_without_a_sentence_fail(site: Path) -> None:
    catalogue(site, {"odds of {odds} to 1": "几率为 {odds} 比 1", "Nothing was found.": "没有发现什么。"})

    status, warnings = built(site)
    assert status == 1
    assert sorted(warnings) == [
        "'Nothing was found.', in program_output.po, is on no page; remove it",
        "'The claim is refuted by' is printed, and no pattern of program_output.po fits it; add one",
    ]


def test_a_figure_of_a_report_has_labels_in_the_language_of_the_page_and_keeps_its_numbers(site: Path) -> None:
    drawn = site / "reports" / "figures" / "one.svg"
    drawn.parent.mkdir(parents=True)
    labels = ("how far", "k &lt; 200", "at most", "1")
    texts = "".join(f'<text x="1">{label}</text>' for label in labels)
    drawn.write_text(f'<svg xmlns="http://www.w3.org/2000/svg">{texts}</svg>', "utf-8")
    with (site / "index.md").open("a", encoding="utf-8") as page:
        page.write("\n![A picture](reports/figures/one.svg)\n")
    pictures = {"A picture": "图", "![A picture](reports/figures/one.svg)": "![图](reports/figures/one.svg)"}
    translate(site, "index", {"A site": "一个网站"} | pictures)
    catalogue(site, CATALOGUE, {"how far": "多远", "k < 200": "k < 200 时", "at least": "至少"})

    status, warnings = built(site, "html")
    shown = (site / "_build" / "html" / "_images" / "one.svg").read_text("utf-8")
    assert [found.partition("<")[0] for found in shown.split('<text x="1">')[1:]] == [
        "多远",
        "k &lt; 200 时",
        "at most",
        "1",
    ]
    assert status == 1
    assert warnings == [
        "'at most' labels a figure, and is not in program_output.po; add it",
        "'at least', in program_output.po, is on no page; remove it",
    ]
