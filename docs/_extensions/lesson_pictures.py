"""A list of class `lessons` or `slides` shows the first picture of each lesson that it links to."""

from __future__ import annotations

import posixpath

from docutils import nodes
from sphinx.application import Sphinx

CLASSES = {"lessons", "slides"}


def _add(app: Sphinx, document: nodes.document, page: str) -> None:
    if app.builder.format != "html":
        return
    for listed in document.findall(nodes.bullet_list):
        if not CLASSES.intersection(listed["classes"]):
            continue
        for item in listed.findall(nodes.list_item):
            for link in list(item.findall(nodes.reference))[:1]:
                lesson = posixpath.normpath(
                    posixpath.join(posixpath.dirname(page), link["refuri"].partition(".html")[0])
                )
                for picture in list(app.env.get_doctree(lesson).findall(nodes.image))[:1]:
                    shown = picture.deepcopy()
                    shown["alt"] = "" if "lessons" in listed["classes"] else picture["alt"]
                    item.insert(0, nodes.container("", shown, classes=["picture"]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call what stands above."""
    app.connect("doctree-resolved", _add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
