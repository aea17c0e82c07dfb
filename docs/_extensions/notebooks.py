"""A Jupyter notebook of each lesson, beside its page: the same cells and words, without what only the site can show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from languages import translations
from myst_nb.core.read import read_myst_markdown_notebook
from sphinx.application import Sphinx

LESSON = re.compile(r"docs/lessons/\d\d_\w+")
INTRODUCTION = {
    "en": (
        "*This lesson runs where the lab is installed. In a clone of the repository: `make install`, "
        "`.venv/bin/pip install jupyterlab`, `.venv/bin/jupyter lab {name}`.*"
    ),
    "zh_CN": (
        "*本课在装有实验室的环境里运行。在仓库的克隆中：`make install`，`.venv/bin/pip install jupyterlab`，"
        "`.venv/bin/jupyter lab {name}`。*"
    ),
}
"""What stands above a lesson that has left the site, by the language of the site."""
LABEL = {"en": "Download as a notebook", "zh_CN": "下载为 Jupyter 笔记本"}

_FOLDED = re.compile(r"^```\{admonition\} (?P<title>[^\n]*)\n(?::[^\n]*\n)*\n?(?P<text>.*?)^```$", re.M | re.S)
_TOUCHABLE = re.compile(r"^```\{touchable\}[^\n]*\n```\n?", re.M)
_LINK_WITHIN_THE_SITE = re.compile(r"\[([^\[\]]+)\]\((?!https?:)[^()\s]+\)")
_BEGINNING = re.compile(r"#+ |[-*] |\d+\. ")


def _write(app: Sphinx, page: str, content: list[str]) -> None:
    """Write the notebook of a lesson; the words are translated, the cells are not."""
    if app.builder.format != "html" or not LESSON.fullmatch(page):
        return
    notebook = read_myst_markdown_notebook(content[0])
    language = app.config.language
    texts = translations(Path(app.srcdir, app.config.locale_dirs[0], language, "LC_MESSAGES", f"{page}.po"))
    for place, cell in enumerate(notebook.cells):
        cell.id = f"cell-{place}"
        if cell.cell_type == "markdown":
            cell.source = _plain(cell.source, texts)
    words = INTRODUCTION[language].format(name=_file(page).name)
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell(words, id="introduction"))
    path = Path(app.outdir) / _file(page)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def _file(page: str) -> Path:
    return Path(f"{page}.ipynb")


def _plain(text: str, texts: Mapping[str, str]) -> str:
    """Markdown that any notebook shows: translated, with hints folded by HTML and links within the site as text."""
    text = _FOLDED.sub(
        lambda found: f"<details><summary>{found['title']}</summary>\n\n{found['text']}\n</details>",
        _TOUCHABLE.sub("", text),
    )
    blocks = [_translated(block, texts) for block in re.split(r"\n{2,}", text)]
    return _LINK_WITHIN_THE_SITE.sub(r"\1", "\n\n".join(blocks))


def _translated(block: str, texts: Mapping[str, str]) -> str:
    """A paragraph, a heading or the items of a list in another language, as far as there are texts for them."""
    summary = re.fullmatch(r"<details><summary>(.*)</summary>", block)
    if summary:
        return f"<details><summary>{texts.get(summary[1], summary[1])}</summary>"
    whole = " ".join(block.split())
    if whole in texts:
        return texts[whole]
    items = re.split(r"\n(?=[-*] |\d+\. )", block)
    return "\n".join(_translated_item(item, texts) for item in items)


def _translated_item(item: str, texts: Mapping[str, str]) -> str:
    sign = _BEGINNING.match(item)
    beginning = sign[0] if sign and item not in texts else ""
    message = " ".join(item.removeprefix(beginning).split())
    return beginning + texts[message] if message in texts else item


def _context(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    if LESSON.fullmatch(page):
        context.update(notebook=_file(page).name, notebook_label=LABEL[app.config.language])


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call what stands above."""
    app.connect("source-read", _write, priority=900)
    app.connect("html-page-context", _context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
