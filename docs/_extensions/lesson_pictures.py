"""A list of class `lessons` or `slides` shows the first picture of each lesson that it links to.

A slide is a link to the file of its picture.
"""

from __future__ import annotations

import posixpath

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.osutil import relative_uri

CLASSES = {"lessons", "slides"}


def _add(app: Sphinx, document: nodes.document, page: str) -> None:
    if app.builder.format != "html":
        return
    for listed in document.findall(nodes.bullet_list):
        if CLASSES.intersection(listed["classes"]):
            for item in listed.findall(nodes.list_item):
                link = next(item.findall(nodes.reference))
                lesson = posixpath.join(posixpath.dirname(page), link["refuri"].partition(".html")[0])
                picture = next(app.env.get_doctree(posixpath.normpath(lesson)).findall(nodes.image)).deepcopy()
                shown: nodes.Element = picture
                if "slides" in listed["classes"]:
                    file = f"{app.builder.imagedir}/{app.env.images[picture['uri']][1]}"
                    address = relative_uri(app.builder.get_target_uri(page), file)
                    shown = nodes.reference("", "", picture, refuri=address, internal=True)
                else:
                    picture["alt"] = ""  # the card says what it is
                item.insert(0, nodes.container("", shown, classes=["picture"]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call what stands above."""
    app.connect("doctree-resolved", _add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
