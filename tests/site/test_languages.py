"""Both languages of the site: the theme speaks Chinese, pages say what language they are in, and the search works."""

import importlib
import io
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]

pytest.importorskip("sphinx", reason="needs the packages that `make docs` installs")
pytest.importorskip("myst_parser", reason="needs the packages that `make docs` installs")
furo = pytest.importorskip("furo", reason="needs the packages that `make docs` installs")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Sphinx and docutils

CONF = f"""
templates_path = [{str(ROOT / "docs" / "_templates")!r}]
extensions = ["myst_parser", "languages"]
root_doc = "index"
html_theme = "furo"
html_title = "网站"
locale_dirs = ["locale"]
exclude_patterns = ["_build"]
"""


@pytest.fixture(autouse=True)
def languages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    return importlib.import_module("languages")


def built(folder: Path, language: str) -> Path:
    """Build a site of two pages; returns its folder."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    (folder / "conf.py").write_text(CONF, "utf-8")
    (folder / "index.md").write_text("# First\n\n```{toctree}\nsecond\n```\n", "utf-8")
    (folder / "second.md").write_text("# Second\n\nA *word*.\n", "utf-8")
    out, warnings = folder / "_build" / language, io.StringIO()
    with patch_docutils(str(folder)), docutils_namespace():
        app = Sphinx(
            *(folder, folder, out, out / ".doctrees", "html"),
            confoverrides={"language": language},
            status=None,
            warning=warnings,
        )
        app.build()
    assert warnings.getvalue() == ""
    return out


def test_the_theme_says_in_english_what_is_replaced(languages: ModuleType) -> None:
    templates = "".join(path.read_text("utf-8") for path in Path(furo.__file__).parent.rglob("*.html"))
    navigation = (Path(furo.__file__).parent / "navigation.py").read_text("utf-8")

    assert [english for english in languages.THEME["zh_CN"] if english not in templates] == []
    assert languages.NAVIGATION["zh_CN"][0] in navigation


def test_a_chinese_page_has_no_word_of_the_theme_in_english_and_says_what_is_not_translated(
    tmp_path: Path, languages: ModuleType
) -> None:
    site = built(tmp_path, "zh_CN")
    page = (site / "index.html").read_text("utf-8") + (site / "search.html").read_text("utf-8")

    assert "跳到正文" in page
    assert "下一页" in page
    told = ["".join(found) for found in re.findall(r'aria-label="([^"]*)"|<title>([^<]*)</title>', page)]
    assert len(told) > 10
    assert [label for label in told if re.search("[A-Za-z]{3}", label)] == []
    words = languages.THEME["zh_CN"].items()
    assert [english for english, chinese in words if english not in chinese and english in page] == []
    assert '<div lang="en">' in (site / "second.html").read_text("utf-8")
    assert '<div lang="en">' not in (built(tmp_path, "en") / "second.html").read_text("utf-8")
