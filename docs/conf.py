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
    "translated",
    "program_output",
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
# Of these a build in another language fails unless every message is translated.
translated_pages = [
    "docs/*",
    "docs/*/index",
    "docs/lessons/*",
    "docs/how_to/*",
    "docs/explanations/*",
    "docs/reference/glossary",
    "docs/reference/api/index",
    "docs/reference/findings",
    "docs/reference/reading_reports",
    "docs/reference/domains",
    "docs/reference/flaws",
    "docs/reference/stability",
    "docs/reference/claims",
    "docs/reference/protocol",
    "docs/reference/nist_sp_800_226",
    "docs/reference/vulnerable_primitives",
    "docs/reference/vectors",
    "docs/reference/dossiers/index",
    "mechanisms/*/README",
    "vectors/clients/README",
    "checker/README",
    "SECURITY",
]

myst_enable_extensions = ["amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
# Lessons run in each language, for their pictures. `make docs` builds both languages at once, each with a cache of its
# own, which it empties first.
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
