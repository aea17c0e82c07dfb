"""A build in another language fails unless every message of the pages that have to be translated is translated."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytest.importorskip("sphinx", reason="needs the packages that `make docs` installs")
pytest.importorskip("myst_parser", reason="needs the packages that `make docs` installs")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Sphinx and docutils

CONF = """
extensions = ["myst_parser", "translated"]
root_doc = "index"
exclude_patterns = ["_build"]
locale_dirs = ["locale"]
gettext_compact = False
gettext_location = False
gettext_uuid = False
translated_pages = ["index", "lessons/*"]
"""
PAGES = {
    "index.md": "# A site\n\n```{toctree}\n:caption: Where to begin\n\nlessons/one\nother\n```\n",
    "lessons/one.md": "---\nkernel: {name: python3}\n---\n# The title\n\n"
    "A *first* sentence.\n\nA second sentence\nwith $m^2$.\n\n    code = 1\n",
    "other.md": "# Not translated\n",
}
CHINESE = {
    "A site": "一个网站",
    "Where to begin": "从这里开始",
    "The title": "标题",
    "A *first* sentence.": "*第一*句。",
    "A second sentence with $m^2$.": "第二句，有 $m^2$。",
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small site without translations."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    (tmp_path / "conf.py").write_text(CONF, "utf-8")
    for name, text in PAGES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def built(site: Path, builder: str = "dummy", language: str = "zh_CN") -> tuple[int, list[str]]:
    """Build the site; returns the exit status and the warnings."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    out, warnings = site / "_build" / builder, io.StringIO()
    shutil.rmtree(out, ignore_errors=True)
    with patch_docutils(str(site)), docutils_namespace():
        app = Sphinx(
            site,
            site,
            out,
            out / ".doctrees",
            builder,
            confoverrides={"language": language},
            status=None,
            warning=warnings,
            warningiserror=True,
        )
        app.build()
    return app.statuscode, re.findall(r"WARNING: (.*)", re.sub(r"\x1b\[[0-9;]*m", "", warnings.getvalue()))


def translate(site: Path, page: str, messages: dict[str, str], more: str = "") -> None:
    path = site / "locale" / "zh_CN" / "LC_MESSAGES" / f"{page}.po"
    path.parent.mkdir(parents=True, exist_ok=True)
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
    entries = "".join(f'\nmsgid "{message}"\nmsgstr "{text}"\n' for message, text in messages.items())
    path.write_text(header + entries + more, "utf-8")


def extracted(site: Path) -> dict[str, list[str]]:
    """By page the messages that Sphinx extracts for translators."""
    built(site, "gettext", "en")
    folder = site / "_build" / "gettext"
    return {
        path.relative_to(folder).with_suffix("").as_posix(): re.findall(r'msgid "(.+)"', path.read_text("utf-8"))
        for path in folder.rglob("*.pot")
    }


def test_pages_with_every_message_translated_pass_and_those_messages_are_what_is_extracted(site: Path) -> None:
    found = extracted(site)
    assert set(found) - {"sphinx"} == {"index", "lessons/one"}
    assert sorted(found["index"] + found["lessons/one"]) == sorted(CHINESE)
    for page in ("index", "lessons/one"):
        translate(site, page, {message: CHINESE[message] for message in found[page]})
    assert built(site) == (0, [])


def test_missing_empty_fuzzy_and_obsolete_messages_fail(site: Path) -> None:
    translate(site, "index", {"A site": "一个网站", "Where to begin": ""})
    translate(
        site,
        "lessons/one",
        {"The title": "标题", "A sentence that was removed.": "删去的句子。"},
        '\n#, fuzzy\nmsgid "A *first* sentence."\nmsgstr "旧的一句。"\n\n#~ msgid "Gone."\n#~ msgstr "没了。"\n',
    )
    status, warnings = built(site)
    index, one = "in zh_CN/LC_MESSAGES/index.po", "in zh_CN/LC_MESSAGES/lessons/one.po"
    assert status == 1
    assert sorted(warnings) == [
        f"'A *first* sentence.' has a fuzzy translation; mend it and remove the mark, {one}",
        f"'A second sentence with $m^2$.' has no translation; add it, {one}",
        f"'A sentence that was removed.' is not on the page any more; remove it, {one}",
        f"'Gone.' is not on the page any more; remove it, {one}",
        f"'Where to begin' has no translation; add it, {index}",
    ]


def test_pages_files_and_names_that_do_not_belong_together_fail(site: Path) -> None:
    with (site / "conf.py").open("a", encoding="utf-8") as conf:
        conf.write('translated_pages = ["lessons/*", "renamed"]\n')
    translate(site, "index", {"A site": "一个网站", "Where to begin": "从这里开始"})
    translate(site, "removed", {"A page": "一页"})
    status, warnings = built(site)
    assert status == 1
    assert warnings[:3] == [
        f"'{message}' has no translation; add it, in zh_CN/LC_MESSAGES/lessons/one.po" for message in list(CHINESE)[2:]
    ]
    assert warnings[3:] == [
        "no page is called 'renamed'; mend `translated_pages` in conf.py",
        "zh_CN/LC_MESSAGES/index.po translates no page of `translated_pages` in conf.py; name it there",
        "zh_CN/LC_MESSAGES/removed.po translates no page of `translated_pages` in conf.py; name it there",
    ]


NOTEBOOK = """---
file_format: mystnb
kernelspec: {name: python3, language: python}
language_info: {name: python, pygments_lexer: python}
---
# The title

```{code-cell} ipython3
print("a word")  # the comment
```
"""
CODE = {"The title": "标题", "the comment": "注释", "a word": "一个词"}


@pytest.fixture
def notebook(site: Path) -> Path:
    """The small site, whose lesson has a cell of code; nothing is executed."""
    pytest.importorskip("myst_nb", reason="needs the packages that `make docs` installs")
    settings = 'nb_execution_mode = "off"\nsource_suffix = {".md": "myst-nb"}\n'
    (site / "conf.py").write_text(CONF.replace("myst_parser", "myst_nb") + settings, "utf-8")
    (site / "lessons" / "one.md").write_text(NOTEBOOK, "utf-8")
    translate(site, "index", {"A site": "一个网站", "Where to begin": "从这里开始"})
    return site


def test_what_cells_of_code_say_is_extracted_and_translated_before_they_run(notebook: Path) -> None:
    assert sorted(extracted(notebook)["lessons/one"]) == sorted(CODE)
    translate(notebook, "lessons/one", CODE)
    assert built(notebook, "text") == (0, [])
    page = (notebook / "_build" / "text" / "lessons" / "one.txt").read_text("utf-8")
    assert 'print("一个词")  # 注释' in page
    assert built(notebook, "text", "en") == (0, [])
    page = (notebook / "_build" / "text" / "lessons" / "one.txt").read_text("utf-8")
    assert 'print("a word")  # the comment' in page


def test_missing_fuzzy_and_obsolete_messages_of_cells_fail(notebook: Path) -> None:
    fuzzy = '\n#, fuzzy\nmsgid "a word"\nmsgstr "旧词"\n'
    translate(notebook, "lessons/one", {"The title": "标题", "an old comment": "旧注释"}, fuzzy)
    status, warnings = built(notebook, "text")
    one = "in zh_CN/LC_MESSAGES/lessons/one.po"
    assert status == 1
    assert sorted(warnings) == [
        f"'a word' has a fuzzy translation; mend it and remove the mark, {one}",
        f"'an old comment' is not on the page any more; remove it, {one}",
        f"'the comment' has no translation; add it, {one}",
    ]
    page = (notebook / "_build" / "text" / "lessons" / "one.txt").read_text("utf-8")
    assert 'print("a word")  # the comment' in page


def test_a_translation_that_changes_a_program_fails(notebook: Path) -> None:
    translate(notebook, "lessons/one", CODE | {"a word": "一个{词}'\\\\"})
    status, warnings = built(notebook, "text")
    assert status == 1
    assert ["changes the program" in warning for warning in warnings] == [True]


def test_the_language_of_the_sources_needs_no_translation(site: Path) -> None:
    assert built(site, language="en") == (0, [])
