"""How Sphinx builds the site: from the repository's root, so that a link holds both here and where files are browsed.

`make docs` builds every language; nothing on a page comes from a network. One language by hand:

    .venv/bin/sphinx-build -W -c docs -D language=en . site/en
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_extensions")]
os.environ["PYTHONPATH"] = str(ROOT)  # for the kernels that run the lessons

project = "attacklab"
author = "the authors of attacklab"
html_title = "attacklab"
root_doc = "docs/index"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "languages",
    "reference_pages",
    "touchable",
    "lesson_pictures",
    "notebooks",
]
include_patterns = [
    "docs/**.md",
    "mechanisms/*/README.md",
    "checker/README.md",
    "vectors/clients/README.md",
    "reports/**.md",
    "SECURITY.md",
    "CHANGELOG.md",
]
exclude_patterns = [".*", "**/.*", "site", "build", "dist", "reports-lab", "reports-unpublished"]

language = "en"
locale_dirs = ["docs/locale"]
gettext_compact = False
gettext_location = False
gettext_uuid = False
# These are in Chinese, too: a build in Chinese fails on a message of theirs that has no translation.
translated_pages = [
    "docs/index",
    "docs/experiments",
    "docs/lessons/*",
    "docs/explanations/floating_point",
    "docs/explanations/formulas_that_fail",
    "docs/reference/glossary",
    "docs/reference/reading_reports",
]

myst_enable_extensions = ["amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
# The cells of a lesson are the same in both languages: they run once, and the second build reads what they gave.
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "site" / ".executed")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_ipywidgets_js = {}
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"

html_theme = "furo"
html_static_path = ["_static", "../site/.node/static"]
templates_path = ["_templates"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"}), ("projector.js", {"defer": "defer"})]
html_copy_source = False
html_show_copyright = False
mathjax_path = "tex-svg.js"
